//! MAC table of bridges: the port of a host in a VLAN of a bridge. All bridges share one table; other users
//! with learned hosts (tunnels with learned peers) use ids of their own instead of a bridge.
//!
//! ```text
//! hash of (bridge, VID, MAC) ──▶ line of three hosts ──▶ its neighbour ──▶ two lines elsewhere
//!                                    │                        └─ only if the line has displaced hosts
//!                                    └─ word 0‥2: MAC (48) | VID (12) | present | kind (2)
//!                                       word 3‥5: port (32) | bridge (32)
//!                                       word 6, 7: time last seen (3 × 32) | writer | displaced
//! ```
//!
//! A line is one cache line, and nearly every lookup reads only one. Readers take no lock and never wait:
//! they check the first word of a host before and after reading it. Workers learn hosts: a change of a line
//! claims its writer bit by an atomic operation; if the bit is taken, the worker skips learning until the
//! host's next frame. Only the control plane removes hosts; it waits for the few cycles that a claimed line
//! is being changed.
//!
//! Bounded by the table's size, and per bridge by the maximum that the caller passes.

#[cfg(test)]
mod tests;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use frame::InterfaceId;
use kernels::{Pages, Zeroed};

/// Hosts per line.
const HOSTS: usize = 3;
/// Number of lines with a common host counter: a walk skips blocks without hosts.
const BLOCK: usize = 64;
/// Word numbers of a line: the first port, and the last word.
const PORTS: usize = 3;
const LAST: usize = 7;
/// Words 0 to 2: the compared bits, and the kind above them.
const PRESENT: u64 = 1 << 60;
const KEY: u64 = (1 << 61) - 1;
const KIND_SHIFT: u32 = 62;
/// Word 7: writer bit, and number of hosts that were displaced to other lines.
const WRITER: u64 = 1 << 32;
const DISPLACED: u64 = 1 << 33;

/// Key of a host: bridge, VLAN and MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostKey {
    /// The bridge.
    pub bridge: InterfaceId,
    /// VLAN id, below 4,096; 0 for bridges without VLAN filtering.
    pub vid: u16,
    /// MAC address in the low 48 bits.
    pub mac: u64,
}

impl HostKey {
    #[inline(always)]
    const fn word(&self) -> u64 {
        self.mac & 0xffff_ffff_ffff | (self.vid as u64 & 0xfff) << 48 | PRESENT
    }
}

/// Origin of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostKind {
    /// Learned from a received frame. The entry ages, and moves with its frames to other ports.
    Learned,
    /// Learned below the workers (by hardware), or added by a registration. The entry moves with its frames
    /// but does not age.
    External,
    /// Configured with a port: the entry neither ages nor moves.
    Static,
    /// A MAC address of this router.
    Local,
}

impl HostKind {
    const ALL: [Self; 4] = [Self::Learned, Self::External, Self::Static, Self::Local];

    /// Returns true if frames of the host do not move the entry.
    #[inline(always)]
    const fn is_fixed(self) -> bool {
        matches!(self, Self::Static | Self::Local)
    }
}

/// Entry of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    /// The port behind which the host is.
    pub port: InterfaceId,
    /// Origin of the entry.
    pub kind: HostKind,
    /// Time of its last frame, in seconds of the caller's clock.
    pub seen: u32,
}

/// Result of learning from a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// The entry exists; its time was refreshed.
    Known,
    /// The entry is new.
    New,
    /// The entry moved; it had this port before.
    Moved(InterfaceId),
    /// The entry is static or local and does not move.
    Fixed,
    /// There is no room: the bridge's maximum is reached, or the possible lines are full.
    Full,
    /// Another thread is changing the line. The host's next frame is learned again.
    Busy,
}

/// Position of a host's lines in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostPosition {
    line: u32,
    elsewhere: u32,
}

/// MAC table of all bridges.
#[derive(Debug)]
pub struct BridgeHosts {
    lines: Zeroed<[AtomicU64; 8]>,
    mask: u32,
    seed: u64,
    /// Number of hosts in each block of lines.
    blocks: Zeroed<AtomicU32>,
    /// Number of learned hosts of each bridge, by its slot.
    learned: Zeroed<AtomicU32>,
}

