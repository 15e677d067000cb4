//! Where a cell runs: the CPUs of the runner and of the load client, and the workers that fit them.

use std::time::Duration;

use anyhow::Context;
use cell_control::QUOTA_PERIOD;
use clap::ValueEnum;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exit::{Refused, usage};

/// How a runner is kept to a number of CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CpusBy {
    /// It may run on so many and on no other
    #[default]
    Affinity,
    /// It may run on all, for so many CPUs' time in each period of 100 ms: a control group of its own
    Quota,
}

impl CpusBy {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            CpusBy::Affinity => "affinity",
            CpusBy::Quota => "quota",
        }
    }
}

/// Workers, and the CPUs that they share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) workers: usize,
    /// None leaves the runner all CPUs of this process.
    pub(crate) cpus: Vec<usize>,
    /// The CPU time that it may use of them, in CPUs; none does not limit it.
    pub(crate) quota: Option<u64>,
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
        Ok(Place { workers, cpus: Vec::new(), quota: None })
    }

    /// A place for each number of CPUs in `counts` and each way to keep to it; where there is no number, one with all
    /// CPUs.
    pub(crate) fn each(
        counts: &[usize],
        ways: &[CpusBy],
        workers: Option<u32>,
    ) -> anyhow::Result<Vec<Place>> {
        if counts.is_empty() {
            return Ok(vec![Place::new(workers)?]);
        }
        let own = own_cpus()?;
        let ways = if ways.is_empty() { &[CpusBy::Affinity] } else { ways };
        let place = |(count, way): (&usize, &CpusBy)| {
            let Some(cpus) = own.get(..*count).filter(|cpus| !cpus.is_empty()) else {
                return Err(usage(format!(
                    "--cpus {count}: this process may use from 1 to {} CPUs",
                    own.len()
                )));
            };
            let workers = workers.and_then(|workers| usize::try_from(workers).ok()).unwrap_or(*count);
            Ok(match way {
                CpusBy::Affinity => Place { workers, cpus: cpus.to_vec(), quota: None },
                CpusBy::Quota => Place { workers, cpus: Vec::new(), quota: Some(as_u64(*count)) },
            })
        };
        let each = |count| ways.iter().map(move |way| (count, way));
        counts.iter().flat_map(each).map(place).collect()
    }

    /// The number of CPUs, where the place is kept to some.
    pub(crate) fn cpu_count(&self) -> Option<u64> {
        self.quota.or_else(|| (!self.cpus.is_empty()).then(|| as_u64(self.cpus.len())))
    }

    /// How many CPUs the place has.
    pub(crate) fn cpus_usable(&self) -> anyhow::Result<u64> {
        let cpus = if self.cpus.is_empty() { own_cpus()?.len() } else { self.cpus.len() };
        Ok(self.quota.unwrap_or(u64::MAX).min(as_u64(cpus)))
    }

    /// For how long the CPUs of the place may have been used beside a time that is looked at: the quota of one period at
    /// its beginning, where it was not used up before, and that of another at its end.
    pub(crate) fn ahead(&self) -> Duration {
        if self.quota.is_some() { QUOTA_PERIOD * 2 } else { Duration::ZERO }
    }

    /// Takes one CPU for the load client and leaves the server the others. Where this process has but one, they share it.
    ///
    /// A server with a quota keeps off the client's CPU too: on it, it would take from the client what is to be measured
    /// of itself. So its quota is of the time of the others, and one of as many CPUs as these are never holds it back.
    pub(crate) fn apart(&self) -> anyhow::Result<Apart> {
        let mut apart = apart(&self.cpus, &own_cpus()?);
        if let Some(quota) = self.quota {
            let quota = quota.min(as_u64(apart.server.cpus.len()));
            apart.server.quota = Some(quota);
            apart.server.workers = usize::try_from(quota).unwrap_or(usize::MAX);
        }
        Ok(apart)
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
    Apart { server: Place { workers: cpus.len(), cpus, quota: None }, client }
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

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
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
        let three = Place { workers: 3, ..Place::default() };
        assert_eq!(Place::each(&[], &[], Some(3)).unwrap(), [three]);
        let all = Place::each(&[1, own.len()], &[], None).unwrap();
        assert_eq!((all[0].cpus.len(), all[0].workers), (1, 1));
        assert_eq!((all[1].cpus.len(), all[1].workers), (own.len(), own.len()));
        let error = Place::each(&[own.len() + 1], &[CpusBy::Quota], None).unwrap_err().to_string();
        assert!(error.contains("may use from 1 to"), "{error}");
        assert!(Place::each(&[0], &[], None).is_err());
    }

    #[test]
    fn a_quota_leaves_all_cpus_and_has_the_workers_of_its_count() {
        let own = own_cpus().unwrap();
        let both = Place::each(&[1], &[CpusBy::Affinity, CpusBy::Quota], None).unwrap();
        assert_eq!(both[0], Place { workers: 1, cpus: own[..1].to_vec(), quota: None });
        assert_eq!(both[1], Place { workers: 1, cpus: vec![], quota: Some(1) });
        assert_eq!((both[1].cpu_count(), both[1].cpus_usable().unwrap()), (Some(1), 1));
        assert_eq!(Place::each(&[1], &[CpusBy::Quota], Some(8)).unwrap()[0].workers, 8);
        // Whatever the quota, the load client's CPU is its own.
        let place = Place { workers: 9, cpus: vec![], quota: Some(as_u64(own.len())) };
        let apart = place.apart().unwrap();
        let others = (own.len() - 1).max(1);
        assert_eq!((apart.server.cpus.len(), apart.server.quota), (others, Some(as_u64(others))));
        assert_eq!((apart.server.workers, apart.client.len()), (others, 1));
    }
}
