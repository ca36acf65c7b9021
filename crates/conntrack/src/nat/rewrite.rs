//! The rewrite of one direction of a translated connection, with precomputed checksum differences (RFC 1624).

use frame::shortcut;
use packet::{Tuple, protocol};
use wire::checksum::{combine, sum};

/// Upper layer of a rewrite: which header fields change and how its checksum is updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Layer {
    /// Only addresses change: the protocol has neither ports nor a checksum over addresses.
    #[default]
    Bare,
    /// RFC 9293.
    Tcp,
    /// RFC 768: a checksum of 0 means none and stays 0.
    Udp,
    /// RFC 3828: the checksum covers at least the header and the addresses.
    UdpLite,
    /// RFC 4340.
    Dccp,
    /// RFC 9260: a CRC over the packet without addresses.
    Sctp,
    /// RFC 792: the identifier; the checksum does not cover addresses.
    Icmp,
    /// RFC 4443: the identifier; the checksum covers addresses.
    Icmp6,
    /// RFC 2637, 4.1: the call ID; other GRE stays unchanged.
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

    /// Returns the layer for its number in [`Rewrite::to_words`].
    #[inline(always)]
    fn numbered(number: u8) -> Self {
        let layer = Self::ALL.get(usize::from(number));
        layer.copied().unwrap_or_default()
    }

    /// Returns the layer of an IP protocol.
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

    /// Returns the offsets of ports and checksum. SCTP has a CRC ([`super::crc32c`]), GRE no checksum.
    #[inline(always)]
    pub(super) const fn places(self) -> FieldOffsets {
        let (ports, ports_len, checksum) = match self {
            Self::Bare => (0, 0, 0),
            Self::Tcp => (0, 4, 16),
            Self::Udp | Self::UdpLite | Self::Dccp => (0, 4, 6),
            Self::Sctp => (0, 4, 8),
            Self::Icmp | Self::Icmp6 => (4, 2, 2),
            Self::Gre => (6, 2, 0),
        };
        FieldOffsets {
            ports,
            ports_len,
            checksum,
        }
    }
}

/// Offsets of the translated fields in an upper-layer header, in bytes.
#[derive(Clone, Copy)]
pub(super) struct FieldOffsets {
    pub(super) ports: usize,
    /// 4 for two ports, 2 for an identifier or a call ID.
    pub(super) ports_len: usize,
    pub(super) checksum: usize,
}

impl FieldOffsets {
    /// Returns the offset of the end of the last field.
    pub(super) const fn reach(&self) -> usize {
        let ports_end = self.ports + self.ports_len;
        if self.checksum + 2 > ports_end {
            self.checksum + 2
        } else {
            ports_end
        }
    }
}

/// The rewrite of one direction; addresses have `BYTES` bytes (4 or 16).
///
/// It belongs to one tuple: the checksum differences are those between that tuple and the new one. Encoded in
/// words for a table of atomics it takes 24 bytes for IPv4, 48 for IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite<const BYTES: usize> {
    pub(super) source: [u8; BYTES],
    pub(super) destination: [u8; BYTES],
    /// Source and destination port in network byte order; for ICMP the identifier and zeros, for GRE the call
    /// ID and zeros.
    pub(super) ports: [u8; 4],
    /// Change of a sum by the addresses, in memory byte order.
    pub(super) addresses: u16,
    /// Change of the sum of the upper layer's checksum, in memory byte order.
    pub(super) upper: u16,
    pub(super) layer: Layer,
    /// Bit mask of the changes: [`SOURCE`], [`DESTINATION`], [`PORTS`].
    pub(super) changes: u8,
}

/// The source address changes.
pub(super) const SOURCE: u8 = 1;
/// The destination address changes.
pub(super) const DESTINATION: u8 = 2;
/// A port or the identifier changes.
pub(super) const PORTS: u8 = 4;

impl<const BYTES: usize> Rewrite<BYTES> {
    /// Creates the rewrite from packets of tuple `before` to packets of tuple `after`, which must have the
    /// same protocol and family. ICMP type and code stay unchanged.
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

