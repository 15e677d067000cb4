//! Whether cells can have a quota of CPU time here.

use cell_control::{ControlGroups, QuotaError};

use super::limits::{Limit, limit};

/// From an attempt to make a group with a quota.
pub(super) fn of(found: &Result<ControlGroups, QuotaError>) -> Limit {
    let name = "CPU quota of a cell";
    match found {
        Ok(groups) => limit(
            name,
            [
                ("can be set", true.into()),
                ("cgroup", groups.version().into()),
                ("groups in", groups.directory().display().to_string().into()),
            ],
            "nothing: --cpus-by quota can be measured",
            "ask for no more CPUs than this process has",
        ),
        Err(error) => limit(
            name,
            [("can be set", false.into())],
            format!("--cpus-by quota is refused: {error}"),
            "run as root where cgroups are mounted writable; with version 2, in systemd-run --scope -p Delegate=cpu",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_group_can_be_made_it_says_why() {
        let limit = of(&Err(QuotaError::NotHandedDown));
        assert_eq!(limit.values["can be set"], false);
        assert!(
            limit.caps.contains("refused: no control group of this process hands the cpu controller down")
        );
    }
}
