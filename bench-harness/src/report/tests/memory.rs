//! The sections of the memory experiments.

use serde_json::json;

use super::*;

/// A row of `memory.tasks`, whose line has an error of one percent.
fn tasks(runtime: &str, variant: &str, waiting: &str, total: f64, repetition: u32) -> Row {
    let mut measured = Measured::default();
    for name in ["total_bytes_per_unit", "pss_bytes_per_unit"] {
        measured.metric(name, total);
    }
    measured.metric("kernel_stack_bytes_per_unit", 0.0);
    let fit = json!({ "low": total * 0.99, "high": total * 1.01, "coverage": 0.95 });
    measured.note("fit", json!({ "total_bytes_per_unit": fit }));
    measured.note("looks", json!([{ "units": 1_100 }, { "units": 2_000 }]));
    measured.note("before", json!({ "total_bytes": 2 << 20 }));
    let params = [("requests", 2_000.into()), ("waiting", waiting.into())];
    Row::measured(cell("memory.tasks", runtime, variant, &params), repetition, measured)
}

fn pool(waiting: &str, total: f64) -> Row {
    let mut row = tasks("threads", "pool=200", waiting, total, 1);
    row.evidence.insert("in_flight_limit".into(), 200.into());
    row.evidence.insert("before".into(), json!({ "total_bytes": (2 << 20) + 200 * 30_000 }));
    row
}

fn per_request(slab: Option<f64>) -> Row {
    let mut row = tasks("threads", "per-request", "in-service", 30_352.0, 1);
    row.metrics.insert("kernel_stack_bytes_per_unit".into(), 16_384.into());
    row.metrics
        .extend(slab.map(|slab| ("slab_bytes_per_unit".into(), crate::row::Figure::new(slab).unwrap())));
    row
}

fn found(rows: &[Row]) -> Vec<String> {
    crate::report::memory::findings(&summary::groups(&run(), rows))
}

#[test]
fn what_one_more_costs_is_told_from_the_cheapest_and_what_is_paid_beforehand_by_itself() {
    let rows = [
        per_request(Some(7_041.0)),
        tasks("tokio", "multi-thread", "in-service", 577.0, 1),
        tasks(FLOOR, "heap", "in-service", 87.0, 1),
        pool("in-service", 61.0),
        pool("queued", 63.0),
    ];
    let expected = [
        "One more waiting request costs `floor` 87 B, `tokio` 577 B, `threads` 29.64 KiB (16.00 KiB of it the \
         kernel's stack, and 6.876 KiB of slab beside it).",
        "`threads:pool=200` has paid for its 200 places before the first request: 7.722 MiB at the start, 29.30 KiB a \
         place more than the floor's.",
    ];
    assert_eq!(found(&rows), expected);
    // Where nobody may read the kernel's objects, nothing is said of them.
    let told = found(&[per_request(None)]);
    assert_eq!(
        told,
        ["One more waiting request costs `threads` 29.64 KiB (16.00 KiB of it the kernel's stack)."]
    );
    assert_eq!(found(&[]), [""; 0]);
}

#[test]
fn a_pool_of_two_and_a_row_that_is_not_ranked_are_in_no_sentence() {
    let mut few = pool("queued", 63.0);
    few.evidence.insert("in_flight_limit".into(), 2.into());
    let mut bent = tasks("tokio", "multi-thread", "in-service", 577.0, 1);
    bent.status = Status::Invalid;
    assert_eq!(found(&[few, bent, tasks(FLOOR, "heap", "in-service", 87.0, 1)]).len(), 1);
}

#[test]
fn a_model_that_has_much_before_anything_comes_is_named() {
    let mut ready = tasks("tokio", "multi-thread", "in-service", 400.0, 1);
    ready.evidence.insert("before".into(), json!({ "total_bytes": 160 << 20 }));
    let told = found(&[ready, tasks(FLOOR, "heap", "in-service", 87.0, 1)]);
    assert_eq!(told[1], "`tokio` has 160.0 MiB before the first request, and the floor 2.000 MiB.");
}

#[test]
fn one_repetition_has_the_interval_of_its_line_and_three_have_that_of_their_median() {
    let table = |rows: &[Row]| {
        let groups = summary::groups(&run(), rows);
        crate::report::memory::sections(&groups).into_iter().next().unwrap().table.markdown()
    };
    let one = table(&[tasks("tokio", "multi-thread", "in-service", 577.0, 1)]);
    assert!(one.contains("| tokio | in service | 1,100 to 2,000 | 577 B | [571 B, 583 B] fit |"), "{one}");
    let each = |total: f64, repetition| tasks("tokio", "multi-thread", "in-service", total, repetition);
    let three = table(&[each(577.0, 1), each(570.0, 2), each(580.0, 3)]);
    assert!(three.contains("| 577 B | [570 B, 580 B] 75.0 % |"), "{three}");
}
