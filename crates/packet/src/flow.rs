//! Flow hashes over addresses and ports: symmetric for choosing a worker, directed for choosing among gateways.

use frame::Frame;

use crate::protocol;

/// The most IPv6 extension headers that are looked through.
const EXTENSIONS: usize = 8;
/// The most tunnels within each other whose packets are looked into.
const TUNNELS: u8 = 4;

/// What flows are told apart by when a route has several gateways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MultipathHash {
    /// Addresses.
    #[default]
    L3,
    /// Addresses, protocol and ports.
    L4,
    /// The inner addresses of tunnelled packets.
    L3Inner,
}

/// Where the upper-layer protocol of a packet begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// The protocol's number.
    pub protocol: u8,
    /// Its offset from the network header.
    pub offset: usize,
    /// The packet is a fragment: only the first has the upper-layer header.
    pub fragment: bool,
}

/// The upper layer of an IPv4 packet; none when its header is cut short.
#[inline]
pub fn upper4(packet: &[u8]) -> Option<Upper> {
    let header = packet.first_chunk::<20>()?;
    Some(Upper {
        protocol: header[9],
        offset: usize::from(header[0] & 0xf) * 4,
        // More fragments, or an offset.
        fragment: u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0,
    })
}

/// The upper layer of an IPv6 packet, behind its extension headers (RFC 8200, 4); none when they
/// are cut short or too many.
pub fn upper6(packet: &[u8]) -> Option<Upper> {
    upper6_behind::<true>(packet)
}

/// As [`upper6`], for who verifies packets: an authentication header is not looked behind, but is the upper layer.
pub fn upper6_or_ah(packet: &[u8]) -> Option<Upper> {
    upper6_behind::<false>(packet)
}

/// The upper layer of an IPv6 packet: what is behind an authentication header, or that itself.
fn upper6_behind<const AH: bool>(packet: &[u8]) -> Option<Upper> {
    let header = packet.first_chunk::<40>()?;
    let mut upper = Upper {
        protocol: header[6],
        offset: 40,
        fragment: false,
    };
    for _ in 0..EXTENSIONS {
        let len = match upper.protocol {
            // Hop-by-hop options, routing, destination options.
            0 | 43 | 60 => 8 + 8 * usize::from(*packet.get(upper.offset + 1)?),
            // Authentication counts in words of four bytes.
            protocol::AH if AH => 8 + 4 * usize::from(*packet.get(upper.offset + 1)?),
            44 => {
                let field = packet.get(upper.offset + 2..upper.offset + 4)?;
                upper.fragment = u16::from_be_bytes([field[0], field[1]]) & 0xfff9 != 0;
                let first = u16::from_be_bytes([field[0], field[1]]) & 0xfff8 == 0;
                if !first {
                    // What follows is not a header.
                    upper.protocol = *packet.get(upper.offset)?;
                    upper.offset += 8;
                    return Some(upper);
                }
                8
            }
            _ => return Some(upper),
        };
        upper.protocol = *packet.get(upper.offset)?;
        upper.offset += len;
    }
    None
}

/// Whether an IPv6 packet with a fragment header is the first part of its datagram, by the walk of
/// [`upper6`]: the offset of a later one is not 0 (RFC 8200, 4.5).
pub fn is_first_fragment6(packet: &[u8]) -> bool {
    let (mut kind, mut at) = (packet.get(6).copied(), 40);
    for _ in 0..EXTENSIONS {
        let field = packet.get(at..at + 4);
        let (Some(number), Some(field)) = (kind, field) else {
            return true;
        };
        at += match number {
            0 | 43 | 60 => 8 + 8 * usize::from(field[1]),
            51 => 8 + 4 * usize::from(field[1]),
            44 => return u16::from_be_bytes([field[2], field[3]]) & 0xfff8 == 0,
            _ => return true,
        };
        kind = Some(field[0]);
    }
    true
}

/// The same number for both directions of a flow: addresses and ports, or the addresses alone for
/// fragments and for protocols without ports; of a tunnel of IP in IP that of the packet in it, so that
/// its flows spread. None for what is not IP.
#[inline]
pub fn symmetric(packet: &[u8]) -> Option<u32> {
    symmetric_within(packet, TUNNELS)
}

/// The hash of the flow of a frame whose packet begins at `frame.l3`, computed where nobody has done so before; 0 of
/// what is not IP. Whoever spreads flows asks this: queues, gateways of tunnels, links that are bonded.
#[inline]
pub fn of(frame: &mut Frame) -> u32 {
    if frame.flow == 0 {
        let packet = frame.bytes().get(usize::from(frame.l3)..);
        frame.flow = packet.and_then(symmetric).unwrap_or(0);
    }
    frame.flow
}

