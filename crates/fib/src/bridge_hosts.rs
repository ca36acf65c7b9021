//! Hosts of bridges: by which port a station is reached, in a VLAN of a bridge. One table for all bridges; what else
//! learns stations (tunnels with learned peers) uses it with ids of its own in place of a bridge's.
//!
//! ```text
//! hash of (bridge, VID, MAC) ──▶ line of three hosts ──▶ its neighbour ──▶ two lines elsewhere
//!                                     │                        └─ only where the line has displaced some
//!                                     └─ word 0‥2: MAC (48) | VID (12) | present | kind (2)
//!                                        word 3‥5: port (32) | bridge (32)
//!                                        word 6, 7: when it was seen (3 × 32) | writer | displaced
//! ```
//!
//! A line is a cache line, and nearly every lookup reads one. Readers take no lock and never wait: a host is read
//! between two looks at its first word. Workers learn: a change of a line claims its writer bit by one
//! compare-and-swap, and who finds it taken leaves it, as the station's next frame teaches again. Control alone
//! removes, and waits for a claimed line the few clocks that a change takes.
//!
//! Bounded: by the table's size, and for each bridge by the number that its learner gives.

#[cfg(test)]
mod tests;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use frame::InterfaceId;
use kernels::{Pages, Zeroed};

/// Hosts of a line.
const HOSTS: usize = 3;
/// Lines whose hosts are counted together: a walk passes by those that have none.
const BLOCK: usize = 64;
/// Words of a line: the first of ports, and the last one.
const PORTS: usize = 3;
const LAST: usize = 7;
/// Word 0 to 2: what is compared, and the kind above it.
const PRESENT: u64 = 1 << 60;
const KEY: u64 = (1 << 61) - 1;
const KIND_SHIFT: u32 = 62;
/// Word 7: somebody changes the line; how many hosts it has displaced to others.
const WRITER: u64 = 1 << 32;
const DISPLACED: u64 = 1 << 33;

/// A station in a VLAN of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostKey {
    /// The bridge.
    pub bridge: InterfaceId,
    /// The VLAN id, below 4,096; 0 where a bridge does not tell VLANs apart.
    pub vid: u16,
    /// The link address, in the low 48 bits.
    pub mac: u64,
}

impl HostKey {
    #[inline(always)]
    const fn word(&self) -> u64 {
        self.mac & 0xffff_ffff_ffff | (self.vid as u64 & 0xfff) << 48 | PRESENT
    }
}

/// Why a host is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostKind {
    /// A frame of it was received. It ages, and follows its frames to other ports.
    Learned,
    /// Something below the workers has learned it, or a registration has brought it. It follows its frames, but
    /// does not age here.
    External,
    /// The configuration names its port: it neither ages nor moves.
    Static,
    /// An address of this router.
    Local,
}

impl HostKind {
    const ALL: [Self; 4] = [Self::Learned, Self::External, Self::Static, Self::Local];

    /// Whether its frames do not move it.
    #[inline(always)]
    const fn is_fixed(self) -> bool {
        matches!(self, Self::Static | Self::Local)
    }
}

/// What is known of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host {
    /// The port that it is behind.
    pub port: InterfaceId,
    /// Why it is known.
    pub kind: HostKind,
    /// When it was seen last, in the learner's seconds.
    pub seen: u32,
}

/// What a frame of a station taught.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learned {
    /// Nothing but that it is still there.
    Known,
    /// It is new.
    New,
    /// It was behind this port before.
    Moved(InterfaceId),
    /// It is static, or this router's own: it stays where it is.
    Fixed,
    /// There is no room for it: the bridge has as many as it may, or the lines that it may be in are full.
    Full,
    /// Somebody else changes its line. Its next frame teaches it.
    Busy,
}

/// Where a station is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    line: u32,
    elsewhere: u32,
}

/// See the module.
#[derive(Debug)]
pub struct BridgeHosts {
    lines: Zeroed<[AtomicU64; 8]>,
    mask: u32,
    seed: u64,
    /// How many hosts each block of lines has.
    blocks: Zeroed<AtomicU32>,
    /// How many hosts each bridge has learned, by its slot.
    learned: Zeroed<AtomicU32>,
}

