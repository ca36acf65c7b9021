//! This router's own addresses: written by control, read by workers without a lock.
//!
//! An address may be on several interfaces; the table counts them. A bitmap (`filter.rs`) excludes
//! most foreign addresses; a hash table with open addressing has the exact answer. Readers check a
//! version and repeat a lookup that met a change.

mod filter;
#[cfg(test)]
mod tests;

use core::net::IpAddr;
use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::OnceLock;

use kernels::Lanes;

use self::filter::Filter;
use crate::table::Full;

/// Slots of the first table, as a power of two.
const FIRST: u32 = 6;
/// Number of tables. Each is twice as long as its predecessor and at most half full.
const LEVELS: usize = 17;

/// The addresses of all interfaces.
#[derive(Debug)]
pub struct OwnAddresses {
    filter: Filter,
    /// Odd during a write.
    version: AtomicU32,
    level: AtomicUsize,
    tables: [OnceLock<Box<[Slot]>>; LEVELS],
    /// Number of used slots. Used by control only.
    taken: AtomicUsize,
}

/// An entry: the address in two words; in the third the number of its interfaces (from bit 1 on)
/// and whether it is IPv6 (bit 0). The third word of a free slot is 0.
#[derive(Debug, Default)]
struct Slot([AtomicU64; 3]);

/// An address as lookups compare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    bits: u128,
    ipv6: bool,
}

const ONE: u64 = 1 << 1;
const IPV6: u64 = 1;

impl Default for OwnAddresses {
    fn default() -> Self {
        Self::new()
    }
}

impl OwnAddresses {
    /// Creates an empty table.
    pub fn new() -> Self {
        let own = Self {
            filter: Filter::new(),
            version: AtomicU32::new(0),
            level: AtomicUsize::new(0),
            tables: [const { OnceLock::new() }; LEVELS],
            taken: AtomicUsize::new(0),
        };
        own.make(0);
        own
    }

    /// Returns true if an IPv4 address is this router's.
    #[inline(always)]
    pub fn has_ipv4(&self, address: u32) -> bool {
        self.filter.may_hold(address) && self.has(Key::ipv4(address))
    }

    /// Returns true if an IPv6 address is this router's.
    #[inline(always)]
    pub fn has_ipv6(&self, address: u128) -> bool {
        (is_link_local(address) || self.filter.may_hold(fold(address)))
            && self.has(Key::ipv6(address))
    }

    /// Checks 16 IPv4 addresses: 0 for each that is certainly not this router's.
    #[inline(always)]
    pub(crate) fn may_have_ipv4<L: Lanes>(&self, lanes: L, addresses: &[u32; 16]) -> [u32; 16] {
        self.filter.may_hold_16(lanes, addresses)
    }

    /// Checks 16 IPv6 addresses beyond link scope, given by their words: 0 for each that is
    /// certainly not this router's. Link-local addresses are not in the bitmap: every interface has
    /// one, and the walk checks such packets singly anyway.
    #[inline(always)]
    pub(crate) fn may_have_ipv6<L: Lanes>(&self, lanes: L, words: &[[u32; 16]; 4]) -> [u32; 16] {
        let mut keys = words[0];
        for words in &words[1..] {
            for (key, word) in keys.iter_mut().zip(words) {
                *key ^= word;
            }
        }
        self.filter.may_hold_16(lanes, &keys)
    }

    /// Adds an address, or another interface to its count. Only control calls this, from one thread
    /// at a time.
    ///
    /// # Errors
    /// [`Full`]: the table has two million addresses.
    pub fn add(&self, address: IpAddr) -> Result<(), Full> {
        let key = Key::from(address);
        if let Ok(at) = self.find(key) {
            let users = &self.table()[at].0[2];
            users.store(users.load(Ordering::Relaxed) + ONE, Ordering::Relaxed);
            return Ok(());
        }
        if (self.taken.load(Ordering::Relaxed) + 1) * 2 > self.table().len() {
            self.grow()?;
        }
        let Err(at) = self.find(key) else {
            return Err(Full);
        };
        self.change(|| self.table()[at].write(Some(key), ONE));
        self.taken.fetch_add(1, Ordering::Relaxed);
        if let Some(key) = key.filtered() {
            if self.filter.is_full() {
                // The new key is already in the table.
                self.filter.grow(self.keys().filter_map(Key::filtered));
            } else {
                self.filter.note(key);
            }
        }
        Ok(())
    }

    /// Removes one interface from the count of an address; deletes the address with its last
    /// interface. Only control calls this.
    pub fn remove(&self, address: IpAddr) {
        let key = Key::from(address);
        let Ok(at) = self.find(key) else { return };
        let users = &self.table()[at].0[2];
        let left = users.load(Ordering::Relaxed) - ONE;
        if left >= ONE {
            users.store(left, Ordering::Relaxed);
            return;
        }
        if let Some(key) = key.filtered() {
            self.filter.forget(key);
        }
        self.change(|| self.close_gap(at));
        self.taken.fetch_sub(1, Ordering::Relaxed);
    }

    #[cold]
    #[inline(never)]
    fn has(&self, key: Key) -> bool {
        loop {
            let version = self.version.load(Ordering::Acquire);
            let found = self.find(key).is_ok();
            fence(Ordering::Acquire);
            if version & 1 == 0 && self.version.load(Ordering::Relaxed) == version {
                return found;
            }
            core::hint::spin_loop();
        }
    }

