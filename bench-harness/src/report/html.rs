//! `report.html`: one page that needs no other file, no script and no network.

use maud::{Markup, html};

use super::chart::Chart;
use super::page::{Page, prose, words};
use super::study::{STUDIES, Study, headlines};
use super::{DECISION, Data, Decision, HOW_TO_READ, all_warnings, findings, machine, of_study, ties};
use crate::format::{count, printable};

mod decision;
mod rows;
mod table;

const TITLE: &str = "Execution models, side by side";

/// The report of a run, as a page.
pub(crate) fn html(data: &Data<'_>) -> String {
    let decision = Decision::of(data.run, data.groups);
    let parts: Vec<Part> = STUDIES.iter().filter_map(|study| Part::of(study, data)).collect();
    let body = html! {
        (header(data, &parts))
        main {
            (warned(data))
            (found(data))
            @if !decision.lines.is_empty() {
                section id="decision" { h2 { (DECISION) } (decision::html(&decision)) }
            }
            @for part in &parts { (part.html()) }
            section id="reading" {
                h2 { "How to read the figures" }
                p { (words(HOW_TO_READ)) }
                @for part in &parts {
                    @if !part.how_to_read.is_empty() { (prose(&part.how_to_read)) }
                }
            }
            (machine_html(data))
            (rows::html(data))
        }
    };
    Page { title: TITLE, skip_to: "what was found", body }.render()
}

/// What one study brings to the page.
struct Part {
    name: &'static str,
    title: &'static str,
    charts: Vec<Chart>,
    sections: Vec<super::Section>,
    how_to_read: String,
}

impl Part {
    fn of(study: &Study, data: &Data<'_>) -> Option<Part> {
        let mut charts = (study.charts)(data);
        charts.retain(|chart| !chart.is_empty());
        let sections = of_study(study, data);
        let how_to_read = (study.how_to_read)(data);
        let part = Part { name: study.name, title: study.title, charts, sections, how_to_read };
        (!part.charts.is_empty() || !part.sections.is_empty()).then_some(part)
    }

    fn html(&self) -> Markup {
        html! {
            section id=(self.name) {
                h2 { (self.title) }
                div class="charts" { @for chart in &self.charts { (chart.html()) } }
                @for section in &self.sections {
                    details class="figures" {
                        summary { "Table: " (section.title) }
                        (table::html(&section.title, &section.table))
                    }
                }
            }
        }
    }
}

fn header(data: &Data<'_>, parts: &[Part]) -> Markup {
    let run = data.run;
    let machine = [run.machine.cpu.clone(), run.machine.cpus.map(|cpus| format!("{cpus} CPUs"))];
    let machine: Vec<String> = machine.into_iter().flatten().collect();
    let most = data.rows.iter().map(|row| row.repetition).max().unwrap_or(0);
    html! {
        header {
            h1 { (TITLE) }
            p class="about" {
                "The same handler and the same server on each model, under the same load. "
                "A " (run.size) " run of " (run.started_at) ": "
                (count(data.rows.len() as u64)) " rows, "
                @if most == 1 { "one repetition" } @else { "up to " (most) " repetitions" }
                " of each cell"
                @if !machine.is_empty() { ", on " (printable(&machine.join(", "))) }
                "."
            }
            nav aria-label="Contents" {
                ul {
                    li { a href="#found" { "Findings" } }
                    li { a href="#decision" { "Side by side" } }
                    @for part in parts { li { a href={ "#" (part.name) } { (capitalised(part.name)) } } }
                    li { a href="#machine" { "Machine" } }
                    li { a href="#rows" { "Raw rows" } }
                }
            }
        }
    }
}

fn warned(data: &Data<'_>) -> Markup {
    let warnings = all_warnings(data.run, data.groups);
    html! {
        @if !warnings.is_empty() {
            section id="warnings" aria-label="Warnings" {
                h2 { "Before you believe a figure" }
                ul { @for warning in &warnings { li { (words(&printable(warning))) } } }
            }
        }
    }
}

fn found(data: &Data<'_>) -> Markup {
    let headlines = headlines(data.groups);
    let findings = [findings(data.groups), ties(data.run, data.groups)].concat();
    html! {
        section id="found" tabindex="-1" {
            h2 { "What was found" }
            @if headlines.is_empty() && findings.is_empty() { p { "Nothing: no cell has figures." } }
            div class="headlines" { @for headline in &headlines { p { (words(&printable(headline))) } } }
            @if !findings.is_empty() {
                details {
                    summary { "All that was found, in " (findings.len()) " sentences" }
                    ul { @for finding in &findings { li { (words(&printable(finding))) } } }
                }
            }
        }
    }
}

fn machine_html(data: &Data<'_>) -> Markup {
    html! {
        section id="machine" {
            h2 { (machine::TITLE) }
            dl { @for (name, value) in machine::lines(data.run) { div { dt { (name) } dd { (value) } } } }
            pre tabindex="0" { (machine::command(data.run)) }
        }
    }
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
