//! An objective that was missed: because of the load client, of the CPUs, or of the model itself.

use std::time::Duration;

use serde_json::Value;

use super::{Limit, MachineLimits, Observed, limit};
use crate::sample::CpuUse;

/// A client that used this share of one CPU had no more to give: it is one thread.
const CLIENT_BUSY: f64 = 0.9;
/// With this share of the CPUs idle, whoever was late was not kept from running.
const IDLE: f64 = 0.1;

/// Half of what a response took beyond its wait had passed before the client even began the request, and the client has
/// nobody else to blame: it was at the end of its one CPU, or there was one for it. A client that a CPU-hungry server
/// kept from running is late too, and that is the server's doing.
pub(super) fn client(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let p99 = missed(observed)?;
    let lag = observed.client_lag_p99.filter(|lag| *lag * 2 >= p99.saturating_sub(observed.wait))?;
    let cpu = observed.cpu?;
    let was_busy = cpu.client_of_one_cpu.is_some_and(|share| share >= CLIENT_BUSY);
    (was_busy || cpu.clients_idle_share >= IDLE).then(|| {
        with_cpu(
            cpu,
            limit("load client", true, [("send_lag_p99_ns", ns(lag)), ("response_p99_ns", ns(p99))]),
        )
    })
}

/// No CPU was left while requests arrived. Where others used most of it, the machine ended the ramp.
pub(super) fn cpu(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let p99 = missed(observed)?;
    let cpu = observed.cpu.filter(|cpu| cpu.idle_share < IDLE)?;
    let own = cpu.runner_share + cpu.clients_share;
    let is_own = own * 2.0 >= 1.0 - cpu.idle_share;
    let name = if is_own { "CPU" } else { "CPU taken by others" };
    let times = [("response_p99_ns", ns(p99)), ("objective_ns", ns(observed.objective))];
    Some(with_cpu(cpu, limit(name, !is_own, times)))
}

pub(super) fn objective(observed: &Observed, _: &MachineLimits) -> Option<Limit> {
    let p99 = missed(observed)?;
    // A connection that found the queue full at its first try came a second later: that may be why.
    let overflows = Some(observed.accept_queue_overflows).filter(|overflows| *overflows > 0);
    let evidence = [
        ("response_p99_ns", ns(p99)),
        ("objective_ns", ns(observed.objective)),
        ("accept_queue_overflows", overflows.into()),
        ("accept_queue_peak", overflows.and(observed.accept_queue_peak).into()),
    ];
    Some(limit("objective", false, evidence))
}

fn missed(observed: &Observed) -> Option<Duration> {
    observed.response_p99.filter(|p99| *p99 > observed.objective)
}

fn with_cpu(cpu: CpuUse, mut limit: Limit) -> Limit {
    let shares = [
        ("cpu_idle_share", Some(cpu.idle_share)),
        ("cpu_runner_share", Some(cpu.runner_share)),
        ("cpu_client_of_one", cpu.client_of_one_cpu),
    ];
    for (name, share) in shares {
        limit.evidence.extend(share.map(|share| (name.to_owned(), Value::from((share * 1e3).round() / 1e3))));
    }
    limit
}

fn ns(duration: Duration) -> Value {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).into()
}
