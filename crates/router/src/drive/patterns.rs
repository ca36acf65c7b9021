//! Stream patterns of rules, compiled a second time into fewer automata, which may take seconds; until then the
//! first form is in force. The program has the thread: it takes the work with [`Control::take_joining`], does it
//! without the router, and reports the result with [`Control::hear_joined`].

use super::Control;

pub use dataplane::rule::{Joined, Joining};

impl Control {
    /// What is to be compiled, once. What is given later takes the place of what was given before.
    pub fn take_joining(&mut self) -> Option<Joining> {
        self.firewall.take_joining()
    }

    /// Takes what was compiled into use, if it is still looked for.
    pub fn hear_joined(&mut self, joined: &Joined) {
        if self.firewall.hear_joined(joined) {
            self.publish();
        }
    }
}
