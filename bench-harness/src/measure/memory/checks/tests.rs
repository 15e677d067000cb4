//! Each check passes what is right and catches its mutant.

use super::*;
use crate::measure::memory::look::testing::look;

fn failing(checks: &[Check]) -> Vec<&str> {
    checks.iter().filter(|check| !check.ok).map(|check| check.name.as_str()).collect()
}

/// Five looks at requests that wait, in service or behind a limit.
fn all_wait(limit: Option<u64>) -> Vec<Waiting> {
    let each = |offered: u64| {
        let in_service = limit.unwrap_or(offered);
        let counts = RequestCounts { offered, in_service, ended: 0 };
        Waiting { in_service, offered, before: counts, after: counts }
    };
    (1..=5).map(|look| each(look * 100)).collect()
}

#[test]
fn requests_that_wait_pass_and_so_do_those_behind_a_full_pool() {
    for limit in [None, Some(64)] {
        let checks = waiting(&all_wait(limit));
        assert_eq!((checks.len(), failing(&checks)), (4, vec![]));
    }
}

#[test]
fn a_runtime_that_skips_waits_or_starts_none_is_caught() {
    // It has done with all before the look.
    let mut skips = all_wait(None);
    for waiting in &mut skips {
        (waiting.before.in_service, waiting.before.ended) = (0, waiting.offered);
        waiting.after = waiting.before;
    }
    let checks = waiting(&skips);
    assert_eq!(failing(&checks), ["in_service_before_look", "in_service_after_look", "ended_before_look"]);
    let first = &checks[0];
    assert_eq!((first.value, first.limit), (0.into(), 100.into()), "the first look that failed is told");

    // One request is over while one look is taken.
    let mut early = all_wait(None);
    (early[3].after.in_service, early[3].after.ended) = (399, 1);
    assert_eq!(failing(&waiting(&early)), ["in_service_after_look", "ended_before_look"]);

    // A pool of 64 that says it has no limit.
    let mut queues = all_wait(Some(64));
    queues.iter_mut().for_each(|waiting| waiting.in_service = waiting.offered);
    assert_eq!(failing(&waiting(&queues)), ["in_service_before_look", "in_service_after_look"]);

    // A driver that offers less than it was asked for.
    let mut fewer = all_wait(Some(64));
    fewer[4].after.offered = 499;
    assert_eq!(failing(&waiting(&fewer)), ["offered_at_look"]);
}

#[test]
fn a_thread_for_each_request_is_seen_by_the_kernel() {
    let mut looks: Vec<Look> = (1..=5).map(|number| look(number * 100)).collect();
    for look in &mut looks {
        look.tree.threads = 3 + look.units;
    }
    assert_eq!((threads(&looks).len(), failing(&threads(&looks))), (1, vec![]));
    looks[2].tree.threads -= 1;
    assert_eq!(failing(&threads(&looks)), ["threads_more_from_look_to_look"]);
}

fn all_open() -> Vec<Open> {
    let each = |connections: u64| {
        let server = ServerCounts { connections, completed: connections, ..ServerCounts::default() };
        let client = Held { open: connections, served: connections, ..Held::default() };
        Open { connections, client, server_before: server, server_after: server }
    };
    (1..=5).map(|look| each(look * 100)).collect()
}

/// The checks that fail once one look of the five is changed.
fn after(change: impl FnOnce(&mut Open)) -> Vec<String> {
    let mut all = all_open();
    change(&mut all[2]);
    failing(&open(&all, 500)).into_iter().map(str::to_owned).collect()
}

#[test]
fn client_server_and_kernel_must_agree_on_what_is_open() {
    let checks = open(&all_open(), 500);
    assert_eq!((checks.len(), failing(&checks)), (7, vec![]));
    assert_eq!(failing(&open(&all_open(), 499)), ["descriptors_of_server"]);
    assert_eq!(after(|open| open.client.open -= 1), ["open_by_client"]);
    // A client that counts each connection twice.
    assert_eq!(after(|open| open.client.open *= 2), ["open_by_client"]);
    assert_eq!(after(|open| open.server_before.connections -= 1), ["open_by_server_before_look"]);
    assert_eq!(after(|open| open.server_after.connections -= 1), ["open_by_server_after_look"]);
    // A server that has answered and does not count it, or counts what it has not answered.
    assert_eq!(after(|open| open.server_after.completed -= 1), ["served_by_server"]);
    assert_eq!(after(|open| open.client.served -= 1), ["served_by_client"]);
    // A connection that still works is not idle.
    assert_eq!(after(|open| open.server_before.in_flight = 1), ["in_flight_at_look"]);
}

/// Looks at a process that has `figures` bytes at 100, 200 and so on.
fn fitted(figures: [u64; 6]) -> Vec<Check> {
    let looks: Vec<Look> = figures
        .into_iter()
        .zip(1..)
        .map(|(pss_bytes, number)| {
            let mut look = look(number * 100);
            look.tree.pss_bytes = pss_bytes;
            look
        })
        .collect();
    line(&looks, &Fits::of(&looks).expect("a line"))
}

#[test]
fn what_is_no_line_is_caught_and_what_is_flat_or_grainy_is_one() {
    const MIB: u64 = 1 << 20;
    let straight = [1, 2, 3, 4, 5, 6].map(|number| number * MIB);
    assert_eq!(failing(&fitted(straight)), [""; 0]);
    // A table that doubles: half of all growth at once.
    assert_eq!(failing(&fitted([1, 1, 1, 4, 4, 4].map(|number| number * MIB))), ["residual_max_bytes"]);
    // Memory that comes in pieces of 256 KiB lies around a line of 5 MiB, though never on it.
    let pieces = straight.map(|bytes| (bytes + 100_000).next_multiple_of(262_144));
    assert_eq!(failing(&fitted(pieces)), [""; 0]);
    // A process that grows by nothing but a few stacks that it touches late.
    assert_eq!(failing(&fitted([MIB, MIB, MIB + 40_000, MIB + 40_000, MIB + 40_000, MIB + 40_000])), [""; 0]);
}

#[test]
fn what_was_swapped_out_is_not_in_the_figures_and_makes_them_invalid() {
    let mut looks: Vec<Look> = (1..=5).map(|number| look(number * 100)).collect();
    looks[4].tree.swap_bytes = 4_096;
    let fits = Fits::of(&looks).expect("a line");
    assert_eq!(failing(&line(&looks, &fits)), ["swapped_bytes"]);
}
