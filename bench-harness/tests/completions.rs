//! The scripts that complete the command line in a shell, tried in the shell where it is there.

use std::process::{Command, Output, Stdio};

const HARNESS: &str = env!("CARGO_BIN_EXE_bench-harness");

fn harness(arguments: &[&str]) -> Output {
    Command::new(HARNESS).args(arguments).output().expect("the harness can be started")
}

fn script(shell: &str) -> String {
    let output = harness(&["completions", shell]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("a script is text")
}

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let help = String::from_utf8(harness(&["--help"]).stdout).expect("the help is text");
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let listed = listed.take_while(|line| !line.is_empty());
    // What a command is for goes on in lines that are further to the right.
    let names = listed.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> =
        names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(names.len() > 8 && names.contains(&"completions".to_owned()), "{help}");
    names
}

/// What bash offers for the last of these words.
fn offered(words: &[&str]) -> Vec<String> {
    let last = words.len() - 1;
    let line = format!(
        "source <(\"$0\" completions bash); COMP_WORDS=(\"$@\"); COMP_CWORD={last}; \
         function=$(complete -p bench-harness | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
         \"$function\" bench-harness \"{}\" \"{}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words[last],
        words[last - 1],
    );
    let output = Command::new("bash").args(["-c", &line, HARNESS]).args(words).output().expect("bash");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn every_shell_has_a_script_that_names_each_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = script(shell);
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not know {command}");
        }
        assert!(!script.contains("-shard"), "{shell} offers what is hidden");
    }
}

#[test]
fn bash_takes_its_script() {
    let check = |script: &str| {
        let mut bash =
            Command::new("bash").arg("-n").stdin(Stdio::piped()).stderr(Stdio::null()).spawn().expect("bash");
        let mut input = bash.stdin.take().expect("it is piped");
        std::io::Write::write_all(&mut input, script.as_bytes()).expect("bash reads");
        drop(input);
        bash.wait().expect("it ends").success()
    };
    let script = script("bash");
    assert!(check(&script));
    assert!(!check(&script.replacen("esac", "", 1)), "the check is none");
}

#[test]
fn bash_offers_commands_flags_and_values() {
    let mut all = commands();
    let mut offered_first: Vec<String> =
        offered(&["bench-harness", ""]).into_iter().filter(|word| !word.starts_with('-')).collect();
    all.sort_unstable();
    offered_first.sort_unstable();
    assert_eq!(offered_first, all);
    assert_eq!(offered(&["bench-harness", "run", "--repet"]), ["--repetitions"]);
    assert_eq!(offered(&["bench-harness", "list", "--format", "j"]), ["json"]);
}

#[test]
fn a_shell_that_is_not_known_is_one_line() {
    let output = harness(&["completions", "tcsh"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
