//! Requests that were sent over HTTP, one connection each: what the client counted against what the server counted.

use std::time::Duration;

use cell_control::End;
use load_driver::http::HttpLoadResult;
use workload::{Plan, ServerCounts};

use super::ceiling::{Ends, Places};
use super::compute::Computing;
use super::{at_least, at_most, check, equal, float, ns, server};
use crate::row::Check;

/// The server counts stamps in whole microseconds: of each request, so much may be missing or too much.
const STAMP_NS: u64 = 1_000;

/// What the harness knows of an HTTP cell, beside what the server counted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OverHttp<'a> {
    pub(crate) requests: u64,
    pub(crate) plan: &'a Plan,
    pub(crate) in_flight_limit: Option<u64>,
    pub(crate) client: &'a HttpLoadResult,
    /// What the server counted while the load ran.
    pub(crate) server: ServerCounts,
    /// What it used meanwhile.
    pub(crate) server_cpu_ns: u64,
    /// How it ended, with what the kernel charged to it.
    pub(crate) end: &'a End,
    pub(crate) computing: Computing,
}

/// Requests whose answer the client did not wait for, or could not: the server may have carried them out all the same.
pub(crate) fn unheard(client: &HttpLoadResult) -> u64 {
    client.timed_out + client.errors_total() + client.in_flight_at_end
}

/// The audits of requests that were sent over HTTP.
pub(crate) fn over_http(known: &OverHttp<'_>) -> Vec<Check> {
    let OverHttp { requests, plan, in_flight_limit, client, server, .. } = *known;
    let unheard = unheard(client);
    let wrong_bodies = client.errors.get("wrong-body").copied().unwrap_or(0);
    let mut checks = vec![
        equal("offered_as_asked", client.offered, requests),
        equal("accounted_for", client.completed + client.rejected + unheard, client.offered),
        equal("bodies_wrong", wrong_bodies, 0),
        at_most(
            "in_flight_peak",
            server.in_flight_peak,
            in_flight_limit.unwrap_or(client.offered).min(client.offered),
        ),
        at_most("in_flight_peak_within_clients", server.in_flight_peak, client.in_flight_max),
    ];
    if unheard == 0 {
        checks.push(equal("completed_on_both_sides", client.completed, server.completed));
        checks.push(equal(
            "rejected_on_both_sides",
            client.rejected,
            server.rejected + server.connections_rejected,
        ));
    } else {
        // The server may have finished what the client no longer waited for, and no more than that.
        checks.push(at_most("completed_within_servers", client.completed, server.completed));
        checks.push(at_most("completed_by_server", server.completed, client.completed + unheard));
    }
    let least = plan.least_duration();
    if let Some(shortest_ns) = client.service_min_ns {
        checks.push(at_least("service_min_ns", shortest_ns, ns(least)));
    }
    let elapsed = Duration::from_nanos(client.elapsed_ns);
    let ends = Ends::AllWithin { completed: client.completed, elapsed, least };
    checks.extend(ends.checks(Places { in_flight_limit, connections: None }, server.in_flight_peak));
    checks.extend(integrals(known, unheard));
    checks.extend(known.computing.burnt(plan, client.completed, known.server_cpu_ns));
    checks.extend(known.computing.within_cpus(plan, client.completed, elapsed, 0));
    checks.extend(server::server(known.end, unheard));
    checks
}

/// What is in service is in flight for the client, from before to after; and a wait is in service from its begin to its
/// end. A burst and a saturated row keep to it as well as a steady one.
fn integrals(known: &OverHttp<'_>, unheard: u64) -> Vec<Check> {
    let OverHttp { plan, client, server, .. } = *known;
    let stamps_ns = float(server.completed.saturating_mul(STAMP_NS));
    let integral_ns = float(server.in_flight_integral_ns);
    let waited_ns = float(client.completed) * float(ns(plan.least_duration())) - stamps_ns;
    let mut checks = Vec::new();
    checks.extend(check(
        "in_flight_integral_of_waits_ns",
        integral_ns >= waited_ns,
        integral_ns,
        waited_ns.max(0.0),
    ));
    // What the client no longer waited for may have stayed longer in the server.
    if unheard == 0 {
        let most_ns = client.in_flight_integral_ns + stamps_ns;
        let ok = integral_ns <= most_ns;
        checks.extend(check("in_flight_integral_within_clients_ns", ok, integral_ns, most_ns));
    }
    checks
}

#[cfg(test)]
mod tests {
    use cell_protocol::{Stopped, Usage};

    use super::*;

    const MS: u64 = 1_000_000;

    fn used(user_ns: u64) -> Usage {
        Usage { user_ns, ..Usage::default() }
    }

