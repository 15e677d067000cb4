//! A run that was interrupted goes on, and comes to the same cells as one that was not.

use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::*;

const MATRIX: [&str; 7] = [
    "capacity.burst",
    "capacity.hold-tasks",
    "-n",
    "4",
    "-m",
    "fake,fake:pool=20,fake:dies",
    "--no-progress",
];

/// Which cells a run has rows of, each as often as it has one.
fn cells(out: &Path) -> Vec<String> {
    let cell = |row: &Value| {
        let of = |name: &str| row[name].to_string();
        ["experiment", "runtime", "variant", "params", "repetition", "cell_number", "ends_cell"]
            .map(of)
            .join(" ")
    };
    let mut cells: Vec<String> = rows(out).iter().map(cell).collect();
    cells.sort_unstable();
    cells
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("the file is there")
}

/// Starts a run, and waits until it has so many rows.
fn begun(mut command: Command, out: &Path, rows: usize) -> Child {
    let child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the harness can be started");
    let begin = Instant::now();
    while fs::read_to_string(out.join("cells.jsonl")).unwrap_or_default().lines().count() < rows {
        assert!(begin.elapsed() < Duration::from_secs(30), "there are not {rows} rows");
        thread::sleep(Duration::from_millis(2));
    }
    child
}

fn end(mut child: Child, signal: Signal) {
    kill_process(Pid::from_child(&child), signal).expect("it is alive");
    child.wait().expect("it ends");
}

fn resumed(out: &Path, more: &[&str]) -> Output {
    let directory = out.to_str().expect("a name");
    outcome(&[&["run", "--resume", directory, "--no-progress"], more].concat())
}

#[test]
fn a_run_that_was_cut_and_goes_on_has_each_cell_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let whole = directory.path().join("whole");
    let first = output(run(&whole, &MATRIX));
    assert_eq!(code(&first), Some(0), "{}", stderr(&first));
    for (signal, cut_after) in [(Signal::KILL, 9), (Signal::INT, 2)] {
        let out = directory.path().join(format!("cut-{cut_after}"));
        end(begun(run(&out, &MATRIX), &out, cut_after), signal);
        let before = text(&out.join("cells.jsonl"));
        if signal == Signal::KILL {
            // A harness that is killed may leave a row half written.
            fs::write(out.join("cells.jsonl"), format!("{before}{{\"format\":1,\"exper"))
                .expect("it can be written");
        }
        let plan: Value = serde_json::from_slice(&resumed(&out, &["--dry-run", "--format", "json"]).stdout)
            .expect("a plan of what is left");
        let second = resumed(&out, &[]);
        assert_eq!(code(&second), Some(0), "{}", stderr(&second));
        assert_eq!(cells(&out), cells(&whole));
        let said = stderr(&second);
        assert!(said.contains("of 24 cells are finished"), "{said}");
        assert_eq!(said.contains("the last one, is cut"), signal == Signal::KILL, "{said}");
        // What was finished is there as it was written.
        let after = text(&out.join("cells.jsonl"));
        let record = json(&out.join("run.json"));
        let kept = record["resumed"][0]["cells_kept"].as_u64().expect("a count");
        assert_eq!(
            plan["cells"].as_array().map(Vec::len),
            Some(24 - usize::try_from(kept).expect("a count"))
        );
        let ends =
            |text: &str| text.lines().filter(|line| line.contains("\"ends_cell\":true")).count() as u64;
        assert_eq!(ends(&before), kept);
        let finished: Vec<&str> =
            before.lines().filter(|line| after.lines().any(|other| other == *line)).collect();
        assert_eq!(ends(&finished.join("\n")), kept);
        assert_eq!((&record["partial"], &record["seed"]), (&false.into(), &7.into()));
        assert!(record["ended_at"].is_string());
        assert!(text(&out.join("report.md")).contains("the run was interrupted, and resumed at"));
        // And once more, when nothing is left.
        let third = resumed(&out, &[]);
        assert_eq!((code(&third), text(&out.join("cells.jsonl"))), (Some(0), after));
        assert!(stderr(&third).contains("nothing is left: all 24 cells are finished"), "{}", stderr(&third));
    }
}

#[test]
fn a_run_of_another_machine_or_build_is_not_gone_on_with() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    end(begun(run(&out, &MATRIX), &out, 1), Signal::INT);
    let (record, rows) = (json(&out.join("run.json")), text(&out.join("cells.jsonl")));
    let refused = |doctor: fn(&mut Value), difference: &str| {
        let mut doctored = record.clone();
        doctor(&mut doctored);
        fs::write(out.join("run.json"), doctored.to_string()).expect("it can be written");
        let output = resumed(&out, &[]);
        let said = stderr(&output);
        assert_eq!((code(&output), said.lines().count()), (Some(6), 1), "{said}");
        assert!(said.contains("cannot be resumed here: ") && said.contains(difference), "{said}");
        assert_eq!(text(&out.join("cells.jsonl")), rows);
    };
    refused(|run| run["build"]["revision"] = "0123".into(), "build.revision was \"0123\" and is ");
    refused(|run| run["build"]["lock_hash"] = "0123".into(), "build.lock_hash was \"0123\" and is ");
    refused(|run| run["machine"]["kernel"] = "2.4".into(), "machine.kernel was \"2.4\" and is ");
    refused(|run| run["machine"]["descriptors_soft"] = 7.into(), "machine.descriptors_soft was 7 and is ");
    let burst = "definition.capacity.burst.requests was 7 and is 100";
    refused(|run| run["definition"]["capacity.burst"]["requests"] = 7.into(), burst);
    refused(
        |run| run["runtimes"][0]["library_version"] = "0".into(),
        "runtimes.1.library_version was \"0\" and is \"1\"",
    );
    // Another seed has another order, in which the rows that there are have other places.
    refused(|run| run["seed"] = 8.into(), " of the plan is ");
    let both = |run: &mut Value| {
        run["machine"]["kernel"] = "2.4".into();
        run["workers"] = serde_json::json!([9_999]);
    };
    refused(both, "; workers.1 was 9999 and is ");
}

