//! What came of a load, for people and for programs.

use std::fmt::Write;

use cell_protocol::Histogram;
use load_driver::honesty::{Check, generator_limited, honesty};
use load_driver::http::{HttpLoad, HttpLoadResult, HttpLoadSpec};
use serde_json::{Map, Value, json};
use statistics::Percentile;
use workload::arrivals::Spacing;

use crate::format::{count, metric, ns, printable};
use crate::percentile::percentile_ns;
use crate::style::Style;
use crate::table::Table;

const PERCENTILES: [(&str, &str, Percentile); 4] = [
    ("p50", "p50", Percentile::P50),
    ("p90", "p90", Percentile::P90),
    ("p99", "p99", Percentile::P99),
    ("p99.9", "p999", Percentile::P999),
];

/// A load that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account<'a> {
    pub(super) spec: &'a HttpLoadSpec,
    pub(super) result: &'a HttpLoadResult,
    /// The machine's own stalls beside the load.
    pub(super) stall_p99_ns: Option<u64>,
}

impl Account<'_> {
    /// One JSON object. What is undefined is null.
    pub(super) fn json(&self) -> Value {
        let result = self.result;
        let mut json = Map::new();
        let mut put = |name: &str, value: Value| _ = json.insert(name.to_owned(), value);
        put("loop", if self.open().is_some() { "open" } else { "closed" }.into());
        put("connections", self.spec.connections.into());
        for (name, count) in self.outcomes() {
            put(name, count.into());
        }
        put("errors", json!(result.errors));
        put("first_errors", json!(result.first_errors));
        put("elapsed_ns", result.elapsed_ns.into());
        put("throughput_per_s", json!(result.throughput_per_s()));
        for (name, histogram) in self.histograms() {
            let name = name.replace(' ', "_");
            for (_, percentile, of) in PERCENTILES {
                put(&format!("{name}_{percentile}_ns"), json!(percentile_ns(histogram, of)));
            }
            put(&format!("{name}_max_ns"), json!(histogram.max_ns()));
        }
        if let Some((rate_per_s, arrivals, seed)) = self.open() {
            put("rate_asked_per_s", json!(rate_per_s));
            put("arrivals", json!(arrivals));
            put("seed", seed.into());
            put("offered_rate_per_s", json!(result.offered_rate_per_s()));
            put("sent_rate_per_s", json!(result.sent_rate_per_s()));
            put("completed_in_window", result.completed_in_window.into());
            put("generator_limited", json!(generator_limited(&self.paced())));
            put("generator_checks", json!(self.paced()));
        }
        put("machine_stall_p99_ns", json!(self.stall_p99_ns));
        put("client_cpu_ns_per_request", json!(self.cpu_per_request()));
        put("client_cpu_share", json!(share(result.cpu_ns, result.elapsed_ns)));
        Value::Object(json)
    }

    /// A line a figure, named as in JSON: what is within another value is named after both. What is undefined is empty.
    pub(super) fn csv(&self) -> String {
        let mut table = Table::new(&["figure", "value"]);
        push(&mut table, String::new(), &self.json());
        table.csv()
    }

    /// Some lines.
    pub(super) fn text(&self, style: Style) -> String {
        let (spec, result) = (self.spec, self.result);
        let connections = count(u64::try_from(spec.connections).unwrap_or(u64::MAX));
        let kind = match self.open() {
            None => "closed loop".to_owned(),
            Some((rate, Spacing::Constant, _)) => format!("open loop, {} requests/s", count_or_so(rate)),
            Some((rate, Spacing::Poisson, seed)) => {
                format!("open loop, {} requests/s, Poisson of seed {seed}", count_or_so(rate))
            }
        };
        let mut text = format!("http://{}{}, {kind}, {connections} connections\n", spec.server, spec.target);
        let mut line = |name: &str, value: &str| _ = writeln!(text, "  {name:20} {value}");
        line("requests/s", &result.throughput_per_s().map_or_else(|| "-".to_owned(), count_or_so));
        line("in", &time(Some(result.elapsed_ns)));
        for (name, number) in self.outcomes() {
            line(&name.replace('_', " "), &count(number));
        }
        line("failures", &self.errors());
        if self.open().is_some() {
            let paced = self.paced();
            let limited = generator_limited(&paced);
            line("generator", limited.as_deref().unwrap_or("kept its schedule"));
            for Check { name, ok, value, limit } in paced {
                let verdict = if ok { "ok" } else { "failed" };
                line(
                    "",
                    &format!("{verdict}: {name} {}, limit {}", metric(name, value), metric(name, limit)),
                );
            }
        }
        line("machine stall p99", &time(self.stall_p99_ns));
        let cpu = self.cpu_per_request().map_or_else(|| "-".to_owned(), ns);
        let share = share(result.cpu_ns, result.elapsed_ns).unwrap_or(0.0) * 100.0;
        line("client CPU/request", &format!("{cpu} ({share:.0} % of one CPU)"));
        let _ = write!(text, "\n{}", self.times().text(style));
        let samples = result.response.count();
        for (name, _, percentile) in PERCENTILES.iter().filter(|one| !one.2.is_supported_by(samples)) {
            let least = count(percentile.samples_least());
            let _ = writeln!(text, "{name} takes {least} samples, and here are {}", count(samples));
        }
        if self.open().is_none() {
            text.push_str("a closed loop: response times say nothing of an overload\n");
        }
        text
    }

    /// All that did not complete, by class.
    pub(super) fn errors(&self) -> String {
        let result = self.result;
        let counted = [("status-503", result.rejected), ("timed-out", result.timed_out)];
        let counted = counted
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(class, number)| format!("{} {class}", count(number)));
        let classes = result.errors.iter().map(|(class, number)| match result.first_errors.get(class) {
            Some(example) => format!("{} {class} ({example})", count(*number)),
            None => format!("{} {class}", count(*number)),
        });
        let all: Vec<String> = counted.chain(classes).collect();
        if all.is_empty() { "none".to_owned() } else { printable(&all.join(", ")).into_owned() }
    }

    /// What was offered, and then what became of it: the latter add up to the former.
    fn outcomes(&self) -> Vec<(&'static str, u64)> {
        let result = self.result;
        let mut outcomes = vec![
            ("offered", result.offered),
            ("completed", result.completed),
            ("rejected", result.rejected),
            ("timed_out", result.timed_out),
            ("failed", result.errors_total()),
            ("in_flight_at_end", result.in_flight_at_end),
        ];
        if self.open().is_some() {
            outcomes.push(("unsent_at_end", result.unsent_at_end));
        }
        outcomes
    }

    fn histograms(&self) -> Vec<(&'static str, &Histogram)> {
        let mut all = vec![("response", &self.result.response), ("service", &self.result.service)];
        if self.open().is_some() {
            all.push(("send lag", &self.result.send_lag));
            all.push(("connection wait", &self.result.connection_wait));
        }
        all
    }

    fn times(&self) -> Table {
        let mut header = vec!["time"];
        header.extend(PERCENTILES.map(|(name, _, _)| name));
        header.push("max");
        let mut table = Table::new(&header);
        for (name, histogram) in self.histograms() {
            let mut row = vec![name.to_owned()];
            row.extend(PERCENTILES.map(|(_, _, percentile)| time(percentile_ns(histogram, percentile))));
            row.push(time(histogram.max_ns()));
            table.push(row);
        }
        table
    }

    /// The rate, the spacing and the seed of an open loop.
    fn open(&self) -> Option<(f64, Spacing, u64)> {
        match self.spec.load {
            HttpLoad::Open { rate_per_s, arrivals, seed, .. } => Some((rate_per_s, arrivals, seed)),
            HttpLoad::Closed { .. } | HttpLoad::OneEach { .. } => None,
        }
    }

    fn paced(&self) -> Vec<Check> {
        honesty(self.result, self.stall_p99_ns)
    }

    fn cpu_per_request(&self) -> Option<f64> {
        share(self.result.cpu_ns, self.result.completed_in_window)
    }
}

