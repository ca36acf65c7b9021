//! A slot: what packets are alike, and which lane they take.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use frame::shortcut::{Between, Gathered, Rewrite, Service};

use super::table::{BUCKET_BITS, SLOTS};

/// Bytes of a slot's front, and of its back: a cache line each. They lie apart, as packets that are not translated
/// need the front alone, and the fewer pages those lie in the better.
pub(crate) const SIZE: usize = 64;

/// Bits of the hash (32) | generation (32), which is 0 in none that holds something.
pub(crate) const WORD: i16 = 0;
/// The last step of time that it holds for (32) | lane (32).
pub(crate) const UNTIL: i16 = 8;
pub(crate) const LANE: i16 = 12;
/// The kind of packets (32) | ports as they lie in a packet (32).
pub(crate) const KIND: i16 = 16;
/// Source and destination as they lie in a packet, in two words each.
pub(crate) const ADDRESSES: i16 = 24;
/// Of a connection: bytes ([`COUNT_SHIFT`] bits) | packets.
pub(crate) const COUNT: i16 = 56;
/// At the back, of a connection: the worker's token; 0 where the slot is nobody's.
const OWNER: i16 = 0;
/// At the back: what packets get. Addresses as [`ADDRESSES`]; ports (32) | what is added to the sum of IPv4's header
/// (16) | and to that of TCP or UDP (16).
pub(crate) const NEW: i16 = 8;

/// How many words that are.
pub(crate) const NEW_WORDS: usize = 5;
/// A worker gathers these counts once a second: they hold 68 GB and 268 million packets.
pub(crate) const COUNT_SHIFT: u32 = 36;
/// How many bits of the hash are not in a slot's first word.
pub(crate) const TAG_SHIFT: i32 = 8;
/// A slot that is written to.
const BUSY: u64 = 1;
/// A slot that says nothing.
const NOTHING: u64 = 0;

/// Words that others read and write too.
#[derive(Clone, Copy)]
pub(crate) struct Line<'a>(&'a [AtomicU64]);

impl<'a> Line<'a> {
    /// The line of this number, of those that have `bytes` each.
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

/// What packets of one slot have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    kind: u64,
    addresses: [u64; 4],
}

/// What packets between two addresses are at an entrance.
pub(crate) fn kind_between(entrance: u32, ipv6: bool) -> u32 {
    entrance << 2 | u32::from(ipv6)
}

/// What those of a connection are: bit 1 says that they are.
pub(crate) fn kind_of_connection(protocol: u8, ipv6: bool) -> u32 {
    u32::from(protocol) << 2 | BY_CONNECTION | u32::from(ipv6)
}

/// The bit of a kind that says so.
pub(crate) const BY_CONNECTION: u32 = 2;

impl Key {
    /// All packets between two addresses.
    pub(crate) fn of_all(between: &Between, entrance: u32) -> Self {
        Self {
            kind: kind_between(entrance, between.ipv6).into(),
            addresses: words(between),
        }
    }

    /// Those of a connection's direction.
    pub(crate) fn of_connection(between: &Between, service: &Service) -> Self {
        let kind = kind_of_connection(service.protocol, between.ipv6);
        let ports = u32::from_ne_bytes(service.ports);
        Self {
            kind: u64::from(kind) | u64::from(ports) << 32,
            addresses: words(between),
        }
    }
}

/// Where keys have their slots.
#[derive(Debug)]
pub(crate) struct Hashing {
    /// What hashes are multiplied with: odd, and nobody's to guess.
    pub(crate) factor: u64,
}

impl Hashing {
    pub(crate) fn new(seed: u64) -> Self {
        Self { factor: seed | 1 }
    }

    /// As the program works it out.
    pub(crate) fn place(&self, key: &Key) -> Place {
        let start = self.factor.wrapping_add(key.kind);
        let mix = |hash: u64, word: &u64| hash.wrapping_mul(self.factor) ^ word;
        let hash = key.addresses.iter().fold(start, mix);
        let hash = hash.wrapping_mul(self.factor);
        Place((hash ^ hash >> 32).wrapping_mul(self.factor))
    }
}