#[test]
fn what_is_invalid_is_measured_again_where_that_is_asked_for_and_its_first_rows_are_kept() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    // The one is always invalid. Of the other, a check is made to have failed, and a cell to be missing.
    let made = output(run(&out, &["capacity.burst", "-m", "fake,fake:hurries", "-n", "3"]));
    let told =
        format!("cells are invalid, and not ranked; run --resume {} --remeasure-invalid", out.display());
    assert_eq!((code(&made), stderr(&made).contains(&told)), (Some(0), true), "{}", stderr(&made));
    let of = |row: &Value, variant: &str| row["variant"] == variant;
    let mut first = rows(&out);
    first.iter_mut().filter(|row| of(row, "good") && row["repetition"] == 1).for_each(|row| {
        row["status"] = "invalid".into();
        row["checks"] = serde_json::json!([{"name": "of_the_machine", "ok": false, "value": 2, "limit": 1}]);
    });
    first.retain(|row| !(of(row, "good") && row["repetition"] == 3));
    let lines = |rows: &[Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    fs::write(out.join("cells.jsonl"), lines(&first)).expect("it can be written");
    let (replaced, kept): (Vec<Value>, Vec<Value>) =
        first.into_iter().partition(|row| row["status"] == "invalid");
    let cells_of = |rows: &[Value]| {
        let numbers = rows.iter().map(|row| row["cell_number"].as_u64());
        numbers.collect::<std::collections::BTreeSet<_>>().len() as u64
    };

    let again = resumed(&out, &["--remeasure-invalid"]);
    let said = stderr(&again);
    assert_eq!(code(&again), Some(0), "{said}");
    let resuming = format!("{} of 6 cells are finished and stay, ", cells_of(&kept));
    assert!(said.contains(&resuming) && said.contains(" go to replaced.jsonl"), "{said}");
    assert!(said.contains(&format!("{} are invalid and measured again", cells_of(&replaced))), "{said}");
    let now = rows(&out);
    assert_eq!(&now[..kept.len()], &kept[..], "what is valid stays as it was");
    assert!(now.iter().all(|row| (row["status"] == "ok") == of(row, "good")), "{now:#?}");
    assert_eq!(text(&out.join("replaced.jsonl")), lines(&replaced));
    let record = json(&out.join("run.json"));
    let by_check = record["resumed"][0]["invalid_by_check"].as_object().expect("names").clone();
    assert_eq!(by_check["of_the_machine"].as_u64(), Some(1), "{by_check:#?}");
    assert_eq!(by_check.values().filter_map(Value::as_u64).sum::<u64>(), cells_of(&replaced));
    let report = text(&out.join("report.md"));
    assert!(report.contains("4 of 6 cells were measured again at "), "{report}");
    assert!(report.contains("of_the_machine 1") && report.contains("is in replaced.jsonl"), "{report}");
    assert!(report.contains("the run was interrupted, and resumed at "), "a cell was missing: {report}");

    // What is invalid again stays where nobody asks, and is measured once more where somebody does.
    let stays = resumed(&out, &[]);
    assert!(
        stderr(&stays).contains("nothing is left") && stderr(&stays).contains(&told),
        "{}",
        stderr(&stays)
    );
    assert_eq!(rows(&out), now);
    let plan = resumed(&out, &["--remeasure-invalid", "--dry-run", "--format", "json"]);
    let plan: Value = serde_json::from_slice(&plan.stdout).expect("a plan");
    let labels: Vec<&str> =
        plan["cells"].as_array().expect("cells").iter().filter_map(|cell| cell["cell"].as_str()).collect();
    assert!(!labels.is_empty() && labels.iter().all(|label| label.contains("hurries")), "{labels:?}");
}

#[test]
fn what_cannot_be_resumed_is_said_in_one_line() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let refused = |output: &Output, why: &str| {
        let said = stderr(output);
        assert_eq!((code(output), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(why), "{said}");
    };
    refused(&resumed(&out, &[]), "holds no run");
    refused(&resumed(&out, &["--seed", "3"]), "'--resume <DIR>' cannot be used with");
    refused(&resumed(&out, &["capacity"]), "'--resume <DIR>' cannot be used with");
    refused(&outcome(&["run", "--remeasure-invalid"]), "--resume <DIR>");
    let running = begun(run(&out, &["capacity.burst", "-m", "fake:hangs,fake", "-n", "2"]), &out, 1);
    refused(&resumed(&out, &[]), "another harness is still writing to ");
    end(running, Signal::INT);
    let record = text(&out.join("run.json"));
    fs::write(out.join("run.json"), record.replacen("\"run\"", "\"aa\"", 1)).expect("it can be written");
    refused(&resumed(&out, &[]), "its command cannot be read: unexpected argument");
    fs::write(
        out.join("run.json"),
        record.replacen("\"run\"", "\"list\"", 1).replacen("\"--quick\",", "", 1),
    )
    .expect("it can be written");
    refused(&resumed(&out, &[]), "cannot be resumed: ");
}
