//! Hashes over frame headers by which a bond chooses slaves (`transmit-hash-policy`).
//!
//! If a frame lacks the headers of its policy, the hash covers less: addresses only for fragments
//! and packets without ports, MAC addresses only for frames without an IP packet.

use wire::EtherType;

use crate::flow::{Upper, upper4, upper6};
use crate::packet::protocol;

/// The headers that a hash covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HashPolicy {
    /// MAC addresses and EtherType.
    #[default]
    Layer2,
    /// MAC and network addresses.
    Layer23,
    /// Network addresses and ports.
    Layer34,
    /// Like [`Self::Layer23`], for the innermost packet in tunnels.
    Encap23,
    /// Like [`Self::Layer34`], for the innermost packet in tunnels.
    Encap34,
}

/// Bytes of an Ethernet header without tags.
const ETHERNET: usize = 14;
/// Maximum number of parsed VLAN tags, and of parsed nested tunnels.
const TAGS: usize = 4;
const TUNNELS: usize = 4;

impl HashPolicy {
    /// Returns the hash of a frame. The high bits are distributed best.
    #[inline]
    pub fn hash(self, bytes: &[u8]) -> u32 {
        let link = link(bytes);
        if self == Self::Layer2 {
            return finish(link);
        }
        let Some((kind, at)) = network(bytes) else {
            return finish(link);
        };
        let inner = matches!(self, Self::Encap23 | Self::Encap34);
        let packet = bytes.get(at..).unwrap_or_default();
        let Some(packet) = Packet::read(kind, packet, if inner { TUNNELS } else { 0 }) else {
            return finish(link);
        };
        let both = match self {
            Self::Layer34 | Self::Encap34 => packet.addresses ^ mix(packet.ports.into()),
            _ => link ^ mix(packet.addresses),
        };
        finish(both)
    }
}

/// The kind of a frame for modes that balance by peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BalanceKey {
    /// A unicast IP packet, with the hash of its destination address.
    Peer(u32),
    /// An ARP packet at this offset.
    Arp(usize),
    /// Frames that are not balanced: multicast, other protocols than IP, and neighbour discovery,
    /// which carries MAC addresses.
    Other,
}

/// Parses a frame for modes that balance by peer.
#[inline]
pub(super) fn balance_key(bytes: &[u8]) -> BalanceKey {
    match network(bytes) {
        Some((EtherType::ARP, at)) => BalanceKey::Arp(at),
        Some(_) if bytes.first().is_none_or(|to| to & 1 != 0) => BalanceKey::Other,
        Some((EtherType::IPV4, at)) => {
            let to = bytes.get(at + 16..).and_then(|to| to.first_chunk());
            to.map_or(BalanceKey::Other, |to| BalanceKey::Peer(of_peer4(*to)))
        }
        Some((EtherType::IPV6, at)) => {
            let packet = bytes.get(at..).unwrap_or_default();
            let is_icmp = packet.get(6) == Some(&protocol::ICMPV6);
            let to = packet.get(24..).and_then(|to| to.first_chunk());
            match to.filter(|_| !is_icmp) {
                Some(to) => BalanceKey::Peer(finish(fold(u128::from_be_bytes(*to)))),
                None => BalanceKey::Other,
            }
        }
        _ => BalanceKey::Other,
    }
}

/// Returns the hash of a peer's IPv4 address.
#[inline]
pub(super) fn of_peer4(address: [u8; 4]) -> u32 {
    finish(u32::from_be_bytes(address).into())
}

/// Returns a hash of MAC addresses and EtherType.
#[inline(always)]
fn link(bytes: &[u8]) -> u64 {
    let Some(head) = bytes.first_chunk::<ETHERNET>() else {
        return 0;
    };
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = *head;
    let to = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    let from = u64::from_be_bytes([m, n, g, h, i, j, k, l]);
    mix(to) ^ from
}

