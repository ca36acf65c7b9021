//! VLAN tags (IEEE 802.1Q, clause 9; provider tags: 802.1ad).
//!
//! A tag lies between the addresses of a frame and its type: the tag's type (0x8100 or 0x88a8),
//! which takes the place of the frame's, then the two bytes of the TCI, then the inner type.

use crate::{EtherType, u16_at};

/// Bytes that a tag adds to a frame.
pub const TAG_LEN: usize = 4;

/// The highest VLAN id that may be used; 4095 is reserved.
pub const VID_MAX: u16 = 4094;

/// Tag control information: priority, drop eligibility, VLAN id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tci(pub u16);

impl Tci {
    /// The TCI of these parts; what does not fit (3 and 12 bits) is cut off.
    #[inline]
    pub const fn new(pcp: u8, dei: bool, vid: u16) -> Self {
        Self((pcp as u16 & 7) << 13 | (dei as u16) << 12 | vid & 0xfff)
    }

    /// The priority code point, 0 to 7.
    #[inline]
    pub const fn pcp(self) -> u8 {
        (self.0 >> 13) as u8
    }

    /// Whether the frame may be dropped first.
    #[inline]
    pub const fn dei(self) -> bool {
        self.0 & 0x1000 != 0
    }

    /// The VLAN id, 0 to 4095; 0 means that the tag carries a priority only.
    #[inline]
    pub const fn vid(self) -> u16 {
        self.0 & 0xfff
    }

    /// The same with another VLAN id.
    #[inline]
    pub const fn with_vid(self, vid: u16) -> Self {
        Self(self.0 & 0xf000 | vid & 0xfff)
    }
}

/// What is wrong with a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than the TCI and the inner type.
    Truncated,
}

/// A checked view of what follows a tag's type: TCI, inner type, payload.
#[derive(Clone, Copy, Debug)]
pub struct Tagged<'a> {
    header: &'a [u8; TAG_LEN],
    payload: &'a [u8],
}

impl<'a> Tagged<'a> {
    /// Views `bytes`, which begin behind the tag's type.
    ///
    /// # Errors
    /// `Truncated` when there are fewer than 4 bytes.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Priority and VLAN id.
    #[inline]
    pub fn tci(&self) -> Tci {
        Tci(u16_at(self.header, 0))
    }

    /// What the tagged frame carries; another tag's type where there are two.
    #[inline]
    pub fn ethertype(&self) -> EtherType {
        EtherType(u16_at(self.header, 2))
    }

    /// Everything behind the inner type.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// A tag as a value: what follows the tag's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Priority and VLAN id.
    pub tci: Tci,
    /// What the tagged frame carries.
    pub ethertype: EtherType,
}

impl Repr {
    /// The tag of a tagged frame.
    pub fn parse(tagged: &Tagged<'_>) -> Self {
        Self {
            tci: tagged.tci(),
            ethertype: tagged.ethertype(),
        }
    }

    /// TCI and inner type.
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
