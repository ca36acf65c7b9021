//! Compiles the stream patterns of firewall rules in a background thread. Until it is done, the quickly
//! compiled patterns match the same streams at a higher cost per packet.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use netio::Waker;
use router::Instance;
use router::drive::patterns::{Joined, Joining};

/// Background compiler of stream patterns.
pub(crate) struct Patterns {
    tell: Sender<Joined>,
    told: Receiver<Joined>,
    /// Wakes the control thread.
    wake: Waker,
    busy: bool,
    /// Next patterns to compile; a later request replaces it.
    next: Option<Joining>,
}

impl Patterns {
    /// Creates an idle compiler.
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

    /// Passes finished patterns to control and takes the next request.
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

    /// Starts the next request unless one is running.
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
        // Without a thread the current patterns stay in use.
        self.busy = begun.is_ok();
    }
}
