//! VRRP advertisements: version 2 (RFC 3768; authentication of RFC 2338) and version 3 (RFC 5798).
//!
//! ```text
//! version, type | virtual router | priority | addresses
//! 2: authentication | seconds | checksum | addresses | 8 bytes of authentication
//! 3: 0 (4 bits), centiseconds (12) | checksum | addresses
//! ```
//! The checksum of version 3 covers a pseudo-header; that of version 2 does not.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{Mac, Protocol, bytes_at, checksum, put_at, u16_at};

/// IPv4 multicast group of advertisements (RFC 5798, 5.1.1.2).
pub const GROUP4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 18);
/// IPv6 multicast group of advertisements (RFC 5798, 5.1.2.2).
pub const GROUP6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x12);
/// TTL of advertisements; a lower one shows that the packet was forwarded (RFC 5798, 5.1.1.3).
pub const TTL: u8 = 255;

const HEADER_LEN: usize = 8;
/// Length of the authentication data after the addresses of version 2.
const AUTHENTICATION_LEN: usize = 8;
/// Type "advertisement", the only one.
const ADVERTISEMENT: u8 = 1;

/// MAC address of a virtual router (RFC 5798, 7.3).
pub const fn virtual_mac(vrid: u8, ipv6: bool) -> Mac {
    Mac([0, 0, 0x5e, 0, if ipv6 { 2 } else { 1 }, vrid])
}

/// MAC address of the multicast group of advertisements (RFC 1112, 6.4; RFC 2464, 7).
pub const fn group_mac(ipv6: bool) -> Mac {
    match ipv6 {
        true => Mac([0x33, 0x33, 0, 0, 0, 0x12]),
        false => Mac([1, 0, 0x5e, 0, 0, 18]),
    }
}

/// Reason why an advertisement is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// Shorter than its header or addresses.
    Length,
    /// Neither version 2 nor 3, or version 2 over IPv6.
    Version,
    /// Not an advertisement.
    Type,
    /// Virtual router id 0, or no address.
    Header,
}

/// Version, with its specific fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 2.
    V2 {
        /// Authentication type: 0 none, 1 simple password, 2 authentication header.
        kind: u8,
        /// Authentication data: the password, padded with zeros.
        data: [u8; AUTHENTICATION_LEN],
        /// Advertisement interval in seconds.
        seconds: u8,
    },
    /// Version 3.
    V3 {
        /// Advertisement interval in hundredths of a second, 12 bits.
        centiseconds: u16,
    },
}

/// Advertisement as a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Virtual router id, 1 to 255.
    pub vrid: u8,
    /// Priority; 255 for the address owner, 0 when the master resigns.
    pub priority: u8,
    /// Version.
    pub version: Version,
    /// Addresses of the virtual router, at most 255, all of one family.
    pub addresses: Vec<IpAddr>,
}

/// Checked view of an advertisement.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    header: &'a [u8; HEADER_LEN],
    addresses: &'a [u8],
    authentication: [u8; AUTHENTICATION_LEN],
    /// The advertisement without padding.
    bytes: &'a [u8],
    ipv6: bool,
}

impl<'a> Packet<'a> {
    /// Views the payload of an IPv4 or IPv6 packet as an advertisement.
    ///
    /// # Errors
    /// Returns [`Malformed`] if length, version, type or header is invalid.
    pub fn new_checked(bytes: &'a [u8], ipv6: bool) -> Result<Self, Malformed> {
        let (header, rest) = bytes.split_first_chunk().ok_or(Malformed::Length)?;
        let (version, kind) = (header[0] >> 4, header[0] & 0xf);
        let v2 = match version {
            2 if !ipv6 => true,
            3 => false,
            _ => return Err(Malformed::Version),
        };
        if kind != ADVERTISEMENT {
            return Err(Malformed::Type);
        }
        if header[1] == 0 || header[3] == 0 {
            return Err(Malformed::Header);
        }
        let each = if ipv6 { 16 } else { 4 };
        let len = usize::from(header[3]) * each;
        let (addresses, behind) = rest.split_at_checked(len).ok_or(Malformed::Length)?;
        let authentication = match v2 {
            true => *behind.first_chunk().ok_or(Malformed::Length)?,
            false => [0; AUTHENTICATION_LEN],
        };
        let whole = HEADER_LEN + len + if v2 { AUTHENTICATION_LEN } else { 0 };
        Ok(Self {
            header,
            addresses,
            authentication,
            bytes: bytes.get(..whole).ok_or(Malformed::Length)?,
            ipv6,
        })
    }

    /// Virtual router id.
    pub const fn vrid(&self) -> u8 {
        self.header[1]
    }

    /// Priority.
    pub const fn priority(&self) -> u8 {
        self.header[2]
    }

    /// Version, with its specific fields.
    pub fn version(&self) -> Version {
        let word = u16_at(self.header, 4);
        match self.header[0] >> 4 {
            2 => {
                let [kind, seconds] = bytes_at(self.header, 4);
                Version::V2 {
                    kind,
                    data: self.authentication,
                    seconds,
                }
            }
            _ => Version::V3 {
                centiseconds: word & 0xfff,
            },
        }
    }

    /// Addresses of the virtual router.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + use<'a> {
        let each = if self.ipv6 { 16 } else { 4 };
        self.addresses.chunks_exact(each).filter_map(|bytes| {
            Some(match bytes.len() {
                4 => IpAddr::from(*bytes.first_chunk::<4>()?),
                _ => IpAddr::from(*bytes.first_chunk::<16>()?),
            })
        })
    }

    /// Verifies the checksum, with or without a pseudo-header of these addresses.
    pub fn is_intact(&self, pseudo: Option<(IpAddr, IpAddr)>) -> bool {
        let sum = checksum::sum(self.bytes);
        let over = pseudo_sum(pseudo, self.bytes.len());
        checksum::combine(sum, over) == checksum::INTACT
    }
}

