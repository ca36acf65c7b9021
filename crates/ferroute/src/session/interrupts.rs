//! Interrupts of a login's sessions, which stop when another user ends the login.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Wake;

use script::Interrupt;

/// Interrupts of the sessions of one login.
#[derive(Default)]
pub(crate) struct LoginInterrupts {
    switches: Mutex<Switches>,
}

#[derive(Default)]
struct Switches {
    over: bool,
    all: Vec<Weak<Interrupt>>,
}

impl LoginInterrupts {
    /// Adds an interrupt; triggers it at once if the login has ended.
    pub(crate) fn add(&self, interrupt: &Arc<Interrupt>) {
        let mut switches = self.switches.lock().unwrap_or_else(PoisonError::into_inner);
        switches.all.retain(|other| other.strong_count() > 0);
        switches.all.push(Arc::downgrade(interrupt));
        if switches.over {
            interrupt.close();
        }
    }
}

impl Wake for LoginInterrupts {
    fn wake(self: Arc<Self>) {
        let mut switches = self.switches.lock().unwrap_or_else(PoisonError::into_inner);
        switches.over = true;
        let all = switches.all.iter().filter_map(Weak::upgrade);
        all.for_each(|interrupt| interrupt.close());
    }
}