impl BridgeHosts {
    /// Creates an empty table for `hosts` hosts of all bridges together, rounded up to a power of two. Memory
    /// is committed as hosts are added, at most 64 bytes per host. `seed` must be random, so that an attacker
    /// cannot choose addresses that collide.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn new(hosts: u32, seed: u64) -> std::io::Result<Self> {
        let lines = (hosts as usize).clamp(BLOCK, 1 << 24).next_power_of_two();
        Ok(Self {
            lines: Zeroed::new(lines, Pages::Huge)?,
            mask: lines as u32 - 1,
            seed,
            blocks: Zeroed::new(lines / BLOCK, Pages::Small)?,
            learned: Zeroed::new(1 << InterfaceId::SLOT_BITS, Pages::Small)?,
        })
    }

    /// Returns the position of a host for the functions below, which permits prefetching.
    #[inline(always)]
    pub fn place(&self, key: &HostKey) -> HostPosition {
        let word = key.word() ^ self.seed;
        let with = 0x9e37_79b9_7f4a_7c15 ^ u64::from(key.bridge.0) << 1;
        let product = u128::from(word) * u128::from(with);
        let hash = (product >> 64) as u64 ^ product as u64;
        HostPosition {
            line: hash as u32 & self.mask,
            elsewhere: (hash >> 32) as u32 & self.mask,
        }
    }

    /// Prefetches the line that most likely contains the host.
    #[inline(always)]
    pub fn prefetch(&self, place: HostPosition) {
        kernels::prefetch(self.line(place.line));
    }

    /// Looks up a host.
    #[inline]
    pub fn get(&self, key: &HostKey) -> Option<Host> {
        self.get_at(self.place(key), key)
    }

    /// Looks up a host at its position.
    #[inline(always)]
    pub fn get_at(&self, place: HostPosition, key: &HostKey) -> Option<Host> {
        let line = self.line(place.line);
        match find(line, key) {
            Some((_, host)) => Some(host),
            None if line[LAST].load(Ordering::Acquire) < DISPLACED => None,
            None => self.get_displaced(place, key),
        }
    }

    #[cold]
    #[inline(never)]
    fn get_displaced(&self, place: HostPosition, key: &HostKey) -> Option<Host> {
        let mut others = place.lines().into_iter().skip(1);
        others.find_map(|at| find(self.line(at), key).map(|(_, host)| host))
    }

    /// Learns a host from a frame received on `port` in second `now`; its bridge may have `max` learned
    /// hosts.
    #[inline]
    pub fn learn(&self, key: &HostKey, port: InterfaceId, now: u32, max: u32) -> Learned {
        self.learn_at(self.place(key), key, port, now, max)
    }

    /// Learns a host at its position.
    #[inline(always)]
    pub fn learn_at(
        &self,
        place: HostPosition,
        key: &HostKey,
        port: InterfaceId,
        now: u32,
        max: u32,
    ) -> Learned {
        let (line, word) = (self.line(place.line), key.word());
        let behind = value(port, key.bridge);
        for at in 0..HOSTS {
            // A learned host has kind 0; nearly always its time is already the current second.
            if line[at].load(Ordering::Acquire) == word
                && line[PORTS + at].load(Ordering::Relaxed) == behind
                && seen(line, at) == now
            {
                return Learned::Known;
            }
        }
        self.teach(place, key, port, now, max)
    }

    #[inline(never)]
    fn teach(
        &self,
        place: HostPosition,
        key: &HostKey,
        port: InterfaceId,
        now: u32,
        max: u32,
    ) -> Learned {
        let Some((at, slot, host)) = self.search(place, key) else {
            return self.insert(place, key, port, now, max);
        };
        if host.kind.is_fixed() {
            return Learned::Fixed;
        }
        see(self.line(at), slot, now);
        if host.port == port {
            return Learned::Known;
        }
        let Some(_home) = self.claim(place.line) else {
            return Learned::Busy;
        };
        // The host may have been removed, and another may use its slot.
        let Some((at, slot, _)) = self.search(place, key) else {
            return Learned::Busy;
        };
        self.line(at)[PORTS + slot].store(value(port, key.bridge), Ordering::Release);
        Learned::Moved(host.port)
    }

    #[inline(never)]
    fn insert(
        &self,
        place: HostPosition,
        key: &HostKey,
        port: InterfaceId,
        now: u32,
        max: u32,
    ) -> Learned {
        let learned = &self.learned[key.bridge.slot()];
        if learned.fetch_add(1, Ordering::Relaxed) >= max {
            learned.fetch_sub(1, Ordering::Relaxed);
            return Learned::Full;
        }
        let host = Host {
            port,
            kind: HostKind::Learned,
            seen: now,
        };
        let done = self.add(place, key, host, false);
        if done != Learned::New {
            learned.fetch_sub(1, Ordering::Relaxed);
        }
        done
    }

    /// Adds a host to the first of its lines that has room. With `waits` (control plane) it waits for claimed
    /// lines.
    fn add(&self, place: HostPosition, key: &HostKey, host: Host, waits: bool) -> Learned {
        let claim = |at| match waits {
            true => Some(self.wait_for(at)),
            false => self.claim(at),
        };
        // Every insertion first claims the line of the hash, so that no host is added twice.
        let Some(_home) = claim(place.line) else {
            return Learned::Busy;
        };
        if self.search(place, key).is_some() {
            return Learned::Busy;
        }
        for at in place.lines() {
            let is_home = at == place.line;
            let _line = match is_home {
                true => None,
                false => match claim(at) {
                    Some(claimed) => Some(claimed),
                    None => return Learned::Busy,
                },
            };
            let line = self.line(at);
            let empty = (0..HOSTS).find(|slot| line[*slot].load(Ordering::Relaxed) == 0);
            let Some(slot) = empty else { continue };
            if !is_home {
                self.line(place.line)[LAST].fetch_add(DISPLACED, Ordering::Release);
            }
            see(line, slot, host.seen);
            line[PORTS + slot].store(value(host.port, key.bridge), Ordering::Release);
            let kind = (host.kind as u64) << KIND_SHIFT;
            line[slot].store(key.word() | kind, Ordering::Release);
            self.blocks[at as usize / BLOCK].fetch_add(1, Ordering::Relaxed);
            return Learned::New;
        }
        Learned::Full
    }

    /// Adds or replaces an entry of any kind. Only the control plane calls this.
    ///
    /// # Errors
    /// Returns false if all lines of the host are full.
    pub fn set(&self, key: &HostKey, host: Host) -> bool {
        self.remove(key);
        let place = self.place(key);
        loop {
            match self.add(place, key, host, true) {
                Learned::New => break,
                // A worker has learned the host meanwhile.
                Learned::Busy => self.remove(key),
                _ => return false,
            };
        }
        if host.kind == HostKind::Learned {
            self.learned[key.bridge.slot()].fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Removes a host; returns its entry. Only the control plane calls this.
    pub fn remove(&self, key: &HostKey) -> Option<Host> {
        let place = self.place(key);
        let home = self.wait_for(place.line);
        let (at, slot, host) = self.search(place, key)?;
        let _line = (at != place.line).then(|| self.wait_for(at));
        self.line(at)[slot].store(0, Ordering::Release);
        self.blocks[at as usize / BLOCK].fetch_sub(1, Ordering::Relaxed);
        if at != place.line {
            self.line(place.line)[LAST].fetch_sub(DISPLACED, Ordering::Release);
        }
        drop(home);
        if host.kind == HostKind::Learned {
            self.learned[key.bridge.slot()].fetch_sub(1, Ordering::Relaxed);
        }
        Some(host)
    }

    /// Returns the number of learned hosts of a bridge.
    pub fn learned(&self, bridge: InterfaceId) -> u32 {
        self.learned[bridge.slot()].load(Ordering::Relaxed)
    }

    /// Returns the number of lines for [`Self::walk`].
    pub fn lines(&self) -> u32 {
        self.mask + 1
    }

    /// Visits the hosts of `count` lines from `from` on and removes those for which `keep` returns false.
    /// Returns the line at which the next walk continues; 0 after the last line. Only the control plane calls
    /// this.
    ///
    /// A walk over a table in use visits each host that exists throughout exactly once.
    pub fn walk(
        &self,
        from: u32,
        count: u32,
        mut keep: impl FnMut(&HostKey, &Host) -> bool,
    ) -> u32 {
        let end = from.saturating_add(count).min(self.lines());
        let mut at = from;
        while at < end {
            if (at as usize).is_multiple_of(BLOCK)
                && self.blocks[at as usize / BLOCK].load(Ordering::Relaxed) == 0
            {
                at = at.saturating_add(BLOCK as u32).min(end.max(at + 1));
                continue;
            }
            let line = self.line(at);
            for slot in 0..HOSTS {
                let Some((key, host)) = read(line, slot) else {
                    continue;
                };
                if !keep(&key, &host) {
                    self.remove(&key);
                }
            }
            at += 1;
        }
        if end == self.lines() { 0 } else { end }
    }

    /// Removes learned hosts of `count` lines from `from` on that were not seen for the ageing time of their
    /// bridge; `None` disables ageing. Calls `gone` for each. Returns the same as [`Self::walk`].
    pub fn age(
        &self,
        from: u32,
        count: u32,
        now: u32,
        ageing: impl Fn(InterfaceId) -> Option<u32>,
        mut gone: impl FnMut(&HostKey, &Host),
    ) -> u32 {
        self.walk(from, count, |key, host| {
            let old = host.kind == HostKind::Learned
                && ageing(key.bridge).is_some_and(|most| now.saturating_sub(host.seen) >= most);
            if old {
                gone(key, host);
            }
            !old
        })
    }

    /// Removes learned and external hosts of a port in the VLANs for which `vids` returns true, after a
    /// topology change or removal of the port. Static and local hosts stay.
    pub fn flush(&self, port: InterfaceId, vids: impl Fn(u16) -> bool) {
        self.walk(0, u32::MAX, |key, host| {
            host.kind.is_fixed() || host.port != port || !vids(key.vid)
        });
    }

    /// Removes all hosts of a deleted bridge.
    pub fn forget(&self, bridge: InterfaceId) {
        self.walk(0, u32::MAX, |key, _| key.bridge != bridge);
    }

    #[inline(always)]
    fn line(&self, at: u32) -> &[AtomicU64; 8] {
        &self.lines[(at & self.mask) as usize]
    }

    /// Returns the position of a host (line and slot) and its entry.
    fn search(&self, place: HostPosition, key: &HostKey) -> Option<(u32, usize, Host)> {
        let mut lines = place.lines().into_iter();
        lines.find_map(|at| find(self.line(at), key).map(|(slot, host)| (at, slot, host)))
    }

    /// Claims a line for a change; `None` if another thread has claimed it.
    fn claim(&self, at: u32) -> Option<Claimed<'_>> {
        let last = &self.line(at)[LAST];
        let before = last.fetch_or(WRITER, Ordering::Acquire);
        (before & WRITER == 0).then(|| Claimed(last))
    }

    /// Claims a line, waiting for it; for the control plane.
    fn wait_for(&self, at: u32) -> Claimed<'_> {
        loop {
            if let Some(claimed) = self.claim(at) {
                return claimed;
            }
            core::hint::spin_loop();
        }
    }
}