/// Returns the EtherType behind VLAN tags, and the offset of the packet.
#[inline(always)]
fn network(bytes: &[u8]) -> Option<(EtherType, usize)> {
    let mut at = ETHERNET;
    for _ in 0..=TAGS {
        let kind = EtherType(u16::from_be_bytes(*bytes.get(at - 2..at)?.first_chunk()?));
        if !kind.is_vlan() {
            return Some((kind, at));
        }
        at += 4;
    }
    None
}

/// The hash inputs of an IP packet.
struct Packet {
    addresses: u64,
    /// Source and destination port; 0 for packets without ports.
    ports: u32,
}

impl Packet {
    /// Parses a packet, and at most `tunnels` tunnels in it.
    #[inline(always)]
    fn read(kind: EtherType, packet: &[u8], tunnels: usize) -> Option<Self> {
        let (addresses, upper) = match kind {
            EtherType::IPV4 => {
                let pair = packet.get(12..20)?.first_chunk()?;
                (u64::from_be_bytes(*pair), upper4(packet)?)
            }
            EtherType::IPV6 => {
                let from = u128::from_be_bytes(*packet.get(8..24)?.first_chunk()?);
                let to = u128::from_be_bytes(*packet.get(24..40)?.first_chunk()?);
                (mix(fold(from)) ^ fold(to), upper6(packet)?)
            }
            _ => return None,
        };
        if tunnels > 0
            && let Some(inner) = Self::within(packet, upper, tunnels - 1)
        {
            return Some(inner);
        }
        let has_ports = matches!(
            upper.protocol,
            protocol::TCP | protocol::UDP | protocol::SCTP | protocol::UDP_LITE | protocol::DCCP
        );
        let ports = packet
            .get(upper.offset..)
            .and_then(|rest| rest.first_chunk());
        let ports = ports.filter(|_| has_ports && !upper.fragment);
        Some(Self {
            addresses,
            ports: ports.map_or(0, |ports| u32::from_be_bytes(*ports)),
        })
    }

    /// Returns the hash inputs of the packet inside an IP-in-IP or GRE packet.
    #[cold]
    #[inline(never)]
    fn within(packet: &[u8], upper: Upper, tunnels: usize) -> Option<Self> {
        if upper.fragment {
            return None;
        }
        let rest = packet.get(upper.offset..)?;
        match upper.protocol {
            protocol::IPIP => Self::read(EtherType::IPV4, rest, tunnels),
            protocol::IPV6 => Self::read(EtherType::IPV6, rest, tunnels),
            protocol::GRE => {
                let [flags, version, a, b] = *rest.first_chunk()?;
                // Checksum, key and sequence number are optional words (RFC 2890, 2).
                let words = [0x80, 0x20, 0x10].iter().filter(|flag| flags & **flag != 0);
                let inner = rest.get(4 + 4 * words.count()..)?;
                match EtherType(u16::from_be_bytes([a, b])) {
                    _ if version & 7 != 0 => None,
                    EtherType::TRANSPARENT => {
                        let (kind, at) = network(inner)?;
                        Self::read(kind, inner.get(at..)?, tunnels)
                    }
                    kind => Self::read(kind, inner, tunnels),
                }
            }
            _ => None,
        }
    }
}

#[inline(always)]
fn fold(address: u128) -> u64 {
    (address >> 64) as u64 ^ (address as u64).rotate_left(29)
}

