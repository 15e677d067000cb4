//! A strict reader of the Prometheus text exposition format, version 0.0.4, as far as counters, gauges
//! and summaries use it.
//!
//! Source: the format's description in the Prometheus documentation, "Exposition formats". Stricter
//! than that where a server has no reason to be loose: each family has one HELP and one TYPE line before
//! its samples, and a counter's name ends in `_total`.

use std::collections::BTreeSet;

/// One sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The metric's name.
    pub name: String,
    /// Its labels, as they are written between the braces.
    pub labels: String,
    /// Its value.
    pub value: f64,
}

/// Where a text is not in the format, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {why}: {text:?}")]
pub struct ExpositionError {
    /// The number of the line, from 1.
    pub line: usize,
    /// What is wrong.
    pub why: &'static str,
    /// The line.
    pub text: String,
}

/// Reads a whole exposition.
///
/// # Errors
///
/// Names the first line that is not in the format.
pub fn parse_exposition(text: &str) -> Result<Vec<Sample>, ExpositionError> {
    let mut reader = Reader::default();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        reader.line(line).map_err(|why| ExpositionError { line: index + 1, why, text: line.to_owned() })?;
    }
    Ok(reader.samples)
}

#[derive(Default)]
struct Reader {
    helped: BTreeSet<String>,
    typed: BTreeSet<String>,
    /// The family that samples may belong to now.
    family: Option<Family>,
    samples: Vec<Sample>,
}

struct Family {
    name: String,
    is_summary: bool,
}

impl Family {
    fn has(&self, name: &str, labels: &str) -> bool {
        match name.strip_prefix(&self.name) {
            Some("") => !self.is_summary || labels.starts_with("quantile="),
            Some("_sum" | "_count") => self.is_summary,
            _ => false,
        }
    }
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), &'static str> {
        let line = line.strip_suffix('\n').ok_or("the last line does not end")?;
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').ok_or("HELP without a text")?;
            check_name(name)?;
            if help.trim().is_empty() {
                return Err("HELP without a text");
            }
            self.family = None;
            return if self.helped.insert(name.into()) {
                Ok(())
            } else {
                Err("a second HELP of this metric")
            };
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            return self.kind(rest);
        }
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        self.sample(line)
    }

    fn kind(&mut self, rest: &str) -> Result<(), &'static str> {
        let (name, kind) = rest.split_once(' ').ok_or("TYPE without a type")?;
        check_name(name)?;
        match kind {
            "counter" if !name.ends_with("_total") => return Err("a counter whose name lacks _total"),
            "counter" | "gauge" | "summary" => {}
            _ => return Err("a type that is none of counter, gauge and summary"),
        }
        if !self.helped.contains(name) {
            return Err("TYPE before HELP");
        }
        self.family = Some(Family { name: name.to_owned(), is_summary: kind == "summary" });
        if self.typed.insert(name.into()) { Ok(()) } else { Err("a second TYPE of this metric") }
    }

    fn sample(&mut self, line: &str) -> Result<(), &'static str> {
        let end = line.find(['{', ' ']).ok_or("a sample without a value")?;
        let (name, rest) = line.split_at(end);
        check_name(name)?;
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => rest.split_once('}').ok_or("labels that do not end")?,
            None => ("", rest),
        };
        check_labels(labels)?;
        if !self.family.as_ref().is_some_and(|family| family.has(name, labels)) {
            return Err("a sample outside its metric's group");
        }
        let value = rest.strip_prefix(' ').ok_or("no space before the value")?;
        let value: f64 = value.parse().map_err(|_| "a value that is no number")?;
        if !value.is_finite() {
            return Err("a value that is not finite");
        }
        let sample = Sample { name: name.into(), labels: labels.into(), value };
        if self.samples.iter().any(|other| (&other.name, &other.labels) == (&sample.name, &sample.labels)) {
            return Err("a sample that is there already");
        }
        self.samples.push(sample);
        Ok(())
    }
}

fn check_name(name: &str) -> Result<(), &'static str> {
    let good = |(index, byte): (usize, u8)| {
        byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || (index > 0 && byte.is_ascii_digit())
    };
    if !name.is_empty() && name.bytes().enumerate().all(good) { Ok(()) } else { Err("a bad metric name") }
}

/// Labels whose values hold no quote, comma or brace: a server here needs none that do.
fn check_labels(labels: &str) -> Result<(), &'static str> {
    for label in labels.split(',').filter(|label| !label.is_empty()) {
        let (name, value) = label.split_once('=').ok_or("a label without a value")?;
        check_name(name)?;
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        if value.is_none_or(|value| value.contains(['"', '\\'])) {
            return Err("a label's value that is not quoted");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# HELP a_total Things.\n# TYPE a_total counter\na_total{kind=\"x\"} 1\na_total{kind=\"y\"} 2.5e3\n\
                        \n# HELP b Level.\n# TYPE b gauge\nb -3\n\
                        # HELP c Time.\n# TYPE c summary\nc{quantile=\"0.5\"} 4\nc_sum 5\nc_count 6\n";

    #[test]
    fn reads_samples() {
        let samples = parse_exposition(GOOD).unwrap();
        let seen: Vec<_> =
            samples.iter().map(|sample| (&*sample.name, &*sample.labels, sample.value)).collect();
        assert_eq!(
            seen,
            [
                ("a_total", "kind=\"x\"", 1.0),
                ("a_total", "kind=\"y\"", 2500.0),
                ("b", "", -3.0),
                ("c", "quantile=\"0.5\"", 4.0),
                ("c_sum", "", 5.0),
                ("c_count", "", 6.0)
            ]
        );
    }

    #[test]
    fn says_what_is_wrong() {
        let why = |old: &str, new: &str| {
            assert!(GOOD.contains(old), "{old:?}");
            parse_exposition(&GOOD.replacen(old, new, 1)).unwrap_err().why
        };
        assert_eq!(why("c_count 6\n", "c_count 6"), "the last line does not end");
        assert_eq!(why("a_total{kind=\"x\"} 1", "a_total{kind=\"x\"} one"), "a value that is no number");
        assert_eq!(why("b -3", "b NaN"), "a value that is not finite");
        assert_eq!(why("b -3", "d -3"), "a sample outside its metric's group");
        assert_eq!(why("b -3", "b_sum -3"), "a sample outside its metric's group");
        assert_eq!(why("c{quantile=\"0.5\"}", "c{kind=\"z\"}"), "a sample outside its metric's group");
        assert_eq!(why("kind=\"y\"", "kind=\"x\""), "a sample that is there already");
        assert_eq!(why("kind=\"y\"", "kind=y"), "a label's value that is not quoted");
        assert_eq!(why("# HELP b Level.\n", ""), "TYPE before HELP");
        assert_eq!(why("b gauge", "b number"), "a type that is none of counter, gauge and summary");
        assert_eq!(why("b gauge", "b counter"), "a counter whose name lacks _total");
        assert_eq!(why("# HELP b Level.", "# HELP 2b Level."), "a bad metric name");
        assert_eq!(why("# HELP b Level.", "# HELP a_total Again."), "a second HELP of this metric");
    }
}