    fn table(&self) -> &[Slot] {
        let level = self.level.load(Ordering::Acquire);
        self.tables[level].get().map_or(&[], |slots| slots)
    }

    /// Returns the slot of a key, or else the free slot where it belongs.
    fn find(&self, key: Key) -> Result<usize, usize> {
        find_in(self.table(), key)
    }

    fn keys(&self) -> impl Iterator<Item = Key> {
        self.table().iter().filter_map(|slot| Some(slot.read()?.0))
    }

    fn make(&self, level: usize) {
        let slots = 1 << (FIRST as usize + level);
        self.tables[level].get_or_init(|| (0..slots).map(|_| Slot::default()).collect());
    }

    /// Runs a change while the version tells readers to wait.
    fn change(&self, what: impl FnOnce()) {
        let version = self.version.load(Ordering::Relaxed);
        self.version
            .store(version.wrapping_add(1), Ordering::Relaxed);
        fence(Ordering::Release);
        what();
        self.version
            .store(version.wrapping_add(2), Ordering::Release);
    }

    /// Switches to a table of twice the length. Readers see it only when it is filled; the old
    /// table stays unchanged for readers that still use it.
    fn grow(&self) -> Result<(), Full> {
        let level = self.level.load(Ordering::Relaxed) + 1;
        if level == LEVELS {
            return Err(Full);
        }
        self.make(level);
        let next = self.tables[level].get().ok_or(Full)?;
        for (key, users) in self.table().iter().filter_map(Slot::read) {
            if let Err(at) = find_in(next, key) {
                next[at].write(Some(key), users);
            }
        }
        self.level.store(level, Ordering::Release);
        Ok(())
    }

    /// Frees a slot, and moves later entries of its probe sequence up.
    fn close_gap(&self, at: usize) {
        let table = self.table();
        let mask = table.len() - 1;
        let mut gap = at;
        for step in 1..table.len() {
            let next = (at + step) & mask;
            let Some((key, users)) = table[next].read() else {
                break;
            };
            let home = key.home(table.len());
            // The entry's distance from the start of its search, compared with the distance from
            // the gap.
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(gap) & mask) {
                table[gap].write(Some(key), users);
                gap = next;
            }
        }
        table[gap].write(None, 0);
    }
}

/// Half of the slots are free, so the search ends. During a change it may end early; the reader
/// then repeats it.
fn find_in(table: &[Slot], key: Key) -> Result<usize, usize> {
    let mask = table.len() - 1;
    let home = key.home(table.len());
    for step in 0..table.len() {
        let at = (home + step) & mask;
        match table[at].read() {
            None => return Err(at),
            Some((other, _)) if other == key => return Ok(at),
            Some(_) => {}
        }
    }
    Err(home)
}

impl Slot {
    /// Returns the address and the number of its interfaces.
    #[inline]
    fn read(&self) -> Option<(Key, u64)> {
        let [high, low, users] = &self.0;
        let users = users.load(Ordering::Relaxed);
        (users != 0).then(|| {
            let half = |half: &AtomicU64| u128::from(half.load(Ordering::Relaxed));
            let key = Key {
                bits: half(high) << 64 | half(low),
                ipv6: users & IPV6 != 0,
            };
            (key, users & !IPV6)
        })
    }

    fn write(&self, key: Option<Key>, users: u64) {
        let [high, low, word] = &self.0;
        let (bits, family) = key.map_or((0, 0), |key| (key.bits, u64::from(key.ipv6)));
        high.store((bits >> 64) as u64, Ordering::Relaxed);
        low.store(bits as u64, Ordering::Relaxed);
        word.store(users | family, Ordering::Relaxed);
    }
}

impl From<IpAddr> for Key {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(address) => Self::ipv4(address.to_bits()),
            IpAddr::V6(address) => Self::ipv6(address.to_bits()),
        }
    }
}

impl Key {
    const fn ipv4(address: u32) -> Self {
        Self {
            bits: address as u128,
            ipv6: false,
        }
    }

    const fn ipv6(bits: u128) -> Self {
        Self { bits, ipv6: true }
    }

    /// Returns the key of an address in the bitmap, if it belongs there.
    fn filtered(self) -> Option<u32> {
        match self.ipv6 {
            false => Some(self.bits as u32),
            true => (!is_link_local(self.bits)).then(|| fold(self.bits)),
        }
    }

    /// Returns the first slot of the search for an address, in a table with this many slots.
    fn home(self, slots: usize) -> usize {
        let mixed = ((self.bits >> 64) as u64)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(32)
            ^ self.bits as u64;
        let product = u128::from(mixed) * 0xa076_1d64_78bd_642f;
        ((product >> 64) as u64 ^ product as u64) as usize & (slots - 1)
    }
}

/// fe80::/10 (RFC 4291, 2.4).
#[inline(always)]
const fn is_link_local(address: u128) -> bool {
    address >> 118 == 0x3fa
}

#[inline(always)]
fn fold(address: u128) -> u32 {
    let half = (address >> 64) as u64 ^ address as u64;
    (half >> 32) as u32 ^ half as u32
}
