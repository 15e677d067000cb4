//! How many plans are in service, and the integral of that number over time, in one word: a begin or an end is one
//! write, and a reader sees both at one instant, however many begin and end meanwhile.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// The bits of the number; the others are the integral's.
const NUMBER_BITS: u32 = 20;
/// The most plans in service that the number can tell.
pub(super) const NUMBER_MAX: u64 = (1 << NUMBER_BITS) - 1;
/// The integral is kept modulo this many microseconds: 17 million seconds of a plan.
const INTEGRAL_MODULUS_US: u64 = 1 << (u64::BITS - NUMBER_BITS);

/// The lower bits are the number. The upper ones are the sum of end minus start over the plans that have ended, less
/// the starts of those in service, in whole microseconds and modulo what fits: adding `now` for each of those in
/// service gives the integral. Begins and ends are rounded down alike, so that the error of many is none.
///
/// All zeros is a valid start.
#[derive(Debug, Default)]
pub(super) struct Level(AtomicU64);

/// A level, or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    pub(super) number: u64,
    ended_less_begun_us: u64,
}

impl Level {
    /// One more since `now_ns`. Returns how many there are.
    pub(super) fn rise(&self, now_ns: u64) -> u64 {
        let before = self.0.fetch_add(1_u64.wrapping_sub(us(now_ns) << NUMBER_BITS), Relaxed);
        (before & NUMBER_MAX) + 1
    }

    /// One less since `now_ns`.
    pub(super) fn fall(&self, now_ns: u64) {
        self.fall_by(1, now_ns);
    }

    /// None any more. Nobody may write meanwhile.
    pub(super) fn fall_to_zero(&self, now_ns: u64) {
        self.fall_by(self.number(), now_ns);
    }

    pub(super) fn number(&self) -> u64 {
        self.0.load(SeqCst) & NUMBER_MAX
    }

    pub(super) fn read(&self) -> Reading {
        let word = self.0.load(Relaxed);
        Reading { number: word & NUMBER_MAX, ended_less_begun_us: word >> NUMBER_BITS }
    }

    fn fall_by(&self, number: u64, now_ns: u64) {
        let ended = number.wrapping_mul(us(now_ns)) << NUMBER_BITS;
        self.0.fetch_add(ended.wrapping_sub(number), Relaxed);
    }
}

impl Reading {
    pub(super) fn add(&mut self, other: Reading) {
        self.number += other.number;
        self.ended_less_begun_us += other.ended_less_begun_us;
    }

    /// The integral up to `now_ns`, in nanoseconds; before it nobody may have begun later than that.
    pub(super) fn integral_ns(&self, now_ns: u64) -> u64 {
        let in_service_us = self.number.wrapping_mul(us(now_ns));
        self.ended_less_begun_us.wrapping_add(in_service_us) % INTEGRAL_MODULUS_US * 1_000
    }
}

fn us(ns: u64) -> u64 {
    ns / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    /// A machine that has been up for a year: the products do not fit the word, and need not.
    const UP: u64 = 365 * 24 * 3_600 * 1_000 * MS;

    #[test]
    fn the_integral_is_number_times_time() {
        let level = Level::default();
        assert_eq!(level.rise(UP), 1);
        assert_eq!(level.rise(UP + MS), 2);
        assert_eq!(level.read().integral_ns(UP + 2 * MS), 3 * MS);
        level.fall(UP + 3 * MS);
        assert_eq!((level.number(), level.read().integral_ns(UP + 10 * MS)), (1, 12 * MS));
        level.fall(UP + 11 * MS);
        assert_eq!((level.number(), level.read().integral_ns(UP + 50 * MS)), (0, 13 * MS));
    }

    #[test]
    fn many_at_once_do_not_run_into_the_integral() {
        let level = Level::default();
        (0..NUMBER_MAX).for_each(|_| _ = level.rise(UP));
        let reading = level.read();
        assert_eq!((reading.number, reading.integral_ns(UP + MS)), (NUMBER_MAX, NUMBER_MAX * MS));
        level.fall_to_zero(UP + 2 * MS);
        assert_eq!((level.number(), level.read().integral_ns(UP + 7 * MS)), (0, 2 * NUMBER_MAX * MS));
    }

    #[test]
    fn levels_add_up() {
        let (one, two) = (Level::default(), Level::default());
        one.rise(UP);
        two.rise(UP + MS);
        two.fall(UP + 2 * MS);
        let mut sum = one.read();
        sum.add(two.read());
        assert_eq!((sum.number, sum.integral_ns(UP + 2 * MS)), (1, 3 * MS));
    }

    #[test]
    fn what_ends_below_a_microsecond_counts_in_the_mean() {
        let level = Level::default();
        for index in 0..10_000_u64 {
            let begin = UP + index * 1_377;
            level.rise(begin);
            level.fall(begin + 300);
        }
        let mean_ns = level.read().integral_ns(UP + 20 * MS) / 10_000;
        assert!((290..310).contains(&mean_ns), "{mean_ns}");
    }
}
