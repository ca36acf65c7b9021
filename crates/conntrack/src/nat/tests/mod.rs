//! Builds packets of a tuple from scratch: a rewritten packet must be equal to the packet built for the new
//! tuple.

mod apply;
mod choose;
mod icmp_error;

use packet::{Fields, Tuple, protocol};
use proptest::prelude::*;
use samples::{seal, sum};

use super::{PacketLayout, Rewrite};

/// Content of the upper layer's checksum field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checksum {
    Finished,
    /// The sum of the pseudo header, as virtual devices leave it.
    Unfinished,
    /// No checksum (UDP over IPv4).
    None,
}

/// A packet of a tuple.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub(in crate::nat) tuple: Tuple,
    pub(in crate::nat) payload: Vec<u8>,
    /// Whether IPv4 options or an IPv6 destination options header are present.
    pub(in crate::nat) options: bool,
    pub(in crate::nat) checksum: Checksum,
}

impl Built {
    pub(in crate::nat) fn packet(&self) -> Vec<u8> {
        let upper = self.upper();
        let options = if self.options { 8 } else { 0 };
        let tuple = &self.tuple;
        let mut packet = Vec::new();
        if tuple.ipv6 {
            packet.extend([0x60, 0, 0, 0]);
            packet.extend(((options + upper.len()) as u16).to_be_bytes());
            packet.extend([if self.options { 60 } else { tuple.protocol }, 61]);
            packet.extend(tuple.source.to_be_bytes());
            packet.extend(tuple.destination.to_be_bytes());
            if self.options {
                packet.extend([tuple.protocol, 0, 1, 4, 0, 0, 0, 0]);
            }
        } else {
            packet.extend([0x45 + options as u8 / 4, 0]);
            packet.extend(((20 + options + upper.len()) as u16).to_be_bytes());
            packet.extend([0x12, 0x34, 0, 0, 61, tuple.protocol, 0, 0]);
            packet.extend((tuple.source as u32).to_be_bytes());
            packet.extend((tuple.destination as u32).to_be_bytes());
            packet.extend([1; 8].iter().take(options));
            seal(&mut packet);
        }
        packet.extend(upper);
        packet
    }

    /// Returns the upper layer's header and payload.
    fn upper(&self) -> Vec<u8> {
        let [a, b] = self.tuple.source_port.to_be_bytes();
        let [c, d] = self.tuple.destination_port.to_be_bytes();
        let len = ((8 + self.payload.len()) as u16).to_be_bytes();
        let (mut upper, checksum_at) = match self.tuple.protocol {
            protocol::TCP => (
                vec![
                    a, b, c, d, 1, 2, 3, 4, 5, 6, 7, 8, 0x50, 0x18, 9, 9, 0, 0, 0, 0,
                ],
                16,
            ),
            protocol::UDP | protocol::UDP_LITE => (vec![a, b, c, d, len[0], len[1], 0, 0], 6),
            protocol::DCCP => (vec![a, b, c, d, 3, 0, 0, 0, 1, 2, 3, 4], 6),
            protocol::SCTP => (vec![a, b, c, d, 1, 2, 3, 4, 0, 0, 0, 0], 8),
            protocol::ICMP | protocol::ICMPV6 => (vec![c, d, 0, 0, a, b, 0, 0], 2),
            _ => (vec![], 0),
        };
        upper.extend(&self.payload);
        match self.tuple.protocol {
            protocol::SCTP => {
                let crc = super::crc32c::tests::crc32c(&upper);
                upper[8..12].copy_from_slice(&crc.to_le_bytes());
            }
            _ if checksum_at == 0 => {}
            number => {
                let field = self.checksum(number, &upper);
                upper[checksum_at..checksum_at + 2].copy_from_slice(&field.to_be_bytes());
            }
        }
        upper
    }

