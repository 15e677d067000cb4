//! One look at a process tree, from outside, while a known number of requests or connections are there.

use std::io;

use cell_protocol::Usage;
use serde_json::{Value, json};

use crate::measure::NoFigures;
use crate::sample::{self, Slab, Tree};

/// What was seen.
#[derive(Clone, Debug)]
pub(super) struct Look {
    /// How many there were. The first look, from which others are told apart, has none.
    pub(super) units: u64,
    pub(super) tree: Tree,
    /// None where it cannot be read.
    pub(super) slab: Option<Slab>,
    /// Kernel stacks of the whole machine, whosever they are.
    pub(super) machine_kernel_stack_bytes: Option<u64>,
    /// What the tree had used until then.
    pub(super) usage: Usage,
}

impl Look {
    /// Looks at the group that `leader` leads.
    pub(super) fn take(leader: u32, units: u64, usage: Usage) -> Result<Look, NoFigures> {
        // Kernel memory first: to look at anything else makes the kernel remember it.
        let slab = sample::slab().ok();
        let machine_kernel_stack_bytes = sample::memory_field("KernelStack:");
        let tree = sample::tree(leader).map_err(|error| unreadable(&error))?;
        Ok(Look { units, tree, slab, machine_kernel_stack_bytes, usage })
    }

    /// The look as a row keeps it; `slab_bytes` are those of the objects that grow with the units.
    pub(super) fn evidence(&self, slab_bytes: Option<u64>) -> Value {
        let Tree {
            processes,
            threads,
            pss_bytes,
            private_bytes,
            swap_bytes,
            page_table_bytes,
            reserved_bytes,
        } = self.tree;
        json!({
            "units": self.units,
            "processes": processes,
            "threads": threads,
            "pss_bytes": pss_bytes,
            "private_bytes": private_bytes,
            "swap_bytes": swap_bytes,
            "page_table_bytes": page_table_bytes,
            "kernel_stack_bytes": self.tree.kernel_stack_bytes(),
            "machine_kernel_stack_bytes": self.machine_kernel_stack_bytes,
            "total_bytes": self.tree.total_bytes(),
            "reserved_bytes": reserved_bytes,
            "slab_bytes": slab_bytes,
            "user_ns": self.usage.user_ns,
            "system_ns": self.usage.system_ns,
            "context_switches": self.usage.voluntary_switches + self.usage.involuntary_switches,
        })
    }
}

fn unreadable(error: &io::Error) -> NoFigures {
    NoFigures::failed(format!("the memory of the runner cannot be read: {error}"))
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// A look at a process that has nothing.
    pub(in crate::measure::memory) fn look(units: u64) -> Look {
        let (tree, usage) = (Tree::default(), Usage::default());
        Look { units, tree, slab: None, machine_kernel_stack_bytes: None, usage }
    }
}
