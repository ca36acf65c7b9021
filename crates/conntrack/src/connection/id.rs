//! Identifiers of a connection, of its direction, and of the next hop that a direction remembers.

use core::fmt;
use core::num::NonZeroU64;

use fib::NextHopId;

/// Bits of a slot's index within one worker's table of one family.
const LOCAL_BITS: u32 = 24;
/// Maximum number of connections per worker and family.
pub const SLOTS_MAX: u32 = 1 << LOCAL_BITS;
/// Maximum number of workers that may share a table.
pub const WORKERS_MAX: u16 = 128;

/// Position of an entry: family (highest bit), owner (7 bits), index (24 bits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// Creates the slot of an index in a worker's table; values out of range wrap.
    #[inline]
    pub const fn new(ipv6: bool, worker: u16, place: u32) -> Self {
        Self(
            (ipv6 as u32) << 31
                | ((worker % WORKERS_MAX) as u32) << LOCAL_BITS
                | (place % SLOTS_MAX),
        )
    }

    /// Returns the slot as one number.
    pub(super) const fn number(self) -> u32 {
        self.0
    }

    /// Returns true for IPv6, false for IPv4.
    #[inline(always)]
    pub const fn is_ipv6(self) -> bool {
        self.0 >> 31 != 0
    }

    /// Returns the worker that owns the slot.
    #[inline(always)]
    pub const fn worker(self) -> u16 {
        (self.0 >> LOCAL_BITS) as u16 % WORKERS_MAX
    }

    /// Returns the index within the worker's table.
    #[inline(always)]
    pub const fn place(self) -> u32 {
        self.0 % SLOTS_MAX
    }
}

/// Permanent identifier of a connection: an id is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId {
    /// The slot of the connection.
    pub slot: Slot,
    /// Number of connections that the slot held before.
    pub generation: u32,
}

impl EntryId {
    /// Returns the id as the number that rows show.
    #[inline]
    pub const fn to_bits(self) -> u64 {
        (self.generation as u64) << 32 | self.slot.0 as u64
    }

    /// Returns the id for a number that a row shows.
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

/// A direction of a connection, as the tracker looked it up. Valid until the tracker's next `tick`; use
/// [`EntryId`] to refer to a connection for longer.
///
/// One word, so that it is cheap to store and compare: a bit that is always set, the slot, and the direction
/// in the lowest bit.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowId(NonZeroU64);

impl FlowId {
    const SET: NonZeroU64 = match NonZeroU64::new(1 << 63) {
        Some(set) => set,
        None => NonZeroU64::MAX,
    };

    /// Creates a direction of the connection in a slot; `reply` selects the reply direction.
    #[inline(always)]
    pub fn new(slot: Slot, reply: bool) -> Self {
        Self(Self::SET | u64::from(slot.0) << 1 | u64::from(reply))
    }

    /// Creates the direction for an index target relative to the table's first slot.
    #[inline(always)]
    pub(super) fn to(first: Slot, target: u32) -> Self {
        Self(Self::SET | u64::from(first.0) << 1 | u64::from(target))
    }

    /// Creates the direction from a slot number in the upper bits and the direction in the lowest.
    pub(super) fn of_bits(bits: u64) -> Self {
        Self::new(Slot((bits >> 1) as u32), bits & 1 != 0)
    }

    /// Returns the slot of the connection.
    #[inline(always)]
    pub const fn slot(self) -> Slot {
        Slot((self.0.get() >> 1) as u32)
    }

    /// Returns true for the reply direction.
    #[inline(always)]
    pub const fn reply(self) -> bool {
        self.0.get() & 1 != 0
    }

    /// Returns the other direction.
    #[must_use]
    #[inline]
    pub fn reversed(self) -> Self {
        Self::new(self.slot(), !self.reply())
    }
}

impl fmt::Debug for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = if self.reply() { "reply" } else { "original" };
        write!(f, "{:?} {direction}", self.slot())
    }
}

/// The next hop that a direction remembers for FastTrack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NextHop {
    /// The next hop, or [`NextHopId::NO_ROUTE`] if none is stored.
    pub id: NextHopId,
    /// Generation of next hop and routes; the data plane uses the id only if this equals the current value.
    pub generation: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_encodes_family_owner_and_position() {
        let slot = Slot::new(true, 127, SLOTS_MAX - 1);

        assert_eq!(
            (slot.is_ipv6(), slot.worker(), slot.place()),
            (true, 127, SLOTS_MAX - 1)
        );
        assert!(!Slot::new(false, 127, 3).is_ipv6());
    }

    #[test]
    fn an_id_round_trips_through_its_number() {
        let id = EntryId {
            slot: Slot::new(false, 3, 77),
            generation: 9,
        };

        assert_eq!(EntryId::from_bits(id.to_bits()), id);
        assert_eq!(id.to_string(), "*90300004D");
    }
}
