//! The compute kernel: a fixed amount of integer work whose result proves that it was done.
//!
//! Rounds and not durations are the unit, so that the same request costs the same work on every
//! model and its checksum can be foretold. A run calibrates once how many rounds a microsecond of
//! CPU time holds.

/// Runs `rounds` rounds of the kernel from `state` and returns the new state.
///
/// One round is the splitmix64 output function (Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", 2014) applied to the state. Each round needs the result of the
/// one before, so neither the compiler nor the processor can skip or overlap rounds.
#[must_use]
pub fn run(mut state: u64, rounds: u64) -> u64 {
    for _ in 0..rounds {
        state = mix(state);
    }
    state
}

/// What splitmix64 adds to its counter from one number to the next.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// The next number of splitmix64, whose counter is `state`: what schedules and intervals draw from, so that a seed gives
/// the same everywhere.
#[must_use]
pub fn random(state: &mut u64) -> u64 {
    let number = mix(*state);
    *state = state.wrapping_add(GAMMA);
    number
}

/// One round: a bijection on 64 bits without short cycles in practice.
#[must_use]
pub fn mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_is_the_published_generator() {
        // First outputs of splitmix64 seeded with 0, as published with its reference code.
        let mut counter = 0;
        assert_eq!(mix(counter), 0xe220_a839_7b1d_cdaf);
        let numbers = [(); 3].map(|()| random(&mut counter));
        assert_eq!(numbers, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn rounds_add_up() {
        assert_eq!(run(run(7, 3), 4), run(7, 7));
        assert_eq!(run(7, 0), 7);
        assert_ne!(run(7, 6), run(7, 7));
    }
}
