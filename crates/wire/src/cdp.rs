//! Cisco Discovery Protocol, versions 1 and 2, after the LLC and SNAP headers.
//!
//! ```text
//! version (8) | hold time in seconds (8) | checksum (16) | TLVs: type (16), length with its head (16), value
//! ```
//! There is no standard. Text is raw bytes.

use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};

use crate::{Mac, checksum};

/// Destination address.
pub const GROUP: Mac = Mac([0x01, 0, 0x0c, 0xcc, 0xcc, 0xcc]);
/// Organization and protocol of the SNAP header.
pub const SNAP: ([u8; 3], u16) = ([0, 0, 0x0c], 0x2000);
/// LLC and SNAP headers.
pub const LLC: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0x0c, 0x20, 0];

const HEADER_LEN: usize = 4;
const DEVICE: u16 = 1;
const ADDRESSES: u16 = 2;
const PORT: u16 = 3;
const CAPABILITIES: u16 = 4;
const VERSION: u16 = 5;
const PLATFORM: u16 = 6;

/// Headers of an IPv4 and an IPv6 address: protocol type, protocol, address length.
const OF_IPV4: [u8; 5] = [1, 1, 0xcc, 0, 4];
const OF_IPV6: [u8; 12] = [2, 8, 0xaa, 0xaa, 3, 0, 0, 0, 0x86, 0xdd, 0, 16];

/// Capability bit: router.
pub const ROUTER: u32 = 1;

/// Reason why a message is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its header, a TLV or an address.
    Truncated,
    /// Neither version 1 nor 2.
    Version,
    /// Wrong checksum.
    Checksum,
    /// A TLV is shorter than its header, or a TLV of fixed length has another length.
    Length,
}

/// A message as a value. Missing fields are empty or `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repr<'a> {
    /// Hold time in seconds; 0 withdraws earlier messages.
    pub ttl: u8,
    /// Device id.
    pub device: &'a [u8],
    /// First IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// First IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// Port id.
    pub port: &'a [u8],
    /// Capabilities.
    pub capabilities: Option<u32>,
    /// Software version.
    pub version: &'a [u8],
    /// Platform.
    pub platform: &'a [u8],
}

impl<'a> Repr<'a> {
    /// Parses the bytes after the SNAP header. Skips unknown TLVs.
    ///
    /// # Errors
    /// Returns [`Malformed`] if the message is truncated, has another version, a wrong checksum or an invalid TLV.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let ([version, ttl, _, _], mut rest) = bytes
            .split_first_chunk::<HEADER_LEN>()
            .ok_or(Malformed::Truncated)?;
        if !matches!(version, 1 | 2) {
            return Err(Malformed::Version);
        }
        if sum(bytes) != checksum::INTACT {
            return Err(Malformed::Checksum);
        }
        let mut message = Self {
            ttl: *ttl,
            ..Self::default()
        };
        while !rest.is_empty() {
            let [a, b, c, d] = rest.first_chunk().ok_or(Malformed::Truncated)?;
            let (kind, length) = (
                u16::from_be_bytes([*a, *b]),
                usize::from(u16::from_be_bytes([*c, *d])),
            );
            let whole = rest.get(..length).ok_or(Malformed::Truncated)?;
            let value = whole.get(HEADER_LEN..).ok_or(Malformed::Length)?;
            rest = rest.get(length..).unwrap_or_default();
            message.take(kind, value)?;
        }
        Ok(message)
    }

    fn take(&mut self, kind: u16, value: &'a [u8]) -> Result<(), Malformed> {
        match kind {
            DEVICE => self.device = value,
            ADDRESSES => self.take_addresses(value)?,
            PORT => self.port = value,
            CAPABILITIES => {
                let number = value.try_into().map_err(|_| Malformed::Length)?;
                self.capabilities = Some(u32::from_be_bytes(number));
            }
            VERSION => self.version = value,
            PLATFORM => self.platform = value,
            _ => {}
        }
        Ok(())
    }

    fn take_addresses(&mut self, value: &[u8]) -> Result<(), Malformed> {
        let (count, mut rest) = value.split_first_chunk().ok_or(Malformed::Truncated)?;
        for _ in 0..u32::from_be_bytes(*count) {
            let [_, length, ..] = rest else {
                return Err(Malformed::Truncated);
            };
            let at = 2 + usize::from(*length);
            let size = rest.get(at..at + 2).ok_or(Malformed::Truncated)?;
            let size = match size {
                [high, low] => usize::from(u16::from_be_bytes([*high, *low])),
                _ => 0,
            };
            let (kind, behind) = rest.split_at_checked(at + 2).ok_or(Malformed::Truncated)?;
            let address = behind.get(..size).ok_or(Malformed::Truncated)?;
            rest = behind.get(size..).unwrap_or_default();
            if kind == OF_IPV4 {
                let octets = <[u8; 4]>::try_from(address).map_err(|_| Malformed::Length)?;
                self.ipv4 = self.ipv4.or(Some(octets.into()));
            }
            if kind == OF_IPV6 {
                let octets = <[u8; 16]>::try_from(address).map_err(|_| Malformed::Length)?;
                self.ipv6 = self.ipv6.or(Some(octets.into()));
            }
        }
        Ok(())
    }

    /// Appends the message as version 1, as RouterOS does, with its checksum. Text is truncated to 65,531 bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(&[1, self.ttl, 0, 0]);
        let mut put = |kind: u16, value: &[u8]| {
            let length = u16::try_from(value.len() + HEADER_LEN).unwrap_or(u16::MAX);
            out.extend_from_slice(&kind.to_be_bytes());
            out.extend_from_slice(&length.to_be_bytes());
            out.extend(value.iter().take(usize::from(length) - HEADER_LEN));
        };
        put(DEVICE, self.device);
        let mut addresses = Vec::new();
        let count = u32::from(self.ipv4.is_some()) + u32::from(self.ipv6.is_some());
        addresses.extend_from_slice(&count.to_be_bytes());
        if let Some(ipv4) = self.ipv4 {
            addresses.extend_from_slice(&OF_IPV4);
            addresses.extend_from_slice(&ipv4.octets());
        }
        if let Some(ipv6) = self.ipv6 {
            addresses.extend_from_slice(&OF_IPV6);
            addresses.extend_from_slice(&ipv6.octets());
        }
        if count > 0 {
            put(ADDRESSES, &addresses);
        }
        put(PORT, self.port);
        if let Some(capabilities) = self.capabilities {
            put(CAPABILITIES, &capabilities.to_be_bytes());
        }
        put(VERSION, self.version);
        put(PLATFORM, self.platform);
        let sum = !sum(out.get(begin..).unwrap_or_default());
        let place = out
            .get_mut(begin + 2..)
            .and_then(|tail| tail.first_chunk_mut());
        if let Some(place) = place {
            *place = sum.to_be_bytes();
        }
    }
}

