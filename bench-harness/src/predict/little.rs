//! `predict little`: in flight, rate and time, where two of them say the third.

use std::time::Duration;

use prediction::little;

use super::Prediction;
use super::figure::rounded;
use super::inputs::inputs;
use super::value::{Count, Number, Time};

inputs! {
    Little, Values {
        /// Requests a second
        rate: Number = Number(10_000.0),
        /// How long each is in the system
        time: Time = Time(Duration::from_millis(100)),
        /// The most in flight
        limit: Count = Count(200),
        /// Requests that come at once
        requests: Count = Count(10_000),
    }
}

pub(crate) fn predict(flags: Little, file: Little) -> anyhow::Result<Prediction> {
    let values = flags.over(file);
    let (rate, time, limit) = (values.rate.0, values.time.0, values.limit.0);
    let in_flight = little::in_flight(rate, time);
    let ceiling_per_s = little::rate_ceiling_per_s(limit as f64, time);
    let bound = little::burst_bound(values.requests.0, time, Some(limit));

    let mut prediction = Prediction::of("little", &values)?;
    prediction.push("in_flight", in_flight);
    prediction.push("rate_ceiling_per_s", ceiling_per_s);
    prediction.push("burst_bound_s", bound.as_secs_f64());
    prediction.line("in flight = rate x time (Little)");
    prediction.line(format!("{rate} requests/s x {}: {} in flight", values.time, rounded(in_flight, 1)));
    prediction.line(format!(
        "{limit} in flight / {}: at most {} requests/s",
        values.time,
        rounded(ceiling_per_s, 1)
    ));
    prediction.line(format!(
        "{} requests at once, {limit} in flight: at least {:.2} s",
        values.requests,
        bound.as_secs_f64()
    ));
    Ok(prediction)
}