/// A claimed line; released on drop.
struct Claimed<'a>(&'a AtomicU64);

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        self.0.fetch_and(!WRITER, Ordering::Release);
    }
}

impl HostPosition {
    /// Returns the lines that may contain the host, the likeliest first, without duplicates.
    fn lines(self) -> impl IntoIterator<Item = u32> + Clone {
        let [first, second] = [self.line, self.line ^ 1];
        let third = self.elsewhere;
        let all = [first, second, third, third ^ 1];
        let once = if third | 1 == first | 1 { 2 } else { 4 };
        all.into_iter().take(once)
    }
}

#[inline(always)]
const fn value(port: InterfaceId, bridge: InterfaceId) -> u64 {
    port.0 as u64 | (bridge.0 as u64) << 32
}

/// Returns the slot of a host in a line and its entry.
#[inline(always)]
fn find(line: &[AtomicU64; 8], key: &HostKey) -> Option<(usize, Host)> {
    let word = key.word();
    for at in 0..HOSTS {
        let first = line[at].load(Ordering::Acquire);
        if first & KEY != word {
            continue;
        }
        let value = line[PORTS + at].load(Ordering::Acquire);
        // Another host may have taken the slot between the two reads.
        if (value >> 32) as u32 != key.bridge.0 || line[at].load(Ordering::Relaxed) != first {
            continue;
        }
        let host = Host {
            port: InterfaceId(value as u32),
            kind: HostKind::ALL[(first >> KIND_SHIFT) as usize],
            seen: seen(line, at),
        };
        return Some((at, host));
    }
    None
}

