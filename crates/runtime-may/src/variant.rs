//! What the names of variants stand for: the stack of a coroutine, how many are kept ready, and how
//! many threads take blocking work.

use std::fmt;

/// may's own default, 4,096 words.
const STACK_KIB: usize = 32;
/// Below this a handler that panics runs out of stack while the panic is reported; see the README.
const STACK_KIB_MIN: usize = 12;
const STACK_KIB_MAX: usize = 8 * 1024;
/// may's own default.
const POOL: usize = 1_000;
const POOL_MAX: usize = 1_000_000;
/// As many as tokio's blocking pool.
const OFFLOAD: usize = 512;
const OFFLOAD_MAX: usize = 30_000;

/// may's configuration, which is global and set once in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Variant {
    /// The stack of each coroutine, in KiB: a whole number of pages, without which may would not use
    /// a coroutine again.
    pub(crate) stack_kib: usize,
    /// Coroutines that are made at the start and kept for use again.
    pub(crate) pool: usize,
    /// The most threads that blocking work is offloaded to.
    pub(crate) offload: usize,
}

impl Variant {
    /// may as it comes.
    pub(crate) const DEFAULT: Variant = Variant { stack_kib: STACK_KIB, pool: POOL, offload: OFFLOAD };

    /// Reads `default`, or what differs from it: `stack=16k,pool=20000`.
    pub(crate) fn parse(name: &str) -> Result<Variant, String> {
        let mut variant = Variant::DEFAULT;
        if name == "default" {
            return Ok(variant);
        }
        for part in name.split(',') {
            let Some((key, value)) = part.split_once('=') else { return Err(unknown(name)) };
            let number = |value: &str, least: usize, most: usize| match value.parse() {
                Ok(number) if (least..=most).contains(&number) => Ok(number),
                _ => Err(unknown(name)),
            };
            match key {
                "stack" => {
                    let kib = value.strip_suffix('k').unwrap_or_default();
                    variant.stack_kib = number(kib, STACK_KIB_MIN, STACK_KIB_MAX)?;
                    if !variant.stack_kib.is_multiple_of(4) {
                        return Err(unknown(name));
                    }
                }
                "pool" => variant.pool = number(value, 1, POOL_MAX)?,
                "offload" => variant.offload = number(value, 1, OFFLOAD_MAX)?,
                _ => return Err(unknown(name)),
            }
        }
        Ok(variant)
    }

    /// What the variant is, in one line.
    pub(crate) fn summary(&self) -> String {
        format!(
            "stacks of {} KiB, {} coroutines kept ready, at most {} offload threads",
            self.stack_kib, self.pool, self.offload
        )
    }

    pub(crate) fn stack_words(&self) -> usize {
        self.stack_kib * 1024 / size_of::<usize>()
    }
}

impl fmt::Display for Variant {
    /// The name: what differs from the default.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        if self.stack_kib != STACK_KIB {
            parts.push(format!("stack={}k", self.stack_kib));
        }
        if self.pool != POOL {
            parts.push(format!("pool={}", self.pool));
        }
        if self.offload != OFFLOAD {
            parts.push(format!("offload={}", self.offload));
        }
        if parts.is_empty() { f.write_str("default") } else { f.write_str(&parts.join(",")) }
    }
}

fn unknown(name: &str) -> String {
    format!(
        "unknown variant {name:?}; there are default and any of stack=Nk (a multiple of 4 from \
         {STACK_KIB_MIN} to {STACK_KIB_MAX}), pool=N (from 1 to {POOL_MAX}) and offload=N (from 1 to \
         {OFFLOAD_MAX}), joined by commas"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for name in ["default", "stack=16k", "pool=20000", "stack=16k,pool=20000", "offload=4"] {
            assert_eq!(Variant::parse(name).unwrap().to_string(), name);
        }
        assert_eq!(Variant::parse("stack=32k").unwrap(), Variant::DEFAULT);
        assert_eq!(Variant::parse("stack=16k").unwrap().stack_words(), 2048);
    }

    #[test]
    fn a_wrong_name_is_told_what_there_is() {
        for name in ["", "stack=8k", "stack=18k", "stack=16", "pool=0", "pool=x", "pin=1", "default,pool=2"] {
            assert!(Variant::parse(name).unwrap_err().contains("stack=Nk"), "{name}");
        }
    }
}
