//! The skeleton of every page: one file that needs no other one, no script and no network; and what pages have in common.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::patterns;
use crate::format::signs;

const STYLE: &str = include_str!("html/style.css");

/// What a page may load: nothing but its own style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A page, by what is its own.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// What the first link leads to, which is found by `found`.
    pub(crate) skip_to: &'a str,
    /// Header and main.
    pub(crate) body: Markup,
}

impl Page<'_> {
    pub(crate) fn render(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="color-scheme" content="light dark";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a class="skip" href="#found" { "Skip to " (self.skip_to) }
                    (patterns())
                    (self.body)
                }
            }
        };
        page.into_string()
    }
}

/// A sentence, whose words between backticks are names.
pub(crate) fn words(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (signs(part)) } } @else { (signs(part)) }
        }
    }
}

/// Text with a list in it, as Markdown has one.
pub(super) fn prose(text: &str) -> Markup {
    let lines = text.lines().filter(|line| !line.is_empty());
    let (items, sentences): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("* "));
    html! {
        p { (words(&sentences.join(" "))) }
        @if !items.is_empty() {
            ul { @for item in items { li { (words(item.trim_start_matches("* "))) } } }
        }
    }
}