impl BridgeHosts {
    /// An empty table for so many hosts of all bridges together, rounded up to a power of two. It takes memory as
    /// hosts come, at most 64 bytes for each of that number. `seed` is random, so that nobody chooses addresses
    /// that meet in few lines.
    ///
    /// # Errors
    /// What the kernel says when there is not that much address space.
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

    /// Where a station is looked for. Passed to the functions below, so that lines may be asked for ahead.
    #[inline(always)]
    pub fn place(&self, key: &HostKey) -> Place {
        let word = key.word() ^ self.seed;
        let with = 0x9e37_79b9_7f4a_7c15 ^ u64::from(key.bridge.0) << 1;
        let product = u128::from(word) * u128::from(with);
        let hash = (product >> 64) as u64 ^ product as u64;
        Place {
            line: hash as u32 & self.mask,
            elsewhere: (hash >> 32) as u32 & self.mask,
        }
    }

    /// Asks the processor for the line that a station is most likely in.
    #[inline(always)]
    pub fn prefetch(&self, place: Place) {
        kernels::prefetch(self.line(place.line));
    }

    /// What is known of a station.
    #[inline]
    pub fn get(&self, key: &HostKey) -> Option<Host> {
        self.get_at(self.place(key), key)
    }

    /// The same at its place.
    #[inline(always)]
    pub fn get_at(&self, place: Place, key: &HostKey) -> Option<Host> {
        let line = self.line(place.line);
        match find(line, key) {
            Some((_, host)) => Some(host),
            None if line[LAST].load(Ordering::Acquire) < DISPLACED => None,
            None => self.get_displaced(place, key),
        }
    }

    #[cold]
    #[inline(never)]
    fn get_displaced(&self, place: Place, key: &HostKey) -> Option<Host> {
        let mut others = place.lines().into_iter().skip(1);
        others.find_map(|at| find(self.line(at), key).map(|(_, host)| host))
    }

    /// A frame of a station came by a port at this second; its bridge may have learned so many.
    #[inline]
    pub fn learn(&self, key: &HostKey, port: InterfaceId, (now, max): (u32, u32)) -> Learned {
        self.learn_at(self.place(key), key, port, (now, max))
    }

    /// The same at its place.
    #[inline(always)]
    pub fn learn_at(
        &self,
        place: Place,
        key: &HostKey,
        port: InterfaceId,
        (now, max): (u32, u32),
    ) -> Learned {
        let (line, word) = (self.line(place.line), key.word());
        let behind = value(port, key.bridge);
        for at in 0..HOSTS {
            // A learned host, as its kind is zero: nearly always it was seen within this second.
            if line[at].load(Ordering::Acquire) == word
                && line[PORTS + at].load(Ordering::Relaxed) == behind
                && seen(line, at) == now
            {
                return Learned::Known;
            }
        }
        self.teach(place, key, port, (now, max))
    }

