//! Where a cell runs: the CPUs of the runner and of the load client, and the workers that fit them.

use anyhow::Context;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::exit::{Refused, usage};

/// Workers, and the CPUs that they share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) workers: usize,
    /// None leaves the runner all CPUs of this process.
    pub(crate) cpus: Vec<usize>,
}

/// Server and load client, each with CPUs of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Apart {
    /// One worker for each CPU: a cost per core.
    pub(crate) server: Place,
    pub(crate) client: Vec<usize>,
}

impl Place {
    /// `workers` on all CPUs, or as many as there are CPUs.
    pub(crate) fn new(workers: Option<u32>) -> anyhow::Result<Place> {
        let workers = match workers {
            Some(workers) => usize::try_from(workers).unwrap_or(usize::MAX),
            None => own_cpus()?.len(),
        };
        Ok(Place { workers, cpus: Vec::new() })
    }

    /// A place for each number of CPUs in `counts`; where there is none, one with all of them.
    pub(crate) fn each(counts: &[usize], workers: Option<u32>) -> anyhow::Result<Vec<Place>> {
        if counts.is_empty() {
            return Ok(vec![Place::new(workers)?]);
        }
        let own = own_cpus()?;
        let place = |count: &usize| {
            let Some(cpus) = own.get(..*count).filter(|cpus| !cpus.is_empty()) else {
                return Err(usage(format!(
                    "--cpus {count}: this process may use from 1 to {} CPUs",
                    own.len()
                )));
            };
            let workers = workers.and_then(|workers| usize::try_from(workers).ok()).unwrap_or(*count);
            Ok(Place { workers, cpus: cpus.to_vec() })
        };
        counts.iter().map(place).collect()
    }

    /// The number of CPUs, where the place is kept to some.
    pub(crate) fn cpu_count(&self) -> Option<u64> {
        (!self.cpus.is_empty()).then(|| u64::try_from(self.cpus.len()).unwrap_or(u64::MAX))
    }

    /// How many CPUs the place has.
    pub(crate) fn cpus_usable(&self) -> anyhow::Result<u64> {
        let cpus = if self.cpus.is_empty() { own_cpus()?.len() } else { self.cpus.len() };
        Ok(u64::try_from(cpus).unwrap_or(u64::MAX))
    }

    /// Takes one CPU for the load client and leaves the server the others. Where this process has but one, they share it.
    pub(crate) fn apart(&self) -> anyhow::Result<Apart> {
        Ok(apart(&self.cpus, &own_cpus()?))
    }
}

/// The last CPU of `own` is the client's, also where the server is kept to as many as there are.
fn apart(server: &[usize], own: &[usize]) -> Apart {
    let (client, others) = match own {
        [others @ .., client] if !others.is_empty() => (vec![*client], others),
        only => (only.to_vec(), only),
    };
    let wanted = if server.is_empty() { others.len() } else { server.len() };
    let cpus: Vec<usize> = others.iter().copied().take(wanted).collect();
    Apart { server: Place { workers: cpus.len(), cpus }, client }
}

/// The CPUs that this process may use.
fn own_cpus() -> anyhow::Result<Vec<usize>> {
    let set = sched_getaffinity(None)
        .map_err(|error| Refused(format!("cannot tell which CPUs there are: {error}")))
        .context("the harness must know its CPUs")?;
    Ok(members(&set))
}

/// The CPUs that the kernel lets another process use; none where it is gone.
pub(crate) fn cpus_allowed(pid: u32) -> Vec<usize> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.and_then(|pid| sched_getaffinity(Some(pid)).ok()).as_ref().map_or_else(Vec::new, members)
}

fn members(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_client_share_no_cpu() {
        let two = apart(&[], &[0, 1]);
        assert_eq!((two.server.cpus, two.server.workers, two.client), (vec![0], 1, vec![1]));
        let four = apart(&[], &[2, 3, 6, 7]);
        assert_eq!((four.server.cpus, four.server.workers, four.client), (vec![2, 3, 6], 3, vec![7]));
        let fewer = apart(&[2, 3], &[2, 3, 6, 7]);
        assert_eq!((fewer.server.cpus, fewer.client), (vec![2, 3], vec![7]));
        // All that there are leaves the client none, so the server has one less.
        assert_eq!(apart(&[0, 1], &[0, 1]).server.cpus, [0]);
        let one = apart(&[], &[5]);
        assert_eq!((one.server.cpus, one.client), (vec![5], vec![5]));
    }

    #[test]
    fn a_place_is_kept_to_the_cpus_that_there_are() {
        let own = own_cpus().unwrap();
        assert_eq!(Place::each(&[], Some(3)).unwrap(), [Place { workers: 3, cpus: vec![] }]);
        let all = Place::each(&[1, own.len()], None).unwrap();
        assert_eq!((all[0].cpus.len(), all[0].workers), (1, 1));
        assert_eq!((all[1].cpus.len(), all[1].workers), (own.len(), own.len()));
        let error = Place::each(&[own.len() + 1], None).unwrap_err().to_string();
        assert!(error.contains("may use from 1 to"), "{error}");
        assert!(Place::each(&[0], None).is_err());
    }
}
