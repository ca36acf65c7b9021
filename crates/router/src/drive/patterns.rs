//! What rules look for in streams is in force at once, and compiled a second time into fewer automata, which
//! may take seconds. The owner has the thread for that: he takes the work with [`Control::take_joining`],
//! does it without the router, and says with [`Control::hear_joined`] what came of it.

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