/// A hash.
#[derive(Clone, Copy)]
pub(crate) struct Place(u64);

impl Place {
    /// The first word of a slot of this generation.
    pub(crate) fn word(self, generation: u32) -> u64 {
        u64::from((self.0 >> TAG_SHIFT) as u32) | u64::from(generation) << 32
    }

    /// The slots, in the order in which they are looked at.
    pub(crate) fn numbers(self) -> impl Iterator<Item = u32> {
        let bucket = (self.0 >> (64 - BUCKET_BITS)) as usize;
        let first = self.0 as usize;
        (0..SLOTS).map(move |slot| (bucket * SLOTS + first.wrapping_add(slot) % SLOTS) as u32)
    }
}

/// What a slot says of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) lane: u32,
    /// [`NEW`] and behind it.
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

/// What a slot has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted(u64);

impl Counted {
    pub(crate) fn is_nothing(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn gathered(self, token: u64) -> Gathered {
        Gathered {
            token,
            packets: self.0 >> COUNT_SHIFT,
            bytes: self.0 & ((1 << COUNT_SHIFT) - 1),
        }
    }
}

/// See the module.
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

    /// Asks for its memory.
    pub(crate) fn prefetch(&self) {
        kernels::prefetch(self.front.0);
        kernels::prefetch(self.back.0);
    }

    /// The first word.
    pub(crate) fn word(&self) -> u64 {
        self.front.load(WORD)
    }

    /// Whether it says something that is of this generation.
    pub(crate) fn is_of_generation(&self, generation: u32) -> bool {
        (self.word() >> 32) as u32 == generation
    }

    /// The last step of time that it holds for.
    pub(crate) fn until(&self) -> u32 {
        self.front.load(UNTIL) as u32
    }

    pub(crate) fn is_of(&self, key: &Key) -> bool {
        let same =
            |(at, address): (usize, &u64)| self.front.load(ADDRESSES + at as i16 * 8) == *address;
        self.front.load(KIND) == key.kind && key.addresses.iter().enumerate().all(same)
    }

    /// The token of whoever it belongs to; 0 where that is nobody.
    pub(crate) fn owner(&self) -> u64 {
        self.back.load(OWNER)
    }

    /// It belongs to nobody from here on; its owner says so.
    pub(crate) fn leave(&self) {
        self.back.word(OWNER).store(0, Ordering::Release);
    }

    pub(crate) fn content(&self) -> Content {
        Content {
            lane: (self.front.load(UNTIL) >> 32) as u32,
            new: std::array::from_fn(|at| self.back.load(NEW + at as i16 * 8)),
        }
    }

    /// Holds until then, on this lane.
    pub(crate) fn renew(&self, until: u32, lane: u32) {
        self.front
            .store(UNTIL, u64::from(until) | u64::from(lane) << 32);
    }

    /// What it has counted.
    pub(crate) fn counted(&self) -> Counted {
        Counted(self.front.load(COUNT))
    }

    /// The same; it begins again from nothing.
    pub(crate) fn take_counted(&self) -> Counted {
        match self.counted() {
            nothing if nothing.is_nothing() => nothing,
            _ => Counted(self.front.word(COUNT).swap(0, Ordering::Relaxed)),
        }
    }

    /// Says nothing any more. What is under way may still count.
    pub(crate) fn release(&self) {
        self.front.word(WORD).store(NOTHING, Ordering::Release);
    }

    /// Whether it says nothing.
    pub(crate) fn is_released(&self) -> bool {
        self.word() == NOTHING
    }

    /// Says again what it said before.
    pub(crate) fn say(&self, word: u64) {
        self.front.word(WORD).store(word, Ordering::Release);
    }

    /// Writes all of it, if its first word is `found`; false where another worker was faster.
    pub(crate) fn write(
        &self,
        (found, word): (u64, u64),
        (key, token): (&Key, u64),
        content: &Content,
        until: u32,
    ) -> bool {
        // Another worker may take it at the same time; what it says is nobody's meanwhile.
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
        self.say(word);
        true
    }
}

/// Addresses as they lie in a packet.
fn words(between: &Between) -> [u64; 4] {
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
