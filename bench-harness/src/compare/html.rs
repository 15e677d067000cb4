//! A comparison as a page, in the manner of a report.

use maud::{Markup, html};

mod figures;

use super::text::{looked_anyway, sentences};
use super::{About, Comparison, Verdict};
use crate::format::{count, printable};
use crate::report::page::{self, Page};

/// The whole page.
pub(crate) fn html(comparison: &Comparison) -> String {
    let body = html! {
        header {
            h1 { "Two runs, side by side" }
            p class="about" {
                "Each figure is a median over repetitions, and B is held against A: the ratio, with its interval of 95 %. \
                 What is called regressed or improved differs by more than the threshold, and its interval leaves out 1."
            }
            nav aria-label="Contents" {
                ul {
                    li { a href="#found" { "What changed" } }
                    @for (verdict, _) in of_each(comparison) { li { a href={ "#" (verdict.name()) } { (title(verdict)) } } }
                    li { a href="#runs" { "The runs" } }
                }
            }
        }
        main {
            (warned(comparison))
            section id="found" tabindex="-1" {
                h2 { "What changed" }
                div class="headlines" { @for sentence in sentences(comparison) { p { (page::words(&printable(&sentence))) } } }
            }
            @for (verdict, number) in of_each(comparison) {
                section id=(verdict.name()) {
                    h2 { (title(verdict)) ": " (count(number as u64)) }
                    // What did not change is there for whoever looks for it.
                    details class="figures" open[verdict <= Verdict::Incomparable] {
                        summary { "Table: " (title(verdict)) }
                        (figures::html(title(verdict), comparison, verdict))
                    }
                }
            }
            section id="runs" {
                h2 { "The runs" }
                dl { (about("A", &comparison.a)) (about("B", &comparison.b)) }
                ul { @for note in &comparison.notes { li { (page::words(&printable(note))) } } }
            }
        }
    };
    Page { title: "Two runs, side by side", skip_to: "what changed", body }.render()
}

/// Why the runs as wholes cannot be compared.
fn warned(comparison: &Comparison) -> Markup {
    html! {
        @if !comparison.differences.is_empty() {
            section id="warnings" aria-label="Warnings" {
                h2 { "These runs cannot be compared" }
                ul {
                    @for difference in &comparison.differences {
                        li { b { (printable(&difference.what)) } ": " (printable(&difference.a)) " in A, " (printable(&difference.b)) " in B" }
                    }
                    @if let Some(anyway) = looked_anyway(comparison) { li { (anyway) } }
                }
            }
        }
    }
}

fn about(name: &str, about: &About) -> Markup {
    html! {
        div {
            dt { (name) }
            dd {
                (printable(&about.name)) ": a " (printable(&about.size)) " run of " (printable(&about.started_at)) ", revision "
                code { (printable(&about.revision)) }
            }
        }
    }
}

/// The verdicts that there are, and of how many figures.
fn of_each(comparison: &Comparison) -> impl Iterator<Item = (Verdict, usize)> {
    let counts = &comparison.counts;
    let all = [
        (Verdict::Regressed, counts.regressed),
        (Verdict::Improved, counts.improved),
        (Verdict::Incomparable, counts.incomparable),
        (Verdict::Inconclusive, counts.inconclusive),
        (Verdict::Unchanged, counts.unchanged),
    ];
    all.into_iter().filter(|(_, figures)| *figures > 0)
}

const fn title(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Regressed => "Regressed",
        Verdict::Improved => "Improved",
        Verdict::Incomparable => "Not comparable",
        Verdict::Inconclusive => "Inconclusive",
        Verdict::Unchanged => "Unchanged",
    }
}
