//! Layer-7 patterns of rules. Combining them into fewer automata may take seconds; until then the rules use the first,
//! separate automata. The program has the thread: it takes the work with [`Control::take_joining`] and reports the
//! result with [`Control::hear_joined`].

use super::Control;

pub use dataplane::rule::{Joined, Joining};

impl Control {
    /// Returns the patterns to combine, once. A later result replaces an earlier one.
    pub fn take_joining(&mut self) -> Option<Joining> {
        self.firewall.take_joining()
    }

    /// Installs combined patterns, if rules still use these patterns.
    pub fn hear_joined(&mut self, joined: &Joined) {
        if self.firewall.hear_joined(joined) {
            self.publish();
        }
    }
}