fn push(table: &mut Table, name: String, value: &Value) {
    let within = |inner: &str| if name.is_empty() { inner.to_owned() } else { format!("{name}.{inner}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(field, value)| push(table, within(field), value)),
        Value::Array(values) => {
            values
                .iter()
                .zip(1..)
                .for_each(|(value, number)| push(table, within(&number.to_string()), value));
        }
        Value::Null => table.push(vec![name, String::new()]),
        Value::String(text) => table.push(vec![name, text.clone()]),
        Value::Bool(_) | Value::Number(_) => table.push(vec![name, value.to_string()]),
    }
}

fn time(ns_or_none: Option<u64>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
    ns_or_none.map_or_else(|| "-".to_owned(), |value| ns(value as f64))
}

fn count_or_so(rate: f64) -> String {
    metric("rate_per_s", rate)
}

#[expect(clippy::cast_precision_loss, reason = "a quotient needs few digits")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn spec(load: HttpLoad) -> HttpLoadSpec {
        HttpLoadSpec {
            server: "127.0.0.1:80".parse().unwrap(),
            target: "/run/".into(),
            expected_body: None,
            connections: 2,
            load,
            timeout_ns: 1,
            drain_ns: 1,
            cpus: vec![],
            spread_sources: false,
            start_at_monotonic_ns: None,
        }
    }

    fn open_loop() -> HttpLoadSpec {
        spec(HttpLoad::Open {
            rate_per_s: 1_000.0,
            arrivals: Spacing::Poisson,
            seed: 7,
            warmup_ns: 0,
            duration_ns: 1_000 * MS,
            first: 0,
            stride: 1,
        })
    }

    /// 1,000 requests in a second, all on time.
    fn on_time() -> HttpLoadResult {
        let all = |ns| {
            let mut histogram = Histogram::new();
            (0..1_000).for_each(|_| histogram.record(ns));
            histogram
        };
        HttpLoadResult {
            offered: 1_000,
            completed: 998,
            completed_in_window: 998,
            unsent_at_end: 2,
            rate_asked_per_s: 1_000.0,
            elapsed_ns: 1_000 * MS,
            dispatch_elapsed_ns: 1_000 * MS,
            send_lag: all(5_000),
            connection_wait: all(0),
            service: all(4 * MS),
            response: all(5 * MS),
            ..HttpLoadResult::default()
        }
    }

    #[test]
    fn an_open_loop_says_what_became_of_each_request_and_how_its_generator_did() {
        let (spec, mut result) = (open_loop(), on_time());
        let account = Account { spec: &spec, result: &result, stall_p99_ns: Some(70_000) };
        let json = account.json();
        let parts = ["completed", "rejected", "timed_out", "failed", "in_flight_at_end", "unsent_at_end"];
        assert_eq!(parts.iter().map(|name| json[name].as_u64().unwrap()).sum::<u64>(), 1_000);
        assert_eq!((&json["offered"], &json["generator_limited"]), (&1_000.into(), &Value::Null));
        assert_eq!((&json["arrivals"], &json["machine_stall_p99_ns"]), (&"poisson".into(), &70_000.into()));
        assert!(json["send_lag_p99_ns"].as_u64().unwrap().abs_diff(5_000) <= 5);
        // A percentile that so few samples do not support is not told.
        assert_eq!(json["service_p999_ns"], Value::Null);
        let text = account.text(Style::default());
        for part in
            ["Poisson of seed 7", "kept its schedule", "unsent at end        2", "70.00 us", "send lag"]
        {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(text.contains("p99.9 takes 10,000 samples, and here are 1,000"), "{text}");
        let csv = account.csv();
        for line in ["figure,value", "completed,998", "generator_limited,", "generator_checks.1.ok,true"] {
            assert!(csv.split("\r\n").any(|found| found == line), "{line}: {csv}");
        }
        result.dispatch_elapsed_ns = 1_020 * MS;
        let late = Account { spec: &spec, result: &result, stall_p99_ns: None };
        assert!(
            late.json()["generator_limited"].as_str().unwrap().contains("sent_rate_per_s 980 against 990")
        );
        assert!(
            late.text(Style::default()).contains("did not keep its schedule"),
            "{}",
            late.text(Style::default())
        );
    }

    #[test]
    fn a_closed_loop_has_no_schedule_to_keep() {
        let (spec, result) =
            (spec(HttpLoad::Closed { warmup_ns: 0, duration_ns: 1 }), HttpLoadResult::default());
        let account = Account { spec: &spec, result: &result, stall_p99_ns: None };
        let json = account.json();
        assert_eq!((&json["loop"], &json["throughput_per_s"]), (&"closed".into(), &Value::Null));
        assert!(json.get("generator_limited").is_none() && json.get("unsent_at_end").is_none());
        assert!(account.text(Style::default()).ends_with("response times say nothing of an overload\n"));
    }
}
