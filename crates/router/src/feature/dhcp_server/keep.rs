//! Leases on disk: changed leases are written before the answers that promise them are sent, with
//! one write per step.

use std::collections::BTreeMap;

use machine::Instant;
use menu::Clock;
use service::dhcp::server::{Event, Record};

use super::{DhcpServers, Effects};
use crate::store::leases::{Entries, Leases};

/// Minimum number of leases per write while more requests are waiting.
const WORTH: usize = 1_024;

impl DhcpServers {
    /// Loads the leases of a log and writes later changes to it.
    pub(crate) fn recall(
        &mut self,
        log: Leases,
        kept: BTreeMap<u64, Vec<u8>>,
        clock: Clock,
        now: Instant,
        out: &mut Effects,
    ) {
        for bytes in kept.values() {
            if let Some(record) = Record::read(bytes) {
                let event = Event::Recall(Box::new(record), clock.unix_seconds);
                self.event(event, now, out);
            }
        }
        self.log = Some(log);
        // Dynamic leases get new ids at load.
        self.rewrite(clock, now, out);
        let ids: Vec<_> = self.machine.leases().keys().copied().collect();
        for id in ids {
            self.renew(id, out);
            self.start_accounting(id, out);
        }
    }

    /// Whether leases must be written or answers wait for a write. While `more` requests wait, a
    /// write waits for a full batch.
    pub(crate) fn has_to_keep(&self, more: bool) -> bool {
        let waits = self.changed.len().max(self.waiting.len());
        waits > 0 && (!more || waits >= WORTH)
    }

    /// Writes changed leases and sends the answers that waited for them. If the write fails, drops
    /// the answers.
    pub(crate) fn keep(&mut self, clock: Clock, now: Instant, out: &mut Effects) {
        let waiting = core::mem::take(&mut self.waiting);
        let changed = core::mem::take(&mut self.changed);
        if let Some(log) = self.log.as_mut().filter(|_| self.is_kept) {
            let record = |id: &u64| {
                let lease = self.machine.lease(*id)?;
                Record::of(lease, now, clock.unix_seconds)
            };
            let entries: Entries = { changed.iter() }
                .map(|id| (*id, record(id).map(|record| record.to_bytes())))
                .collect();
            if let Err(error) = log.keep(&entries) {
                self.changed = changed;
                self.fails(&error, out);
                return;
            }
            let stale = log.is_stale();
            self.is_failing = false;
            if stale {
                self.rewrite(clock, now, out);
            }
        }
        waiting.into_iter().for_each(|answer| out.send(answer));
    }

    fn rewrite(&mut self, clock: Clock, now: Instant, out: &mut Effects) {
        let records = self.machine.leases().values().filter_map(|lease| {
            let record = Record::of(lease, now, clock.unix_seconds)?;
            Some((lease.id, record.to_bytes()))
        });
        let all = records.collect();
        if let Some(Err(error)) = self.log.as_mut().map(|log| log.rewrite(&all)) {
            self.fails(&error, out);
        }
    }

    fn fails(&mut self, error: &std::io::Error, out: &mut Effects) {
        if !core::mem::replace(&mut self.is_failing, true) {
            let message = format!(
                "leases cannot be stored and are not assigned \
                 (store-leases-disk=never assigns them without storing): {error}"
            );
            out.log("dhcp,error", message);
        }
    }
}
