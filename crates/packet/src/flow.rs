//! Flow hashes over addresses and ports: symmetric to choose a worker, directed to choose a gateway.

use frame::Frame;

use crate::protocol;

/// Maximum number of IPv6 extension headers that are skipped.
const EXTENSIONS: usize = 8;
/// Maximum number of nested tunnels whose inner packets are hashed.
const TUNNELS: u8 = 4;

/// Fields that distinguish flows when a route has several gateways.
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

/// Upper-layer protocol of a packet and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upper {
    /// Protocol number.
    pub protocol: u8,
    /// Offset from the network header.
    pub offset: usize,
    /// True for a fragment: only the first contains the upper-layer header.
    pub fragment: bool,
}

/// Returns the upper layer of an IPv4 packet; `None` if its header is truncated.
#[inline]
pub fn upper4(packet: &[u8]) -> Option<Upper> {
    let header = packet.first_chunk::<20>()?;
    Some(Upper {
        protocol: header[9],
        offset: usize::from(header[0] & 0xf) * 4,
        // The more-fragments flag or an offset is set.
        fragment: u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0,
    })
}

/// Returns the upper layer of an IPv6 packet after its extension headers (RFC 8200, 4); `None` if they are
/// truncated or too many.
pub fn upper6(packet: &[u8]) -> Option<Upper> {
    upper6_behind::<true>(packet)
}

/// Returns the upper layer, with an authentication header as upper layer instead of skipping it: for IPsec.
pub fn upper6_or_ah(packet: &[u8]) -> Option<Upper> {
    upper6_behind::<false>(packet)
}

/// Returns the upper layer; `AH` selects whether an authentication header is skipped.
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
            // The authentication header counts in units of four bytes.
            protocol::AH if AH => 8 + 4 * usize::from(*packet.get(upper.offset + 1)?),
            44 => {
                let field = packet.get(upper.offset + 2..upper.offset + 4)?;
                upper.fragment = u16::from_be_bytes([field[0], field[1]]) & 0xfff9 != 0;
                let first = u16::from_be_bytes([field[0], field[1]]) & 0xfff8 == 0;
                if !first {
                    // No header follows in a later fragment.
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

/// Returns true if an IPv6 packet with a fragment header is the first fragment of its datagram: a later one
/// has an offset other than 0 (RFC 8200, 4.5).
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

/// Returns a hash that is equal for both directions of a flow: over addresses and ports, or over addresses
/// only for fragments and protocols without ports. For IP-in-IP tunnels it is the hash of the inner packet,
/// so that the inner flows spread. `None` if the packet is not IP.
#[inline]
pub fn symmetric(packet: &[u8]) -> Option<u32> {
    symmetric_within(packet, TUNNELS)
}

/// Returns the flow hash of a frame whose packet begins at `frame.l3`, computing it on first use; 0 if the
/// packet is not IP. Queues, tunnel gateways and bonds spread flows by it.
#[inline]
pub fn of(frame: &mut Frame) -> u32 {
    if frame.flow == 0 {
        let packet = frame.bytes().get(usize::from(frame.l3)..);
        frame.flow = packet.and_then(symmetric).unwrap_or(0);
    }
    frame.flow
}

/// Returns the symmetric hash, looking into at most `tunnels` nested tunnels.
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

/// Returns the symmetric hash of a packet's fragments, over addresses only.
#[inline]
pub fn symmetric_of_fragments(packet: &[u8]) -> Option<u32> {
    let (addresses, _) = ends(packet)?;
    Some(mix(addresses ^ mix64(0)))
}

/// Returns a symmetric number for both addresses, and the upper layer.
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

/// Returns the hash by which a flow selects one of several gateways.
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

/// Returns the inner packet of an IPIP, 6in4 or plain GRE packet.
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
            // Checksum, key and sequence number take four bytes each (RFC 2890, 2).
            let words = 1 + (flags >> 7 & 1) + (flags >> 5 & 1) + (flags >> 4 & 1);
            payload.get(usize::from(words) * 4..)?
        }
        _ => return None,
    };
    matches!(inner.first()? >> 4, 4 | 6).then_some(inner)
}

/// Combines source and destination to 64 bits; 0 if the packet is not IP.
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

/// Folds an IPv6 address to 64 bits while preserving the entropy of both halves.
fn half(bytes: &[u8]) -> u64 {
    let (mut high, mut low) = (0u64, 0u64);
    for (first, second) in bytes[..8].iter().zip(&bytes[8..16]) {
        high = high << 8 | u64::from(*first);
        low = low << 8 | u64::from(*second);
    }
    mix64(high) ^ low
}

/// The finaliser of splitmix64: every input bit affects every output bit.
#[inline]
pub fn mix64(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn mix(z: u64) -> u32 {
    (mix64(z) >> 32) as u32
}
