//! Lines through looks whose figures are known.

use std::collections::BTreeMap;

use super::*;
use crate::measure::memory::look::testing::look;
use crate::sample::Slab;

const UNITS: [u64; 6] = [1_100, 1_280, 1_460, 1_640, 1_820, 2_000];

fn slab(objects: &[(&str, u64, u64)]) -> Slab {
    let cache = |&(name, objects, object_bytes): &(&str, u64, u64)| {
        (name.to_owned(), crate::sample::Cache { objects, object_bytes })
    };
    objects.iter().map(cache).collect()
}

/// 2 MiB, and 9,856 bytes, a page of page tables and a thread for each unit.
fn threads() -> Vec<Look> {
    let each = |&units: &u64| {
        let mut look = look(units);
        look.tree.pss_bytes = 2_097_152 + 9_856 * units;
        look.tree.private_bytes = 1_048_576 + 9_728 * units;
        look.tree.page_table_bytes = 65_536 + 4_096 * units;
        look.tree.reserved_bytes = 2_113_536 * units;
        look.tree.threads = 2 + units;
        look
    };
    UNITS.iter().map(each).collect()
}

fn recorded(looks: &[Look]) -> Measured {
    let mut measured = Measured::default();
    Fits::of(looks).unwrap().record(looks, &mut measured);
    measured
}

fn metrics(measured: &Measured) -> BTreeMap<&str, f64> {
    measured.metrics.iter().map(|(name, figure)| (name.as_str(), figure.get())).collect()
}

#[test]
fn a_straight_line_gives_back_what_it_was_made_of() {
    let looks = threads();
    let measured = recorded(&looks);
    let expected = BTreeMap::from([
        ("pss_bytes_per_unit", 9_856.0),
        ("private_bytes_per_unit", 9_728.0),
        ("page_table_bytes_per_unit", 4_096.0),
        ("kernel_stack_bytes_per_unit", 16_384.0),
        ("reserved_bytes_per_unit", 2_113_536.0),
        ("total_bytes_per_unit", 9_856.0 + 4_096.0 + 16_384.0),
        ("pss_bytes_intercept", 2_097_152.0),
    ]);
    assert_eq!(metrics(&measured), expected, "and no slab, which could not be read");
    assert_eq!(measured.evidence["slab_objects"], "not available: /proc/slabinfo cannot be read");
    assert_eq!(measured.evidence["fit"]["pss_bytes_per_unit"]["residual_max"], 0.0);
    let last = &measured.evidence["looks"][5];
    assert_eq!(
        (&last["units"], &last["threads"], &last["slab_bytes"]),
        (&2_000.into(), &2_002.into(), &Value::Null)
    );
}

#[test]
fn what_is_uneven_widens_the_interval_and_is_told_as_a_residual() {
    let mut looks = threads();
    for (look, extra) in looks.iter_mut().zip([0, 40_960, 0, 40_960, 0, 40_960]) {
        look.tree.pss_bytes += extra;
    }
    let fits = Fits::of(&looks).unwrap();
    let interval = fits.pss.interval.unwrap();
    assert!(interval.contains(9_856.0) && interval.high() - interval.low() > 100.0, "{interval:?}");
    assert!((15_000.0..30_000.0).contains(&fits.pss.residual_max), "{}", fits.pss.residual_max);
    assert_eq!(fits.private.residual_max.round(), 0.0);
}

#[test]
fn objects_that_grow_in_step_are_the_units_and_others_are_not() {
    let mut looks = threads();
    let strangers = [50_000, 51_900, 49_100, 53_000, 50_200, 54_000];
    for (look, stranger) in looks.iter_mut().zip(strangers) {
        let units = look.units;
        look.slab = Some(slab(&[
            ("TCP", 30 + 2 * units, 2_368),
            ("kmalloc-32", 900 + units / 8, 32),
            ("buffer_head", stranger, 104),
            ("task_struct", 200 + units, 5_888),
        ]));
    }
    let measured = recorded(&looks);
    assert_eq!(metrics(&measured)["slab_bytes_per_unit"], 2.0 * 2_368.0 + 5_888.0);
    let objects = json!([
        { "name": "TCP", "per_unit": 2.0, "bytes_each": 2_368 },
        { "name": "task_struct", "per_unit": 1.0, "bytes_each": 5_888 },
    ]);
    assert_eq!(measured.evidence["slab_objects"], objects);
    // The total is what any user can see, and slab is not.
    assert_eq!(metrics(&measured)["total_bytes_per_unit"], 30_336.0);
    looks[3].slab = None;
    assert!(!metrics(&recorded(&looks)).contains_key("slab_bytes_per_unit"));
}

#[test]
fn one_number_of_units_is_no_line() {
    let same: Vec<Look> = [5; 6].into_iter().map(look).collect();
    assert!(Fits::of(&same).is_err());
    assert!(Fits::of(&[]).is_err());
}