    /// Three requests at once, of which the server takes two at one time and turns one away.
    fn client() -> HttpLoadResult {
        HttpLoadResult {
            offered: 3,
            completed: 2,
            rejected: 1,
            in_flight_max: 3,
            elapsed_ns: 101 * MS,
            in_flight_integral_ns: 202.0 * 1e6,
            service_min_ns: Some(100 * MS),
            ..HttpLoadResult::default()
        }
    }

    fn server() -> ServerCounts {
        ServerCounts {
            accepted: 2,
            completed: 2,
            rejected: 1,
            in_flight_peak: 2,
            in_flight_integral_ns: 200 * MS,
            ..ServerCounts::default()
        }
    }

    fn failing_with(client: &HttpLoadResult, server: ServerCounts, cpu_ns: u64) -> Vec<String> {
        let accepted = server.completed + server.failed;
        let counts = ServerCounts { accepted, ..server };
        let known = OverHttp {
            requests: 3,
            plan: &"wait=100ms,compute=1000".parse().unwrap(),
            in_flight_limit: None,
            client,
            server,
            server_cpu_ns: cpu_ns,
            end: &End {
                stopped: Stopped { unfinished: 0, server: Some(counts), usage: used(cpu_ns) },
                usage: used(cpu_ns + 1),
                rss_max_bytes: 1,
                held: None,
            },
            computing: Computing { rounds_per_us: Some(1_000.0), cpus: 2, ahead: Duration::ZERO },
        };
        super::super::failing(over_http(&known))
    }

    fn failing(client: &HttpLoadResult, server: ServerCounts) -> Vec<String> {
        failing_with(client, server, 5_000)
    }

    #[test]
    fn client_and_server_must_agree() {
        assert!(failing(&client(), server()).is_empty());
        let more = ServerCounts { completed: 3, ..server() };
        assert_eq!(failing(&client(), more), ["completed_on_both_sides"]);
        let unsaid = ServerCounts { rejected: 0, ..server() };
        assert_eq!(failing(&client(), unsaid), ["rejected_on_both_sides"]);
        let turned_away = ServerCounts { rejected: 0, connections_rejected: 1, ..server() };
        assert!(failing(&client(), turned_away).is_empty());
        let crowded = ServerCounts { in_flight_peak: 4, ..server() };
        assert_eq!(failing(&client(), crowded), ["in_flight_peak", "in_flight_peak_within_clients"]);
        let one_by_one = ServerCounts { in_flight_peak: 1, ..server() };
        assert_eq!(failing(&client(), one_by_one), ["in_flight_peak_by_littles_law"]);
    }

    #[test]
    fn a_count_that_is_doubled_is_caught_on_every_side() {
        let doubled = HttpLoadResult { offered: 6, completed: 4, rejected: 2, ..client() };
        let failing = failing(&doubled, server());
        for name in ["offered_as_asked", "completed_on_both_sides", "in_flight_peak_by_littles_law"] {
            assert!(failing.iter().any(|failed| failed == name), "{failing:?}");
        }
    }

    #[test]
    fn what_the_client_did_not_hear_may_have_been_done() {
        let unheard = HttpLoadResult { completed: 1, timed_out: 1, ..client() };
        assert!(failing(&unheard, server()).is_empty());
        assert!(failing(&unheard, ServerCounts { completed: 1, ..server() }).is_empty());
        let invented = ServerCounts { completed: 3, ..server() };
        assert_eq!(failing(&unheard, invented), ["completed_by_server"]);
        let missing = ServerCounts { completed: 0, ..server() };
        assert_eq!(failing(&unheard, missing), ["completed_within_servers"]);
        // The server was still at it when the client had gone.
        let longer = ServerCounts { in_flight_integral_ns: 900 * MS, ..server() };
        assert!(failing(&unheard, longer).is_empty());
        assert_eq!(failing(&client(), longer), ["in_flight_integral_within_clients_ns"]);
    }

    #[test]
    fn an_answer_that_is_fast_or_wrong_is_caught() {
        let hasty = HttpLoadResult { service_min_ns: Some(100 * MS - 1), ..client() };
        assert_eq!(failing(&hasty, server()), ["service_min_ns"]);
        let mut wrong = client();
        wrong.completed = 1;
        wrong.errors.insert("wrong-body".into(), 1);
        assert!(failing(&wrong, server()).contains(&"bodies_wrong".to_owned()));
        let skipped = ServerCounts { in_flight_integral_ns: 190 * MS, ..server() };
        assert_eq!(failing(&client(), skipped), ["in_flight_integral_of_waits_ns"]);
        assert_eq!(failing_with(&client(), server(), 1_700), ["cpu_burnt_ns"]);
    }
}
