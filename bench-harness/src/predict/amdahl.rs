//! `predict amdahl`: what one lock leaves of many threads, and what splitting it gives back.

use std::time::Duration;

use prediction::amdahl;

use super::Prediction;
use super::inputs::inputs;
use super::value::{Count, Counts, Time};
use crate::exit::usage;

inputs! {
    Amdahl, Values {
        /// How long an operation takes
        operation: Time = Time(Duration::from_nanos(1_000)),
        /// How much of that is under the lock
        locked: Time = Time(Duration::from_nanos(300)),
        /// Threads that share the rest; no more than there are cores
        threads: Count = Count(8),
        /// Into how many locks the one is split, over which keys spread evenly
        stripes: Counts = Counts(vec![1, 4, 16, 64]),
    }
}

pub(crate) fn predict(flags: Amdahl, file: Amdahl) -> anyhow::Result<Prediction> {
    let values = flags.over(file);
    let (operation, locked) = (values.operation, values.locked);
    if locked.0 > operation.0 {
        return Err(usage(format!("locked: {locked} is longer than the operation, which takes {operation}")));
    }
    let fraction = amdahl::serial_fraction(operation.0, locked.0);
    let limit = amdahl::speedup_limit(fraction);
    let threads = values.threads.0;

    let mut prediction = Prediction::of("amdahl", &values)?;
    prediction.push("serial_fraction", fraction);
    prediction.push("speedup_limit", limit);
    prediction.line(format!(
        "serial fraction f = {fraction:.2}, so throughput can never exceed 1/f = {limit:.1}x the single-thread rate"
    ));
    for &stripes in &values.stripes.0 {
        let striped = amdahl::striped(fraction, stripes);
        let bound = amdahl::speedup_bound(striped, threads);
        prediction.push_at("serial_fraction", format!("stripes={stripes}"), striped);
        prediction.push_at("speedup_bound", format!("stripes={stripes}"), bound);
        prediction.line(format!(
            "stripes={stripes:>2}  effective f={striped:.4}  bound on speedup with {threads} threads: {bound:.1}x"
        ));
    }
    Ok(prediction)
}
