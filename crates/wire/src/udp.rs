//! UDP datagrams (RFC 768).

use core::net::{Ipv4Addr, Ipv6Addr};

use crate::{Protocol, checksum, put_at, u16_at};

/// Length of a UDP header.
pub const HEADER_LEN: usize = 8;

/// Reason why a datagram is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its header.
    Truncated,
    /// The length field is smaller than the header.
    LengthTooSmall,
    /// The length field exceeds the available bytes.
    LengthTooLarge,
    /// The checksum is wrong.
    Checksum,
    /// Missing checksum, which IPv6 forbids (RFC 8200, 8.1).
    NoChecksum,
}

/// Checked view of a datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    header: &'a [u8; HEADER_LEN],
    payload: &'a [u8],
}

impl<'a> Datagram<'a> {
    /// Views the payload of an IP packet as a datagram; bytes after its length are cut off.
    ///
    /// # Errors
    /// Returns `Truncated`, `LengthTooSmall` or `LengthTooLarge`; the checksum is not verified.
    #[inline]
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (header, rest): (&[u8; HEADER_LEN], _) =
            bytes.split_first_chunk().ok_or(Malformed::Truncated)?;
        let len = usize::from(u16_at(header, 4))
            .checked_sub(HEADER_LEN)
            .ok_or(Malformed::LengthTooSmall)?;
        let payload = rest.get(..len).ok_or(Malformed::LengthTooLarge)?;
        Ok(Self { header, payload })
    }

    /// Source port.
    #[inline]
    pub fn src_port(&self) -> u16 {
        u16_at(self.header, 0)
    }

    /// Destination port.
    #[inline]
    pub fn dst_port(&self) -> u16 {
        u16_at(self.header, 2)
    }

    /// Length of header and payload in bytes.
    #[inline]
    pub fn len(&self) -> u16 {
        u16_at(self.header, 4)
    }

    /// True without payload.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.payload.is_empty()
    }

    /// Checksum field; zero means none.
    #[inline]
    pub fn checksum(&self) -> u16 {
        u16_at(self.header, 6)
    }

    /// Payload.
    #[inline]
    pub fn payload(&self) -> &'a [u8] {
        self.payload
    }

    /// Verifies the checksum in IPv4, where it may be missing.
    ///
    /// # Errors
    /// Returns `Checksum` if it is wrong.
    pub fn verify_v4(&self, src: Ipv4Addr, dst: Ipv4Addr) -> Result<(), Malformed> {
        if self.checksum() == 0 {
            return Ok(());
        }
        self.verify(checksum::pseudo_v4(src, dst, Protocol::UDP, self.len()))
    }

    /// Verifies the checksum in IPv6.
    ///
    /// # Errors
    /// Returns `NoChecksum` or `Checksum`.
    pub fn verify_v6(&self, src: Ipv6Addr, dst: Ipv6Addr) -> Result<(), Malformed> {
        if self.checksum() == 0 {
            return Err(Malformed::NoChecksum);
        }
        self.verify(checksum::pseudo_v6(
            src,
            dst,
            Protocol::UDP,
            u32::from(self.len()),
        ))
    }

    fn verify(&self, pseudo: u16) -> Result<(), Malformed> {
        let data = checksum::combine(checksum::sum(self.header), checksum::sum(self.payload));
        match checksum::combine(pseudo, data) {
            checksum::INTACT => Ok(()),
            _ => Err(Malformed::Checksum),
        }
    }
}

/// A UDP header as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
}

impl Repr {
    /// Reads the header of a datagram.
    pub fn parse(datagram: &Datagram<'_>) -> Self {
        Self {
            src_port: datagram.src_port(),
            dst_port: datagram.dst_port(),
        }
    }

    /// Encodes the header of a datagram with `payload` in IPv4, including the checksum.
    ///
    /// The caller keeps `payload` within 65,507 bytes; the length field of a longer one is wrong.
    pub fn to_bytes_v4(&self, payload: &[u8], src: Ipv4Addr, dst: Ipv4Addr) -> [u8; HEADER_LEN] {
        let len = length(payload);
        self.finish(
            payload,
            len,
            checksum::pseudo_v4(src, dst, Protocol::UDP, len),
        )
    }

    /// Encodes the header of a datagram with `payload` in IPv6, including the checksum. The payload limit of
    /// `to_bytes_v4` applies.
    pub fn to_bytes_v6(&self, payload: &[u8], src: Ipv6Addr, dst: Ipv6Addr) -> [u8; HEADER_LEN] {
        let len = length(payload);
        self.finish(
            payload,
            len,
            checksum::pseudo_v6(src, dst, Protocol::UDP, u32::from(len)),
        )
    }

    fn finish(&self, payload: &[u8], len: u16, pseudo: u16) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        put_at(&mut bytes, 0, self.src_port.to_be_bytes());
        put_at(&mut bytes, 2, self.dst_port.to_be_bytes());
        put_at(&mut bytes, 4, len.to_be_bytes());
        let data = checksum::combine(checksum::sum(&bytes), checksum::sum(payload));
        let sum = checksum::udp(!checksum::combine(pseudo, data));
        put_at(&mut bytes, 6, sum.to_be_bytes());
        bytes
    }
}

/// Length field of a datagram with this payload.
fn length(payload: &[u8]) -> u16 {
    u16::try_from(payload.len() + HEADER_LEN).unwrap_or(u16::MAX)
}
