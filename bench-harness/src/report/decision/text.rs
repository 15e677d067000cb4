//! The decision table in words: its cells, and how to read it. Markdown, from the same values as any other form.

use std::fmt::Write;

use super::{Cell, Decision, Standing};
use crate::report::sentence;
use crate::table::Table;

impl Decision {
    /// What has to be known to read the table.
    pub(crate) fn how_to_read(&self) -> String {
        let ranks = if self.is_ranked {
            "`best` is ahead of all other models by more than the noise, and `tie` is not to be told from the first of its \
             column: they differ by no more than the noise floor where one was measured for as many repetitions, or else \
             their intervals overlap."
        } else {
            "No best one and no tie is told: that takes repetitions of each cell, or a noise floor."
        };
        format!(
            "The floor has no model around the work and is not ranked, nor is what is `>=` or whose check failed. {ranks} \
             A number in brackets is that of a reason below the table."
        )
    }

    /// The table as Markdown, with its conditions and reasons.
    pub(crate) fn markdown(&self) -> String {
        let header: Vec<&str> =
            ["variant", "model"].into_iter().chain(self.columns.iter().map(|column| column.title)).collect();
        let mut table = Table::new(&header);
        for line in &self.lines {
            let cells = line.cells.iter().map(Cell::text);
            table.push([line.label.clone(), line.model.clone()].into_iter().chain(cells).collect());
        }
        let mut text = table.markdown();
        text.push('\n');
        for column in &self.columns {
            let _ = writeln!(text, "* {}: {}", column.title, column.condition);
        }
        let _ = writeln!(text, "\n{}", self.how_to_read());
        for (reason, number) in self.reasons.iter().zip(1..) {
            let _ =
                write!(text, "{}({number}) {}", if number == 1 { "\n" } else { "  \n" }, sentence(reason));
        }
        text.push_str(if self.reasons.is_empty() { "" } else { "\n" });
        text
    }

    /// Figures alone, as a table of Markdown: no intervals, no notes, and no reasons but a word.
    pub(crate) fn brief(&self) -> String {
        let header: Vec<&str> =
            ["variant"].into_iter().chain(self.columns.iter().map(|column| column.title)).collect();
        let mut table = Table::new(&header);
        for line in &self.lines {
            let cells = line.cells.iter().map(Cell::brief);
            table.push([line.label.clone()].into_iter().chain(cells).collect());
        }
        table.markdown()
    }
}

impl Cell {
    /// `577 B, best`
    fn brief(&self) -> String {
        let told = self.told.map(|(status, _)| status.to_owned());
        let parts = [self.figure.clone(), self.standing.name().map(str::to_owned), told];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// `577 B [571 B, 583 B] 93.8 %, best; user 577 B, kernel 0 B`
    fn text(&self) -> String {
        let figure = self.figure.as_ref().map(|figure| match &self.interval {
            Some(interval) => format!("{figure} {interval}"),
            None => figure.clone(),
        });
        let told = self.told.map(|(status, number)| format!("{status} ({number})"));
        let parts = [figure, self.standing.name().map(str::to_owned), self.note.clone(), told];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

impl Standing {
    /// The word for it, where there is something to say.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Standing::Untold => None,
            Standing::Best => Some("best"),
            Standing::Tie => Some("tie"),
        }
    }
}
