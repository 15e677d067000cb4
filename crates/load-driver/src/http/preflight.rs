//! Checks before the first socket: will this process's descriptor limit do?

use std::fs;

use rustix::process::{Resource, getrlimit};

use super::HttpLoadError;

/// The epoll instance, the timer, and the file with the thread's counters.
const OWN_DESCRIPTORS: u64 = 3;

/// Compares what `sockets` sockets need with the limit of this process.
pub(super) fn check(sockets: usize) -> Result<(), HttpLoadError> {
    let limit = getrlimit(Resource::Nofile);
    // No limit at all is reported as none.
    let soft = limit.current.unwrap_or(u64::MAX);
    let hard = limit.maximum.unwrap_or(u64::MAX);
    check_limits(u64::try_from(sockets).unwrap_or(u64::MAX), open_descriptors()?, soft, hard)
}

fn check_limits(sockets: u64, open_now: u64, soft: u64, hard: u64) -> Result<(), HttpLoadError> {
    let need = sockets.saturating_add(open_now).saturating_add(OWN_DESCRIPTORS);
    if need <= soft {
        Ok(())
    } else {
        Err(HttpLoadError::Descriptors { need, sockets, open_now, soft, hard })
    }
}

fn open_descriptors() -> Result<u64, HttpLoadError> {
    let failed = |source| HttpLoadError::System { call: "/proc/self/fd", source };
    let listed = fs::read_dir("/proc/self/fd").map_err(failed)?.count();
    // The listing's own descriptor is among those listed.
    Ok(u64::try_from(listed).unwrap_or(u64::MAX).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_met_exactly_or_the_error_names_what_would_do() {
        assert!(check_limits(100, 10, 113, 200).is_ok());
        let error = check_limits(100, 10, 112, 200).expect_err("refused").to_string();
        for part in ["needs 113", "RLIMIT_NOFILE is 112", "hard limit 200", "ulimit -n 113", "100 sockets"] {
            assert!(error.contains(part), "{part} is missing in: {error}");
        }
    }

    #[test]
    fn this_process_has_descriptors_open() {
        assert!(open_descriptors().expect("readable") >= 3);
        assert!(check(1).is_ok());
    }
}
