//! VLAN tags (IEEE 802.1Q, clause 9; provider tags: 802.1ad).
//!
//! A tag is located between the MAC addresses and the EtherType of a frame: the tag's own type (0x8100 or 0x88a8),
//! the two bytes of the TCI, then the inner EtherType.

use crate::{EtherType, u16_at};

/// Length of a tag.
pub const TAG_LEN: usize = 4;

/// Highest valid VLAN id; 4095 is reserved.
pub const VID_MAX: u16 = 4094;

/// Tag control information: priority, drop eligibility, VLAN id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tci(pub u16);

impl Tci {
    /// Combines the parts; excess bits (beyond 3 and 12) are cut off.
    #[inline]
    pub const fn new(pcp: u8, dei: bool, vid: u16) -> Self {
        Self((pcp as u16 & 7) << 13 | (dei as u16) << 12 | vid & 0xfff)
    }

    /// Priority code point, 0 to 7.
    #[inline]
    pub const fn pcp(self) -> u8 {
        (self.0 >> 13) as u8
    }

    /// Drop eligible indicator.
    #[inline]
    pub const fn dei(self) -> bool {
        self.0 & 0x1000 != 0
    }

    /// VLAN id, 0 to 4095; 0 means a priority tag.
    #[inline]
    pub const fn vid(self) -> u16 {
        self.0 & 0xfff
    }

    /// Returns this TCI with another VLAN id.
    #[inline]
    pub const fn with_vid(self, vid: u16) -> Self {
        Self(self.0 & 0xf000 | vid & 0xfff)
    }
}

/// Reason why a tag is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than TCI and inner EtherType.
    Truncated,
}

/// Checked view of the bytes after a tag's type: TCI, inner EtherType, payload.
#[derive(Clone, Copy, Debug)]
pub struct Tagged<'a> {
    header: &'a [u8; TAG_LEN],
    payload: &'a [u8],
}

impl<'a> Tagged<'a> {
    /// Views `bytes`, which begin after the tag's type.
    ///
    /// # Errors
    /// Returns `Truncated` if there are fewer than 4 bytes.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Tag control information.
    #[inline]
    pub fn tci(&self) -> Tci {
        Tci(u16_at(self.header, 0))
    }

    /// Inner EtherType; the type of the second tag in double-tagged frames.
    #[inline]
    pub fn ethertype(&self) -> EtherType {
        EtherType(u16_at(self.header, 2))
    }

    /// Bytes after the inner EtherType.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// A tag as a value, without its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Tag control information.
    pub tci: Tci,
    /// Inner EtherType.
    pub ethertype: EtherType,
}

impl Repr {
    /// Reads the tag of a tagged frame.
    pub fn parse(tagged: &Tagged<'_>) -> Self {
        Self {
            tci: tagged.tci(),
            ethertype: tagged.ethertype(),
        }
    }

    /// Encodes TCI and inner EtherType.
    #[inline]
    pub const fn to_bytes(&self) -> [u8; TAG_LEN] {
        let ([a, b], [c, d]) = (self.tci.0.to_be_bytes(), self.ethertype.0.to_be_bytes());
        [a, b, c, d]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tci_has_three_parts() {
        let tci = Tci::new(5, true, 4094);

        assert_eq!((tci.pcp(), tci.dei(), tci.vid()), (5, true, VID_MAX));
        assert_eq!(tci.with_vid(7), Tci::new(5, true, 7));
        assert_eq!(Tci::new(5, true, 4094).0, 0xbffe);
    }
}
