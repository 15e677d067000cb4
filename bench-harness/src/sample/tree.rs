//! The memory and threads of a process and all of its children, as the kernel tells them.

use std::fs;
use std::io::{self, ErrorKind};

use rustix::io::Errno;
use serde::Serialize;

use super::{as_u64, members};

/// The kernel's stack of each thread: `THREAD_SIZE` of the architecture, without the debugging options that double it.
const KERNEL_STACK_BYTES: u64 =
    if cfg!(any(target_arch = "x86", target_arch = "arm")) { 8_192 } else { 16_384 };

/// What the processes of a group have, summed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Tree {
    pub(crate) processes: u64,
    pub(crate) threads: u64,
    /// Resident memory, where a page that several processes share counts in each with its share alone.
    pub(crate) pss_bytes: u64,
    /// Resident memory that no other process has.
    pub(crate) private_bytes: u64,
    /// What was swapped out, and so is resident no more.
    pub(crate) swap_bytes: u64,
    pub(crate) page_table_bytes: u64,
    /// Address space. What is reserved need not exist.
    pub(crate) reserved_bytes: u64,
}

impl Tree {
    /// Kernel stacks, of as many threads as there are.
    pub(crate) fn kernel_stack_bytes(&self) -> u64 {
        self.threads * KERNEL_STACK_BYTES
    }

    /// What any user can see: PSS, page tables and kernel stacks.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.pss_bytes + self.page_table_bytes + self.kernel_stack_bytes()
    }

    fn add(&mut self, rollup: &str, status: &str) -> io::Result<()> {
        self.processes += 1;
        self.threads += field(status, "Threads:")?;
        self.pss_bytes += field(rollup, "Pss:")? * 1024;
        self.private_bytes += (field(rollup, "Private_Clean:")? + field(rollup, "Private_Dirty:")?) * 1024;
        self.swap_bytes += field(rollup, "SwapPss:")? * 1024;
        self.page_table_bytes += field(status, "VmPTE:")? * 1024;
        self.reserved_bytes += field(status, "VmSize:")? * 1024;
        Ok(())
    }
}

/// Looks at the process group that `leader` leads.
///
/// # Errors
///
/// What could not be read: `smaps_rollup` wants Linux 4.14, and the same user.
pub(crate) fn tree(leader: u32) -> io::Result<Tree> {
    let mut tree = Tree::default();
    for pid in members(leader) {
        match both(pid) {
            Ok((rollup, status)) => tree.add(&rollup, &status)?,
            // It has ended meanwhile, or it has ended and nobody has waited for it yet: it has no memory.
            Err(error) if is_gone(&error) => {}
            Err(error) => {
                return Err(io::Error::new(error.kind(), format!("/proc/{pid}/smaps_rollup: {error}")));
            }
        }
    }
    Ok(tree)
}

fn both(pid: u32) -> io::Result<(String, String)> {
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}"));
    Ok((read("smaps_rollup")?, read("status")?))
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// Open descriptors of all processes of the group. Listing them makes the kernel remember each, so that a look at
/// kernel memory must come before.
pub(crate) fn descriptors(leader: u32) -> u64 {
    let of = |pid| fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, Iterator::count);
    members(leader).into_iter().map(of).map(as_u64).sum()
}

fn field(text: &str, name: &str) -> io::Result<u64> {
    let value =
        text.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    value.ok_or_else(|| io::Error::new(ErrorKind::InvalidData, format!("the kernel says nothing of {name}")))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    /// A process in a group of its own, which waits until its standard input closes.
    fn waiting(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = [0; 1];
        // It says so when it is what it will be.
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        child
    }

    #[test]
    fn a_tree_is_the_sum_of_its_processes() {
        let mut one = waiting("echo; read word");
        let mut three = waiting("sleep 60 & sleep 60 & echo; read word; kill $(jobs -p)");
        let deadline = Instant::now() + Duration::from_secs(10);
        let (single, triple) = loop {
            let trees = (tree(one.id()).unwrap(), tree(three.id()).unwrap());
            // A child shares its parent's memory until it has become another program.
            let is_whole = trees.1.processes == 3 && trees.1.private_bytes > trees.0.private_bytes;
            if is_whole || Instant::now() > deadline {
                break trees;
            }
        };
        assert_eq!((single.processes, single.threads, triple.processes, triple.threads), (1, 1, 3, 3));
        assert!(triple.page_table_bytes > 2 * single.page_table_bytes, "{triple:?} {single:?}");
        assert!(triple.reserved_bytes > single.reserved_bytes && triple.private_bytes > single.private_bytes);
        assert!(single.pss_bytes >= single.private_bytes, "{single:?}");
        assert_eq!(triple.total_bytes(), triple.pss_bytes + triple.page_table_bytes + 3 * KERNEL_STACK_BYTES);
        assert!(descriptors(three.id()) >= 3 * descriptors(one.id()).min(3));
        for child in [&mut one, &mut three] {
            let _gone = child.stdin.take().unwrap().write_all(b"\n");
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_group_that_is_gone_or_not_yet_reaped_has_nothing() {
        assert_eq!(tree(u32::MAX).unwrap(), Tree::default());
        let mut child = waiting("echo");
        let deadline = Instant::now() + Duration::from_secs(10);
        let is_zombie = |pid| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ");
        while !is_zombie(child.id()) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(tree(child.id()).unwrap(), Tree::default());
        child.wait().unwrap();
    }

    #[test]
    fn a_kernel_that_says_nothing_of_a_field_is_not_taken_to_say_zero() {
        let error = Tree::default().add("Rss: 4 kB", "Threads: 1").unwrap_err().to_string();
        assert_eq!(error, "the kernel says nothing of Pss:");
    }
}
