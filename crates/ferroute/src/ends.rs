//! What runs in the sessions of a login, to be stopped when somebody ends the login.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::Wake;

use script::Interrupt;

/// The switches of the sessions of one login.
#[derive(Default)]
pub(crate) struct Ends {
    switches: Mutex<Switches>,
}

#[derive(Default)]
struct Switches {
    over: bool,
    all: Vec<Weak<Interrupt>>,
}

impl Ends {
    /// Has this one stopped when the login ends: at once if it has.
    pub(crate) fn add(&self, interrupt: &Arc<Interrupt>) {
        let mut switches = self.switches.lock().unwrap_or_else(PoisonError::into_inner);
        switches.all.retain(|other| other.strong_count() > 0);
        switches.all.push(Arc::downgrade(interrupt));
        if switches.over {
            interrupt.close();
        }
    }
}

impl Wake for Ends {
    fn wake(self: Arc<Self>) {
        let mut switches = self.switches.lock().unwrap_or_else(PoisonError::into_inner);
        switches.over = true;
        let all = switches.all.iter().filter_map(Weak::upgrade);
        all.for_each(|interrupt| interrupt.close());
    }
}
