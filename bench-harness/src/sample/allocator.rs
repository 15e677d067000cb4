//! Which allocator the runners have: this process's own, since all are built for one C library and none brings another.

use std::env;

/// What in the environment changes it.
const KNOBS: [&str; 2] = ["GLIBC_TUNABLES", "MALLOC_ARENA_MAX"];

/// Its name, with what the environment says about it.
pub(crate) fn allocator() -> String {
    let mut words = name();
    for knob in KNOBS {
        if let Some(value) = env::var_os(knob) {
            words += &format!(", {knob}={}", value.display());
        }
    }
    words
}

#[cfg(target_env = "gnu")]
fn name() -> String {
    #[expect(unsafe_code, reason = "the version of the C library has no safe wrapper")]
    // SAFETY: gnu_get_libc_version(3) returns a string that ends with a zero and that nobody changes.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    format!("glibc {} malloc, at most 8 arenas a CPU", version.to_string_lossy())
}

#[cfg(not(target_env = "gnu"))]
fn name() -> String {
    "the allocator of a C library that is not glibc".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allocator_has_a_name_and_on_glibc_a_version() {
        let words = allocator();
        assert!(!cfg!(target_env = "gnu") || words.starts_with("glibc 2."), "{words}");
    }
}