impl Repr {
    /// Converts a received advertisement to a value.
    pub fn parse(packet: &Packet<'_>) -> Self {
        Self {
            vrid: packet.vrid(),
            priority: packet.priority(),
            version: packet.version(),
            addresses: packet.addresses().collect(),
        }
    }

    /// Encodes the advertisement; the checksum covers a pseudo-header of these addresses, if given.
    pub fn to_bytes(&self, pseudo: Option<(IpAddr, IpAddr)>) -> Vec<u8> {
        let count = self.addresses.len().min(255);
        let mut header = [0; HEADER_LEN];
        let middle = match self.version {
            Version::V2 { kind, seconds, .. } => [kind, seconds],
            Version::V3 { centiseconds } => (centiseconds & 0xfff).to_be_bytes(),
        };
        let version = match self.version {
            Version::V2 { .. } => 2,
            Version::V3 { .. } => 3,
        };
        let first = version << 4 | ADVERTISEMENT;
        put_at(
            &mut header,
            0,
            [first, self.vrid, self.priority, count as u8],
        );
        put_at(&mut header, 4, middle);
        let mut bytes = header.to_vec();
        for address in self.addresses.iter().take(count) {
            match address {
                IpAddr::V4(address) => bytes.extend(address.octets()),
                IpAddr::V6(address) => bytes.extend(address.octets()),
            }
        }
        if let Version::V2 { data, .. } = self.version {
            bytes.extend(data);
        }
        let over = pseudo_sum(pseudo, bytes.len());
        let sum = !checksum::combine(checksum::sum(&bytes), over);
        if let Some(place) = bytes.get_mut(6..8) {
            place.copy_from_slice(&sum.to_be_bytes());
        }
        bytes
    }
}

fn pseudo_sum(pseudo: Option<(IpAddr, IpAddr)>, len: usize) -> u16 {
    match pseudo {
        Some((IpAddr::V4(src), IpAddr::V4(dst))) => {
            checksum::pseudo_v4(src, dst, Protocol::VRRP, len as u16)
        }
        Some((IpAddr::V6(src), IpAddr::V6(dst))) => {
            checksum::pseudo_v6(src, dst, Protocol::VRRP, len as u32)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn v2() -> Repr {
        Repr {
            vrid: 7,
            priority: 100,
            version: Version::V2 {
                kind: 1,
                data: *b"secret\0\0",
                seconds: 1,
            },
            addresses: vec![IpAddr::from([10, 0, 0, 254]), IpAddr::from([10, 0, 0, 253])],
        }
    }

    fn v3(address: IpAddr) -> Repr {
        Repr {
            version: Version::V3 { centiseconds: 250 },
            addresses: vec![address],
            ..v2()
        }
    }

    #[test]
    fn version_2_is_written_as_rfc_3768_draws_it() {
        let bytes = v2().to_bytes(None);
        assert_eq!(bytes[..6], [0x21, 7, 100, 2, 1, 1]);
        assert_eq!(bytes[8..], *b"\x0a\0\0\xfe\x0a\0\0\xfdsecret\0\0");
        let packet = Packet::new_checked(&bytes, false).expect("it is whole");
        assert!(packet.is_intact(None));
        assert_eq!(Repr::parse(&packet), v2());
    }

    #[test]
    fn version_3_checksums_work_with_and_without_pseudo_header() {
        let four: (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), GROUP4.into());
        let own: Ipv6Addr = "fe80::1".parse().expect("an address");
        let six: (IpAddr, IpAddr) = (own.into(), GROUP6.into());
        for (repr, pseudo) in [(v3(four.0), four), (v3(six.0), six)] {
            let bytes = repr.to_bytes(Some(pseudo));
            assert_eq!(bytes[..6], [0x31, 7, 100, 1, 0, 250]);
            let packet = Packet::new_checked(&bytes, pseudo.0.is_ipv6()).expect("it is whole");
            assert!(packet.is_intact(Some(pseudo)) && !packet.is_intact(None));
            assert_eq!(Repr::parse(&packet), repr);
        }
        let bytes = v3(four.0).to_bytes(None);
        let packet = Packet::new_checked(&bytes, false).expect("it is whole");
        assert!(packet.is_intact(None) && !packet.is_intact(Some(four)));
    }

    #[test]
    fn each_header_fault_has_a_name() {
        let with = |at: usize, byte: u8| {
            let mut bytes = v2().to_bytes(None);
            bytes[at] = byte;
            Packet::new_checked(&bytes, false).err()
        };
        assert_eq!(with(0, 0x11), Some(Malformed::Version));
        assert_eq!(with(0, 0x22), Some(Malformed::Type));
        assert_eq!(with(1, 0), Some(Malformed::Header));
        assert_eq!(with(3, 0), Some(Malformed::Header));
        assert_eq!(with(3, 3), Some(Malformed::Length));
        let bytes = v2().to_bytes(None);
        for len in 0..bytes.len() {
            let cut = Packet::new_checked(&bytes[..len], false);
            assert_eq!(cut.err(), Some(Malformed::Length));
        }
        let over6 = Packet::new_checked(&bytes, true);
        assert_eq!(over6.err(), Some(Malformed::Version));
    }

    #[test]
    fn the_virtual_address_of_each_family_ends_in_the_number() {
        assert_eq!(virtual_mac(7, false), Mac([0, 0, 0x5e, 0, 1, 7]));
        assert_eq!(virtual_mac(7, true), Mac([0, 0, 0x5e, 0, 2, 7]));
    }
}