/// Returns the host in a slot of a line.
fn read(line: &[AtomicU64; 8], at: usize) -> Option<(HostKey, Host)> {
    let first = line[at].load(Ordering::Acquire);
    if first & PRESENT == 0 {
        return None;
    }
    let value = line[PORTS + at].load(Ordering::Acquire);
    let key = HostKey {
        bridge: InterfaceId((value >> 32) as u32),
        vid: (first >> 48) as u16 & 0xfff,
        mac: first & 0xffff_ffff_ffff,
    };
    let host = Host {
        port: InterfaceId(value as u32),
        kind: HostKind::ALL[(first >> KIND_SHIFT) as usize],
        seen: seen(line, at),
    };
    Some((key, host))
}

/// Returns the word and bit position of a host's time.
#[inline(always)]
const fn time(at: usize) -> (usize, u32) {
    (LAST - 1 + at / 2, at as u32 % 2 * 32)
}

#[inline(always)]
fn seen(line: &[AtomicU64; 8], at: usize) -> u32 {
    let (word, shift) = time(at);
    (line[word].load(Ordering::Relaxed) >> shift) as u32
}

/// Stores a host's time; concurrent changes of the word's other half are preserved.
fn see(line: &[AtomicU64; 8], at: usize, now: u32) {
    let (word, shift) = time(at);
    let with = |word: u64| word & !(0xffff_ffff << shift) | u64::from(now) << shift;
    let updated = line[word].fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
        Some(with(word))
    });
    debug_assert!(updated.is_ok(), "the change always applies");
}
