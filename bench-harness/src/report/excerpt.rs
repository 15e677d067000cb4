//! The excerpt of a report that another document has: a README says what was found, in the words of a run.

use std::fmt::Write;
use std::path::Path;

use super::decision::Decision;
use super::{Data, headlines, sentence, warnings};
use crate::format::{count, printable};

/// The lines between which a document has its excerpt.
pub(crate) const BEGIN: &str = "<!-- findings of a run, by `bench-harness report DIR --into FILE` -->";
pub(crate) const END: &str = "<!-- end of the findings -->";

/// What was found in a sentence a study, and every variant beside its headline figures.
pub(crate) fn excerpt(data: &Data<'_>, directory: &Path) -> String {
    let Data { run, rows, groups, .. } = *data;
    let machine = &run.machine;
    let cpus = machine.cpus.map(|cpus| format!("{cpus} CPUs of ")).unwrap_or_default();
    let cpu = machine.cpu.as_deref().unwrap_or("a machine that does not say what it is");
    let kernel = machine.kernel.as_deref().map(|kernel| format!(", {kernel}")).unwrap_or_default();
    let at = directory.display();
    let mut text = format!(
        "From a {} run of {} rows on {cpus}{}{}, at revision {:.12}: [the whole report]({at}/report.md), [its page]({at}/report.html), \
         [its rows]({at}/cells.jsonl).\n\n",
        run.size,
        count(u64::try_from(rows.len()).unwrap_or(u64::MAX)),
        printable(cpu),
        printable(&kernel),
        run.build.revision,
    );
    for warning in warnings(run, groups) {
        let _ = writeln!(text, "* **Warning:** {}.", sentence(&warning));
    }
    for headline in headlines(groups) {
        let _ = writeln!(text, "* {}", sentence(&headline));
    }
    let decision = Decision::of(run, groups);
    if !decision.lines.is_empty() {
        let _ = write!(text, "\n{}", decision.brief());
    }
    text
}

/// `document` with the excerpt between its markers; none where it does not have both, in this order.
pub(crate) fn put(document: &str, excerpt: &str) -> Option<String> {
    let (before, rest) = document.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n\n{excerpt}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_the_markers_is_replaced_and_nothing_else() {
        let document = format!("# Title\n\n{BEGIN}\nold\n{END}\n\n## Next\n");
        let first = put(&document, "* new\n").unwrap();
        assert_eq!(first, format!("# Title\n\n{BEGIN}\n\n* new\n\n{END}\n\n## Next\n"));
        assert_eq!(put(&first, "* new\n").unwrap(), first);
        for without in [String::new(), BEGIN.to_owned(), format!("{END}{BEGIN}")] {
            assert_eq!(put(&without, "* new\n"), None);
        }
    }
}
