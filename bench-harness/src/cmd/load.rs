//! `load`: drives any HTTP server with the load client, and says what came of it and what the client cost.

use std::fmt::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use anyhow::Context;
use load_driver::http::{HttpLoad, HttpLoadResult, HttpLoadSpec, run as offer};
use serde_json::json;
use statistics::Percentile;

use crate::cli::{Cli, Load as Arguments};
use crate::exit::{Ending, usage};
use crate::format::{count, metric, ns};
use crate::output::{self, Format};
use crate::percentile::percentile_ns;

pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    let (server, target) = parse(&arguments.url)?;
    let spec = HttpLoadSpec {
        server,
        target,
        expected_body: None,
        connections: arguments.connections,
        load: HttpLoad::Closed { warmup_ns: to_ns(arguments.warmup), duration_ns: to_ns(arguments.duration) },
        timeout_ns: to_ns(arguments.timeout),
        drain_ns: to_ns(arguments.timeout),
        cpus: arguments.cpus.clone(),
        spread_sources: false,
        start_at_monotonic_ns: None,
    };
    let result = offer(&spec).context("cannot offer the load")?;
    match cli.format {
        Format::Json | Format::Csv => output::print_json(&figures(&result))?,
        Format::Text => output::print(&text(&spec, &result))?,
    }
    if result.completed == 0 {
        anyhow::bail!("no request completed: {}", errors(&result));
    }
    Ok(Ending::Done)
}

fn figures(result: &HttpLoadResult) -> serde_json::Value {
    json!({
        "offered": result.offered,
        "completed": result.completed,
        "rejected": result.rejected,
        "timed_out": result.timed_out,
        "in_flight_at_end": result.in_flight_at_end,
        "errors": result.errors,
        "first_errors": result.first_errors,
        "elapsed_ns": result.elapsed_ns,
        "throughput_per_s": per_second(result),
        "response_p50_ns": percentile_ns(&result.response, Percentile::P50),
        "response_p90_ns": percentile_ns(&result.response, Percentile::P90),
        "response_p99_ns": percentile_ns(&result.response, Percentile::P99),
        "response_p999_ns": percentile_ns(&result.response, Percentile::P999),
        "response_max_ns": result.response.max_ns(),
        "client_cpu_ns_per_request": cpu_per_request(result),
        "client_cpu_share": share(result.cpu_ns, result.elapsed_ns),
    })
}

fn text(spec: &HttpLoadSpec, result: &HttpLoadResult) -> String {
    let mut text = String::new();
    let connections = count(u64::try_from(spec.connections).unwrap_or(u64::MAX));
    let _ = writeln!(text, "http://{}{}, closed loop, {connections} connections", spec.server, spec.target);
    let rate = per_second(result).map_or_else(|| "-".to_owned(), |rate| metric("throughput_per_s", rate));
    let _ = writeln!(text, "  requests/s          {rate}");
    let _ = writeln!(
        text,
        "  completed           {} in {}",
        count(result.completed),
        time(Some(result.elapsed_ns))
    );
    let percentiles = [
        ("p50", Percentile::P50),
        ("p90", Percentile::P90),
        ("p99", Percentile::P99),
        ("p99.9", Percentile::P999),
    ];
    for (name, percentile) in percentiles {
        let shown = match percentile_ns(&result.response, percentile) {
            Some(ns) => time(Some(ns)),
            None => format!("-  (takes {} samples)", count(percentile.samples_least())),
        };
        let _ = writeln!(text, "  response {name:10} {shown}");
    }
    let _ = writeln!(text, "  response max        {}", time(result.response.max_ns()));
    let cpu = cpu_per_request(result).map_or_else(|| "-".to_owned(), ns);
    let share = share(result.cpu_ns, result.elapsed_ns).unwrap_or(0.0) * 100.0;
    let _ = writeln!(text, "  client CPU/request  {cpu} ({share:.0} % of one CPU)");
    let _ = writeln!(text, "  errors              {}", errors(result));
    text.push_str("  a closed loop: response times say nothing of an overload\n");
    text
}

/// All that did not complete, by class.
fn errors(result: &HttpLoadResult) -> String {
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
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

fn time(ns_or_none: Option<u64>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
    ns_or_none.map_or_else(|| "-".to_owned(), |value| ns(value as f64))
}

fn per_second(result: &HttpLoadResult) -> Option<f64> {
    share(result.completed.saturating_mul(1_000_000_000), result.elapsed_ns)
}

fn cpu_per_request(result: &HttpLoadResult) -> Option<f64> {
    share(result.cpu_ns, result.completed)
}

#[expect(clippy::cast_precision_loss, reason = "a quotient needs few digits")]
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// `http://HOST[:PORT][/PATH]`
fn parse(url: &str) -> anyhow::Result<(SocketAddr, String)> {
    let wrong = |what: &str| usage(format!("{url:?}: {what}; write http://127.0.0.1:8080/run/"));
    let rest = url.strip_prefix("http://").ok_or_else(|| wrong("only http:// is spoken"))?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let with_port = if has_port(authority) { authority.to_owned() } else { format!("{authority}:80") };
    let mut found = with_port.to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
    let server = found.next().ok_or_else(|| wrong("the host has no address"))?;
    Ok((server, if path.is_empty() { "/".to_owned() } else { path.to_owned() }))
}

fn has_port(authority: &str) -> bool {
    authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

fn to_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let (server, target) = parse("http://127.0.0.1:8080/run/wait=1ms?seed=1").unwrap();
        assert_eq!(
            (server.to_string().as_str(), target.as_str()),
            ("127.0.0.1:8080", "/run/wait=1ms?seed=1")
        );
        let (server, target) = parse("http://127.0.0.1").unwrap();
        assert_eq!((server.port(), target.as_str()), (80, "/"));
        assert!(parse("https://127.0.0.1/").unwrap_err().to_string().contains("only http://"));
    }

    #[test]
    fn an_empty_result_has_no_undefined_figure() {
        let text = figures(&HttpLoadResult::default()).to_string();
        assert!(text.contains(r#""throughput_per_s":null"#), "{text}");
        assert!(!text.contains("NaN"), "{text}");
    }
}
