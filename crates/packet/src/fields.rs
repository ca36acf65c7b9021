//! Header fields of a packet, parsed once: the inputs of RouterOS's matchers, and the tuple of a connection.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use frame::shortcut::{AddressPair, Service};

use crate::flow::{upper4, upper6};

/// IP protocol numbers that the router distinguishes.
pub mod protocol {
    /// Internet control messages (RFC 792).
    pub const ICMP: u8 = 1;
    /// IPv4 in IP (RFC 2003).
    pub const IPIP: u8 = 4;
    /// Transmission control (RFC 9293).
    pub const TCP: u8 = 6;
    /// User datagrams (RFC 768).
    pub const UDP: u8 = 17;
    /// Congestion-controlled datagrams (RFC 4340).
    pub const DCCP: u8 = 33;
    /// IPv6 in IP (RFC 4213).
    pub const IPV6: u8 = 41;
    /// Generic routing encapsulation (RFC 2784, RFC 2637).
    pub const GRE: u8 = 47;
    /// Encapsulating security payload (RFC 4303).
    pub const ESP: u8 = 50;
    /// Authentication header (RFC 4302).
    pub const AH: u8 = 51;
    /// Internet control messages of IPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// Ethernet in IPv6, as used by EoIP (number assigned by RFC 3378).
    pub const EOIP6: u8 = 97;
    /// Stream control transmission (RFC 9260).
    pub const SCTP: u8 = 132;
    /// Datagrams with partial checksum coverage (RFC 3828).
    pub const UDP_LITE: u8 = 136;
}

/// Addresses, protocol and ports of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// The source address; IPv4 in the low 32 bits.
    pub source: u128,
    /// The destination address; IPv4 in the low 32 bits.
    pub destination: u128,
    /// Source port; identifier of an ICMP query or reply; else 0.
    pub source_port: u16,
    /// Destination port; type (high byte) and code of ICMP; call ID of PPTP GRE; else 0.
    pub destination_port: u16,
    /// IP protocol number.
    pub protocol: u8,
    /// True for IPv6, false for IPv4.
    pub ipv6: bool,
}

impl Tuple {
    /// Returns the addresses in the form of shortcuts.
    pub const fn between(&self) -> AddressPair {
        AddressPair {
            source: self.source,
            destination: self.destination,
            ipv6: self.ipv6,
        }
    }

    /// Returns protocol and ports of TCP or UDP in the form of shortcuts.
    pub const fn service(&self) -> Service {
        let [a, b] = self.source_port.to_be_bytes();
        let [c, d] = self.destination_port.to_be_bytes();
        Service {
            protocol: self.protocol,
            ports: [a, b, c, d],
        }
    }

    /// Returns the tuple of replies. The reply to an ICMP query has its own type; for an ICMP message without
    /// reply only the addresses are exchanged.
    #[inline]
    pub const fn reversed(&self) -> Self {
        let (source_port, destination_port) = match self.protocol {
            protocol::ICMP | protocol::ICMPV6 => (
                self.source_port,
                (answer(self.protocol, (self.destination_port >> 8) as u8) as u16) << 8
                    | self.destination_port & 0xff,
            ),
            _ => (self.destination_port, self.source_port),
        };
        Self {
            source: self.destination,
            destination: self.source,
            source_port,
            destination_port,
            ..*self
        }
    }

    /// Creates a tuple from addresses and the number of [`Self::ports`].
    #[inline(always)]
    pub const fn of(source: u128, destination: u128, ports: u64, ipv6: bool) -> Self {
        Self {
            source,
            destination,
            source_port: ports as u16,
            destination_port: (ports >> 16) as u16,
            protocol: (ports >> 32) as u8,
            ipv6,
        }
    }

    /// Returns source port, destination port and protocol as a 40-bit number, the source port in the lowest
    /// bits.
    #[inline(always)]
    pub const fn ports(&self) -> u64 {
        self.source_port as u64
            | (self.destination_port as u64) << 16
            | (self.protocol as u64) << 32
    }

