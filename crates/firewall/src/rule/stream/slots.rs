//! Where connections are read: a bounded number of slots, and the 32 bits that a connection keeps to
//! find its own, or what came of it.

use super::found::Found;
use super::layer7::Text;
use super::pieces::Pieces;
use super::quic;

/// How many connections of a worker are read at a time.
pub(super) const SLOTS: usize = 1 << 14;
const PLACE_BITS: u32 = SLOTS.trailing_zeros();
/// How many of them may have pieces of a ClientHello waiting, each at most 8 KB.
const GATHERING_MAX: usize = 2048;

const SLOT: u32 = 1 << 30;
const DONE: u32 = 2 << 30;
const KIND: u32 = 3 << 30;

/// What a connection keeps. 0 is a connection that nothing is known of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kept(pub u32);

/// How far patterns were looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Patterns {
    /// No rule asked.
    #[default]
    Unasked,
    /// [`Slot::text`] is being read; this was found so far.
    Reading(Found),
    /// This was found, and nothing more is looked for.
    Done(Found),
}

/// How far a ClientHello was read.
#[derive(Clone, Debug, Default)]
pub(super) enum Hello {
    /// None begun.
    #[default]
    None,
    /// Over TCP.
    Tcp(Tcp),
    /// Over QUIC.
    Quic(Box<Quic>),
}

/// A ClientHello in several segments, or a SYN that one may follow.
#[derive(Clone, Debug, Default)]
pub(super) struct Tcp {
    /// The sequence number of its first byte.
    pub(super) start: u32,
    /// The direction that it comes from.
    pub(super) reply: bool,
    pub(super) pieces: Pieces,
    /// Once it is known: how long it is, and the globs that its name fits. Whatever part comes again
    /// is its part.
    pub(super) known: Option<(u32, Found)>,
}

/// The first packets of a QUIC connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Quic {
    /// Keys that have opened a packet.
    pub(super) keys: Option<quic::Keys>,
    /// How many packets were tried.
    pub(super) tried: u8,
    pub(super) pieces: Pieces,
    /// Once the name is known: the globs that it fits.
    pub(super) known: Option<Found>,
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

/// A connection that is being read.
#[derive(Clone, Debug, Default)]
pub(super) struct Slot {
    /// How often the slot was given away: who has an older number has lost it.
    stamp: u16,
    used: bool,
    /// It is among those that gather.
    gathers: bool,
    pub(super) patterns: Patterns,
    pub(super) text: Text,
    pub(super) hello: Hello,
}

/// What a connection has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Nothing yet.
    Fresh,
    /// This slot.
    Slot(usize),
    /// Nothing is read any more; these patterns were found.
    Done(Found),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u16>,
    /// The next to be taken from its connection when none is free: about the oldest.
    hand: usize,
    gathering: usize,
}

impl Slots {
    /// What a connection has. Whose slot was given to another is not read any more.
    pub(super) fn place(&self, kept: Kept) -> Place {
        match kept.0 & KIND {
            SLOT => {
                let at = kept.0 as usize & (SLOTS - 1);
                let stamp = (kept.0 >> PLACE_BITS) as u16;
                match self.slots.get(at) {
                    Some(slot) if slot.used && slot.stamp == stamp => Place::Slot(at),
                    _ => Place::Done(Found::NOTHING),
                }
            }
            DONE => Place::Done(Found::from_bits(kept.0 & !KIND)),
            _ => Place::Fresh,
        }
    }

    /// The slot of a connection, a new one where it has none.
    pub(super) fn open(&mut self, place: Place) -> usize {
        let patterns = match place {
            Place::Slot(at) => return at,
            Place::Fresh => Patterns::Unasked,
            Place::Done(found) => Patterns::Done(found),
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

    /// Room for pieces of a ClientHello; false where too many connections have some.
    pub(super) fn may_gather(&mut self, at: usize) -> bool {
        let slot = &mut self.slots[at];
        if !slot.gathers && self.gathering < GATHERING_MAX {
            slot.gathers = true;
            self.gathering += 1;
        }
        slot.gathers
    }

    /// What the connection of a slot is to keep: the slot, as long as something is read.
    pub(super) fn settle(&mut self, at: usize) -> Kept {
        let slot = &mut self.slots[at];
        if slot.gathers && !slot.hello.gathers() {
            slot.gathers = false;
            self.gathering -= 1;
        }
        let reads = matches!(slot.patterns, Patterns::Reading(_));
        if reads || !matches!(slot.hello, Hello::None) {
            let stamp = u32::from(slot.stamp) << PLACE_BITS;
            return Kept(SLOT | stamp | at as u32);
        }
        let kept = match slot.patterns {
            Patterns::Done(found) => Kept(DONE | found.to_bits()),
            _ => Kept::default(),
        };
        self.clear(at);
        self.free.push(at as u16);
        kept
    }

    /// Takes a slot from its connection.
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

    /// A connection ended, or never began.
    pub(super) fn forget(&mut self, kept: Kept) {
        if let (SLOT, Place::Slot(at)) = (kept.0 & KIND, self.place(kept)) {
            self.clear(at);
            self.free.push(at as u16);
        }
    }

    /// Slots of which one is a copy of what a connection has, and what it keeps there.
    pub(super) fn copy_of(&self, kept: Kept) -> (Self, Kept) {
        let mut copy = Self::default();
        let Place::Slot(at) = self.place(kept) else {
            let place = self.place(kept);
            let kept = match place {
                Place::Done(found) => Kept(DONE | found.to_bits()),
                _ => Kept::default(),
            };
            return (copy, kept);
        };
        let slot = self.slots[at].clone();
        copy.gathering = usize::from(slot.gathers);
        copy.slots.push(slot);
        let kept = copy.settle(0);
        (copy, kept)
    }

    /// How many slots are used, and how many of them gather pieces.
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
    fn the_oldest_makes_room() {
        let mut slots = Slots::default();
        let read = |slots: &mut Slots| {
            let at = slots.open(Place::Fresh);
            slots.at(at).patterns = Patterns::Reading(Found::NOTHING);
            slots.settle(at)
        };
        let first = read(&mut slots);
        assert!(matches!(slots.place(first), Place::Slot(_)));
        for _ in 0..SLOTS {
            read(&mut slots);
        }
        assert_eq!(slots.place(first), Place::Done(Found::NOTHING));
        assert_eq!(slots.counts(), (SLOTS, 0));
    }

    #[test]
    fn what_ended_is_given_back_once() {
        let mut slots = Slots::default();
        let at = slots.open(Place::Fresh);
        slots.at(at).patterns = Patterns::Reading(Found::NOTHING);
        let kept = slots.settle(at);
        slots.forget(kept);
        slots.forget(kept);
        assert_eq!(slots.counts(), (0, 0));
        let at = slots.open(Place::Fresh);
        slots.at(at).patterns = Patterns::Done(Found::NOTHING);
        let kept = slots.settle(at);
        assert_eq!(slots.place(kept), Place::Done(Found::NOTHING));
    }

    #[test]
    fn gathering_is_bounded() {
        let mut slots = Slots::default();
        let all: Vec<bool> = (0..GATHERING_MAX + 1)
            .map(|_| {
                let at = slots.open(Place::Fresh);
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
