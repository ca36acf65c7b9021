//! Ethernet II frames (IEEE 802.3, clause 3), without the frame check sequence.

use core::fmt;

use crate::{Mac, bytes_at, put_at, u16_at};

/// Length of an Ethernet header.
pub const HEADER_LEN: usize = 14;

/// EtherType of a payload; a value below 0x0600 is a length (IEEE 802.3, 3.2.6).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtherType(pub u16);

impl EtherType {
    /// IPv4 (RFC 894).
    pub const IPV4: Self = Self(0x0800);
    /// ARP (RFC 826).
    pub const ARP: Self = Self(0x0806);
    /// Customer VLAN tag (IEEE 802.1Q).
    pub const VLAN: Self = Self(0x8100);
    /// Transparent Ethernet bridging: an Ethernet frame in GRE (RFC 1701).
    pub const TRANSPARENT: Self = Self(0x6558);
    /// IPv6 (RFC 2464).
    pub const IPV6: Self = Self(0x86dd);
    /// MAC control frames such as flow control, which bridges do not forward (IEEE 802.3, 31).
    pub const MAC_CONTROL: Self = Self(0x8808);
    /// Slow protocols such as LACP (IEEE 802.3, 57A).
    pub const SLOW: Self = Self(0x8809);
    /// MPLS unicast (RFC 3032).
    pub const MPLS: Self = Self(0x8847);
    /// PPPoE discovery (RFC 2516).
    pub const PPPOE_DISCOVERY: Self = Self(0x8863);
    /// PPPoE session (RFC 2516).
    pub const PPPOE_SESSION: Self = Self(0x8864);
    /// Port authentication (IEEE 802.1X).
    pub const EAPOL: Self = Self(0x888e);
    /// Provider VLAN tag (IEEE 802.1ad).
    pub const QINQ: Self = Self(0x88a8);
    /// Link layer discovery (IEEE 802.1AB).
    pub const LLDP: Self = Self(0x88cc);
    /// RouterOS loop protect.
    pub const LOOP_PROTECT: Self = Self(0x9003);

    /// True for a customer or provider VLAN tag.
    #[inline]
    pub const fn is_vlan(self) -> bool {
        matches!(self, Self::VLAN | Self::QINQ)
    }

    /// True if the field is the length of an LLC frame.
    #[inline]
    pub const fn is_length(self) -> bool {
        self.0 < 0x0600
    }
}

impl fmt::Debug for EtherType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#06x}", self.0)
    }
}

/// Reason why a frame is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its header.
    Truncated,
}

/// Checked view of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Views `bytes` as a frame.
    ///
    /// # Errors
    /// Returns `Truncated` if there are fewer than 14 bytes.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, payload) = bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        Ok(Self { header, payload })
    }

    /// Destination MAC address.
    #[inline]
    pub fn dst(&self) -> Mac {
        Mac(bytes_at(self.header, 0))
    }

    /// Source MAC address.
    #[inline]
    pub fn src(&self) -> Mac {
        Mac(bytes_at(self.header, 6))
    }

    /// EtherType; the type of the tag in tagged frames.
    #[inline]
    pub fn ethertype(&self) -> EtherType {
        EtherType(u16_at(self.header, 12))
    }

    /// Bytes after the header, including padding.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }
}

/// Ethernet header, for changes in place.
#[derive(Debug)]
pub struct HeaderMut<'a>(&'a mut [u8; HEADER_LEN]);

impl<'a> HeaderMut<'a> {
    /// Header at the start of `bytes`.
    ///
    /// # Errors
    /// Returns `Truncated` if there are fewer than 14 bytes.
    #[inline]
    pub fn new_checked(bytes: &'a mut [u8]) -> Result<Self, Malformed> {
        bytes
            .first_chunk_mut()
            .map(Self)
            .ok_or(Malformed::Truncated)
    }

    /// Sets the destination MAC address.
    #[inline]
    pub fn set_dst(&mut self, mac: Mac) {
        put_at(self.0, 0, mac.0);
    }

    /// Sets the source MAC address.
    #[inline]
    pub fn set_src(&mut self, mac: Mac) {
        put_at(self.0, 6, mac.0);
    }

    /// Sets the EtherType.
    #[inline]
    pub fn set_ethertype(&mut self, ethertype: EtherType) {
        put_at(self.0, 12, ethertype.0.to_be_bytes());
    }
}

/// An Ethernet header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Destination MAC address.
    pub dst: Mac,
    /// Source MAC address.
    pub src: Mac,
    /// EtherType.
    pub ethertype: EtherType,
}

impl Repr {
    /// Reads the header of a frame.
    pub fn parse(frame: &Frame<'_>) -> Self {
        Self {
            dst: frame.dst(),
            src: frame.src(),
            ethertype: frame.ethertype(),
        }
    }

    /// Encodes the header.
    #[inline]
    pub fn to_bytes(&self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        put_at(&mut bytes, 0, self.dst.0);
        put_at(&mut bytes, 6, self.src.0);
        put_at(&mut bytes, 12, self.ethertype.0.to_be_bytes());
        bytes
    }
}
