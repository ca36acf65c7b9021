//! What one direction of a translated connection does to its packets, worked out once (RFC 1624).

use frame::shortcut;
use packet::{Tuple, protocol};
use wire::checksum::{combine, sum};

/// What of the upper layer's header changes, and how its checksum follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Layer {
    /// Only addresses change: the protocol has neither ports nor a checksum over addresses.
    #[default]
    Bare,
    /// RFC 9293.
    Tcp,
    /// RFC 768: a checksum of 0 is none, and stays.
    Udp,
    /// RFC 3828: every coverage takes in the header and the addresses.
    UdpLite,
    /// RFC 4340.
    Dccp,
    /// RFC 9260: a CRC over the packet without the addresses.
    Sctp,
    /// RFC 792: the identifier; the checksum does not know the addresses.
    Icmp,
    /// RFC 4443: the identifier; the checksum knows the addresses.
    Icmp6,
    /// RFC 2637, 4.1: the call's number; a tunnel that has none keeps what it has.
    Gre,
}

impl Layer {
    const ALL: [Self; 9] = [
        Self::Bare,
        Self::Tcp,
        Self::Udp,
        Self::UdpLite,
        Self::Dccp,
        Self::Sctp,
        Self::Icmp,
        Self::Icmp6,
        Self::Gre,
    ];

    /// By the number that it has as a word of [`Rewrite::to_words`].
    #[inline(always)]
    fn numbered(number: u8) -> Self {
        let layer = Self::ALL.get(usize::from(number));
        layer.copied().unwrap_or_default()
    }

    /// That of a protocol above IP.
    pub const fn of(protocol: u8) -> Self {
        match protocol {
            protocol::TCP => Self::Tcp,
            protocol::UDP => Self::Udp,
            protocol::UDP_LITE => Self::UdpLite,
            protocol::DCCP => Self::Dccp,
            protocol::SCTP => Self::Sctp,
            protocol::ICMP => Self::Icmp,
            protocol::ICMPV6 => Self::Icmp6,
            protocol::GRE => Self::Gre,
            _ => Self::Bare,
        }
    }

    /// Where its ports and checksum are. SCTP's is a CRC ([`super::crc32c`]), GRE's is none.
    #[inline(always)]
    pub(super) const fn places(self) -> Places {
        let (ports, ports_len, checksum) = match self {
            Self::Bare => (0, 0, 0),
            Self::Tcp => (0, 4, 16),
            Self::Udp | Self::UdpLite | Self::Dccp => (0, 4, 6),
            Self::Sctp => (0, 4, 8),
            Self::Icmp | Self::Icmp6 => (4, 2, 2),
            Self::Gre => (6, 2, 0),
        };
        Places {
            ports,
            ports_len,
            checksum,
        }
    }
}

/// Where an upper layer has what translation changes, in bytes from its first.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub(super) ports: usize,
    /// 4 bytes of ports, 2 of an identifier or a call's number.
    pub(super) ports_len: usize,
    pub(super) checksum: usize,
}

impl Places {
    /// Behind the last of them.
    pub(super) const fn reach(&self) -> usize {
        let ports_end = self.ports + self.ports_len;
        if self.checksum + 2 > ports_end {
            self.checksum + 2
        } else {
            ports_end
        }
    }
}

/// The rewrite of one direction, of packets whose addresses have `BYTES` bytes (4 or 16).
///
/// It belongs to one tuple: what it says about checksums is the difference between that tuple and
/// the new one. As words, for a table of atomics: 24 bytes for IPv4, 48 for IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite<const BYTES: usize> {
    pub(super) source: [u8; BYTES],
    pub(super) destination: [u8; BYTES],
    /// Source and destination port as they lie in the packet; of ICMP the identifier and nothing, of
    /// GRE the call's number and nothing.
    pub(super) ports: [u8; 4],
    /// What the addresses add to a sum, in the byte order of memory.
    pub(super) addresses: u16,
    /// What is added to the sum of the upper layer's checksum, in the byte order of memory.
    pub(super) upper: u16,
    pub(super) layer: Layer,
    /// What differs from the tuple before.
    pub(super) changes: u8,
}

/// The source's address differs.
pub(super) const SOURCE: u8 = 1;
/// The destination's address differs.
pub(super) const DESTINATION: u8 = 2;
/// A port or the identifier differs.
pub(super) const PORTS: u8 = 4;

impl<const BYTES: usize> Rewrite<BYTES> {
    /// The rewrite that makes packets of the one tuple into packets of the other, which has the same
    /// protocol and family; of ICMP, type and code stay as they are.
    pub fn of(before: &Tuple, after: &Tuple) -> Self {
        let layer = Layer::of(before.protocol);
        let (old, new) = (addresses::<BYTES>(before), addresses::<BYTES>(after));
        let (old_ports, new_ports) = (ports(layer, before), ports(layer, after));
        let address_difference = combine(difference(&old.0, &new.0), difference(&old.1, &new.1));
        let port_difference = difference(&old_ports, &new_ports);
        let upper = match layer {
            Layer::Bare | Layer::Sctp | Layer::Gre => 0,
            Layer::Icmp => port_difference,
            _ => combine(address_difference, port_difference),
        };
        let bit = |differs: bool, bit: u8| if differs { bit } else { 0 };
        Self {
            source: new.0,
            destination: new.1,
            ports: new_ports,
            addresses: address_difference.to_be(),
            upper: upper.to_be(),
            layer,
            changes: bit(old.0 != new.0, SOURCE)
                | bit(old.1 != new.1, DESTINATION)
                | bit(old_ports != new_ports, PORTS),
        }
    }

