//! IP protocol numbers (IANA, "Protocol Numbers").

use core::fmt;

/// Protocol of an IP payload.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(pub u8);

impl Protocol {
    /// IPv6 hop-by-hop options (RFC 8200, 4.3).
    pub const HOP_BY_HOP: Self = Self(0);
    /// ICMP (RFC 792).
    pub const ICMP: Self = Self(1);
    /// IGMP (RFC 3376).
    pub const IGMP: Self = Self(2);
    /// IPv4 in IP (RFC 2003).
    pub const IPIP: Self = Self(4);
    /// TCP (RFC 9293).
    pub const TCP: Self = Self(6);
    /// UDP (RFC 768).
    pub const UDP: Self = Self(17);
    /// IPv6 in IP (RFC 4213).
    pub const IPV6: Self = Self(41);
    /// IPv6 routing header (RFC 8200, 4.4).
    pub const ROUTING: Self = Self(43);
    /// IPv6 fragment header (RFC 8200, 4.5).
    pub const FRAGMENT: Self = Self(44);
    /// GRE (RFC 2784).
    pub const GRE: Self = Self(47);
    /// ESP (RFC 4303).
    pub const ESP: Self = Self(50);
    /// AH (RFC 4302).
    pub const AH: Self = Self(51);
    /// ICMPv6 (RFC 4443).
    pub const ICMPV6: Self = Self(58);
    /// IPv6 no next header (RFC 8200, 4.7).
    pub const NO_NEXT: Self = Self(59);
    /// IPv6 destination options (RFC 8200, 4.6).
    pub const DESTINATION: Self = Self(60);
    /// OSPF (RFC 2328).
    pub const OSPF: Self = Self(89);
    /// VRRP (RFC 5798).
    pub const VRRP: Self = Self(112);
    /// SCTP (RFC 9260).
    pub const SCTP: Self = Self(132);
    /// IPv6 mobility (RFC 6275).
    pub const MOBILITY: Self = Self(135);
    /// UDP-Lite (RFC 3828).
    pub const UDP_LITE: Self = Self(136);

    /// True for an IPv6 extension header with a next header field (RFC 8200, 4; including AH, but not ESP, which
    /// hides the bytes after it).
    #[inline]
    pub const fn is_ipv6_extension(self) -> bool {
        matches!(
            self,
            Self::HOP_BY_HOP
                | Self::ROUTING
                | Self::FRAGMENT
                | Self::AH
                | Self::DESTINATION
                | Self::MOBILITY
        )
    }
}

impl fmt::Debug for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::HOP_BY_HOP => "hop-by-hop",
            Self::ICMP => "icmp",
            Self::IGMP => "igmp",
            Self::TCP => "tcp",
            Self::UDP => "udp",
            Self::FRAGMENT => "fragment",
            Self::ICMPV6 => "icmpv6",
            Self(number) => return write!(f, "protocol {number}"),
        };
        f.write_str(name)
    }
}
