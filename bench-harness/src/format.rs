//! Figures and words for people: digits grouped, times in the unit that suits them, and no control characters.

use std::borrow::Cow;

/// `1,234,567`
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `104.2 ms`, with four digits that count.
pub(crate) fn ns(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        size if size >= 999_950_000.0 => (ns / 1e9, "s"),
        size if size >= 999_950.0 => (ns / 1e6, "ms"),
        size if size >= 999.95 => (ns / 1e3, "us"),
        _ => (ns, "ns"),
    };
    let decimals = match value.abs() {
        size if size >= 1_000.0 => 0,
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$} {unit}")
}

/// A figure by the unit at the end of its metric's name.
pub(crate) fn metric(name: &str, value: f64) -> String {
    if name.ends_with("_ns") || name.contains("_ns_per_") {
        ns(value)
    } else if value.fract() == 0.0 && (0.0..1e15).contains(&value) {
        count(whole(value))
    } else if value.abs() >= 1_000.0 {
        count(whole(value.round().max(0.0)))
    } else {
        format!("{value:.3}")
    }
}

/// The text with its control characters written as what they are, such as `\u{1b}` and `\n`: a runner's words must not
/// move a cursor, end a line of a report, or colour a terminal.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let escaped =
        |letter: char| if letter.is_control() { letter.escape_default().to_string() } else { letter.into() };
    Cow::Owned(text.chars().map(escaped).collect())
}

/// Words with a lower bound marked as print has it, where more than ASCII can be shown.
pub(crate) fn signs(text: &str) -> String {
    text.replace(">=", "\u{2265}")
}

/// `9.66 KiB`, with four digits that count.
pub(crate) fn bytes(bytes: f64) -> String {
    const KIB: f64 = 1_024.0;
    let (value, unit) = match bytes.abs() {
        size if size >= KIB * KIB * KIB => (bytes / (KIB * KIB * KIB), "GiB"),
        size if size >= KIB * KIB => (bytes / (KIB * KIB), "MiB"),
        size if size >= KIB => (bytes / KIB, "KiB"),
        // A negative zero is a zero.
        _ => return format!("{:.0} B", bytes.round() + 0.0),
    };
    let decimals = match value.abs() {
        size if size >= 100.0 => 1,
        size if size >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$} {unit}")
}

/// A figure that is known to be whole and not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a figure is rounded for display"
)]
pub(crate) fn whole(value: f64) -> u64 {
    value as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_become_text() {
        assert_eq!(printable("it died: é | ok"), "it died: é | ok");
        assert_eq!(printable("\x1b[31mred\x07\r\n\t\u{9b}2J\x7f"), r"\u{1b}[31mred\u{7}\r\n\t\u{9b}2J\u{7f}");
    }

    #[test]
    fn bytes_have_the_unit_that_suits_them() {
        for (figure, text) in [
            (574.09, "574 B"),
            (-0.2, "0 B"),
            (-89.4, "-89 B"),
            (1_023.4, "1023 B"),
            (30_389.0, "29.68 KiB"),
            (166_553_600.0, "158.8 MiB"),
            (2_113_536.0, "2.016 MiB"),
        ] {
            assert_eq!(bytes(figure), text);
        }
    }

    #[test]
    fn figures_read_well() {
        assert_eq!(
            [count(0), count(999), count(1_000), count(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(ns(104_200_000.0), "104.2 ms");
        assert_eq!(ns(5_012_345_678.0), "5.012 s");
        assert_eq!(ns(999_999_999.0), "1.000 s");
        assert_eq!(ns(12_340.0), "12.34 us");
        assert_eq!(ns(7.0), "7.000 ns");
        assert_eq!(metric("elapsed_ns", 1e8), "100.0 ms");
        assert_eq!(metric("in_flight_peak", 10_000.0), "10,000");
        assert_eq!(metric("efficiency", 0.9612), "0.961");
        assert_eq!(metric("throughput_per_s", 96_153.8), "96,154");
    }
}
