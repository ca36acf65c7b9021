//! A slot: key of packets, and the lane that they take.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use frame::shortcut::{AddressPair, ConnectionTraffic, Rewrite, Service};

use super::table::{BUCKET_BITS, SLOTS};

/// Bytes of the front and of the back of a slot, a cache line each. They are stored separately, because
/// untranslated packets need only the front, which should span few pages.
pub(crate) const SIZE: usize = 64;

/// Hash bits (32) | generation (32); the generation of a slot in use is not 0.
pub(crate) const WORD: i16 = 0;
/// Last valid time step (32) | lane (32).
pub(crate) const UNTIL: i16 = 8;
pub(crate) const LANE: i16 = 12;
/// Kind of packets (32) | ports in network byte order (32).
pub(crate) const KIND: i16 = 16;
/// Source and destination in network byte order, two words each.
pub(crate) const ADDRESSES: i16 = 24;
/// Counters of a connection: bytes ([`COUNT_SHIFT`] bits) | packets.
pub(crate) const COUNT: i16 = 56;
/// Back: the worker's token of the connection; 0 if the slot has no owner.
const OWNER: i16 = 0;
/// Back: new addresses as in [`ADDRESSES`]; ports (32) | change of the IPv4 header sum (16) | change of the
/// TCP or UDP sum (16).
pub(crate) const NEW: i16 = 8;

/// Number of words from [`NEW`] on.
pub(crate) const NEW_WORDS: usize = 5;
/// A worker collects the counters once per second: they hold 68 GB and 268 million packets.
pub(crate) const COUNT_SHIFT: u32 = 36;
/// Number of hash bits that are not in a slot's first word.
pub(crate) const TAG_SHIFT: i32 = 8;
/// First word of a slot during a write.
const BUSY: u64 = 1;
/// First word of an empty slot.
const EMPTY: u64 = 0;

/// Words that other threads and the kernel read and write.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a>(&'a [AtomicU64]);

impl<'a> Line<'a> {
    /// Returns line `number` of lines with `bytes` bytes each.
    pub(crate) fn at(words: &'a [AtomicU64], number: usize, bytes: usize) -> Self {
        Self(&words[number * bytes / 8..][..bytes / 8])
    }

    fn word(&self, offset: i16) -> &'a AtomicU64 {
        &self.0[offset as usize / 8]
    }

    pub(crate) fn load(&self, offset: i16) -> u64 {
        self.word(offset).load(Ordering::Relaxed)
    }

    pub(crate) fn store(&self, offset: i16, value: u64) {
        self.word(offset).store(value, Ordering::Relaxed);
    }
}

/// Key of the packets of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    kind: u64,
    addresses: [u64; 4],
}

/// Returns the kind of all packets between two addresses at an entrance.
pub(crate) fn kind_between(entrance: u32, ipv6: bool) -> u32 {
    entrance << 2 | u32::from(ipv6)
}

/// Returns the kind of a connection's packets; bit 1 marks connections.
pub(crate) fn kind_of_connection(protocol: u8, ipv6: bool) -> u32 {
    u32::from(protocol) << 2 | BY_CONNECTION | u32::from(ipv6)
}

/// The bit of a kind that marks connections.
pub(crate) const BY_CONNECTION: u32 = 2;

impl Key {
    /// Creates the key of all packets between two addresses.
    pub(crate) fn of_all(between: &AddressPair, entrance: u32) -> Self {
        Self {
            kind: kind_between(entrance, between.ipv6).into(),
            addresses: words(between),
        }
    }

    /// Creates the key of a connection's direction.
    pub(crate) fn of_connection(between: &AddressPair, service: &Service) -> Self {
        let kind = kind_of_connection(service.protocol, between.ipv6);
        let ports = u32::from_ne_bytes(service.ports);
        Self {
            kind: u64::from(kind) | u64::from(ports) << 32,
            addresses: words(between),
        }
    }
}

