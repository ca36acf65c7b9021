//! MAC addresses (EUI-48), written as RouterOS writes them: `AA:BB:CC:DD:EE:FF`.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// 48-bit MAC address, in transmission order.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Broadcast address.
    pub const BROADCAST: Self = Self([0xff; 6]);
    /// All zeros: no address.
    pub const ZERO: Self = Self([0; 6]);

    /// True if the group bit is set, including broadcast.
    #[inline]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// True for `FF:FF:FF:FF:FF:FF`.
    #[inline]
    pub const fn is_broadcast(self) -> bool {
        self.to_u64() == 0xffff_ffff_ffff
    }

    /// True for a unicast address other than zero.
    #[inline]
    pub const fn is_unicast(self) -> bool {
        !self.is_multicast() && self.to_u64() != 0
    }

    /// True for a locally administered address.
    #[inline]
    pub const fn is_local(self) -> bool {
        self.0[0] & 2 != 0
    }

    /// The address as a big-endian 48-bit number.
    #[inline]
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }

    /// The address with the lowest 48 bits of `number`.
    #[inline]
    pub const fn from_u64(number: u64) -> Self {
        let [_, _, a, b, c, d, e, f] = number.to_be_bytes();
        Self([a, b, c, d, e, f])
    }

    /// Modified EUI-64 interface identifier (RFC 4291, appendix A).
    pub const fn interface_id(self) -> [u8; 8] {
        let [a, b, c, d, e, f] = self.0;
        [a ^ 2, b, c, 0xff, 0xfe, d, e, f]
    }

    /// Link-local IPv6 address derived from this address (RFC 4862, 5.3).
    pub const fn link_local(self) -> Ipv6Addr {
        let [a, b, c, d, e, f, g, h] = self.interface_id();
        Ipv6Addr::new(
            0xfe80,
            0,
            0,
            0,
            u16::from_be_bytes([a, b]),
            u16::from_be_bytes([c, d]),
            u16::from_be_bytes([e, f]),
            u16::from_be_bytes([g, h]),
        )
    }

    /// MAC address of an IPv4 multicast group (RFC 1112, 6.4).
    pub const fn of_ipv4_group(group: Ipv4Addr) -> Self {
        let [_, b, c, d] = group.octets();
        Self([0x01, 0x00, 0x5e, b & 0x7f, c, d])
    }

    /// MAC address of an IPv6 multicast group (RFC 2464, 7).
    pub const fn of_ipv6_group(group: Ipv6Addr) -> Self {
        let [.., c, d, e, f] = group.octets();
        Self([0x33, 0x33, c, d, e, f])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{g:02X}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reason why a text is not a MAC address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseMacError {
    /// Not six groups between colons.
    Groups,
    /// A group is not one or two hexadecimal digits.
    Digits,
}

impl fmt::Display for ParseMacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Groups => "a MAC address has six groups between colons",
            Self::Digits => "a group of a MAC address has one or two hexadecimal digits",
        })
    }
}

impl core::error::Error for ParseMacError {}

impl FromStr for Mac {
    type Err = ParseMacError;

    /// Parses six groups of one or two hexadecimal digits, separated by colons, in any case.
    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let mut groups = text.split(':');
        let mut octets = [0; 6];
        for octet in &mut octets {
            let group = groups.next().ok_or(ParseMacError::Groups)?;
            let digits = group.len() <= 2 && group.bytes().all(|byte| byte.is_ascii_hexdigit());
            // `from_str_radix` alone would accept a sign.
            *octet = digits
                .then(|| u8::from_str_radix(group, 16).ok())
                .flatten()
                .ok_or(ParseMacError::Digits)?;
        }
        if groups.next().is_some() {
            return Err(ParseMacError::Groups);
        }
        Ok(Self(octets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    const MAC: Mac = Mac([0x00, 0x0c, 0x42, 0xab, 0xcd, 0x0f]);

    #[test]
    fn mac_addresses_round_trip_in_routeros_format() {
        assert_eq!(MAC.to_string(), "00:0C:42:AB:CD:0F");
        assert_eq!("0:c:42:ab:CD:0f".parse(), Ok(MAC));
        assert_eq!(MAC.to_string().parse(), Ok(MAC));
    }

    #[test]
    fn invalid_mac_addresses_have_a_reason() {
        assert_eq!("00:0C:42:AB:CD".parse::<Mac>(), Err(ParseMacError::Groups));
        assert_eq!(
            "00:0C:42:AB:CD:0F:".parse::<Mac>(),
            Err(ParseMacError::Groups)
        );
        assert_eq!("00:0C:42:AB:CD:".parse::<Mac>(), Err(ParseMacError::Digits));
        assert_eq!(
            "00:0C:42:AB:CD:+F".parse::<Mac>(),
            Err(ParseMacError::Digits)
        );
        assert_eq!(
            "00:0C:42:AB:CD:0FF".parse::<Mac>(),
            Err(ParseMacError::Digits)
        );
    }

    #[test]
    fn group_and_station_addresses_are_distinguished() {
        assert!(Mac::BROADCAST.is_broadcast() && Mac::BROADCAST.is_multicast());
        assert!(MAC.is_unicast() && !MAC.is_multicast() && !MAC.is_local());
        assert!(!Mac::ZERO.is_unicast());
        assert_eq!(Mac::from_u64(MAC.to_u64()), MAC);
    }

    #[test]
    fn the_link_local_address_flips_the_universal_bit() {
        assert_eq!(MAC.link_local().to_string(), "fe80::20c:42ff:feab:cd0f");
    }

    #[test]
    fn multicast_groups_map_to_macs() {
        let mdns = Mac::of_ipv4_group(Ipv4Addr::new(224, 128, 0, 251));
        let solicited = Mac::of_ipv6_group("ff02::1:ffab:cd0f".parse().unwrap());

        assert_eq!(mdns.to_string(), "01:00:5E:00:00:FB");
        assert_eq!(solicited.to_string(), "33:33:FF:AB:CD:0F");
    }
}
