//! A slot of a route table: 32 bits that hold a next hop or refer to the next step of a lookup.
//!
//! ```text
//! leaf   lll 00 lll lliiiiiiiiiiiiiiiiiiiiii    next hop i of a prefix of l bits; 0: no route
//! split  ddd 01 ddd uuuuuuuuuuuuuuuuuuuuuuuu    256 slots for the eight bits after depth d, at unit u
//! lines  sss 11 fff uuuuuuuuuuuuuuuuuuuuuuuu    lines of format s, from unit u on
//! hosts  --- 10 --- uuuuuuuuuuuuuuuuuuuuuuuu    a directory of single addresses, at unit u
//! ```
//!
//! A unit is 16 bytes, a quarter of a cache line. The depth of a split is counted in steps of eight bits. The
//! number of lines is 2^(6 - f); if there are several, each is a whole cache line: the five bits from the
//! lowest f bit upwards are then the right shift that converts a key to the line's first unit.

use super::adjacency::{NEXT_HOPS, NextHopId};

/// Number of units that an entry can address: 256 MB.
pub(super) const UNITS: u32 = 1 << 24;

const KIND: u32 = 3 << 27;
const SPLIT: u32 = 1 << 27;
const DIRECTORY: u32 = 2 << 27;
const LINES: u32 = 3 << 27;
/// `fan` is stored as this number minus `fan`.
const FAN: u32 = 6;
/// Bits of a leaf that hold the next hop.
const ID: u32 = (1 << 22) - 1;
/// Position of the prefix length in a leaf: five bits, and three more above the kind.
const LEN: u32 = 22;
const LEN_REST: u32 = 29;
const _: () = assert!(NEXT_HOPS <= ID as usize + 1);

/// A slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry(pub(super) u32);

/// Decoded content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The lookup ends with this next hop.
    Leaf(NextHopId),
    /// The lookup continues in one of 2^`fan` lines.
    Lines(Lines),
    /// The lookup continues in one of 256 slots.
    Split(Split),
}

/// Position and format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) unit: u32,
    pub(super) format: u32,
    pub(super) fan: u32,
}

/// Position and depth of a split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) unit: u32,
    pub(super) step: u8,
}

impl Entry {
    /// No route: a shorter prefix may have one.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn leaf(id: NextHopId, len: u8) -> Self {
        let (low, high) = (u32::from(len & 31), u32::from(len >> 5));
        Self(id.0 & ID | low << LEN | high << LEN_REST)
    }

    pub(super) fn lines(lines: Lines) -> Self {
        Self((lines.format << 29) | LINES | ((FAN - lines.fan) << 24) | lines.unit)
    }

    pub(super) fn split(split: Split) -> Self {
        let (low, high) = (u32::from(split.step % 8), u32::from(split.step / 8));
        Self((high << 29) | SPLIT | (low << 24) | split.unit)
    }

    /// Creates the entry of a host directory.
    pub(super) fn directory(unit: u32) -> Self {
        Self(DIRECTORY | unit)
    }

    /// Decodes an entry that is not a directory.
    #[inline(always)]
    pub(super) fn content(self) -> Content {
        let unit = self.unit();
        match self.0 & KIND {
            LINES => Content::Lines(Lines {
                unit,
                format: self.0 >> 29,
                fan: FAN - ((self.0 >> 24) & 7),
            }),
            SPLIT => Content::Split(self.split_there()),
            _ => Content::Leaf(self.id()),
        }
    }

    #[inline(always)]
    pub(super) fn is_leaf(self) -> bool {
        self.0 & KIND == 0
    }

    #[inline(always)]
    pub(super) fn is_lines(self) -> bool {
        self.0 & KIND == LINES
    }

    #[inline(always)]
    pub(super) fn is_split(self) -> bool {
        self.0 & KIND == SPLIT
    }

    /// Returns the split; the entry must be one.
    #[inline(always)]
    pub(super) fn split_there(self) -> Split {
        Split {
            unit: self.unit(),
            step: ((self.0 >> 24) & 7) as u8 | ((self.0 >> 29) << 3) as u8,
        }
    }

    #[inline(always)]
    pub(super) fn is_directory(self) -> bool {
        self.0 & KIND == DIRECTORY
    }

    /// Returns the first unit of a directory or of lines.
    #[inline(always)]
    pub(super) fn unit(self) -> u32 {
        self.0 & (UNITS - 1)
    }

    /// Returns the unit of the line for `key`; the entry must be lines.
    #[inline(always)]
    pub(super) fn line(self, key: u32) -> u32 {
        (self.0 & (UNITS - 1)) + (key.wrapping_shr(self.0 >> 24) & !3)
    }

    /// Returns the format of lines; the entry must be lines.
    #[inline(always)]
    pub(super) fn format(self) -> u32 {
        self.0 >> 29
    }

    /// Returns the next hop of a leaf.
    #[inline(always)]
    pub(super) fn id(self) -> NextHopId {
        NextHopId(self.0 & ID)
    }

    /// Returns true for a leaf whose next hop fits into two bytes.
    pub(super) fn is_narrow(self) -> bool {
        self.is_leaf() && self.id().0 <= u16::MAX.into()
    }

    /// Returns the prefix length of a leaf.
    pub(super) fn len(self) -> u8 {
        (self.0 >> LEN & 31) as u8 | (self.0 >> LEN_REST << 5) as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_round_trips() {
        let id = NextHopId(NEXT_HOPS as u32 - 1);
        let leaf = Entry::leaf(id, 128);
        let split = Split {
            unit: 0xab_cdef,
            step: 15,
        };
        let lines = Lines {
            unit: 0xff_fffc,
            format: 6,
            fan: 4,
        };

        assert_eq!((leaf.id(), leaf.len(), leaf.is_leaf()), (id, 128, true));
        assert!(!leaf.is_narrow() && Entry::leaf(NextHopId(0xffff), 32).is_narrow());
        let lens = (0..=128).map(|len| Entry::leaf(id, len).len());
        assert!(lens.eq(0..=128));
        let directory = Entry::directory(0xab_cdef);
        assert!(directory.is_directory() && !directory.is_leaf() && !directory.is_lines());
        assert_eq!(directory.unit(), 0xab_cdef);
        assert_eq!(Entry::split(split).content(), Content::Split(split));
        assert_eq!(Entry::lines(lines).content(), Content::Lines(lines));
        assert!(Entry::lines(lines).is_lines() && Entry::lines(lines).format() == 6);
    }

    #[test]
    fn the_first_bits_of_a_key_choose_the_line() {
        let lines = |fan| {
            Entry::lines(Lines {
                unit: 8,
                format: 2,
                fan,
            })
        };

        assert_eq!(lines(0).line(u32::MAX), 8);
        assert_eq!(
            (lines(1).line(0x7fff_ffff), lines(1).line(0x8000_0000)),
            (8, 12)
        );
        assert_eq!(lines(4).line(0xf000_0000), 8 + 15 * 4);
    }
}
