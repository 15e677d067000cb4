//! A directory is written and read back, whole and not.

use super::*;
use crate::row::{CellId, FORMAT, Status};

fn row(repetition: u32) -> Row {
    let cell = CellId {
        experiment: "capacity.burst".into(),
        runtime: "tokio".into(),
        variant: "multi-thread".into(),
        params: std::collections::BTreeMap::new(),
    };
    Row::without_figures(cell, repetition, Status::Failed, "it died")
}

fn create(out: &Path) -> anyhow::Result<Store> {
    Store::create(Some(out), "2025-12-02", "capacity", &Run { format: FORMAT, ..Run::default() })
}

/// A run of two rows, and the text of its rows.
fn two_rows(out: &Path) -> String {
    let mut store = create(out).unwrap();
    store.append(row(1)).unwrap();
    store.append(row(2)).unwrap();
    assert_eq!(read(out).unwrap().1.iter().map(|row| row.order).collect::<Vec<_>>(), [1, 2]);
    fs::read_to_string(out.join(ROWS)).unwrap()
}

fn error(result: anyhow::Result<impl Sized>) -> String {
    let Err(error) = result else { panic!("it should fail") };
    assert!(error.is::<crate::exit::Usage>(), "{error:#}");
    format!("{error:#}")
}

#[test]
fn rows_are_on_disk_as_they_come_and_can_be_read_back() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("a/run");
    let text = two_rows(&out);
    assert_eq!((text.lines().count(), text.ends_with('\n')), (2, true));
    let (run, rows) = read(&out).unwrap();
    assert_eq!((run.partial, run.warnings.len(), rows.len()), (false, 0, 2));
    assert!(error(create(&out)).contains("holds a run already"));
    fs::remove_file(out.join(RUN)).unwrap();
    assert!(error(read(&out)).contains("holds no run: cannot read run.json"));
}

#[test]
fn only_an_empty_directory_is_taken() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("notes.txt");
    fs::write(&file, "mine").unwrap();
    assert!(error(create(parent.path())).contains("is not empty: it holds \"notes.txt\""));
    assert!(error(create(&file)).contains("notes.txt is no directory"));
    assert!(error(create(&file.join("run"))).contains("cannot make the directory"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    let empty = parent.path().join("empty");
    fs::create_dir(&empty).unwrap();
    create(&empty).unwrap();
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 2);
}

#[test]
fn runs_of_one_day_have_directories_of_their_own() {
    let parent = tempfile::tempdir().unwrap();
    let name = || fresh(parent.path(), "2025-12-02", "capacity").unwrap();
    assert!(name().ends_with("2025-12-02-capacity"));
    assert!(name().ends_with("2025-12-02-capacity-2"));
}

#[test]
fn a_file_that_cannot_be_written_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    // A directory is in its place, which a rename does not replace.
    fs::create_dir(directory.path().join("report.md")).unwrap();
    let error = write(directory.path(), "report.md", "text").unwrap_err();
    assert!(format!("{error:#}").contains("cannot write"), "{error:#}");
    let names: Vec<_> =
        fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["report.md"]);
}

#[test]
fn a_last_line_that_is_cut_is_left_out_and_said() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("run");
    let text = two_rows(&out);
    for kept in [text.len() - 2, text.len() - 30, text.find('\n').unwrap() + 2] {
        fs::write(out.join(ROWS), &text[..kept]).unwrap();
        let (run, rows) = read(&out).unwrap();
        assert_eq!((rows.len(), run.partial), (1, true), "{kept}");
        assert!(
            run.warnings[0].contains("line 2 of cells.jsonl, the last one, is cut"),
            "{:?}",
            run.warnings
        );
    }
    // A character that is cut is none.
    fs::write(
        out.join(ROWS),
        [text.as_bytes(), "{\"reason\":\"é".as_bytes().split_last().unwrap().1].concat(),
    )
    .unwrap();
    assert_eq!(read(&out).unwrap().1.len(), 2);
    // What lacks its end alone is whole.
    fs::write(out.join(ROWS), text.trim_end()).unwrap();
    let (run, rows) = read(&out).unwrap();
    assert_eq!((rows.len(), run.partial), (2, false));
}

#[test]
fn damage_elsewhere_is_named_by_its_line() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("run");
    let text = two_rows(&out);
    fs::write(out.join(ROWS), text.replacen("capacity.burst\"", "capacity.burst", 1)).unwrap();
    assert!(error(read(&out)).contains("cells.jsonl line 1 is damaged"));
    fs::write(out.join(ROWS), format!("{text}{{}}\n")).unwrap();
    assert!(error(read(&out)).contains("cells.jsonl line 3 is damaged: missing field `format`"));
}

#[test]
fn another_format_is_refused_before_its_fields_are_read() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("run");
    let text = two_rows(&out);
    let own = format!("\"format\":{FORMAT}");
    fs::write(out.join(ROWS), text.replacen(&own, "\"format\":7", 2).replace("\"runtime\"", "\"engine\""))
        .unwrap();
    assert!(error(read(&out)).contains("cells.jsonl line 1 is of format 7, and this harness reads format 1"));
    let record = fs::read_to_string(out.join(RUN)).unwrap();
    fs::write(out.join(RUN), record.replacen("\"format\": 1", "\"format\": 99", 1)).unwrap();
    assert!(error(read(&out)).contains("run.json is of format 99"));
    fs::write(out.join(RUN), "{}").unwrap();
    assert!(error(read(&out)).contains("run.json is damaged: missing field `format`"));
}

#[test]
fn a_repetition_that_comes_twice_counts_once() {
    let parent = tempfile::tempdir().unwrap();
    let out = parent.path().join("run");
    let text = two_rows(&out);
    let later = text.replace("it died", "it died again");
    fs::write(out.join(ROWS), text + later.lines().next().unwrap() + "\n").unwrap();
    let (run, rows) = read(&out).unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row.repetition, row.reason.as_deref())).collect();
    assert_eq!(told, [(2, Some("it died")), (1, Some("it died again"))]);
    assert!(run.warnings[0].starts_with("cells.jsonl has 1 row again"), "{:?}", run.warnings);
    assert!(
        run.warnings[0].contains("capacity.burst of tokio:multi-thread, repetition 1"),
        "{:?}",
        run.warnings
    );
}