    /// Returns the checksum of `upper`, whose checksum field is 0.
    fn checksum(&self, number: u8, upper: &[u8]) -> u16 {
        let mut pseudo = Vec::new();
        if number != protocol::ICMP {
            let tuple = &self.tuple;
            pseudo.extend(tuple.source.to_be_bytes());
            pseudo.extend(tuple.destination.to_be_bytes());
            pseudo.extend((upper.len() as u32).to_be_bytes());
            pseudo.extend([0, 0, 0, number]);
        }
        match self.checksum {
            Checksum::None if number == protocol::UDP => return 0,
            Checksum::Unfinished => return sum(&pseudo),
            _ => {}
        }
        pseudo.extend(upper);
        match (!sum(&pseudo), number) {
            (0, protocol::UDP | protocol::UDP_LITE) => 0xffff,
            (checksum, _) => checksum,
        }
    }

    fn with(&self, tuple: Tuple) -> Self {
        Self {
            tuple,
            ..self.clone()
        }
    }

    pub(in crate::nat) fn shape(&self, packet: &[u8]) -> PacketLayout {
        PacketLayout {
            unfinished: self.checksum == Checksum::Unfinished,
            ..shape(packet)
        }
    }
}

pub(super) fn shape(packet: &[u8]) -> PacketLayout {
    PacketLayout::of(&Fields::of(packet), &frame::Offload::FINISHED, 0)
}

/// Writes the checksum of a TCP segment in an IPv4 packet without options.
pub(super) fn seal_tcp(packet: &mut [u8]) {
    packet[36..38].fill(0);
    let mut summed = packet[12..20].to_vec();
    summed.extend([0, protocol::TCP]);
    summed.extend((packet.len() as u16 - 20).to_be_bytes());
    summed.extend(&packet[20..]);
    packet[36..38].copy_from_slice(&(!sum(&summed)).to_be_bytes());
}

/// Applies the rewrite from one tuple to another.
fn rewritten(mut packet: Vec<u8>, before: &Tuple, after: &Tuple, shape: PacketLayout) -> Vec<u8> {
    let applied = match before.ipv6 {
        true => Rewrite::<16>::of(before, after).apply(&mut packet, shape),
        false => Rewrite::<4>::of(before, after).apply(&mut packet, shape),
    };
    assert_eq!(applied, Ok(()));
    packet
}

/// A tuple and a possible translation: the same protocol and family, and the same type for ICMP.
fn pair() -> impl Strategy<Value = (Tuple, Tuple)> {
    pair_of(vec![6, 6, 17, 17, 33, 47, 50, 132, 136, 1])
}

/// Pairs for these protocols.
pub(super) fn pair_of(numbers: Vec<u8>) -> impl Strategy<Value = (Tuple, Tuple)> {
    let ends = || (any::<u128>(), any::<u128>(), any::<u16>(), any::<u16>());
    let kind = prop::sample::select(vec![8_u16, 0]);
    (
        prop::sample::select(numbers),
        any::<bool>(),
        ends(),
        ends(),
        kind,
        0..8_u8,
    )
        .prop_map(|(number, ipv6, one, other, kind, keep)| {
            let make = |(source, destination, source_port, destination_port)| {
                tuple(
                    number,
                    ipv6,
                    kind,
                    source,
                    destination,
                    source_port,
                    destination_port,
                )
            };
            let (before, mut after) = (make(one), make(other));
            if keep & 1 != 0 {
                after.source = before.source;
            }
            if keep & 2 != 0 {
                after.destination = before.destination;
            }
            if keep & 4 != 0 {
                after.source_port = before.source_port;
                after.destination_port = before.destination_port;
            }
            (before, after)
        })
}

#[allow(clippy::too_many_arguments, reason = "as many as a tuple has fields")]
fn tuple(
    number: u8,
    ipv6: bool,
    kind: u16,
    source: u128,
    destination: u128,
    source_port: u16,
    destination_port: u16,
) -> Tuple {
    let narrow = |address: u128| if ipv6 { address } else { address & 0xffff_ffff };
    let (protocol, source_port, destination_port) = match number {
        protocol::ICMP if ipv6 => (protocol::ICMPV6, source_port, (kind / 8 + 128) << 8),
        protocol::ICMP => (protocol::ICMP, source_port, kind << 8),
        47 | 50 => (number, 0, 0),
        _ => (number, source_port, destination_port),
    };
    Tuple {
        source: narrow(source),
        destination: narrow(destination),
        source_port,
        destination_port,
        protocol,
        ipv6,
    }
}
