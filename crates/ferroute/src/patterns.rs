//! Compiles what rules look for in streams a second time, in a thread, so that nobody waits: until it is done
//! the same is found, at a higher price for each packet.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use netio::Waker;
use router::Instance;
use router::drive::patterns::{Joined, Joining};

/// See the module.
pub(crate) struct Patterns {
    tell: Sender<Joined>,
    told: Receiver<Joined>,
    /// Wakes the control thread.
    wake: Waker,
    busy: bool,
    /// What is compiled next; what comes later takes its place.
    next: Option<Joining>,
}

impl Patterns {
    /// Has nothing to do yet.
    pub(crate) fn new(wake: Waker) -> Self {
        let (tell, told) = channel();
        Self {
            tell,
            told,
            wake,
            busy: false,
            next: None,
        }
    }

    /// Tells control what was compiled, and takes what is to be compiled.
    pub(crate) fn follow(&mut self, instance: &mut Instance) {
        let control = instance.control();
        for joined in self.told.try_iter() {
            self.busy = false;
            control.hear_joined(&joined);
        }
        if let Some(joining) = control.take_joining() {
            self.next = Some(joining);
        }
    }

    /// Begins what is next, if nothing is under way.
    pub(crate) fn begin(&mut self) {
        if self.busy {
            return;
        }
        let Some(joining) = self.next.take() else {
            return;
        };
        let (tell, wake) = (self.tell.clone(), self.wake.clone());
        let thread = thread::Builder::new().name("patterns".to_owned());
        let begun = thread.spawn(move || {
            let _ = tell.send(joining.run());
            wake.wake();
        });
        // Without a thread all stays as it is, which is in force.
        self.busy = begun.is_ok();
    }
}
