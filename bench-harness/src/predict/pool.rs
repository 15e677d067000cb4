//! `predict pool`: the workers and the queue of a bounded pool.

use std::time::Duration;

use prediction::{pool, whole};

use super::Prediction;
use super::figure::rounded;
use super::inputs::inputs;
use super::value::{Auto, Count, Time};

inputs! {
    Pool, Values {
        /// Cores that the jobs share
        cores: Count = Count(4),
        /// How long a job waits
        wait: Time = Time(Duration::from_millis(80)),
        /// How long a job computes
        compute: Time = Time(Duration::from_millis(20)),
        /// Workers; auto is as many as keep the cores busy
        workers: Auto = Auto(None),
        /// How long the last job in the queue may wait
        wait_allowed: Time = Time(Duration::from_millis(200)),
    }
}

pub(crate) fn predict(flags: Pool, file: Pool) -> anyhow::Result<Prediction> {
    let values = flags.over(file);
    let (cores, wait, compute) = (values.cores.0, values.wait.0, values.compute.0);
    let advised = whole::at_least(pool::workers(cores, wait, compute));
    let workers = values.workers.0.unwrap_or(advised);
    let rate_per_s = pool::service_rate_per_s(cores, workers as f64, wait, compute);
    let queue = pool::queue_capacity(values.wait_allowed.0, rate_per_s);

    let mut prediction = Prediction::of("pool", &values)?;
    prediction.push("workers_advised", advised);
    prediction.push("service_rate_per_s", rate_per_s);
    prediction.push("queue_capacity", queue);
    prediction.line(format!(
        "workers = cores x (1 + wait / compute) = {cores} x (1 + {} / {}): {advised}",
        values.wait, values.compute
    ));
    prediction.line(format!("{workers} workers on {cores} cores: at most {} jobs/s", rounded(rate_per_s, 1)));
    prediction.line(format!(
        "queue length ~ allowed wait x service rate = {} x {} jobs/s: {}",
        values.wait_allowed,
        rounded(rate_per_s, 1),
        rounded(queue, 1)
    ));
    Ok(prediction)
}
