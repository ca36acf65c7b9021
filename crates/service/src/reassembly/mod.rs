//! Reassembly of what is sent to this router (RFC 791, 3.2; RFC 1122, 3.3.2; RFC 8200, 4.5; RFC
//! 5722, RFC 6946, RFC 7112). One machine per family, because their settings differ; it takes
//! packets of either.
//!
//! Pieces that overlap make the whole packet disappear, in IPv4 as in IPv6: whichever piece wins,
//! a firewall and a host could read different packets, and an IPv4 sender whose identifications
//! come around would otherwise mix two packets. A piece that comes twice, byte for byte, is ignored.
//! In IPv6 what comes later of such a packet is discarded too (RFC 5722, 4); in IPv4 it is not,
//! because identifications are few and the next packet may be innocent.
//!
//! Memory and packets are bounded; where there is no room the oldest incomplete packet goes.
//! `piece` reads fragments, `datagram` puts them together.

mod datagram;
mod piece;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine};

use datagram::{Collected, Datagram};
use piece::{Key, NoPiece, Piece, Read};

/// The settings of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// From the first piece that arrives until the packet is given up.
    pub timeout: Duration,
    /// The most bytes that incomplete packets may use, bookkeeping included.
    pub memory_max_bytes: usize,
    /// The most incomplete packets.
    pub packets_max: usize,
}

impl Config {
    /// IPv4: 30 seconds (`ipv4-fragment-time`) and 4 MB (`ipv4-high-fragment-thresh`).
    pub const V4: Self = Self {
        timeout: Duration::from_secs(30),
        memory_max_bytes: 4 << 20,
        packets_max: 4_096,
    };

    /// IPv6: 60 seconds (RFC 8200, 4.5).
    pub const V6: Self = Self {
        timeout: Duration::from_secs(60),
        ..Self::V4
    };
}

/// What happens to a [`Reassembly`]. `T` is what the owner wants back with the packet: the ingress
/// interface, say.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a, T> {
    /// A piece of a packet to us.
    Fragment {
        /// The piece, from its IP header on; padding is allowed.
        packet: &'a [u8],
        /// Pieces of different zones never meet: the routing domain, and the interface where the
        /// addresses are link-local.
        zone: u32,
        /// Comes back with the packet; that of its first piece counts.
        tag: T,
    },
    /// Settings changed.
    Configure(Config),
}

/// What a [`Reassembly`] wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<T> {
    /// A packet is whole: deliver it.
    Whole {
        /// The packet, from its IP header on, without trace of its pieces.
        packet: Vec<u8>,
        /// The first piece's.
        tag: T,
    },
    /// A packet's time is up, and its first piece was here: time exceeded, code 1, is owed about it
    /// (RFC 1122, 3.3.2; RFC 8200, 4.5).
    TimedOut {
        /// The first piece, as it arrived.
        first: Vec<u8>,
        /// Its tag.
        tag: T,
    },
    /// A parameter problem, code 0, is owed about this piece (RFC 8200, 4.5).
    ParameterProblem {
        /// The piece, as it arrived.
        packet: Vec<u8>,
        /// The byte in error, from the IPv6 header on.
        pointer: u32,
        /// Its tag.
        tag: T,
    },
}

/// The timers of a [`Reassembly`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A packet is given up.
    Timeout,
}

/// What became of pieces and packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pieces understood.
    pub pieces: u64,
    /// Packets put together.
    pub whole: u64,
    /// Pieces that cannot be: malformed, empty, beyond the end of a packet.
    pub malformed: u64,
    /// Pieces that came twice.
    pub duplicates: u64,
    /// Packets discarded because of pieces that overlap or contradict each other.
    pub overlaps: u64,
    /// Packets discarded because only some of their pieces knew of congestion marks (RFC 3168, 5.3).
    pub ecn: u64,
    /// Packets discarded to make room.
    pub evicted: u64,
    /// Packets given up.
    pub timed_out: u64,
}

/// Puts packets together, as a machine.
#[derive(Debug)]
pub struct Reassembly<T> {
    config: Config,
    packets: BTreeMap<Key, Entry<T>>,
    /// Incomplete packets by their end; the first is the oldest.
    timers: BTreeSet<(Instant, Key)>,
    used_bytes: usize,
    counters: Counters,
}

#[derive(Debug)]
struct Entry<T> {
    due: Instant,
    state: State<T>,
}

#[derive(Debug)]
enum State<T> {
    /// Pieces are missing.
    Collecting(Datagram<T>),
    /// Its pieces overlapped; what else comes is discarded.
    Poisoned,
}

