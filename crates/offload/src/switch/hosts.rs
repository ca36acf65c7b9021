//! Host table of a switch.
//!
//! A slot is two words: the key, 0 if empty, and the port with the time. A writer that reuses a slot for
//! another host first invalidates the key, and the program reads the key again after the port.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use frame::switch::{Group, HostKey};

use super::{Map, PARTS, VID_BITS, fid, step_now};

/// Number of buckets as hash bits: so many that hardly any of 64,000 hosts finds its bucket full.
pub(super) const BUCKET_BITS: u32 = 15;
/// Slots per bucket: two cache lines.
pub(super) const SLOTS: usize = 8;
/// Bytes per slot.
pub(super) const SLOT: usize = 16;
/// Bytes of the table.
pub(super) const BYTES: usize = (SLOTS * SLOT) << BUCKET_BITS;
/// Byte offsets in a slot.
pub(super) const KEY: i16 = 0;
pub(super) const PLACE: i16 = 8;
pub(super) const SEEN: i16 = 12;
/// Number of key bits below the [`fid`].
pub(super) const MAC_BITS: i32 = 48;

const NO_HOST: u64 = 0;
/// Key of a slot that is being written. No host has this key: its group would be 0.
const BUSY: u64 = 1;

/// The hosts of a switch.
#[derive(Debug)]
pub(super) struct Hosts<M> {
    pub(super) map: M,
    /// The factor of the hash: odd and secret.
    pub(super) factor: u64,
    /// Slots in use, by group.
    taken: [AtomicU32; Group::MOST + 1],
}

/// Entry of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HostEntry {
    pub(super) place: u32,
    /// Time step of the host's last frame.
    pub(super) seen: u32,
}

impl HostEntry {
    fn of(word: u64) -> Self {
        Self {
            place: word as u32,
            seen: (word >> 32) as u32,
        }
    }

    fn word(self) -> u64 {
        u64::from(self.place) | u64::from(self.seen) << 32
    }
}

impl<M: Map> Hosts<M> {
    pub(super) fn new(map: M, seed: u64) -> Self {
        Self {
            map,
            factor: seed | 1,
            taken: Default::default(),
        }
    }

    /// Returns the slots of a bucket: keys and values.
    fn bucket(&self, number: usize) -> &[[AtomicU64; 2]] {
        let words = &self.map.words()[number * SLOTS * 2..][..SLOTS * 2];
        words.as_chunks::<2>().0
    }

    fn bucket_of(&self, key: u64) -> &[[AtomicU64; 2]] {
        // Computed as in the program.
        let hash = key.wrapping_mul(self.factor);
        let hash = (hash ^ hash >> 32).wrapping_mul(self.factor);
        self.bucket((hash >> (64 - BUCKET_BITS)) as usize)
    }

    pub(super) fn find(&self, host: &HostKey) -> Option<HostEntry> {
        let key = key_of(host);
        let mut slots = self.bucket_of(key).iter();
        let [_, word] = slots.find(|[has, _]| has.load(Ordering::Acquire) == key)?;
        Some(HostEntry::of(word.load(Ordering::Acquire)))
    }

    /// Adds or updates a host. Returns false if there is no room, or if its group has `limit` hosts already.
    /// `holds` tells whether another entry is still valid.
    pub(super) fn put(
        &self,
        host: &HostKey,
        place: u32,
        limit: u32,
        holds: impl Fn(u32) -> bool,
    ) -> bool {
        let key = key_of(host);
        let (mut is_known, mut free) = (false, None);
        for slot @ [has, word] in self.bucket_of(key) {
            let found = has.load(Ordering::Acquire);
            let at = HostEntry::of(word.load(Ordering::Acquire));
            if found == key {
                // Two workers may have added the host in different slots at the same time: both are updated.
                if at.place != place {
                    let seen = step_now();
                    word.store(HostEntry { place, seen }.word(), Ordering::Release);
                }
                is_known = true;
            } else if free.is_none() && found != BUSY && (found == NO_HOST || !holds(at.place)) {
                free = Some((slot, found));
            }
        }
        if is_known {
            return true;
        }
        let group = host.group.number();
        let Some(([has, word], found)) = free else {
            return false;
        };
        let frees_own = found != NO_HOST && group_of(found) == group;
        if !frees_own && self.taken[group].load(Ordering::Relaxed) >= limit {
            return false;
        }
        let taking = has.compare_exchange(found, BUSY, Ordering::AcqRel, Ordering::Relaxed);
        if taking.is_err() {
            // Another worker was faster: the host's next frame finds its entry.
            return true;
        }
        if found != NO_HOST {
            self.taken[group_of(found)].fetch_sub(1, Ordering::Relaxed);
        }
        self.taken[group].fetch_add(1, Ordering::Relaxed);
        let seen = step_now();
        word.store(HostEntry { place, seen }.word(), Ordering::Release);
        has.store(key, Ordering::Release);
        true
    }

    pub(super) fn remove(&self, host: &HostKey) {
        let key = key_of(host);
        for [has, _] in self.bucket_of(key) {
            self.free(has, key);
        }
    }

    fn free(&self, has: &AtomicU64, key: u64) {
        let freed = has.compare_exchange(key, NO_HOST, Ordering::AcqRel, Ordering::Relaxed);
        if freed.is_ok() {
            self.taken[group_of(key)].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Frees the slots of invalid entries in a part of the buckets.
    pub(super) fn sweep(&self, part: usize, holds: impl Fn(u32) -> bool) {
        let buckets = (1 << BUCKET_BITS) / PARTS;
        for [has, word] in (0..buckets).flat_map(|at| self.bucket(part * buckets + at)) {
            let key = has.load(Ordering::Acquire);
            let place = HostEntry::of(word.load(Ordering::Acquire)).place;
            if key != NO_HOST && key != BUSY && !holds(place) {
                self.free(has, key);
            }
        }
    }

    /// Returns the number of slots of a group.
    pub(super) fn count(&self, group: Group) -> u32 {
        self.taken[group.number()].load(Ordering::Relaxed)
    }
}

/// Returns the key of a host, with its address in network byte order.
fn key_of(host: &HostKey) -> u64 {
    let [a, b, c, d, e, f] = host.mac;
    let mac = u64::from_ne_bytes([a, b, c, d, e, f, 0, 0]);
    u64::from(fid(host.group, host.vid)) << MAC_BITS | mac
}

fn group_of(key: u64) -> usize {
    (key >> (MAC_BITS as u32 + VID_BITS)) as usize
}
