//! The tally of connections that are held: what has become of their requests so far.

use std::collections::BTreeMap;

use super::Tally;
use crate::http::hold::Held;

impl Tally {
    /// All outcomes so far, without what is open.
    pub(in crate::http) fn held(&self) -> Held {
        let mut failed = BTreeMap::new();
        for (class, count) in [("rejected", self.rejected), ("timed-out", self.timed_out)] {
            if count > 0 {
                failed.insert(class.to_owned(), count);
            }
        }
        for (failure, (count, _)) in &self.errors {
            *failed.entry(failure.class()).or_default() += count;
        }
        let example = self.errors.values().next().map(|(_, example)| example.clone());
        Held { open: 0, served: self.completed, failed, example }
    }
}
