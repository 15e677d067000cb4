//! The throughput experiments, against the fake runner.

use super::{Value, code, output, row, rows, run, stderr};

/// The fake runner goes wherever the kernel puts it, whatever its spec says, and its snapshots have neither clock nor usage.
#[test]
fn a_server_that_does_not_keep_its_place_has_no_ranked_figure() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let out = directory.path().join("run");
    let output = output(run(&out, &["throughput", "-m", "fake:good"]));
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    let rows = rows(&out);
    let of =
        |name: &str| rows.iter().find(|row| row["experiment"] == name).expect("each experiment has a row");
    let closed = of("throughput.closed");
    assert_eq!(closed["status"], "invalid", "{closed:#}");
    let check = |name: &str| {
        let checks = closed["checks"].as_array().expect("a row has checks");
        checks.iter().find(|check| check["name"] == name).expect("a check of this name").clone()
    };
    assert_eq!(check("client_covers_servers_window")["ok"], false);
    assert_eq!(check("answered_on_both_sides")["ok"], true, "{closed:#}");
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(check("server_cpus")["ok"], cpus == 1, "{closed:#}");
    // The rate of the open loop is a share of the floor's, and there is no floor among the fakes.
    let open = of("throughput.open");
    assert_eq!(open["status"], "failed");
    assert!(open["reason"].as_str().is_some_and(|reason| reason.contains("no floor runner")), "{open:#}");
}

#[test]
fn a_number_of_cpus_is_a_parameter_and_has_its_limits() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let out = directory.path().join("run");
    let done = output(run(&out, &["capacity.burst", "-m", "fake:good", "--cpus", "1"]));
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    let rows = rows(&out);
    assert_eq!(row(&rows, "good", Some(100))["params"]["cpus"], Value::from(1));
    let refused = output(run(&directory.path().join("other"), &["capacity.burst", "--cpus", "100000"]));
    assert_eq!(code(&refused), Some(2));
    assert!(stderr(&refused).contains("this process may use from 1 to"), "{}", stderr(&refused));
}
