//! A number that rises and falls: its present value, its peak, and its integral, in a window of time and in all.

/// How many requests are somewhere.
#[derive(Debug, Default)]
pub(super) struct Level {
    value: u64,
    max: u64,
    in_window: u128,
    in_all: u128,
    changed_ns: u64,
    begin_ns: u64,
    end_ns: u64,
}

impl Level {
    /// Sets the window of the integral, before the first change.
    pub(super) fn set_window(&mut self, begin_ns: u64, end_ns: u64) {
        (self.begin_ns, self.end_ns) = (begin_ns, end_ns);
    }

    pub(super) fn value(&self) -> u64 {
        self.value
    }

    /// The largest value so far, also outside the window.
    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// The integral over the window, in nanoseconds, up to the last change.
    #[expect(clippy::cast_precision_loss, reason = "a relative error of 1e-16 is far below the clock's own")]
    pub(super) fn integral_ns(&self) -> f64 {
        self.in_window as f64
    }

    /// The integral over all of the time up to `now_ns`, in nanoseconds.
    pub(super) fn integral_to_ns(&self, now_ns: u64) -> u64 {
        let since = u128::from(self.value) * u128::from(now_ns.saturating_sub(self.changed_ns));
        u64::try_from(self.in_all + since).unwrap_or(u64::MAX)
    }

    pub(super) fn rise(&mut self, now_ns: u64) {
        self.integrate(now_ns);
        self.value += 1;
        self.max = self.max.max(self.value);
    }

    pub(super) fn fall(&mut self, now_ns: u64) {
        self.integrate(now_ns);
        self.value -= 1;
    }

    /// Adds what the value came to since the last change.
    fn integrate(&mut self, now_ns: u64) {
        if now_ns <= self.changed_ns {
            return;
        }
        let (from_ns, to_ns) = (self.changed_ns.max(self.begin_ns), now_ns.min(self.end_ns));
        self.in_window += u128::from(self.value) * u128::from(to_ns.saturating_sub(from_ns));
        self.in_all += u128::from(self.value) * u128::from(now_ns - self.changed_ns);
        self.changed_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_in_the_window_is_integrated() {
        let mut level = Level::default();
        level.set_window(100, 200);
        level.rise(50);
        level.rise(120);
        level.fall(150);
        level.fall(300);
        assert_eq!((level.value(), level.max()), (0, 2));
        assert_eq!(level.integral_ns(), 20.0 + 2.0 * 30.0 + 50.0);
        assert_eq!(level.integral_to_ns(300), 70 + 2 * 30 + 150);
        level.rise(400);
        assert_eq!(level.integral_to_ns(410), 280 + 10);
    }
}