    /// Gives a tuple that this rewrite belongs to the destination that packets of it get.
    #[inline(always)]
    pub fn turn_destination(&self, tuple: &mut Tuple) {
        let mut wide = [0; 16];
        wide[16 - BYTES..].copy_from_slice(&self.destination);
        tuple.destination = u128::from_be_bytes(wide);
        if matches!(self.layer, Layer::Tcp | Layer::Udp) {
            tuple.destination_port = u16::from_be_bytes([self.ports[2], self.ports[3]]);
        }
    }

    /// Whether packets stay as they are.
    #[inline(always)]
    pub const fn is_identity(&self) -> bool {
        self.changes == 0
    }

    /// Whether the source's address changes.
    #[inline(always)]
    pub const fn changes_source(&self) -> bool {
        self.changes & SOURCE != 0
    }

    /// Whether the destination's address changes.
    #[inline(always)]
    pub const fn changes_destination(&self) -> bool {
        self.changes & DESTINATION != 0
    }

    /// The same for a shortcut of packets of TCP or UDP.
    pub fn to_shortcut(self) -> shortcut::Rewrite {
        let wide = |bytes: [u8; BYTES]| {
            let mut wide = [0; 16];
            wide[16 - BYTES..].copy_from_slice(&bytes);
            u128::from_be_bytes(wide)
        };
        shortcut::Rewrite {
            between: shortcut::Between {
                source: wide(self.source),
                destination: wide(self.destination),
                ipv6: BYTES == 16,
            },
            ports: self.ports,
            header: self.addresses,
            upper: self.upper,
        }
    }

    /// The number that a call of PPTP gets, if it gets another.
    pub const fn call(&self) -> Option<u16> {
        let [high, low, ..] = self.ports;
        match (self.layer, self.changes & PORTS) {
            (_, 0) => None,
            (Layer::Gre, _) => Some(u16::from_be_bytes([high, low])),
            _ => None,
        }
    }

    /// Ports, differences and the rest in 10 bytes of a word and a half.
    const fn tail(&self) -> (u64, u64) {
        let ports = u32::from_ne_bytes(self.ports) as u64;
        (
            ports << 32 | (self.addresses as u64) << 16 | self.upper as u64,
            (self.layer as u64) << 8 | self.changes as u64,
        )
    }

    fn with_tail(source: [u8; BYTES], destination: [u8; BYTES], tail: (u64, u64)) -> Self {
        Self {
            source,
            destination,
            ports: ((tail.0 >> 32) as u32).to_ne_bytes(),
            addresses: (tail.0 >> 16) as u16,
            upper: tail.0 as u16,
            layer: Layer::numbered((tail.1 >> 8) as u8),
            changes: tail.1 as u8,
        }
    }
}

impl Rewrite<4> {
    /// As three words.
    #[inline(always)]
    pub const fn to_words(self) -> [u64; 3] {
        let source = u32::from_ne_bytes(self.source) as u64;
        let destination = u32::from_ne_bytes(self.destination) as u64;
        let (most, rest) = self.tail();
        [destination << 32 | source, most, rest]
    }

    /// From the words of [`Self::to_words`].
    #[inline(always)]
    pub fn from_words([addresses, most, rest]: [u64; 3]) -> Self {
        Self::with_tail(
            (addresses as u32).to_ne_bytes(),
            ((addresses >> 32) as u32).to_ne_bytes(),
            (most, rest),
        )
    }
}

impl Rewrite<16> {
    /// As six words.
    #[inline(always)]
    pub const fn to_words(self) -> [u64; 6] {
        let source = u128::from_ne_bytes(self.source);
        let destination = u128::from_ne_bytes(self.destination);
        let (most, rest) = self.tail();
        [
            source as u64,
            (source >> 64) as u64,
            destination as u64,
            (destination >> 64) as u64,
            most,
            rest,
        ]
    }

    /// From the words of [`Self::to_words`].
    #[inline(always)]
    pub fn from_words([a, b, c, d, most, rest]: [u64; 6]) -> Self {
        let join = |low: u64, high: u64| (u128::from(high) << 64 | u128::from(low)).to_ne_bytes();
        Self::with_tail(join(a, b), join(c, d), (most, rest))
    }
}

/// Source and destination as they lie in a packet.
fn addresses<const BYTES: usize>(tuple: &Tuple) -> ([u8; BYTES], [u8; BYTES]) {
    let bytes = |address: u128| {
        let all = address.to_be_bytes();
        *all.last_chunk()
            .expect("an address has 4 or 16 of the 16 bytes")
    };
    (bytes(tuple.source), bytes(tuple.destination))
}

/// What of the upper layer's header the tuple names, as it lies in a packet.
fn ports(layer: Layer, tuple: &Tuple) -> [u8; 4] {
    let [a, b] = tuple.source_port.to_be_bytes();
    let [c, d] = tuple.destination_port.to_be_bytes();
    match layer {
        Layer::Bare => [0; 4],
        Layer::Icmp | Layer::Icmp6 => [a, b, 0, 0],
        Layer::Gre => [c, d, 0, 0],
        _ => [a, b, c, d],
    }
}

/// What replacing some bytes by others adds to a sum; 0 where they are the same, so that a sum of a
/// packet that does not change is left to the bit.
pub(super) fn difference(old: &[u8], new: &[u8]) -> u16 {
    match combine(!sum(old), sum(new)) {
        0xffff => 0,
        difference => difference,
    }
}
