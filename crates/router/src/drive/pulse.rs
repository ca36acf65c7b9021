//! Polls within long commands, such as importing a file as one transaction or removing 20,000 items. Code that runs
//! such a command lets control poll every few milliseconds; polling needs no configuration.

use std::sync::Arc;

use machine::Duration;

use super::Control;
use super::meanwhile::Pulse;

/// Time between two polls within a command.
const EVERY: Duration = Duration::from_millis(5);

impl Control {
    /// Sets the clock and the wake-up for polls within long commands.
    pub fn set_pulse(&mut self, pulse: Arc<dyn Pulse>) {
        self.asking.meanwhile.pulse = Some(pulse);
    }

    /// Polls, if a poll is due.
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