/// Spreads a number over all bits; a bijection.
#[inline(always)]
const fn mix(number: u64) -> u64 {
    let mixed = (number ^ number >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ mixed >> 32
}

#[inline(always)]
const fn finish(number: u64) -> u32 {
    (mix(number).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use samples::{Udp4, ethernet};

    use super::*;

    const ALL: [HashPolicy; 5] = [
        HashPolicy::Layer2,
        HashPolicy::Layer23,
        HashPolicy::Layer34,
        HashPolicy::Encap23,
        HashPolicy::Encap34,
    ];

    /// Returns how many of 4,096 frames go to each of four slaves.
    fn spread(policy: HashPolicy, frame: impl Fn(u16) -> Vec<u8>) -> [usize; 4] {
        let mut to = [0; 4];
        for number in 0..4096 {
            let hash = policy.hash(&frame(number));
            to[(hash >> 30) as usize] += 1;
        }
        to
    }

    fn is_even(to: [usize; 4]) -> bool {
        to.iter().all(|count| (900..1150).contains(count))
    }

    fn udp(number: u16) -> Udp4 {
        Udp4 {
            source_port: 1024 + number,
            ..Udp4::default()
        }
    }

    #[test]
    fn each_policy_spreads_what_it_looks_at_and_nothing_else() {
        let by_mac = |number: u16| {
            let [a, b] = number.to_be_bytes();
            ethernet([2, 0, 0, 0, a, b], 0x0800, &Udp4::default().packet())
        };
        let by_address = |number: u16| {
            let packet = Udp4 {
                destination: 0x0b00_0000 + u32::from(number),
                ..Udp4::default()
            };
            packet.frame()
        };
        let by_port = |number: u16| udp(number).frame();
        for policy in ALL {
            let looks_at = |one: &[HashPolicy]| one.contains(&policy);
            let macs = looks_at(&[HashPolicy::Layer2, HashPolicy::Layer23, HashPolicy::Encap23]);
            assert_eq!(is_even(spread(policy, by_mac)), macs, "{policy:?}");
            let addresses = policy != HashPolicy::Layer2;
            assert_eq!(is_even(spread(policy, by_address)), addresses, "{policy:?}");
            let ports = looks_at(&[HashPolicy::Layer34, HashPolicy::Encap34]);
            assert_eq!(is_even(spread(policy, by_port)), ports, "{policy:?}");
        }
    }

    #[test]
    fn the_encap_policies_alone_look_into_tunnels() {
        let outer = |protocol: u8, inner: &[u8]| {
            let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0];
            packet.extend([10, 0, 0, 1, 10, 0, 0, 2]);
            packet.extend(inner);
            ethernet([2, 0, 0, 0, 0, 1], 0x0800, &packet)
        };
        let ipip = |number: u16| outer(4, &udp(number).packet());
        let gre = |number: u16| {
            let mut inner = vec![0x20, 0, 8, 0, 1, 2, 3, 4];
            inner.extend(udp(number).packet());
            outer(47, &inner)
        };
        let bridged = |number: u16| {
            let mut inner = vec![0, 0, 0x65, 0x58];
            inner.extend(udp(number).frame());
            outer(47, &inner)
        };
        for policy in ALL {
            let even = policy == HashPolicy::Encap34;
            assert_eq!(is_even(spread(policy, ipip)), even, "{policy:?}");
            assert_eq!(is_even(spread(policy, gre)), even, "{policy:?}");
            assert_eq!(is_even(spread(policy, bridged)), even, "{policy:?}");
        }
    }

    #[test]
    fn all_fragments_of_a_datagram_have_one_hash_and_tags_change_no_flow() {
        let fragment = |fragment, source_port| {
            let packet = Udp4 {
                fragment,
                source_port,
                ..Udp4::default()
            };
            packet.frame()
        };
        for policy in ALL {
            let [first, second] = [fragment(0x2000, 7), fragment(0x00b9, 9)];
            assert_eq!(policy.hash(&first), policy.hash(&second), "{policy:?}");
        }
        let plain = udp(3).frame();
        let mut tagged = plain.clone();
        tagged.splice(12..12, [0x81, 0, 0, 10]);
        let policy = HashPolicy::Layer34;
        assert_eq!(policy.hash(&plain), policy.hash(&tagged));
    }

    #[test]
    fn a_frame_that_is_cut_short_has_a_hash_too() {
        let frame = udp(1).frame();
        for len in 0..frame.len() {
            for policy in ALL {
                policy.hash(&frame[..len]);
            }
            balance_key(&frame[..len]);
        }
    }
}
