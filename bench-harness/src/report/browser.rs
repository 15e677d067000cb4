//! A browser that shows a page, for tests: where none is installed, they say that they looked at nothing.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use maud::html;

use super::page::Page;

/// How long a browser may take to show a page.
const LIMIT: Duration = Duration::from_secs(60);

/// More bytes than the picture of a page has that shows nearly nothing.
const BYTES: u64 = 30_000;

/// Opens a page: its console has nothing to say, and it shows something.
pub(crate) fn shows_without_a_complaint(page: &str) {
    let Some((said, picture)) = shown(page) else {
        crate::output::tell("skipped: no Chromium is installed, in which the page could be opened");
        return;
    };
    // What a page has to say, such as what its policy refused, is on its console.
    assert_eq!(said, "");
    assert!(picture > BYTES, "{picture}");
}

/// A browser that draws without a screen, where there is one.
fn browser() -> Option<&'static str> {
    let answers = |name: &&str| {
        let asked = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    ["chromium", "chromium-browser", "google-chrome"].into_iter().find(answers)
}

/// Opens a page, and returns what its console has to say and how many bytes its picture has; none without a browser.
fn shown(page: &str) -> Option<(String, u64)> {
    let browser = browser()?;
    let directory = tempfile::tempdir().expect("a directory");
    let at = |name: &str| directory.path().join(name);
    fs::write(at("page.html"), page).expect("a page");
    let mut child = Command::new(browser)
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"])
        .args(["--disable-background-networking", "--no-first-run", "--window-size=820,2000"])
        .arg(format!("--user-data-dir={}", at("profile").display()))
        .arg(format!("--screenshot={}", at("page.png").display()))
        .arg(format!("file://{}", at("page.html").display()))
        .stdout(Stdio::null())
        .stderr(File::create(at("log")).expect("a log"))
        .spawn()
        .expect("a browser");
    let deadline = Instant::now() + LIMIT;
    while child.try_wait().expect("a status").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("an end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let log = fs::read_to_string(at("log")).expect("a log");
    let said = log.lines().filter(|line| line.contains("CONSOLE")).collect::<Vec<_>>().join("\n");
    Some((said, fs::metadata(at("page.png")).map_or(0, |picture| picture.len())))
}

#[test]
fn a_page_that_is_empty_or_asks_for_what_it_must_not_load_is_caught() {
    let body = html! { main { img src="https://example.org/a.png"; } };
    let mutant = Page { title: "", skip_to: "", body }.render();
    let Some((said, picture)) = shown(&mutant) else { return };
    assert!(said.contains("example.org"), "{said}");
    assert!(picture < BYTES, "{picture}");
}