    /// Returns true for an ICMP query or reply: its source port is an identifier.
    #[inline]
    pub const fn is_query(&self) -> bool {
        let kind = (self.destination_port >> 8) as u8;
        matches!(self.protocol, protocol::ICMP | protocol::ICMPV6)
            && answer(self.protocol, kind) != kind
    }

    /// Returns true if the protocol has ports.
    #[inline]
    pub const fn has_ports(&self) -> bool {
        has_ports(self.protocol)
    }
}

/// Formats as `ADDRESS:PORT->ADDRESS:PORT`, with brackets around IPv6 addresses; without ports if the
/// protocol has none.
impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |address: u128, port: u16| -> SocketAddr {
            let address: IpAddr = match self.ipv6 {
                true => Ipv6Addr::from_bits(address).into(),
                false => Ipv4Addr::from_bits(address as u32).into(),
            };
            (address, port).into()
        };
        let source = end(self.source, self.source_port);
        let destination = end(self.destination, self.destination_port);
        match self.has_ports() {
            true => write!(f, "{source}->{destination}"),
            false => write!(f, "{}->{}", source.ip(), destination.ip()),
        }
    }
}

/// Returns the type of the reply to an ICMP query, or of the query for a reply; the same type if there is
/// neither.
const fn answer(protocol: u8, kind: u8) -> u8 {
    match (protocol, kind) {
        // Echo (RFC 792), timestamp, information, address mask (RFC 950).
        (protocol::ICMP, 8) => 0,
        (protocol::ICMP, 0) => 8,
        (protocol::ICMP, 13 | 15 | 17) => kind + 1,
        (protocol::ICMP, 14 | 16 | 18) => kind - 1,
        // Echo (RFC 4443); node information (RFC 4620).
        (protocol::ICMPV6, 128 | 139) => kind + 1,
        (protocol::ICMPV6, 129 | 140) => kind - 1,
        _ => kind,
    }
}

/// Returns true for TCP and UDP.
#[inline(always)]
const fn is_usual(number: u8) -> bool {
    (number == protocol::TCP) | (number == protocol::UDP)
}

const fn has_ports(number: u8) -> bool {
    matches!(
        number,
        protocol::TCP | protocol::UDP | protocol::DCCP | protocol::SCTP | protocol::UDP_LITE
    )
}

/// Which part of a datagram a packet contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragment {
    /// The whole datagram.
    #[default]
    Whole,
    /// The first fragment, with the upper-layer header.
    First,
    /// A later fragment, without ports.
    Later,
}

/// Parsed header fields of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// Addresses, protocol and ports; ports are 0 in packets without ports.
    pub tuple: Tuple,
    /// Length in bytes from the network header on, without link padding.
    pub len: u32,
    /// Offset of the upper-layer header from the network header; 0 if it was not found.
    pub upper: u16,
    /// TCP flags, FIN (bit 0) to CWR (bit 7); 0 for other protocols.
    pub tcp_flags: u8,
    /// TTL or hop limit.
    pub ttl: u8,
    /// TOS or traffic class.
    pub tos: u8,
    /// The part of the datagram that the packet contains.
    pub fragment: Fragment,
    /// True if the upper-layer header is truncated, so that ports or flags could not be read.
    pub truncated: bool,
}

/// Mask for the first 8 bytes of an IPv4 header: version, header length, more-fragments flag and fragment
/// offset.
const HEAD_MASK: u64 = 0xff00_0000_0000_3fff;
/// Value of these bits for a whole packet without options.
const HEAD: u64 = 0x4500_0000_0000_0000;
/// FIN, SYN, RST: segments with these flags take the slow path.
pub const SLOW_FLAGS: u8 = 0x07;

impl Fields {
    /// Parses a packet with a valid network header, from the header on. Missing fields are 0.
    #[inline]
    pub fn of(packet: &[u8]) -> Self {
        let mut fields = Self::default();
        let usual = match packet.first().map(|first| first >> 4) {
            Some(6) => fields.read6(packet),
            _ => fields.read4(packet),
        };
        match usual {
            Some(_) => fields,
            None => Self::of_any(packet),
        }
    }

