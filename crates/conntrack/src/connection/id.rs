//! What names a connection, a direction of it, and the way on that it remembers.

use core::fmt;
use core::num::NonZeroU64;

use fib::NextHopId;

/// The bits of a slot that number it within a worker's part of a family.
const LOCAL_BITS: u32 = 24;
/// The most connections that a worker may have per family.
pub const SLOTS_MAX: u32 = 1 << LOCAL_BITS;
/// The most workers that may share a table.
pub const WORKERS_MAX: u16 = 128;

/// Where an entry lies: family (highest bit), owner (7 bits), place (24 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// The slot at a place of a worker's part; what is out of range wraps.
    #[inline]
    pub const fn new(ipv6: bool, worker: u16, place: u32) -> Self {
        Self(
            (ipv6 as u32) << 31
                | ((worker % WORKERS_MAX) as u32) << LOCAL_BITS
                | (place % SLOTS_MAX),
        )
    }

    /// As one number.
    pub(super) const fn number(self) -> u32 {
        self.0
    }

    /// Of IPv6 rather than IPv4.
    #[inline(always)]
    pub const fn is_ipv6(self) -> bool {
        self.0 >> 31 != 0
    }

    /// The worker that owns it.
    #[inline(always)]
    pub const fn worker(self) -> u16 {
        (self.0 >> LOCAL_BITS) as u16 % WORKERS_MAX
    }

    /// Its place in the worker's part.
    #[inline(always)]
    pub const fn place(self) -> u32 {
        self.0 % SLOTS_MAX
    }
}

/// A connection for good: an id is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    /// Where it lies.
    pub slot: Slot,
    /// How many connections lay there before it.
    pub generation: u32,
}

impl EntryId {
    /// The id as one number, as rows show it.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.slot.0 as u64
    }

    /// The id that such a number shows.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            slot: Slot(bits as u32),
            generation: (bits >> 32) as u32,
        }
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "*{:X}", self.to_bits())
    }
}

/// A direction of a connection, found by its tracker. It holds until the tracker's next `tick`;
/// who keeps a connection longer keeps its [`EntryId`].
///
/// One number, so that many are kept and compared at little cost: below a bit that is always set the
/// slot, and then a bit for the direction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Way(NonZeroU64);

impl Way {
    const SET: NonZeroU64 = match NonZeroU64::new(1 << 63) {
        Some(set) => set,
        None => NonZeroU64::MAX,
    };

    /// The direction of a connection that lies in a slot; `reply` is that of the answers.
    #[inline(always)]
    pub fn new(slot: Slot, reply: bool) -> Self {
        Self(Self::SET | u64::from(slot.0) << 1 | u64::from(reply))
    }

    /// The way to a target of the index, whose upper bits are a place behind this slot.
    #[inline(always)]
    pub(super) fn to(first: Slot, target: u32) -> Self {
        Self(Self::SET | u64::from(first.0) << 1 | u64::from(target))
    }

    /// The way whose slot's number these bits show, and below that its direction.
    pub(super) fn of_bits(bits: u64) -> Self {
        Self::new(Slot((bits >> 1) as u32), bits & 1 != 0)
    }

    /// Where the entry lies.
    #[inline(always)]
    pub const fn slot(self) -> Slot {
        Slot((self.0.get() >> 1) as u32)
    }

    /// Whether it is the direction of the answers.
    #[inline(always)]
    pub const fn reply(self) -> bool {
        self.0.get() & 1 != 0
    }

    /// The other direction.
    #[must_use]
    #[inline]
    pub fn reversed(self) -> Self {
        Self::new(self.slot(), !self.reply())
    }
}

impl fmt::Debug for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.reply() { "reply" } else { "original" };
        write!(f, "{:?} {direction}", self.slot())
    }
}

/// The next hop that a direction remembers for FastTrack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextHop {
    /// The next hop; [`NextHopId::NO_ROUTE`] remembers nothing.
    pub id: NextHopId,
    /// What the walk compares before it believes the id: generation and routes' epoch, as it likes.
    pub generation: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_tells_its_family_owner_and_place() {
        let slot = Slot::new(true, 127, SLOTS_MAX - 1);

        assert_eq!(
            (slot.is_ipv6(), slot.worker(), slot.place()),
            (true, 127, SLOTS_MAX - 1)
        );
        assert!(!Slot::new(false, 127, 3).is_ipv6());
    }

    #[test]
    fn an_id_survives_its_number() {
        let id = EntryId {
            slot: Slot::new(false, 3, 77),
            generation: 9,
        };

        assert_eq!(EntryId::from_bits(id.to_bits()), id);
        assert_eq!(id.to_string(), "*90300004D");
    }
}