    #[inline(never)]
    fn teach(
        &self,
        place: Place,
        key: &HostKey,
        port: InterfaceId,
        (now, max): (u32, u32),
    ) -> Learned {
        let Some((at, slot, host)) = self.search(place, key) else {
            return self.insert(place, key, port, (now, max));
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
        // It may have gone meanwhile, and another may stand in its place.
        let Some((at, slot, _)) = self.search(place, key) else {
            return Learned::Busy;
        };
        self.line(at)[PORTS + slot].store(value(port, key.bridge), Ordering::Release);
        Learned::Moved(host.port)
    }

    #[inline(never)]
    fn insert(
        &self,
        place: Place,
        key: &HostKey,
        port: InterfaceId,
        (now, max): (u32, u32),
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

    /// Puts a host that is in no line into the first of its lines that has room. Control waits for lines.
    fn add(&self, place: Place, key: &HostKey, host: Host, waits: bool) -> Learned {
        let claim = |at| match waits {
            true => Some(self.wait_for(at)),
            false => self.claim(at),
        };
        // Whoever adds a host claims the line of its hash first, so that none is added twice.
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

    /// Makes a station known, or changes what is known of it, whatever that was. Only control calls this.
    ///
    /// # Errors
    /// False where all lines that it may be in are full.
    pub fn set(&self, key: &HostKey, host: Host) -> bool {
        self.remove(key);
        let place = self.place(key);
        loop {
            match self.add(place, key, host, true) {
                Learned::New => break,
                // A worker has learned it meanwhile.
                Learned::Busy => self.remove(key),
                _ => return false,
            };
        }
        if host.kind == HostKind::Learned {
            self.learned[key.bridge.slot()].fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    /// Forgets a station; what was known of it. Only control calls this.
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

    /// How many stations a bridge has learned.
    pub fn learned(&self, bridge: InterfaceId) -> u32 {
        self.learned[bridge.slot()].load(Ordering::Relaxed)
    }

    /// How many lines there are, to be walked.
    pub fn lines(&self) -> u32 {
        self.mask + 1
    }

    /// Shows the hosts of `count` lines from `from` on, and forgets those of which `keep` says no. Returns where the
    /// next walk goes on; 0 when all lines were walked. Only control calls this.
    ///
    /// A walk over a table in use sees each host that was there all the time, once.
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

    /// Forgets learned hosts of `count` lines from `from` on that were not seen for as many seconds as their bridge
    /// waits: none for a bridge that forgets none. Calls `gone` for each. Returns as [`Self::walk`] does.
    pub fn age(
        &self,
        (from, count): (u32, u32),
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

    /// Forgets what was learned behind a port, of all VLANs or of those that `vids` says yes to: the tree has
    /// changed, or the port is gone. Static and local hosts stay; those of something else go with it.
    pub fn flush(&self, port: InterfaceId, vids: impl Fn(u16) -> bool) {
        self.walk(0, u32::MAX, |key, host| {
            host.kind.is_fixed() || host.port != port || !vids(key.vid)
        });
    }

    /// Forgets all that is known of a bridge that is gone.
    pub fn forget(&self, bridge: InterfaceId) {
        self.walk(0, u32::MAX, |key, _| key.bridge != bridge);
    }

    #[inline(always)]
    fn line(&self, at: u32) -> &[AtomicU64; 8] {
        &self.lines[(at & self.mask) as usize]
    }

    /// Where a host is: its line, its place there, and what is known of it.
    fn search(&self, place: Place, key: &HostKey) -> Option<(u32, usize, Host)> {
        let mut lines = place.lines().into_iter();
        lines.find_map(|at| find(self.line(at), key).map(|(slot, host)| (at, slot, host)))
    }

    /// Claims a line, to be changed; none where somebody else has it.
    fn claim(&self, at: u32) -> Option<Claimed<'_>> {
        let last = &self.line(at)[LAST];
        let before = last.fetch_or(WRITER, Ordering::Acquire);
        (before & WRITER == 0).then(|| Claimed(last))
    }

    /// The same for control, which waits until it has it.
    fn wait_for(&self, at: u32) -> Claimed<'_> {
        loop {
            if let Some(claimed) = self.claim(at) {
                return claimed;
            }
            core::hint::spin_loop();
        }
    }
}

/// A line that one writer changes.
struct Claimed<'a>(&'a AtomicU64);

impl Drop for Claimed<'_> {
    fn drop(&mut self) {
        self.0.fetch_and(!WRITER, Ordering::Release);
    }
}

impl Place {
    /// The lines that a host may be in, the likeliest first, each once.
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

/// The place of a host in a line, and what is known of it.
#[inline(always)]
fn find(line: &[AtomicU64; 8], key: &HostKey) -> Option<(usize, Host)> {
    let word = key.word();
    for at in 0..HOSTS {
        let first = line[at].load(Ordering::Acquire);
        if first & KEY != word {
            continue;
        }
        let value = line[PORTS + at].load(Ordering::Acquire);
        // Another may have taken its place between the two.
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

/// What stands at a place of a line.
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

/// The word and the bit of the time at which a host was seen.
#[inline(always)]
const fn time(at: usize) -> (usize, u32) {
    (LAST - 1 + at / 2, at as u32 % 2 * 32)
}

#[inline(always)]
fn seen(line: &[AtomicU64; 8], at: usize) -> u32 {
    let (word, shift) = time(at);
    (line[word].load(Ordering::Relaxed) >> shift) as u32
}

/// Notes when a host was seen. What somebody else changes in the same word at this moment stays.
fn see(line: &[AtomicU64; 8], at: usize, now: u32) {
    let (word, shift) = time(at);
    let with = |word: u64| word & !(0xffff_ffff << shift) | u64::from(now) << shift;
    let updated = line[word].fetch_update(Ordering::Relaxed, Ordering::Relaxed, |word| {
        Some(with(word))
    });
    debug_assert!(updated.is_ok(), "the change always applies");
}