    /// Parses a whole TCP segment or UDP datagram without options; returns `None`, without changes, for other
    /// packets. Returns true if the TTL permits forwarding and no TCP flag opens or closes a connection.
    #[inline(always)]
    pub fn read_usual<const IPV6: bool>(&mut self, packet: &[u8]) -> Option<bool> {
        match IPV6 {
            true => self.read6(packet),
            false => self.read4(packet),
        }
    }

    #[cold]
    #[inline(never)]
    fn of_any(packet: &[u8]) -> Self {
        match packet.first().map(|first| first >> 4) {
            Some(6) => Self::of_ipv6(packet),
            _ => Self::of_ipv4(packet),
        }
    }

    /// Parses an IPv4 packet that is a whole TCP segment or UDP datagram without options, the usual case;
    /// `None` for other packets.
    #[inline(always)]
    fn read4(&mut self, packet: &[u8]) -> Option<bool> {
        let header = packet.first_chunk::<28>()?;
        // Loads whole words, because their fields are used more than once.
        let first = u64::from_be_bytes(*header.first_chunk()?);
        let addresses = u64::from_be_bytes(*header[12..].first_chunk()?);
        let ports = u32::from_be_bytes(*header[20..].first_chunk()?);
        let protocol = header[9];
        if (first & HEAD_MASK != HEAD) | !is_usual(protocol) {
            return None;
        }
        self.len = u32::from((first >> 32) as u16);
        (self.ttl, self.tos) = (header[8], (first >> 48) as u8);
        let (source, destination) = (u128::from(addresses >> 32), u128::from(addresses as u32));
        Some(self.read_upper_usual::<false>(source, destination, protocol, ports, packet))
    }

    /// Parses an IPv6 packet as [`Self::read4`] does, without extension headers.
    #[inline(always)]
    fn read6(&mut self, packet: &[u8]) -> Option<bool> {
        let header = packet.first_chunk::<48>()?;
        if !is_usual(header[6]) {
            return None;
        }
        let address = |at: usize| {
            let bytes = header[at..].first_chunk::<16>();
            bytes.map_or(0, |bytes| u128::from_be_bytes(*bytes))
        };
        let (source, destination) = (address(8), address(24));
        self.len = u32::from(u16::from_be_bytes([header[4], header[5]])) + 40;
        (self.ttl, self.tos) = (header[7], header[0] << 4 | header[1] >> 4);
        let ports = u32::from_be_bytes([header[40], header[41], header[42], header[43]]);
        Some(self.read_upper_usual::<true>(source, destination, header[6], ports, packet))
    }

    /// Parses the upper layer of a whole TCP segment or UDP datagram. Without branches on the protocol, which
    /// is unpredictable.
    #[inline(always)]
    fn read_upper_usual<const IPV6: bool>(
        &mut self,
        source: u128,
        destination: u128,
        protocol: u8,
        ports: u32,
        packet: &[u8],
    ) -> bool {
        let upper = if IPV6 { 40 } else { 20 };
        let tcp = protocol == protocol::TCP;
        let flags = packet.get(upper + 13).copied().unwrap_or_default();
        // Nearly all packets are longer than the shortest header.
        let short = packet.get(upper + 19).is_none();
        self.tuple = Tuple {
            source,
            destination,
            source_port: (ports >> 16) as u16,
            destination_port: ports as u16,
            protocol,
            ipv6: IPV6,
        };
        self.upper = upper as u16;
        self.fragment = Fragment::Whole;
        self.truncated = tcp & short;
        self.tcp_flags = if tcp { flags } else { 0 };
        let slow = u8::from(tcp) & (u8::from(flags & SLOW_FLAGS != 0) | u8::from(short));
        (slow == 0) & (self.ttl > 1)
    }

