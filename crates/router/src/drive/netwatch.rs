//! Probes of `/tool/netwatch`. The program owns the sockets: it takes probes with [`Control::take_probes`] and reports
//! their results with [`Control::hear_probe`].

use super::Control;
use crate::feature::Effects;

pub use crate::feature::netwatch::{Probe, Probed, Trial};

impl Control {
    /// Returns the probes to start; each is returned once.
    pub fn take_probes(&mut self) -> Vec<Probe> {
        self.features.watches.take_probes()
    }

    /// Records the result of a probe.
    pub fn hear_probe(&mut self, ticket: (u64, u64), probed: Probed) {
        let mut out = Effects::default();
        let (id, test) = ticket;
        { &mut self.features.watches }.probed(id, test, probed, self.now, &mut out);
        self.carry_out(out);
    }
}
