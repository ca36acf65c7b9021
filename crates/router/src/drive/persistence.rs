//! Writes state that survives a restart, at the end of each step: DHCP leases of clients, and records of features.

use std::collections::BTreeMap;

use super::Control;
use crate::feature::Effects;
use crate::records::Recalled;
use crate::store::leases::Leases;

impl Control {
    /// Writes changed leases, then sends the answers that promise them. Writes once per step; if `more` work is
    /// waiting, once in several steps.
    pub(super) fn keep_leases(&mut self, more: bool) {
        if self.features.dhcp_servers.has_to_keep(more) {
            let clock = self.clock.now();
            let mut out = Effects::default();
            self.features.dhcp_servers.keep(clock, self.now, &mut out);
            self.carry_out(out);
        }
    }

    /// Restores leases from the log, and writes further leases to the log.
    pub fn recall_leases(&mut self, log: Leases, kept: BTreeMap<u64, Vec<u8>>) {
        let clock = self.clock.now();
        let mut out = Effects::default();
        { &mut self.features.dhcp_servers }.recall(log, kept, clock, self.now, &mut out);
        self.carry_out(out);
    }

    /// Restores records of features from the log, and writes further records to the log.
    pub fn recall_records(&mut self, log: Leases, kept: BTreeMap<u64, Vec<u8>>) {
        let unix_seconds = self.clock.now().unix_seconds;
        for (key, bytes, age) in self.records.open(log, kept, unix_seconds) {
            let recalled = Recalled {
                key,
                bytes: &bytes,
                age,
            };
            if !self.features.recall(&recalled, self.now) {
                self.records.keep(key, None);
            }
        }
    }

    /// Writes the records that changed in this step.
    pub(super) fn keep_records(&mut self) {
        let unix_seconds = self.clock.now().unix_seconds;
        if let Err(error) = self.records.write(unix_seconds, self.now) {
            let message = format!(
                "leases, advertised prefixes and accounting reports cannot be stored for a restart: {error}"
            );
            self.features.log.add("system,error", message);
        }
    }
}
