//! Slots with the parser state of connections, and the 32-bit reference that a connection stores: its slot,
//! or its result.

use super::layer7::Text;
use super::pieces::Pieces;
use super::quic;
use super::sets::PatternSet;

/// Maximum number of connections per worker with parser state.
pub(super) const SLOTS: usize = 1 << 14;
const PLACE_BITS: u32 = SLOTS.trailing_zeros();
/// Maximum number of them that may hold pieces of a ClientHello, at most 8 KB each.
const GATHERING_MAX: usize = 2048;

const SLOT: u32 = 1 << 30;
const DONE: u32 = 2 << 30;
const KIND: u32 = 3 << 30;

/// Stream state that a connection stores; 0 for a connection that was not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamState(pub u32);

/// State of the pattern search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Patterns {
    /// No rule has requested a search.
    #[default]
    Unasked,
    /// [`Slot::text`] is being searched; these patterns were found so far.
    Reading(PatternSet),
    /// The search has ended with these patterns.
    Done(PatternSet),
}

/// State of the ClientHello parser.
#[derive(Clone, Debug, Default)]
pub(super) enum Hello {
    /// Not started.
    #[default]
    None,
    /// TCP.
    Tcp(Tcp),
    /// QUIC.
    Quic(Box<Quic>),
}

/// A ClientHello in several segments, or a SYN before it.
#[derive(Clone, Debug, Default)]
pub(super) struct Tcp {
    /// Sequence number of its first byte.
    pub(super) start: u32,
    /// The direction that it travels in.
    pub(super) reply: bool,
    pub(super) pieces: Pieces,
    /// Once known: its length, and the globs that match its name. The result also applies to retransmitted
    /// parts.
    pub(super) known: Option<(u32, PatternSet)>,
}

/// The first packets of a QUIC connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Quic {
    /// Keys that have decrypted a packet.
    pub(super) keys: Option<quic::Keys>,
    /// Number of packets whose decryption was tried.
    pub(super) tried: u8,
    pub(super) pieces: Pieces,
    /// Once known: the globs that match the name.
    pub(super) known: Option<PatternSet>,
}

impl Hello {
    fn gathers(&self) -> bool {
        match self {
            Self::None => false,
            Self::Tcp(tcp) => !tcp.pieces.is_empty(),
            Self::Quic(quic) => !quic.pieces.is_empty(),
        }
    }
}

/// Parser state of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    /// Number of reuses of the slot: a connection with another number has lost it.
    stamp: u16,
    used: bool,
    /// True if the slot is counted as holding pieces.
    gathers: bool,
    pub(super) patterns: Patterns,
    pub(super) text: Text,
    pub(super) hello: Hello,
}

/// Decoded reference of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecodedState {
    /// Not read yet.
    Fresh,
    /// Parser state in this slot.
    Slot(usize),
    /// Parsing has ended; these patterns were found.
    Done(PatternSet),
}

/// All slots of a worker.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u16>,
    /// The next slot to reuse when none is free: approximately the oldest.
    hand: usize,
    gathering: usize,
}

impl Slots {
    /// Decodes a connection's reference. A slot that was reused for another connection counts as ended.
    pub(super) fn place(&self, kept: StreamState) -> DecodedState {
        match kept.0 & KIND {
            SLOT => {
                let at = kept.0 as usize & (SLOTS - 1);
                let stamp = (kept.0 >> PLACE_BITS) as u16;
                match self.slots.get(at) {
                    Some(slot) if slot.used && slot.stamp == stamp => DecodedState::Slot(at),
                    _ => DecodedState::Done(PatternSet::EMPTY),
                }
            }
            DONE => DecodedState::Done(PatternSet::from_bits(kept.0 & !KIND)),
            _ => DecodedState::Fresh,
        }
    }

    /// Returns the slot of a connection; allocates one if it has none.
    pub(super) fn open(&mut self, place: DecodedState) -> usize {
        let patterns = match place {
            DecodedState::Slot(at) => return at,
            DecodedState::Fresh => Patterns::Unasked,
            DecodedState::Done(found) => Patterns::Done(found),
        };
        let at = self.take();
        let slot = &mut self.slots[at];
        (slot.used, slot.patterns) = (true, patterns);
        at
    }

    fn take(&mut self) -> usize {
        if let Some(at) = self.free.pop() {
            return usize::from(at);
        }
        if self.slots.len() < SLOTS {
            self.slots.push(Slot::default());
            return self.slots.len() - 1;
        }
        let at = self.hand;
        self.hand = (at + 1) % SLOTS;
        self.clear(at);
        at
    }

    pub(super) fn at(&mut self, at: usize) -> &mut Slot {
        &mut self.slots[at]
    }

