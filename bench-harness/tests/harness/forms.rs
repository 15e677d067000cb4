//! Results in each form: text, JSON and CSV, of every command, and nothing else on either stream.

use super::*;

/// Cells of RFC 4180, line by line.
fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut lines, mut line, mut cell, mut is_quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => line.push(std::mem::take(&mut cell)),
            '\r' if !is_quoted => {
                assert_eq!(letters.next(), Some('\n'), "a line ends in CR LF: {text}");
                line.push(std::mem::take(&mut cell));
                lines.push(std::mem::take(&mut line));
            }
            '\n' if !is_quoted => panic!("a line ends in LF alone: {text}"),
            other => cell.push(other),
        }
    }
    assert!(cell.is_empty() && line.is_empty(), "the last line has no end: {text}");
    lines
}

/// Says what is wrong with a table: it has a header, and each line has as many cells.
fn fault_of_csv(text: &str) -> Option<String> {
    let lines = parse_csv(text);
    let Some((header, rest)) = lines.split_first() else { return Some("no header".to_owned()) };
    let is_name = |name: &String| !name.is_empty() && !name.contains(['{', ':']);
    if header.len() < 2 || !header.iter().all(is_name) {
        return Some(format!("a header of {header:?}"));
    }
    rest.iter().find(|line| line.len() != header.len()).map(|line| format!("{line:?} under {header:?}"))
}

fn is_plain(text: &str) -> bool {
    !text.chars().any(|letter| letter.is_control() && letter != '\n' && letter != '\r')
}

#[test]
fn every_command_writes_each_form_and_no_control_bytes() {
    let directory = tempfile::tempdir().expect("a directory");
    let out = directory.path().join("run");
    let whole = output(run(&out, &["capacity.burst", "-m", "fake:good,fake:dies,fake:garish"]));
    assert_eq!(code(&whole), Some(0), "{}", stderr(&whole));
    assert!(is_plain(&stderr(&whole)), "{:?}", stderr(&whole));
    let out = out.to_str().expect("a name");
    let small = fixture("small.toml");
    let small = small.to_str().expect("a name");
    let dry = ["run", "--dry-run", "--quick", "-m", "fake", "capacity.burst", "--experiments", small];
    let commands: [(&[&str], i32); 9] = [
        (&["list"], 0),
        (&["doctor", "-d", "20ms"], 0),
        (&["verify", "-m", "fake:dies,fake:garish", "--checks", "burst-loses-nothing"], 3),
        (&["cell", "fake:good", "capacity.burst", "--quick", "--experiments", small], 0),
        (&["cell", "fake:garish", "capacity.burst", "--quick", "--experiments", small], 1),
        (&dry, 0),
        (&["report", out], 0),
        (&["compare", out, out], 0),
        (&["load", "http://127.0.0.1:1/", "-d", "20ms", "-w", "1ms", "-c", "2"], 1),
    ];
    for (arguments, expected) in commands {
        let of = |format: &str| {
            let output = outcome(&[arguments, &["--format", format]].concat());
            assert_eq!(code(&output), Some(expected), "{arguments:?}: {}", stderr(&output));
            assert!(is_plain(&stderr(&output)), "{arguments:?}: {:?}", stderr(&output));
            let stdout = String::from_utf8(output.stdout).expect("it is text");
            assert!(is_plain(&stdout) && !stdout.is_empty(), "{arguments:?}: {stdout:?}");
            stdout
        };
        assert!(!of("text").contains('\r'), "{arguments:?}");
        for value in serde_json::Deserializer::from_str(&of("json")).into_iter::<Value>() {
            let value = value.expect("it is JSON");
            assert!(value.is_object() || value.is_array(), "{arguments:?}: {value}");
        }
        assert_eq!(fault_of_csv(&of("csv")), None, "{arguments:?}");
    }
    // What is no table is told from one: JSON under this name, lines that are too short, and nothing.
    for mutant in ["{\"a\":1,\"b\":2}\r\n", "a,b\r\n1\r\n", ""] {
        assert!(fault_of_csv(mutant).is_some(), "{mutant:?}");
    }
}

#[test]
fn the_rows_of_cells_are_the_lines_of_their_csv() {
    let arguments =
        ["cell", "fake", "capacity.hold-tasks", "--quick", "steps=1,2", "wait=5ms", "--seed", "3"];
    let written = outcome(&[&arguments[..], &["--format", "csv"]].concat());
    assert_eq!(code(&written), Some(0), "{}", stderr(&written));
    let lines = parse_csv(&String::from_utf8_lossy(&written.stdout));
    let column =
        |name: &str| lines[0].iter().position(|found| found == name).expect("there is such a column");
    let (metric, params, order) = (column("metric"), column("params"), column("order"));
    let of_step = |step: &str| {
        let is_it = |line: &&Vec<String>| line[params].split(' ').any(|one| one == step);
        lines.iter().filter(is_it).map(|line| line[metric].as_str()).collect::<Vec<_>>()
    };
    for step in ["requests=1", "requests=2"] {
        assert!(of_step(step).contains(&"in_flight_peak"), "{step}: {lines:?}");
    }
    assert!(lines[1..].iter().any(|line| line[order] == "2"), "{lines:?}");
}

#[test]
fn colour_comes_where_it_is_forced_and_goes_where_it_is_not_wanted() {
    let bold = |arguments: &[&str], set: &[(&str, &str)]| {
        let mut command = harness(&[&["list"], arguments].concat());
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command.envs(set.iter().copied());
        let output = output(command);
        String::from_utf8_lossy(&output.stdout).contains("\x1b[1m")
    };
    assert!(!bold(&[], &[]) && bold(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(
        bold(&[], &[("CLICOLOR_FORCE", "1")]) && !bold(&["--color", "never"], &[("CLICOLOR_FORCE", "1")])
    );
    assert!(!bold(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}
