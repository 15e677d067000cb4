//! The arguments of `threads`.

use std::time::Duration;

use clap::Args;

const DURATION_MAX: Duration = Duration::from_secs(3_600);

#[derive(Debug, Args)]
pub(crate) struct Threads {
    /// The process: its children are looked at too
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pid: u32,
    /// Over how long to see who uses the CPUs
    #[arg(short, long, default_value = "1s", value_parser = duration)]
    pub(crate) duration: Duration,
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration < Duration::from_millis(10) || duration > DURATION_MAX {
        return Err("it is from 10ms, a tick of the kernel, to 1h".to_owned());
    }
    Ok(duration)
}
