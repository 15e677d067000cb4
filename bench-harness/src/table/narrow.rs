//! A table that is wider than the terminal: its words are wrapped within their columns; and where these do not fit either,
//! each row becomes a list of its cells.

use super::{GAP, Table};
use crate::style::Style;

/// A column of words is not made narrower than its longest word, or than this where that is longer.
const WORD_MOST: usize = 24;

/// How wide each column becomes so that a line has at most `width` letters; none where they do not fit.
pub(super) fn widths(table: &Table, width: usize) -> Option<Vec<usize>> {
    let mut widths = table.widths(|cell| cell.chars().count());
    let longest_word = |cell: &String| cell.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
    let words = table.widths(longest_word);
    let least: Vec<usize> = (0..widths.len())
        .map(|column| if table.is_left(column) { words[column].min(WORD_MOST) } else { widths[column] })
        .collect();
    let room = width.checked_sub(GAP * widths.len().saturating_sub(1))?;
    if least.iter().sum::<usize>() > room {
        return None;
    }
    // The widest gives way first, so that a long reason is wrapped before a short name is.
    while widths.iter().sum::<usize>() > room {
        let wider = (0..widths.len()).filter(|column| widths[*column] > least[*column]);
        let widest = wider.max_by_key(|column| widths[*column])?;
        widths[widest] -= 1;
    }
    Some(widths)
}

/// The lines of a cell, none of more than `width` letters. A word that is longer is broken.
pub(super) fn wrapped(cell: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for word in cell.split(' ') {
        let mut letters: Vec<char> = word.chars().collect();
        if used > 0 && used + 1 + letters.len() > width {
            lines.push(std::mem::take(&mut line));
            used = 0;
        }
        if used > 0 {
            line.push(' ');
            used += 1;
        }
        while letters.len() > width {
            let rest = letters.split_off(width);
            lines.push(letters.into_iter().collect());
            letters = rest;
        }
        used += letters.len();
        line.extend(letters);
    }
    lines.push(line);
    lines
}

/// Each row as a list of its cells under their names. The terminal breaks what is too long for it.
pub(super) fn lists(table: &Table, style: Style) -> String {
    let mut text = String::new();
    for (index, row) in table.rows.iter().enumerate() {
        text.push_str(if index > 0 { "\n" } else { "" });
        for (name, cell) in table.header.iter().zip(row).filter(|(_, cell)| !cell.is_empty()) {
            text.push_str(&format!("{}: {cell}\n", style.bold(name)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn styled(width: usize) -> Style {
        Style { width: Some(width), ..Style::default() }
    }

    fn table() -> Table {
        let mut table = Table::new(&["variant", "elapsed", "reason"]);
        table.push(vec!["tokio".into(), "104.2 ms".into(), "it waits for what never comes".into()]);
        table.push(vec!["threads:pool=200".into(), "5 s".into(), String::new()]);
        table
    }

    #[test]
    fn words_are_wrapped_and_figures_are_not() {
        let expected = "\
variant            elapsed  reason
tokio             104.2 ms  it waits for
                            what never
                            comes
threads:pool=200       5 s
";
        assert_eq!(table().text(styled(40)), expected);
        // As wide as it is, and wider, it is as it was.
        let whole = table().text(Style::default());
        let width = whole.lines().map(|line| line.chars().count()).max().unwrap();
        assert_eq!((table().text(styled(width)), table().text(styled(500))), (whole.clone(), whole.clone()));
        assert_ne!(table().text(styled(width - 1)), whole);
    }

    #[test]
    fn what_does_not_fit_at_all_is_a_list() {
        let expected = "\
variant: tokio
elapsed: 104.2 ms
reason: it waits for what never comes

variant: threads:pool=200
elapsed: 5 s
";
        assert_eq!((table().text(styled(1)), table().text(styled(20))), (expected.into(), expected.into()));
        assert_eq!(Table::new(&["variant", "reason"]).text(styled(1)), "");
    }

    proptest! {
        #[test]
        fn no_line_is_too_long_and_no_letter_is_lost(cell in "[a-é ]{0,60}", width in 1_usize..30) {
            let lines = wrapped(&cell, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width), "{lines:?}");
            let letters = |text: &str| text.chars().filter(|letter| *letter != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&cell));
        }

        #[test]
        fn a_table_is_a_list_or_fits(cells in proptest::collection::vec("[a-z]{0,12}( [a-z]{1,30}){0,4}", 6), width in 1_usize..120) {
            let mut table = Table::new(&["one", "two", "three"]);
            cells.chunks(3).for_each(|row| table.push(row.to_vec()));
            let text = table.text(styled(width));
            let fits = text.lines().all(|line| line.chars().count() <= width);
            prop_assert!(fits || text == lists(&table, styled(width)), "{text}");
        }
    }
}