/// The same, looking into so many tunnels within each other.
fn symmetric_within(packet: &[u8], tunnels: u8) -> Option<u32> {
    let (addresses, upper) = ends(packet)?;
    if matches!(upper.protocol, protocol::IPIP | protocol::IPV6) && !upper.fragment && tunnels > 0 {
        let inner = packet.get(upper.offset..).unwrap_or_default();
        let inner = symmetric_within(inner, tunnels - 1);
        return inner.or_else(|| Some(mix(addresses ^ mix64(0))));
    }
    let ports = match ports(packet, upper) {
        Some((source, destination)) => {
            u64::from(source ^ destination) << 16 | u64::from(source.wrapping_add(destination))
        }
        None => 0,
    };
    Some(mix(addresses ^ mix64(ports)))
}

/// That of a packet's fragments: addresses alone.
#[inline]
pub fn symmetric_of_fragments(packet: &[u8]) -> Option<u32> {
    let (addresses, _) = ends(packet)?;
    Some(mix(addresses ^ mix64(0)))
}

/// A number for both addresses, the same both ways, and where the upper layer begins.
#[inline(always)]
fn ends(packet: &[u8]) -> Option<(u64, Upper)> {
    match packet.first()? >> 4 {
        4 => {
            let header = packet.first_chunk::<20>()?;
            let (source, destination) = (word(&header[12..16]), word(&header[16..20]));
            let both = u64::from(source ^ destination) << 32;
            Some((
                both | u64::from(source.wrapping_add(destination)),
                upper4(packet)?,
            ))
        }
        6 => {
            let header = packet.first_chunk::<40>()?;
            let (source, destination) = (half(&header[8..24]), half(&header[24..40]));
            let upper = upper6(packet).unwrap_or(Upper {
                protocol: 0,
                offset: 0,
                fragment: true,
            });
            Some((source.wrapping_add(destination), upper))
        }
        _ => None,
    }
}

/// The number by which a flow chooses one of several gateways.
pub fn multipath(packet: &[u8], policy: MultipathHash) -> u32 {
    match policy {
        MultipathHash::L3 => mix(addresses(packet)),
        MultipathHash::L4 => {
            let ports = upper(packet).map_or(0, |upper| {
                let (source, destination) = ports(packet, upper).unwrap_or_default();
                u64::from(upper.protocol) << 32 | u64::from(source) << 16 | u64::from(destination)
            });
            mix(addresses(packet) ^ mix64(ports))
        }
        MultipathHash::L3Inner => mix(addresses(inner(packet).unwrap_or(packet))),
    }
}

fn upper(packet: &[u8]) -> Option<Upper> {
    match packet.first()? >> 4 {
        4 => upper4(packet),
        6 => upper6(packet),
        _ => None,
    }
}

/// The packet inside an IPIP, 6in4 or plain GRE packet.
fn inner(packet: &[u8]) -> Option<&[u8]> {
    let upper = upper(packet)?;
    if upper.fragment {
        return None;
    }
    let payload = packet.get(upper.offset..)?;
    let inner = match upper.protocol {
        4 | 41 => payload,
        47 => {
            let flags = *payload.first()?;
            // Checksum, key and sequence number take a word each (RFC 2890, 2).
            let words = 1 + (flags >> 7 & 1) + (flags >> 5 & 1) + (flags >> 4 & 1);
            payload.get(usize::from(words) * 4..)?
        }
        _ => return None,
    };
    matches!(inner.first()? >> 4, 4 | 6).then_some(inner)
}

/// Source and destination in 64 bits; 0 for what is no IP packet.
fn addresses(packet: &[u8]) -> u64 {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => {
            u64::from(word(&packet[12..16])) << 32 | u64::from(word(&packet[16..20]))
        }
        Some(6) if packet.len() >= 40 => {
            half(&packet[8..24]) ^ half(&packet[24..40]).rotate_left(32)
        }
        _ => 0,
    }
}

fn ports(packet: &[u8], upper: Upper) -> Option<(u16, u16)> {
    // TCP, UDP, DCCP, SCTP and UDP-Lite begin with their ports.
    if upper.fragment || !matches!(upper.protocol, 6 | 17 | 33 | 132 | 136) {
        return None;
    }
    let ports = packet.get(upper.offset..upper.offset + 4)?;
    Some((
        u16::from_be_bytes([ports[0], ports[1]]),
        u16::from_be_bytes([ports[2], ports[3]]),
    ))
}

fn word(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |word, byte| word << 8 | u32::from(*byte))
}

/// An IPv6 address folded into 64 bits, without losing either half's entropy.
fn half(bytes: &[u8]) -> u64 {
    let (mut high, mut low) = (0u64, 0u64);
    for (first, second) in bytes[..8].iter().zip(&bytes[8..16]) {
        high = high << 8 | u64::from(*first);
        low = low << 8 | u64::from(*second);
    }
    mix64(high) ^ low
}

/// The finaliser of splitmix64: every input bit moves every output bit.
#[inline]
pub fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn mix(z: u64) -> u32 {
    (mix64(z) >> 32) as u32
}
