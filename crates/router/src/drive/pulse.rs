//! Life goes on within a command that has the router for long: a file that is one transaction, the removal of 20,000
//! items. Who runs such a command lets control poll every few milliseconds; polling needs no configuration.

use std::sync::Arc;

use machine::Duration;

use super::Control;
use super::meanwhile::Pulse;

/// The time between two polls within a command.
const EVERY: Duration = Duration::from_millis(5);

impl Control {
    /// Lets control poll within long commands.
    pub fn set_pulse(&mut self, pulse: Arc<dyn Pulse>) {
        self.asking.meanwhile.pulse = Some(pulse);
    }

    /// Polls, if that is due.
    pub(crate) fn poll_meanwhile(&mut self) {
        let Some(pulse) = self.asking.meanwhile.pulse.clone() else {
            return;
        };
        let now = pulse.now();
        if now < self.now + EVERY || core::mem::replace(&mut self.asking.meanwhile.polling, true) {
            return;
        }
        self.poll(now);
        for worker in self.workers.take_woken() {
            pulse.wake(worker);
        }
        self.asking.meanwhile.polling = false;
    }
}
