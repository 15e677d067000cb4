//! The objects that the kernel keeps in its slabs: sockets, files and threads among them. They are the whole
//! machine's; what a cell has is what grows with it.

use std::collections::BTreeMap;
use std::fs;
use std::io;

/// The caches by name.
pub(crate) type Slab = BTreeMap<String, Cache>;

/// One kind of object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cache {
    /// Objects in use.
    pub(crate) objects: u64,
    /// What one takes, with what the kernel puts around it.
    pub(crate) object_bytes: u64,
}

/// Reads `/proc/slabinfo`.
///
/// # Errors
///
/// The file wants root, and kernels can be built without it.
pub(crate) fn slab() -> io::Result<Slab> {
    Ok(parse(&fs::read_to_string("/proc/slabinfo")?))
}

/// `# name <active_objs> <num_objs> <objsize> ...`, see slabinfo(5).
fn parse(text: &str) -> Slab {
    let cache = |line: &str| {
        let mut fields = line.split_whitespace();
        let name = fields.next()?.to_owned();
        let mut number = || fields.next()?.parse().ok();
        let (objects, _allocated, object_bytes) = (number()?, number()?, number()?);
        Some((name, Cache { objects, object_bytes }))
    };
    text.lines().filter_map(cache).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_the_file_are_read_and_its_head_is_not() {
        let text = "\
slabinfo - version: 2.1
# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : tunables <limit> <batchcount>
TCP                   41     52   2368   13    8 : tunables    0    0    0 : slabdata      4      4      0
task_struct          199    215   5888    5    8 : tunables    0    0    0 : slabdata     43     43      0
";
        let slab = parse(text);
        assert_eq!(slab.len(), 2);
        assert_eq!(slab["TCP"], Cache { objects: 41, object_bytes: 2_368 });
    }

    #[test]
    fn this_machine_has_caches_or_says_why_not() {
        match slab() {
            Ok(slab) => {
                assert!(slab.values().any(|cache| cache.objects > 0 && cache.object_bytes > 0));
            }
            Err(error) => {
                let kinds = [io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound];
                assert!(kinds.contains(&error.kind()), "{error}");
            }
        }
    }
}