/// Hash function from keys to slots.
#[derive(Debug)]
pub(crate) struct Hashing {
    /// The factor of the hash: odd and secret.
    pub(crate) factor: u64,
}

impl Hashing {
    pub(crate) fn new(seed: u64) -> Self {
        Self { factor: seed | 1 }
    }

    /// Returns the hash of a key, computed as in the program.
    pub(crate) fn place(&self, key: &Key) -> SlotHash {
        let start = self.factor.wrapping_add(key.kind);
        let mix = |hash: u64, word: &u64| hash.wrapping_mul(self.factor) ^ word;
        let hash = key.addresses.iter().fold(start, mix);
        let hash = hash.wrapping_mul(self.factor);
        SlotHash((hash ^ hash >> 32).wrapping_mul(self.factor))
    }
}

/// A hash.
#[derive(Clone, Copy)]
pub(crate) struct SlotHash(u64);

impl SlotHash {
    /// Returns the first word of a slot of this generation.
    pub(crate) fn word(self, generation: u32) -> u64 {
        u64::from((self.0 >> TAG_SHIFT) as u32) | u64::from(generation) << 32
    }

    /// Returns the slot numbers in search order.
    pub(crate) fn numbers(self) -> impl Iterator<Item = u32> {
        let bucket = (self.0 >> (64 - BUCKET_BITS)) as usize;
        let first = self.0 as usize;
        (0..SLOTS).map(move |slot| (bucket * SLOTS + first.wrapping_add(slot) % SLOTS) as u32)
    }
}

/// Contents of a slot besides the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) lane: u32,
    /// The words from [`NEW`] on.
    pub(crate) new: [u64; NEW_WORDS],
}

impl Content {
    pub(crate) fn new(lane: u32, rewrite: Option<&Rewrite>) -> Self {
        let new = rewrite.map_or([0; NEW_WORDS], |rewrite| {
            let [s0, s1, d0, d1] = words(&rewrite.between);
            let ports = u64::from(u32::from_ne_bytes(rewrite.ports));
            let sums = u64::from(rewrite.header) | u64::from(rewrite.upper) << 16;
            [s0, s1, d0, d1, ports | sums << 32]
        });
        Self { lane, new }
    }
}

/// Counters of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted(u64);

impl Counted {
    pub(crate) fn is_nothing(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn gathered(self, token: u64) -> ConnectionTraffic {
        ConnectionTraffic {
            token,
            packets: self.0 >> COUNT_SHIFT,
            bytes: self.0 & ((1 << COUNT_SHIFT) - 1),
        }
    }
}

/// A slot of the table.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    front: Line<'a>,
    back: Line<'a>,
}

impl<'a> Slot<'a> {
    pub(crate) fn at(fronts: &'a [AtomicU64], backs: &'a [AtomicU64], number: usize) -> Self {
        Self {
            front: Line::at(fronts, number, SIZE),
            back: Line::at(backs, number, SIZE),
        }
    }

    /// Prefetches the slot.
    pub(crate) fn prefetch(&self) {
        kernels::prefetch(self.front.0);
        kernels::prefetch(self.back.0);
    }

    /// Returns the first word.
    pub(crate) fn word(&self) -> u64 {
        self.front.load(WORD)
    }

    /// Returns true if the slot is in use in this generation.
    pub(crate) fn is_of_generation(&self, generation: u32) -> bool {
        (self.word() >> 32) as u32 == generation
    }

    /// Returns the last valid time step.
    pub(crate) fn until(&self) -> u32 {
        self.front.load(UNTIL) as u32
    }

    pub(crate) fn is_of(&self, key: &Key) -> bool {
        let same =
            |(at, address): (usize, &u64)| self.front.load(ADDRESSES + at as i16 * 8) == *address;
        self.front.load(KIND) == key.kind && key.addresses.iter().enumerate().all(same)
    }

