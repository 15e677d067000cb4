//! The sections of the primitives, of benches that are made up: figures, refusals, and one that a harness does not know.

use super::*;
use crate::benches::{Bench, Figures};
use crate::report::primitives::{how_to_read, sections as sections_of};

fn bench(runtime: &str, primitive: &str, figures: Result<f64, &str>) -> Bench {
    Bench {
        runtime: runtime.into(),
        primitive: primitive.into(),
        measured_at: Some("2025-12-02T08:00:00Z".into()),
        figures: figures.ok().map(|median_ns| Figures {
            median_ns,
            ci_low_ns: 0.9 * median_ns,
            ci_high_ns: 1.2 * median_ns,
            confidence: 0.95,
        }),
        reason: figures.err().map(str::to_owned),
    }
}

#[test]
fn the_primitives_stand_beside_what_others_measured() {
    let benches = Benches {
        format: FORMAT,
        benches: vec![
            bench(FLOOR, "lateness", Ok(58_000.0)),
            bench("threads", "spawn_join", Ok(21_400.0)),
            bench("threads", "offload", Err("there is nothing to | offload")),
            bench("tokio", "spawn_join", Ok(412.0)),
            bench("tokio", "offload", Ok(6_200.0)),
            bench("tokio", "lateness", Ok(1_120_000.0)),
            bench("tokio", "teleport", Ok(1.0)),
        ],
    };
    let text: Vec<String> = sections_of(Some(&benches))
        .iter()
        .map(|section| format!("## {}\n\n{}", section.title, section.table.markdown()))
        .collect();
    insta::assert_snapshot!(text.join("\n") + "\n" + &how_to_read(Some(&benches)));
    assert!(sections_of(None).is_empty());
    assert!(
        markdown(&Data { run: &run(), rows: &[], groups: &[], benches: Some(&benches) })
            .contains("## What the primitives of each model cost")
    );
}