    /// Parses a packet that is known to be IPv4.
    #[inline(always)]
    pub fn of_ipv4(packet: &[u8]) -> Self {
        let (Some(header), Some(upper)) = (packet.first_chunk::<20>(), upper4(packet)) else {
            return Self::default();
        };
        let word = |at: usize| {
            u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let fragment = u16::from_be_bytes([header[6], header[7]]);
        let mut fields = Self {
            tuple: Tuple {
                source: u128::from(word(12)),
                destination: u128::from(word(16)),
                protocol: upper.protocol,
                ..Tuple::default()
            },
            len: u32::from(u16::from_be_bytes([header[2], header[3]])),
            upper: upper.offset as u16,
            ttl: header[8],
            tos: header[1],
            fragment: match (fragment & 0x1fff, fragment & 0x2000) {
                (0, 0) => Fragment::Whole,
                (0, _) => Fragment::First,
                _ => Fragment::Later,
            },
            ..Self::default()
        };
        fields.read_upper(packet);
        fields
    }

    /// Parses a packet that is known to be IPv6.
    #[inline(always)]
    pub fn of_ipv6(packet: &[u8]) -> Self {
        let Some(header) = packet.first_chunk::<40>() else {
            return Self::default();
        };
        let address = |at: usize| {
            let bytes = header[at..].first_chunk::<16>();
            bytes.map_or(0, |bytes| u128::from_be_bytes(*bytes))
        };
        let upper = upper6(packet);
        let mut fields = Self {
            tuple: Tuple {
                source: address(8),
                destination: address(24),
                protocol: upper.map_or(header[6], |upper| upper.protocol),
                ipv6: true,
                ..Tuple::default()
            },
            len: u32::from(u16::from_be_bytes([header[4], header[5]])) + 40,
            upper: upper.map_or(0, |upper| upper.offset as u16),
            ttl: header[7],
            tos: header[0] << 4 | header[1] >> 4,
            fragment: upper.map_or(Fragment::Whole, |upper| part6(packet, upper.fragment)),
            truncated: upper.is_none(),
            ..Self::default()
        };
        if upper.is_some() {
            fields.read_upper(packet);
        }
        fields
    }

    /// Parses ports, TCP flags and ICMP types.
    #[inline(always)]
    fn read_upper(&mut self, packet: &[u8]) {
        if self.fragment == Fragment::Later {
            return;
        }
        let upper = packet.get(usize::from(self.upper)..).unwrap_or_default();
        let tuple = &mut self.tuple;
        match tuple.protocol {
            number if has_ports(number) => match upper.first_chunk::<4>() {
                Some([a, b, c, d]) => {
                    tuple.source_port = u16::from_be_bytes([*a, *b]);
                    tuple.destination_port = u16::from_be_bytes([*c, *d]);
                    if number == protocol::TCP {
                        self.truncated = upper.len() < 20;
                        self.tcp_flags = upper.get(13).copied().unwrap_or_default();
                    }
                }
                None => self.truncated = true,
            },
            protocol::ICMP | protocol::ICMPV6 => match upper.first_chunk::<8>() {
                Some([kind, code, _, _, high, low, ..]) => {
                    tuple.destination_port = u16::from_be_bytes([*kind, *code]);
                    if answer(tuple.protocol, *kind) != *kind {
                        tuple.source_port = u16::from_be_bytes([*high, *low]);
                    }
                }
                None => self.truncated = true,
            },
            protocol::GRE => tuple.destination_port = call(upper).unwrap_or_default(),
            _ => {}
        }
    }
}

/// Returns the call ID of a PPTP tunnel packet (RFC 2637, 4.1).
fn call(upper: &[u8]) -> Option<u16> {
    match upper.first_chunk()? {
        [_, flags, 0x88, 0x0b, _, _, high, low] if flags & 7 == 1 => {
            Some(u16::from_be_bytes([*high, *low]))
        }
        _ => None,
    }
}

/// Returns which part of its datagram an IPv6 packet contains, given whether it has a fragment header.
#[inline(always)]
fn part6(packet: &[u8], fragment: bool) -> Fragment {
    if fragment {
        part6_odd(packet)
    } else {
        Fragment::Whole
    }
}

/// The first fragment has offset 0 (RFC 8200, 4.5).
#[cold]
#[inline(never)]
fn part6_odd(packet: &[u8]) -> Fragment {
    match crate::flow::is_first_fragment6(packet) {
        true => Fragment::First,
        false => Fragment::Later,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, fragment: u16, upper: &[u8]) -> Vec<u8> {
        let mut packet = vec![0x45, 0x28, 0, 0, 0, 0, 0, 0, 63, protocol, 0, 0];
        packet.extend([10, 0, 0, 1, 192, 0, 2, 9]);
        packet.extend(upper);
        let len = packet.len() as u16;
        packet[2..4].copy_from_slice(&len.to_be_bytes());
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet
    }

    #[test]
    fn ports_and_flags_are_read_where_the_packet_shows_them() {
        let mut tcp = [0; 20];
        tcp[..4].copy_from_slice(&[0x13, 0x88, 0x01, 0xbb]);
        tcp[13] = 0x12;

        let fields = Fields::of(&ipv4(protocol::TCP, 0, &tcp));

        assert_eq!(fields.tuple.source, 0x0a00_0001);
        assert_eq!(fields.tuple.destination, 0xc000_0209);
        assert_eq!(
            (fields.tuple.source_port, fields.tuple.destination_port),
            (5000, 443)
        );
        assert_eq!(
            (fields.tcp_flags, fields.ttl, fields.tos, fields.len),
            (0x12, 63, 0x28, 40)
        );
        assert_eq!(
            (fields.fragment, fields.truncated),
            (Fragment::Whole, false)
        );
    }

    #[test]
    fn later_fragments_have_no_ports() {
        let first = Fields::of(&ipv4(protocol::UDP, 0x2000, &[0, 1, 0, 2, 0, 0, 0, 0]));
        let later = Fields::of(&ipv4(protocol::UDP, 0x0001, &[0, 1, 0, 2, 0, 0, 0, 0]));

        assert_eq!(
            (first.fragment, first.tuple.source_port),
            (Fragment::First, 1)
        );
        assert_eq!(
            (later.fragment, later.tuple.source_port),
            (Fragment::Later, 0)
        );
    }

    #[test]
    fn the_fast_parser_equals_the_general_one() {
        for number in [protocol::TCP, protocol::UDP] {
            for len in 0..24 {
                let upper: Vec<u8> = (0..len).map(|byte| byte * 7 + 1).collect();
                let packet = ipv4(number, 0x4000, &upper);
                assert_eq!(Fields::of(&packet), Fields::of_ipv4(&packet), "{len}");
                let mut packet = vec![0x61, 0x23, 0, 0, 0, len, number, 9];
                packet.extend((0..32).chain(upper));
                assert_eq!(Fields::of(&packet), Fields::of_ipv6(&packet), "{len}");
            }
        }
    }

    #[test]
    fn truncated_packets_are_reported() {
        for len in 0..8 {
            let fields = Fields::of(&ipv4(protocol::ICMP, 0, &[8, 0, 0, 0, 0, 7, 0, 1][..len]));
            assert!(fields.truncated, "{len}");
        }
        let whole = Fields::of(&ipv4(protocol::ICMP, 0, &[8, 0, 0, 0, 0, 7, 0, 1]));
        assert_eq!(
            (whole.tuple.source_port, whole.tuple.destination_port),
            (7, 0x0800)
        );
    }

    #[test]
    fn a_replys_tuple_is_the_request_reversed() {
        let echo = Fields::of(&ipv4(protocol::ICMP, 0, &[8, 0, 0, 0, 0, 7, 0, 1])).tuple;

        assert_eq!(echo.reversed().destination_port, 0x0000);
        assert_eq!(echo.reversed().source_port, 7);
        assert_eq!(echo.reversed().reversed(), echo);
    }

    #[test]
    fn ipv6_packets_are_parsed_after_extension_headers() {
        let mut packet = vec![0x60 | 0x02, 0x80, 0, 0, 0, 24, 60, 64];
        packet.extend([0xfd; 16]);
        packet.extend([0xfe; 16]);
        packet.extend([17, 0, 1, 4, 0, 0, 0, 0]);
        packet.extend([0x13, 0x88, 0, 53, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);

        let fields = Fields::of(&packet);

        assert_eq!(fields.tuple.protocol, protocol::UDP);
        assert_eq!(
            (fields.tuple.source_port, fields.tuple.destination_port),
            (5000, 53)
        );
        assert_eq!(
            (fields.upper, fields.len, fields.ttl, fields.tos),
            (48, 64, 64, 0x28)
        );
    }
}