    /// Returns the owner's token; 0 without owner.
    pub(crate) fn owner(&self) -> u64 {
        self.back.load(OWNER)
    }

    /// Ends the ownership; only the owner calls this.
    pub(crate) fn leave(&self) {
        self.back.word(OWNER).store(0, Ordering::Release);
    }

    pub(crate) fn content(&self) -> Content {
        Content {
            lane: (self.front.load(UNTIL) >> 32) as u32,
            new: std::array::from_fn(|at| self.back.load(NEW + at as i16 * 8)),
        }
    }

    /// Sets the last valid time step and the lane.
    pub(crate) fn renew(&self, until: u32, lane: u32) {
        self.front
            .store(UNTIL, u64::from(until) | u64::from(lane) << 32);
    }

    /// Returns the counters.
    pub(crate) fn counted(&self) -> Counted {
        Counted(self.front.load(COUNT))
    }

    /// Returns the counters and resets them.
    pub(crate) fn take_counted(&self) -> Counted {
        match self.counted() {
            nothing if nothing.is_nothing() => nothing,
            _ => Counted(self.front.word(COUNT).swap(0, Ordering::Relaxed)),
        }
    }

    /// Empties the slot. Running programs may still count.
    pub(crate) fn release(&self) {
        self.front.word(WORD).store(EMPTY, Ordering::Release);
    }

    /// Returns true if the slot is empty.
    pub(crate) fn is_released(&self) -> bool {
        self.word() == EMPTY
    }

    /// Restores the first word.
    pub(crate) fn write_word(&self, word: u64) {
        self.front.word(WORD).store(word, Ordering::Release);
    }

    /// Writes the whole slot if its first word is `found`; returns false if another worker was faster.
    pub(crate) fn write(&self, found: u64, new: &NewSlot<'_>) -> bool {
        let NewSlot {
            word,
            key,
            token,
            content,
            until,
        } = *new;
        // Another worker may claim the slot at the same time; it is invalid while it is written.
        let first = self.front.word(WORD);
        if found == BUSY
            || first
                .compare_exchange(found, BUSY, Ordering::AcqRel, Ordering::Relaxed)
                .is_err()
        {
            return false;
        }
        let owner = self.owner();
        if owner != 0 && owner != token {
            first.store(found, Ordering::Release);
            return false;
        }
        fence(Ordering::Release);
        if owner == 0 {
            self.front.store(COUNT, 0);
        }
        self.back.store(OWNER, token);
        self.renew(until, content.lane);
        self.front.store(KIND, key.kind);
        for (at, address) in key.addresses.iter().enumerate() {
            self.front.store(ADDRESSES + at as i16 * 8, *address);
        }
        for (at, word) in content.new.iter().enumerate() {
            self.back.store(NEW + at as i16 * 8, *word);
        }
        self.write_word(word);
        true
    }
}

/// Data of a slot to write.
pub(crate) struct NewSlot<'a> {
    /// The first word.
    pub(crate) word: u64,
    pub(crate) key: &'a Key,
    /// Token of the connection; 0 without a connection.
    pub(crate) token: u64,
    pub(crate) content: &'a Content,
    /// The last valid time step.
    pub(crate) until: u32,
}

/// Returns addresses in network byte order.
fn words(between: &AddressPair) -> [u64; 4] {
    let [s0, s1] = words_of(between.source, between.ipv6);
    let [d0, d1] = words_of(between.destination, between.ipv6);
    [s0, s1, d0, d1]
}

fn words_of(address: u128, ipv6: bool) -> [u64; 2] {
    let bytes = address.to_be_bytes();
    let (halves, _) = bytes.as_chunks::<8>();
    if ipv6 {
        return [halves[0], halves[1]].map(u64::from_ne_bytes);
    }
    [
        0,
        u64::from(u32::from_ne_bytes((address as u32).to_be_bytes())),
    ]
}