    /// Replaces the source of a tuple of this rewrite by the new source.
    #[inline(always)]
    pub fn turn_source(&self, tuple: &mut Tuple) {
        let mut wide = [0; 16];
        wide[16 - BYTES..].copy_from_slice(&self.source);
        tuple.source = u128::from_be_bytes(wide);
        if matches!(self.layer, Layer::Tcp | Layer::Udp) {
            tuple.source_port = u16::from_be_bytes([self.ports[0], self.ports[1]]);
        }
    }

    /// Replaces the destination of a tuple of this rewrite by the new destination.
    #[inline(always)]
    pub fn turn_destination(&self, tuple: &mut Tuple) {
        let mut wide = [0; 16];
        wide[16 - BYTES..].copy_from_slice(&self.destination);
        tuple.destination = u128::from_be_bytes(wide);
        if matches!(self.layer, Layer::Tcp | Layer::Udp) {
            tuple.destination_port = u16::from_be_bytes([self.ports[2], self.ports[3]]);
        }
    }

    /// Returns true if packets stay unchanged.
    #[inline(always)]
    pub const fn is_identity(&self) -> bool {
        self.changes == 0
    }

    /// Returns true if the source address changes.
    #[inline(always)]
    pub const fn changes_source(&self) -> bool {
        self.changes & SOURCE != 0
    }

    /// Returns true if the destination address changes.
    #[inline(always)]
    pub const fn changes_destination(&self) -> bool {
        self.changes & DESTINATION != 0
    }

    /// Converts the rewrite for a shortcut of TCP or UDP.
    pub fn to_shortcut(self) -> shortcut::Rewrite {
        let wide = |bytes: [u8; BYTES]| {
            let mut wide = [0; 16];
            wide[16 - BYTES..].copy_from_slice(&bytes);
            u128::from_be_bytes(wide)
        };
        shortcut::Rewrite {
            between: shortcut::AddressPair {
                source: wide(self.source),
                destination: wide(self.destination),
                ipv6: BYTES == 16,
            },
            ports: self.ports,
            header: self.addresses,
            upper: self.upper,
        }
    }

    /// Returns the new call ID of a PPTP tunnel, if it changes.
    pub const fn call(&self) -> Option<u16> {
        let [high, low, ..] = self.ports;
        match (self.layer, self.changes & PORTS) {
            (_, 0) => None,
            (Layer::Gre, _) => Some(u16::from_be_bytes([high, low])),
            _ => None,
        }
    }

    /// Encodes ports, differences, layer and changes in a word and 16 bits.
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
    /// Encodes the rewrite in three words.
    #[inline(always)]
    pub const fn to_words(self) -> [u64; 3] {
        let source = u32::from_ne_bytes(self.source) as u64;
        let destination = u32::from_ne_bytes(self.destination) as u64;
        let (most, rest) = self.tail();
        [destination << 32 | source, most, rest]
    }

    /// Decodes the words of [`Self::to_words`].
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
    /// Encodes the rewrite in six words.
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

    /// Decodes the words of [`Self::to_words`].
    #[inline(always)]
    pub fn from_words([a, b, c, d, most, rest]: [u64; 6]) -> Self {
        let join = |low: u64, high: u64| (u128::from(high) << 64 | u128::from(low)).to_ne_bytes();
        Self::with_tail(join(a, b), join(c, d), (most, rest))
    }
}

/// Returns source and destination in network byte order.
fn addresses<const BYTES: usize>(tuple: &Tuple) -> ([u8; BYTES], [u8; BYTES]) {
    let bytes = |address: u128| {
        let all = address.to_be_bytes();
        *all.last_chunk()
            .expect("an address has 4 or 16 of the 16 bytes")
    };
    (bytes(tuple.source), bytes(tuple.destination))
}

/// Returns the tuple's ports or identifier in the order of the upper-layer header.
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

/// Returns the change of a sum when `old` bytes are replaced by `new`; 0 if they are equal, so that the
/// checksum of an unchanged packet stays bit-identical.
pub(super) fn difference(old: &[u8], new: &[u8]) -> u16 {
    match combine(!sum(old), sum(new)) {
        0xffff => 0,
        difference => difference,
    }
}