impl<T> Entry<T> {
    fn used_bytes(&self) -> usize {
        ENTRY_BYTES
            + match &self.state {
                State::Collecting(datagram) => datagram.used_bytes(),
                State::Poisoned => 0,
            }
    }
}

impl<T: Copy> Reassembly<T> {
    /// A machine without packets.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            packets: BTreeMap::new(),
            timers: BTreeSet::new(),
            used_bytes: 0,
            counters: Counters::default(),
        }
    }

    /// What became of pieces and packets.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// How many packets are incomplete.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether no packet is incomplete.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Bytes in use, bookkeeping included.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes
    }

    fn fragment(
        &mut self,
        packet: &[u8],
        zone: u32,
        tag: T,
        now: Instant,
        out: &mut Vec<Action<T>>,
    ) {
        match piece::read(packet, zone) {
            Ok(Read::Whole(packet)) => {
                self.counters.pieces += 1;
                self.counters.whole += 1;
                out.push(Action::Whole { packet, tag });
            }
            Ok(Read::Piece(piece)) => {
                self.counters.pieces += 1;
                self.collect(&piece, tag, now, out);
                self.make_room();
            }
            Err(NoPiece::Malformed) => self.counters.malformed += 1,
            Err(NoPiece::Problem { pointer }) => {
                self.counters.malformed += 1;
                let packet = packet.to_vec();
                out.push(Action::ParameterProblem {
                    packet,
                    pointer,
                    tag,
                });
            }
        }
    }

    fn collect(&mut self, piece: &Piece<'_>, tag: T, now: Instant, out: &mut Vec<Action<T>>) {
        let due = now + self.config.timeout.max(TIMEOUT_MIN);
        let mut entry = self.take(&piece.key).unwrap_or_else(|| Entry {
            due,
            state: State::Collecting(Datagram::default()),
        });
        let State::Collecting(datagram) = &mut entry.state else {
            self.put(piece.key, entry);
            return;
        };
        match datagram.insert(piece, tag) {
            Collected::Incomplete => self.put(piece.key, entry),
            Collected::Duplicate => {
                self.counters.duplicates += 1;
                self.put(piece.key, entry);
            }
            Collected::Overlap => {
                self.counters.overlaps += 1;
                if piece.key.is_v6() {
                    entry.state = State::Poisoned;
                    self.put(piece.key, entry);
                }
            }
            Collected::TooLong => self.counters.malformed += 1,
            Collected::MixedEcn => self.counters.ecn += 1,
            Collected::Whole { packet, tag } => {
                self.counters.whole += 1;
                out.push(Action::Whole { packet, tag });
            }
        }
    }

    fn make_room(&mut self) {
        while self.used_bytes > self.config.memory_max_bytes
            || self.packets.len() > self.config.packets_max
        {
            let Some(&(_, oldest)) = self.timers.first() else {
                return;
            };
            self.take(&oldest);
            self.counters.evicted += 1;
        }
    }

    fn take(&mut self, key: &Key) -> Option<Entry<T>> {
        let entry = self.packets.remove(key)?;
        self.timers.remove(&(entry.due, *key));
        self.used_bytes -= entry.used_bytes();
        Some(entry)
    }

    fn put(&mut self, key: Key, entry: Entry<T>) {
        self.timers.insert((entry.due, key));
        self.used_bytes += entry.used_bytes();
        self.packets.insert(key, entry);
    }
}

impl<T: Copy> Machine for Reassembly<T> {
    type Event<'a> = Event<'a, T>;
    type Action = Action<T>;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_, T>, now: Instant, out: &mut Vec<Action<T>>) {
        match event {
            Event::Fragment { packet, zone, tag } => self.fragment(packet, zone, tag, now, out),
            Event::Configure(config) => {
                self.config = config;
                self.make_room();
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action<T>>) {
        while let Some(&(due, key)) = self.timers.first()
            && due <= now
        {
            let Some(Entry {
                state: State::Collecting(datagram),
                ..
            }) = self.take(&key)
            else {
                continue;
            };
            self.counters.timed_out += 1;
            if let Some((first, tag)) = datagram.first_piece() {
                out.push(Action::TimedOut { first, tag });
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        self.timers.first().map(|&(due, _)| (due, Timer::Timeout))
    }
}

/// What an incomplete packet costs beside its pieces, in bytes.
const ENTRY_BYTES: usize = 256;
/// A timeout of zero would give every packet up at once.
const TIMEOUT_MIN: Duration = Duration::from_secs(1);
