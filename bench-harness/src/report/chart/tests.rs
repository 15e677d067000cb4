//! What the charts draw, where it can be told from the drawing.

use super::*;

fn bars(bars: Vec<Bar>) -> String {
    let picture = Picture::Bars(Bars {
        parts: vec!["user", "kernel"],
        shape: Shape::Stack,
        base: 1_000.0,
        format: |value| format!("{value:.0} B"),
        bars,
    });
    Chart { title: "Memory".into(), caption: "Of one.".into(), picture }.html().into_string()
}

fn bar(label: &str, values: [f64; 2]) -> Bar {
    let told = format!("{} B", values.iter().sum::<f64>());
    Bar { label: label.into(), told, values: values.map(Some).to_vec(), ..Bar::default() }
}

#[test]
fn parts_of_a_bar_follow_each_other_and_add_up() {
    let drawn = bars(vec![bar("a", [100.0, 300.0]), bar("b", [50.0, -1.0])]);
    assert!(
        drawn.contains(r#"<rect x="0.00%" y="20" height="14" width="25.00%" fill="url(#fill-0)">"#),
        "{drawn}"
    );
    assert!(
        drawn.contains(r#"<rect x="25.00%" y="20" height="14" width="75.00%" fill="url(#fill-1)">"#),
        "{drawn}"
    );
    // What is below zero has no bar.
    assert_eq!(drawn.matches("fill=\"url(#fill-1)\"").count(), 2, "{drawn}");
    assert!(drawn.contains("aria-label=\"Memory. a: 400 B; b: 49 B\""), "{drawn}");
}

#[test]
fn a_bar_that_is_not_ranked_and_one_with_an_interval_are_marked() {
    let doubtful = Bar { is_doubtful: true, interval: Some((90.0, 110.0)), ..bar("a", [100.0, 0.0]) };
    let drawn = bars(vec![doubtful, bar("b", [400.0, 0.0])]);
    assert!(drawn.contains("bar doubtful") && drawn.contains("whisker"), "{drawn}");
}

#[test]
fn lines_have_the_same_axes_in_all_panels_and_their_words_beside_them() {
    let point = |x: f64, y: f64, is_hollow| Point {
        x,
        y,
        mark: true,
        is_hollow,
        told: format!("{y} of {x}"),
        anchor: Some("cell-1".into()),
    };
    let line = |style, points| Line { style, name: "inline".into(), told: ">= 100".into(), points };
    let axis =
        || Axis { title: "requests", ticks: Ticks::Round, is_log: true, format: |value| format!("{value}") };
    let panel = |title: &str, points| Panel { title: title.into(), lines: vec![line(1, points)] };
    let panels = Panels {
        x: axis(),
        y: axis(),
        has_diagonal: true,
        panels: vec![
            panel("first", vec![point(1.0, 1.0, false), point(100.0, 100.0, true)]),
            panel("second", vec![point(10.0, 10.0, false)]),
        ],
    };
    let chart = Chart { title: "Curves".into(), caption: String::new(), picture: Picture::Panels(panels) };
    let drawn = chart.html().into_string();
    // The whole of the one is from corner to corner, and the other is in its middle.
    assert!(drawn.contains(r#"<polyline points="52.0,162.0 308.0,10.0""#), "{drawn}");
    assert!(drawn.contains(r#"<polyline points="180.0,86.0""#), "{drawn}");
    assert_eq!(drawn.matches("class=\"reference\"").count(), 2);
    assert!(drawn.contains("hollow l1") && drawn.contains("href=\"#cell-1\" tabindex=\"-1\""), "{drawn}");
    assert!(drawn.contains("<b>inline</b> \u{2265} 100"), "{drawn}");
}
