//! Tunnels whose initiator has not proved its address: what a server remembers between SCCRQ and SCCCN.
//!
//! The initiator repeats its SCCRQ until SCCRP arrives, so that the server retransmits nothing and keeps one small
//! entry. The oldest entry makes room for a new one: a flood of forged requests shortens the time that an initiator has
//! for its answer, and never the memory of the router.

use std::collections::{BTreeMap, VecDeque};

use machine::{Duration, Instant};

use crate::dialect::Dialect;
use crate::event::Path;
use crate::secret::Secret;

/// Maximum number of entries.
pub(crate) const MAX: usize = 16_384;
/// Time for which an entry is kept.
pub(crate) const LIFETIME: Duration = Duration::from_secs(15);
/// Bytes of a challenge.
pub(crate) const CHALLENGE: usize = 16;

/// What a server remembers of an SCCRQ.
#[derive(Clone, Debug)]
pub(crate) struct HalfOpen {
    /// Ends of the request.
    pub(crate) path: Path,
    /// Tunnel number of the initiator.
    pub(crate) remote_id: u32,
    /// Receive window of the initiator.
    pub(crate) window: u16,
    /// Name of the initiator, cut to 64 characters.
    pub(crate) host_name: Box<str>,
    /// Version of the tunnel.
    pub(crate) dialect: Dialect,
    /// Secret of the tunnel.
    pub(crate) secret: Option<Secret>,
    /// Challenge of an SCCRP of version 2.
    pub(crate) challenge: Option<[u8; CHALLENGE]>,
    /// The SCCRP, for repeated requests.
    pub(crate) reply: Box<[u8]>,
}

/// Entries by local tunnel number.
#[derive(Debug, Default)]
pub(crate) struct HalfOpens {
    all: BTreeMap<u32, (Instant, HalfOpen)>,
    /// Numbers by initiator: its path and its number.
    initiators: BTreeMap<(Path, u32), u32>,
    /// Numbers in the order of their requests, with the time of the request. Entries that are gone are skipped.
    order: VecDeque<(Instant, u32)>,
}

impl HalfOpens {
    /// Returns true if a number is in use.
    pub(crate) fn contains(&self, id: u32) -> bool {
        self.all.contains_key(&id)
    }

    pub(crate) fn get(&self, id: u32) -> Option<&HalfOpen> {
        self.all.get(&id).map(|(_, entry)| entry)
    }

    /// Returns the entry of an initiator.
    pub(crate) fn of(&self, path: &Path, remote_id: u32) -> Option<&HalfOpen> {
        self.get(*self.initiators.get(&(*path, remote_id))?)
    }

    /// Adds an entry. A full table drops its oldest entry.
    pub(crate) fn add(&mut self, id: u32, entry: HalfOpen, now: Instant) {
        while self.all.len() >= MAX {
            match self.order.pop_front() {
                Some(oldest) => self.forget(oldest),
                None => break,
            }
        }
        self.initiators.insert((entry.path, entry.remote_id), id);
        self.all.insert(id, (now, entry));
        self.order.push_back((now, id));
    }

    /// Removes the entry of a number: its initiator proved its address, or failed to.
    pub(crate) fn remove(&mut self, id: u32) -> Option<HalfOpen> {
        let (_, entry) = self.all.remove(&id)?;
        self.initiators.remove(&(entry.path, entry.remote_id));
        // Entries of the order are as many as those that lived at one time, twice at most.
        if self.order.len() > 2 * self.all.len() + 64 {
            self.order
                .retain(|(at, id)| self.all.get(id).is_some_and(|(since, _)| since == at));
        }
        Some(entry)
    }

    fn forget(&mut self, key: (Instant, u32)) {
        let (at, id) = key;
        if self.all.get(&id).is_some_and(|(since, _)| *since == at) {
            self.remove(id);
        }
    }

    /// Removes entries that are too old.
    pub(crate) fn expire(&mut self, now: Instant) {
        while let Some((at, id)) = self.order.front().copied() {
            if at + LIFETIME > now {
                break;
            }
            self.order.pop_front();
            self.forget((at, id));
        }
    }

    /// Returns when the oldest entry ends.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let (at, _) = self.order.front()?;
        Some(*at + LIFETIME)
    }

    /// Removes all entries.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}
