//! The sections of the pipeline experiments.

use super::*;

fn images(experiment: &str, runtime: &str, setting: &str, bulk: f64, p50_ms: u64, ceiling: f64) -> Row {
    let mut measured = Measured::default();
    measured.metric("images_per_s", bulk + 5.0);
    measured.metric("bulk_images_per_s", bulk);
    measured.metric("ceiling_images_per_s", ceiling);
    measured.metric("expected_images_per_s", ceiling);
    measured.count("interactive_p50_ns", p50_ms * 1_000_000);
    measured.count("interactive_max_ns", p50_ms * 1_500_000);
    measured.note("ceiling_by", "detector");
    let params = [("setting", setting.into()), ("interactive_per_s", 5.into())];
    Row::measured(cell(experiment, runtime, "multi-thread", &params), 1, measured)
}

fn study(runtime: &str) -> Vec<Row> {
    vec![
        images("pipeline.fifo1", runtime, "", 26.0, 1_800, 27.8),
        images("pipeline.fifo16", runtime, "", 119.0, 400, 127.0),
        images("pipeline.lanes16", runtime, "", 102.0, 190, 127.0),
        images("pipeline.hold8", runtime, "", 107.0, 185, 127.0),
    ]
}

fn found(rows: &[Row]) -> Vec<String> {
    (crate::report::pipeline::STUDY.findings)(&summary::groups(&run(), rows))
}

#[test]
fn policies_that_another_beats_in_both_are_not_on_the_front() {
    let told = found(&study("tokio"));
    assert_eq!(told.len(), 1);
    assert!(told[0].contains("Of 4 policies on `tokio`"), "{told:?}");
    assert!(told[0].contains("fifo16 (") && told[0].contains("hold8 ("), "{told:?}");
    assert!(!told[0].contains("lanes16 (") && !told[0].contains("fifo1 ("), "{told:?}");
    // An invalid row beats nobody.
    let mut rows = study("tokio");
    rows[3].status = Status::Invalid;
    assert!(found(&rows)[0].contains("lanes16 ("));
}

#[test]
fn the_headline_is_the_range_over_the_models() {
    let mut rows = study("tokio");
    rows.push(images("pipeline.fifo16", "smol", "", 121.0, 400, 127.0));
    let headline = headlines(&summary::groups(&run(), &rows)).pop().unwrap();
    assert!(headline.contains("carries 119.0 to 121.0 bulk images/s of a ceiling of 127.0"), "{headline}");
    assert!(headline.ends_with("and image by image 26.0 of 27.8."), "{headline}");
}

#[test]
fn what_is_left_where_costs_vary_is_told_beside_what_it_was() {
    let mut rows = study("tokio");
    rows.push(images("pipeline.conditions", "tokio", "policy=hold8 deviation-percent=20", 99.0, 200, 127.0));
    rows.push(images("pipeline.sizing", "tokio", "batch=1", 20.0, 200, 25.0));
    let told = found(&rows);
    assert!(told.iter().any(|told| told.contains("rate is 1.00 to 1.00 of what")), "{told:?}");
    let varied = told.iter().find(|told| told.contains("vary by 20 %")).unwrap();
    assert!(
        varied.contains("`hold8` on `tokio` carries 99.0 bulk images/s") && varied.contains("place of 107.0"),
        "{varied}"
    );
}

#[test]
fn each_section_is_there_and_each_row_is_linked() {
    let mut rows = study("tokio");
    rows.push(images("pipeline.sizing", "tokio", "batch=1", 20.0, 200, 25.0));
    rows.push(images("pipeline.sizing", "tokio", "batch=4", 70.0, 200, 74.1));
    let groups = summary::groups(&run(), &rows);
    let run = run();
    let data = Data { run: &run, rows: &rows, groups: &groups, benches: None };
    let text = markdown(&data);
    for title in ["What each policy does", "beside its arithmetic", "hold the device for up to 20 ms"] {
        assert!(text.contains(title), "{title}: {text}");
    }
    let page = html(&data);
    assert!(page.contains("Bulk rate against interactive response"));
    assert!(page.contains("The rate against the size of batches"));
}
