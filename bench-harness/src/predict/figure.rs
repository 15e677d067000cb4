//! What came out: figures by name, and the text for people.

use serde::Serialize;
use serde_json::Value;

use crate::output::Forms;
use crate::table::Table;

/// What a law says of its inputs.
#[derive(Debug, Serialize)]
pub(crate) struct Prediction {
    law: &'static str,
    inputs: Value,
    figures: Vec<Figure>,
    #[serde(skip)]
    text: String,
}

/// One figure. What has none, or one that is not finite, is null.
#[derive(Debug, Serialize)]
struct Figure {
    figure: &'static str,
    /// For which of several values, such as `batch=16`.
    at: Option<String>,
    value: Value,
}

impl Prediction {
    pub(crate) fn of(law: &'static str, inputs: &impl Serialize) -> anyhow::Result<Prediction> {
        let inputs = serde_json::to_value(inputs)?;
        Ok(Prediction { law, inputs, figures: Vec::new(), text: String::new() })
    }

    /// Adds a figure.
    pub(crate) fn push(&mut self, figure: &'static str, value: impl Into<Value>) {
        self.figures.push(Figure { figure, at: None, value: value.into() });
    }

    /// Adds a figure for one of several values.
    pub(crate) fn push_at(&mut self, figure: &'static str, at: String, value: impl Into<Value>) {
        self.figures.push(Figure { figure, at: Some(at), value: value.into() });
    }

    /// Adds a line of text.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Hands all of it over, in each form.
    pub(crate) fn forms<T>(&self, take: impl FnOnce(Forms<'_>) -> T) -> T {
        take(Forms {
            text: &|_| self.text.clone(),
            csv: &|| self.table().csv(),
            json: &|| serde_json::to_string_pretty(self),
        })
    }

    fn table(&self) -> Table {
        let mut table = Table::new(&["figure", "at", "value"]);
        for Figure { figure, at, value } in &self.figures {
            let value = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            table.push(vec![(*figure).to_owned(), at.clone().unwrap_or_default(), value]);
        }
        table
    }
}

/// A figure with at most so many decimals, and at least one: 4.8, 0.96, 5.0.
pub(super) fn rounded(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_keeps_one_decimal() {
        let figures = [(4.8, 1), (0.96, 2), (5.0, 1), (0.9, 2), (10.0, 2), (0.0, 1)];
        let texts = figures.map(|(value, decimals)| rounded(value, decimals));
        assert_eq!(texts, ["4.8", "0.96", "5.0", "0.9", "10.0", "0.0"]);
    }

    #[test]
    fn what_is_not_finite_is_null() {
        let mut prediction = Prediction::of("x", &()).unwrap();
        prediction.push("rate", f64::INFINITY);
        prediction.push_at("rate", "batch=2".to_owned(), 1.5);
        let (csv, json) = prediction.forms(|forms| ((forms.csv)(), (forms.json)().unwrap()));
        assert_eq!(csv, "figure,at,value\r\nrate,,\r\nrate,batch=2,1.5\r\n");
        assert!(json.contains("\"value\": null"));
    }
}
