//! Trials of hosts that are watched: the program has the sockets. It takes them with [`Control::take_probes`] and
//! reports what came of them with [`Control::hear_probe`].

use super::Control;
use crate::feature::Effects;

pub use crate::feature::netwatch::{Probe, Probed, Trial};

impl Control {
    /// The trials that are to begin, each once.
    pub fn take_probes(&mut self) -> Vec<Probe> {
        self.features.watches.take_probes()
    }

    /// Hears what came of a trial.
    pub fn hear_probe(&mut self, ticket: (u64, u64), probed: Probed) {
        let mut out = Effects::default();
        { &mut self.features.watches }.probed(ticket, probed, self.now, &mut out);
        self.carry_out(out);
    }
}
