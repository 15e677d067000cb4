//! A table, as text for a terminal, as Markdown, and as CSV.

use crate::format::printable;
use crate::style::Style;

mod narrow;

/// Letters between two columns.
const GAP: usize = 2;

/// Rows of cells under a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// What each row was told from, where it can be looked up.
    anchors: Vec<Option<String>>,
}

impl Table {
    pub(crate) fn new(header: &[&str]) -> Table {
        Table {
            header: header.iter().map(|name| (*name).to_owned()).collect(),
            rows: Vec::new(),
            anchors: Vec::new(),
        }
    }

    /// Adds a row, which has as many cells as the header. Control characters become text, so that a cell is one line.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        debug_assert_eq!(row.len(), self.header.len(), "{row:?}");
        self.rows.push(row.iter().map(|cell| printable(cell).into_owned()).collect());
        self.anchors.push(None);
    }

    /// Says where the last row was told from.
    pub(crate) fn told_from(&mut self, anchor: String) {
        if let Some(last) = self.anchors.last_mut() {
            *last = Some(anchor);
        }
    }

    pub(crate) fn header(&self) -> &[String] {
        &self.header
    }

    /// Each row, and what it was told from.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (&[String], Option<&str>)> {
        self.rows.iter().map(Vec::as_slice).zip(self.anchors.iter().map(Option::as_deref))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Aligned columns: words to the left, figures to the right. It is no wider than the terminal, where there is one.
    pub(crate) fn text(&self, style: Style) -> String {
        let natural = self.widths(|cell| cell.chars().count());
        let whole = natural.iter().sum::<usize>() + GAP * natural.len().saturating_sub(1);
        let widths = match style.width.filter(|width| *width < whole) {
            None => natural,
            Some(width) => match narrow::widths(self, width) {
                None => return narrow::lists(self, style),
                Some(widths) => widths,
            },
        };
        let is_left: Vec<bool> = (0..widths.len()).map(|column| self.is_left(column)).collect();
        let mut text = String::new();
        for (index, row) in std::iter::once(&self.header).chain(&self.rows).enumerate() {
            let cells: Vec<Vec<String>> =
                row.iter().zip(&widths).map(|(cell, width)| narrow::wrapped(cell, *width)).collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for number in 0..height {
                let padded = cells.iter().zip(&widths).zip(&is_left).map(|((lines, width), is_left)| {
                    let part = lines.get(number).map_or("", String::as_str);
                    let gap = " ".repeat(width - part.chars().count());
                    if *is_left { format!("{part}{gap}") } else { format!("{gap}{part}") }
                });
                let line = padded.collect::<Vec<_>>().join(&" ".repeat(GAP));
                let line = line.trim_end();
                text.push_str(&if index == 0 { style.bold(line) } else { line.to_owned() });
                text.push('\n');
            }
        }
        text
    }

    /// A table in Markdown.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let escaped = |row: &Vec<String>| row.iter().map(|cell| markdown_cell(cell)).collect();
        let rule = (0..self.header.len())
            .map(|column| if self.is_left(column) { "---".to_owned() } else { "---:".to_owned() });
        let mut text = line(escaped(&self.header)) + &line(rule.collect());
        text.extend(self.rows.iter().map(|row| line(escaped(row))));
        text
    }

    /// RFC 4180, with a header.
    pub(crate) fn csv(&self) -> String {
        std::iter::once(&self.header).chain(&self.rows).map(|row| csv_line(row)).collect()
    }

    /// A column of words, not figures, is aligned to the left.
    pub(crate) fn is_left(&self, column: usize) -> bool {
        let is_figure = |row: &Vec<String>| {
            let first = row[column].trim_start_matches(['>', '=', ' ']).chars().next();
            first.is_none_or(|first| first.is_ascii_digit() || first == '-')
        };
        column == 0 || !self.rows.iter().all(is_figure)
    }

    fn widths(&self, width: impl Fn(&String) -> usize) -> Vec<usize> {
        let column = |index: usize| {
            let cells = std::iter::once(&self.header).chain(&self.rows).map(|row| width(&row[index]));
            cells.max().unwrap_or(0)
        };
        (0..self.header.len()).map(column).collect()
    }
}

/// A line of CSV with its end, as RFC 4180 has it.
pub(crate) fn csv_line(cells: &[impl AsRef<str>]) -> String {
    let mut line = String::new();
    for (column, cell) in cells.iter().map(AsRef::as_ref).enumerate() {
        line.push_str(if column == 0 { "" } else { "," });
        if cell.contains(['"', ',', '\n', '\r']) {
            line.extend(["\"", &cell.replace('"', "\"\""), "\""]);
        } else {
            line.push_str(cell);
        }
    }
    line + "\r\n"
}

/// Words in a cell of Markdown: a bar would end it, a backslash could take the bar's escape away, and a bracket could
/// begin a tag.
fn markdown_cell(cell: &str) -> String {
    let mut escaped = String::with_capacity(cell.len());
    for letter in cell.chars() {
        if matches!(letter, '\\' | '|' | '<') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["variant", "elapsed", "limited by"]);
        table.push(vec!["tokio".into(), "104.2 ms".into(), "pool size".into()]);
        table.push(vec!["threads:pool=200".into(), "5.012 s".into(), "a | b, \"c\"".into()]);
        table
    }

    #[test]
    fn text_is_aligned() {
        let expected = "\
variant            elapsed  limited by
tokio             104.2 ms  pool size
threads:pool=200   5.012 s  a | b, \"c\"
";
        assert_eq!(table().text(Style::default()), expected);
        assert!(table().text(Style { is_bold: true, width: None }).starts_with("\x1b[1mvariant"));
    }

    #[test]
    fn markdown_and_csv_are_escaped() {
        let markdown = table().markdown();
        assert!(
            markdown.starts_with("| variant | elapsed | limited by |\n| --- | ---: | --- |\n"),
            "{markdown}"
        );
        assert!(markdown.contains("a \\| b"));
        let mut hostile = Table::new(&["reason"]);
        hostile.push(vec!["a\\| b\n| <script>\x1b[2J".into()]);
        assert!(
            hostile.markdown().ends_with("| a\\\\\\| b\\\\n\\| \\<script>\\\\u{1b}[2J |\n"),
            "{}",
            hostile.markdown()
        );
        assert_eq!(hostile.text(Style::default()).lines().count(), 2);
        assert!(table().csv().ends_with("threads:pool=200,5.012 s,\"a | b, \"\"c\"\"\"\r\n"));
    }
}
