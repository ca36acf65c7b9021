//! What a slot of a route table holds: 32 bits that say where a lookup goes on.
//!
//! ```text
//! leaf   00 ------ llllllll iiiiiiiiiiiiiiii   next hop i, of a prefix of l bits; all zero: no route
//! lines  01 sss kkk uuuuuuuuuuuuuuuuuuuuuuuu   2^k lines of shape s, from unit u on
//! split  10 dddddd  uuuuuuuuuuuuuuuuuuuuuuuu   256 slots for the eight bits behind depth d, at unit u
//! ```
//!
//! A unit is 16 bytes. Depths of splits are counted in steps of eight bits.

use super::adjacency::NextHopId;

/// The units that an entry can tell apart: 256 MB.
pub(super) const UNITS: u32 = 1 << 24;

const LINES: u32 = 1;
const SPLIT: u32 = 2;

/// A slot's content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry(pub(super) u32);

/// The three things that a slot can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The search is over.
    Leaf(NextHopId),
    /// Search one of 2^`split` lines.
    Lines(Lines),
    /// Go on in one of 256 slots.
    Split(Split),
}

/// Where lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) unit: u32,
    pub(super) shape: u32,
    pub(super) fan: u32,
}

/// Where a split is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Split {
    pub(super) unit: u32,
    pub(super) step: u8,
}

impl Entry {
    /// No route: a shorter prefix may have one.
    pub(super) const NONE: Self = Self(0);

    pub(super) fn leaf(id: NextHopId, len: u8) -> Self {
        Self(u32::from(id.0) | (u32::from(len) << 16))
    }

    pub(super) fn lines(lines: Lines) -> Self {
        Self((LINES << 30) | (lines.shape << 27) | (lines.fan << 24) | lines.unit)
    }

    pub(super) fn split(split: Split) -> Self {
        Self((SPLIT << 30) | (u32::from(split.step) << 24) | split.unit)
    }

    #[inline(always)]
    pub(super) fn content(self) -> Content {
        let unit = self.0 & (UNITS - 1);
        match self.0 >> 30 {
            0 => Content::Leaf(self.id()),
            LINES => Content::Lines(Lines {
                unit,
                shape: (self.0 >> 27) & 7,
                fan: (self.0 >> 24) & 7,
            }),
            _ => Content::Split(Split {
                unit,
                step: ((self.0 >> 24) & 0x3f) as u8,
            }),
        }
    }

    #[inline(always)]
    pub(super) fn is_leaf(self) -> bool {
        self.0 >> 30 == 0
    }

    /// The next hop of a leaf.
    #[inline(always)]
    pub(super) fn id(self) -> NextHopId {
        NextHopId(self.0 as u16)
    }

    /// The length of a leaf's prefix.
    pub(super) fn len(self) -> u8 {
        (self.0 >> 16) as u8
    }
}