/// Checksum as Cisco devices compute it: the internet checksum, except for an odd last byte. The last byte forms the
/// low half of an extra word; a negative byte counts as one less.
fn sum(bytes: &[u8]) -> u16 {
    match bytes {
        [pairs @ .., last] if !bytes.len().is_multiple_of(2) => {
            let word = match *last {
                0..0x80 => u16::from(*last),
                _ => 0xff00 | u16::from(*last).wrapping_sub(1),
            };
            checksum::combine(checksum::sum(pairs), word)
        }
        _ => checksum::sum(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Captured from a router with RouterOS 7.18.2.
    fn captured() -> Vec<u8> {
        let mut bytes = alloc::vec![1, 0x79, 0x7d, 0xb7];
        let mut put = |kind: u8, value: &[u8]| {
            bytes.extend([0, kind, 0, value.len() as u8 + 4]);
            bytes.extend(value);
        };
        put(1, b"MikroTik");
        put(2, &[0, 0, 0, 1, 1, 1, 0xcc, 0, 4, 10, 255, 0, 2]);
        put(3, b"eoip-tunnel1");
        put(4, &[0, 0, 0, 1]);
        put(5, b"7.18.2 (stable) 2025-03-11 11:59:04");
        put(6, b"MikroTik");
        bytes
    }

    #[test]
    fn captured_routeros_messages_round_trip_byte_by_byte() {
        let bytes = captured();

        let message = Repr::parse(&bytes).expect("well formed");
        let mut written = Vec::new();
        message.emit(&mut written);

        assert_eq!(written, bytes);
        assert_eq!(message.ttl, 121);
        assert_eq!(message.port, b"eoip-tunnel1");
        assert_eq!(message.ipv4, Some(Ipv4Addr::new(10, 255, 0, 2)));
        assert_eq!(message.capabilities, Some(ROUTER));
    }

    #[test]
    fn both_families_and_odd_lengths_round_trip() {
        for platform in [&b"p"[..], b"pp", b"\x80", b"\xff", b"p\xff"] {
            let message = Repr {
                ttl: 5,
                device: b"d",
                ipv4: Some(Ipv4Addr::LOCALHOST),
                ipv6: Some(Ipv6Addr::LOCALHOST),
                platform,
                ..Repr::default()
            };
            let mut written = Vec::new();
            message.emit(&mut written);
            assert_eq!(Repr::parse(&written), Ok(message), "{platform:?}");
        }
    }

    #[test]
    fn each_fault_has_a_name() {
        let of = |mut bytes: Vec<u8>| {
            bytes[2..4].fill(0);
            let sum = !sum(&bytes);
            bytes[2..4].copy_from_slice(&sum.to_be_bytes());
            Repr::parse(&bytes).expect_err("it is malformed")
        };
        let tlv = |rest: &[u8]| [&[1, 0, 0, 0][..], rest].concat();

        assert_eq!(Repr::parse(&[1, 0, 0]), Err(Malformed::Truncated));
        assert_eq!(of(alloc::vec![3, 0, 0, 0]), Malformed::Version);
        assert_eq!(Repr::parse(&[1, 0, 0, 0]), Err(Malformed::Checksum));
        assert_eq!(of(tlv(&[0, 1, 0, 3])), Malformed::Length);
        assert_eq!(of(tlv(&[0, 1, 0, 9, 1])), Malformed::Truncated);
        assert_eq!(of(tlv(&[0, 4, 0, 6, 0, 1])), Malformed::Length);
        let many = [0, 2, 0, 8, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(of(tlv(&many)), Malformed::Truncated);
        let cut = [0, 2, 0, 15, 0, 0, 0, 1, 1, 1, 0xcc, 0, 4, 1, 2];
        assert_eq!(of(tlv(&cut)), Malformed::Truncated);
    }
}