    /// Permits the slot to hold pieces of a ClientHello; returns false if too many slots hold some.
    pub(super) fn may_gather(&mut self, at: usize) -> bool {
        let slot = &mut self.slots[at];
        if !slot.gathers && self.gathering < GATHERING_MAX {
            slot.gathers = true;
            self.gathering += 1;
        }
        slot.gathers
    }

    /// Returns the reference to store with the slot's connection: the slot, while a parser needs it.
    pub(super) fn settle(&mut self, at: usize) -> StreamState {
        let slot = &mut self.slots[at];
        if slot.gathers && !slot.hello.gathers() {
            slot.gathers = false;
            self.gathering -= 1;
        }
        let reads = matches!(slot.patterns, Patterns::Reading(_));
        if reads || !matches!(slot.hello, Hello::None) {
            let stamp = u32::from(slot.stamp) << PLACE_BITS;
            return StreamState(SLOT | stamp | at as u32);
        }
        let kept = match slot.patterns {
            Patterns::Done(found) => StreamState(DONE | found.to_bits()),
            _ => StreamState::default(),
        };
        self.clear(at);
        self.free.push(at as u16);
        kept
    }

    /// Resets a slot for another connection.
    fn clear(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        self.gathering -= usize::from(slot.gathers);
        slot.text.end();
        *slot = Slot {
            stamp: slot.stamp.wrapping_add(1),
            text: core::mem::take(&mut slot.text),
            ..Slot::default()
        };
    }

    /// Frees the slot of a connection that has ended or never began.
    pub(super) fn forget(&mut self, kept: StreamState) {
        if let (SLOT, DecodedState::Slot(at)) = (kept.0 & KIND, self.place(kept)) {
            self.clear(at);
            self.free.push(at as u16);
        }
    }

    /// Returns a table that contains a copy of a connection's slot, and the reference to it.
    pub(super) fn copy_of(&self, kept: StreamState) -> (Self, StreamState) {
        let mut copy = Self::default();
        let DecodedState::Slot(at) = self.place(kept) else {
            let place = self.place(kept);
            let kept = match place {
                DecodedState::Done(found) => StreamState(DONE | found.to_bits()),
                _ => StreamState::default(),
            };
            return (copy, kept);
        };
        let slot = self.slots[at].clone();
        copy.gathering = usize::from(slot.gathers);
        copy.slots.push(slot);
        let kept = copy.settle(0);
        (copy, kept)
    }

    /// Returns the number of slots in use, and the number of slots with pieces.
    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize) {
        let used = self.slots.iter().filter(|slot| slot.used).count();
        assert_eq!(used + self.free.len(), self.slots.len());
        (used, self.gathering)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stream_is_evicted() {
        let mut slots = Slots::default();
        let read = |slots: &mut Slots| {
            let at = slots.open(DecodedState::Fresh);
            slots.at(at).patterns = Patterns::Reading(PatternSet::EMPTY);
            slots.settle(at)
        };
        let first = read(&mut slots);
        assert!(matches!(slots.place(first), DecodedState::Slot(_)));
        for _ in 0..SLOTS {
            read(&mut slots);
        }
        assert_eq!(slots.place(first), DecodedState::Done(PatternSet::EMPTY));
        assert_eq!(slots.counts(), (SLOTS, 0));
    }

    #[test]
    fn a_finished_stream_is_freed_once() {
        let mut slots = Slots::default();
        let at = slots.open(DecodedState::Fresh);
        slots.at(at).patterns = Patterns::Reading(PatternSet::EMPTY);
        let kept = slots.settle(at);
        slots.forget(kept);
        slots.forget(kept);
        assert_eq!(slots.counts(), (0, 0));
        let at = slots.open(DecodedState::Fresh);
        slots.at(at).patterns = Patterns::Done(PatternSet::EMPTY);
        let kept = slots.settle(at);
        assert_eq!(slots.place(kept), DecodedState::Done(PatternSet::EMPTY));
    }

    #[test]
    fn stream_collection_is_bounded() {
        let mut slots = Slots::default();
        let all: Vec<bool> = (0..GATHERING_MAX + 1)
            .map(|_| {
                let at = slots.open(DecodedState::Fresh);
                let may = slots.may_gather(at);
                let mut tcp = Tcp::default();
                tcp.pieces.put(1, b"x");
                slots.at(at).hello = Hello::Tcp(tcp);
                slots.settle(at);
                may
            })
            .collect();
        assert!(all[..GATHERING_MAX].iter().all(|may| *may) && !all[GATHERING_MAX]);
        for at in 0..=GATHERING_MAX {
            slots.at(at).hello = Hello::None;
            slots.settle(at);
        }
        assert_eq!(slots.counts(), (0, 0));
    }
}
