//! `load`: drives any HTTP server with the load client, and says what came of it and what the client cost.

mod account;

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use anyhow::Context;
use load_driver::hiccup::HiccupMeter;
use load_driver::http::{HttpLoad, HttpLoadError, HttpLoadSpec, run as offer};
use load_driver::priority::Priority;
use workload::arrivals::Spacing;

use crate::cli::{ArrivalsOfLoad, Cli, Load as Arguments};
use crate::exit::{Ending, Refused, usage};
use crate::output::Forms;
use account::Account;

pub(super) fn run(cli: &Cli, arguments: &Arguments) -> anyhow::Result<Ending> {
    let (server, target) = parse(&arguments.url)?;
    let spec = HttpLoadSpec {
        server,
        target,
        expected_body: None,
        connections: arguments.connections,
        load: load(arguments),
        timeout_ns: to_ns(arguments.timeout),
        drain_ns: to_ns(arguments.timeout),
        cpus: arguments.cpus.clone(),
        spread_sources: false,
        start_at_monotonic_ns: None,
    };
    let meter =
        HiccupMeter::start(&arguments.cpus, Priority::Usual).context("the hiccup meter cannot start")?;
    let result = offer(&spec).map_err(refused)?;
    let account = Account { spec: &spec, result: &result, stall_p99_ns: meter.stop().stall_p99_ns() };
    Forms {
        text: &|style| account.text(style),
        csv: &|| account.csv(),
        json: &|| serde_json::to_string_pretty(&account.json()),
    }
    .print(cli)?;
    if result.completed == 0 {
        anyhow::bail!("no request completed: {}", account.errors());
    }
    Ok(Ending::Done)
}

fn load(arguments: &Arguments) -> HttpLoad {
    let (warmup_ns, duration_ns) = (to_ns(arguments.warmup), to_ns(arguments.duration));
    match arguments.rate {
        None => HttpLoad::Closed { warmup_ns, duration_ns },
        Some(rate_per_s) => HttpLoad::Open {
            rate_per_s,
            arrivals: match arguments.arrivals {
                ArrivalsOfLoad::Constant => Spacing::Constant,
                ArrivalsOfLoad::Poisson => Spacing::Poisson,
            },
            seed: arguments.seed,
            warmup_ns,
            duration_ns,
            first: 0,
            stride: 1,
        },
    }
}

/// Whether it is the command line that is wrong, or the machine that is too small.
fn refused(error: HttpLoadError) -> anyhow::Error {
    match error {
        HttpLoadError::InvalidSpec { .. } | HttpLoadError::Pin { .. } => usage(error.to_string()),
        HttpLoadError::Descriptors { .. } => Refused(error.to_string()).into(),
        _ => anyhow::Error::new(error).context("cannot offer the load"),
    }
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
}
