//! A number that rises and falls: its present value, its peak, and its integral over a window of time.

/// How many requests are somewhere.
#[derive(Debug, Default)]
pub(super) struct Level {
    value: u64,
    max: u64,
    integral: u128,
    integrated_to_ns: u64,
    end_ns: u64,
}

impl Level {
    /// Sets the window of the integral, before the first change.
    pub(super) fn set_window(&mut self, begin_ns: u64, end_ns: u64) {
        (self.integrated_to_ns, self.end_ns) = (begin_ns, end_ns);
    }

    pub(super) fn value(&self) -> u64 {
        self.value
    }

    /// The largest value so far, also outside the window.
    pub(super) fn max(&self) -> u64 {
        self.max
    }

    /// The integral, in nanoseconds, up to the last change in the window.
    #[expect(clippy::cast_precision_loss, reason = "a relative error of 1e-16 is far below the clock's own")]
    pub(super) fn integral_ns(&self) -> f64 {
        self.integral as f64
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

    /// Adds what the value came to since the last change, as far as that lies in the window.
    fn integrate(&mut self, now_ns: u64) {
        let to_ns = now_ns.min(self.end_ns);
        if to_ns > self.integrated_to_ns {
            self.integral += u128::from(self.value) * u128::from(to_ns - self.integrated_to_ns);
            self.integrated_to_ns = to_ns;
        }
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
    }
}
