//! Packets of the firewall's benchmark rows, with whole upper-layer headers and correct checksums
//! but no more bytes than necessary, and the answers to them.

use core::net::{Ipv4Addr, Ipv6Addr};

use machine::Rng;
use wire::Protocol;
use wire::checksum;

use super::rig::{CLIENTS4, CLIENTS6};
use super::{Family, rig};
use crate::workload::Family as _;
use dataplane::packet::{Tuple, protocol};

/// Returns the bytes of a frame with check sequence: 64, or as many as a TCP header over IPv6
/// needs.
pub(super) const fn frame_len(family: Family) -> u16 {
    match family {
        Family::Ipv4 => 64,
        Family::Ipv6 => 78,
    }
}

const CHECK_SEQUENCE: usize = 4;
const LINK: usize = 14;
const ACK: u8 = 0x10;

/// Returns a random flow of a client; its destination port is odd.
pub(super) fn flow(family: Family, protocol: u8, rng: &mut Rng) -> Tuple {
    let (source, destination) = match family {
        Family::Ipv4 => (
            u128::from(CLIENTS4 | rng.next_u32() >> 16),
            u128::from(far4(rng)),
        ),
        Family::Ipv6 => (CLIENTS6 | u128::from(rng.next_u64()), u128::random(rng)),
    };
    Tuple {
        source,
        destination,
        source_port: 1024 + rng.below(64_000) as u16,
        destination_port: rng.next_u32() as u16 | 1,
        protocol,
        ipv6: family == Family::Ipv6,
    }
}

/// Returns a random address outside the networks of clients, rules and router.
fn far4(rng: &mut Rng) -> u32 {
    loop {
        let address = u32::random(rng);
        if !matches!(address >> 24, 10..=13 | 100) {
            return address;
        }
    }
}

/// Returns a packet of this flow from the near side, in a frame for the router in memory.
pub(super) fn packet(tuple: &Tuple, payload: &[u8]) -> Vec<u8> {
    let family = if tuple.ipv6 {
        Family::Ipv6
    } else {
        Family::Ipv4
    };
    let mut frame = rig::MAC.to_vec();
    frame.extend(rig::CLIENT_MAC);
    frame.extend(if tuple.ipv6 { [0x86, 0xdd] } else { [8, 0] });
    let len = usize::from(frame_len(family)) - CHECK_SEQUENCE - LINK;
    match family {
        Family::Ipv4 => {
            let mut header = [0; 20];
            header[0] = 0x45;
            header[2..4].copy_from_slice(&(len as u16).to_be_bytes());
            (header[8], header[9]) = (64, tuple.protocol);
            header[12..16].copy_from_slice(&(tuple.source as u32).to_be_bytes());
            header[16..20].copy_from_slice(&(tuple.destination as u32).to_be_bytes());
            frame.extend(header);
        }
        Family::Ipv6 => {
            frame.extend([0x60, 0, 0, 0]);
            frame.extend(((len - 40) as u16).to_be_bytes());
            frame.extend([tuple.protocol, 64]);
            frame.extend(tuple.source.to_be_bytes());
            frame.extend(tuple.destination.to_be_bytes());
        }
    }
    let upper = frame.len();
    frame.extend(tuple.source_port.to_be_bytes());
    frame.extend(tuple.destination_port.to_be_bytes());
    let length = (LINK + len - upper) as u16;
    match tuple.protocol {
        protocol::TCP => frame.extend([0, 0, 0, 1, 0, 0, 0, 1, 0x50, ACK, 0xff, 0xff, 0, 0, 0, 0]),
        _ => {
            frame.extend(length.to_be_bytes());
            frame.extend([0, 0]);
        }
    }
    frame.extend(payload);
    frame.resize(LINK + len, 0);
    finish(&mut frame);
    frame
}

/// Returns the answer to a packet that left on the far side, as it arrives there.
pub(super) fn answer(mut frame: Vec<u8>) -> Vec<u8> {
    frame.swap_with(6, 0, 6);
    let ipv6 = frame[LINK] >> 4 == 6;
    let (addresses, size, ttl, upper) = match ipv6 {
        true => (LINK + 8, 16, LINK + 7, LINK + 40),
        false => (LINK + 12, 4, LINK + 8, LINK + 20),
    };
    frame.swap_with(addresses, addresses + size, size);
    frame.swap_with(upper, upper + 2, 2);
    frame[ttl] = 64;
    finish(&mut frame);
    frame
}

/// Exchanges two byte ranges of a slice.
trait SwapWith {
    fn swap_with(&mut self, one: usize, other: usize, len: usize);
}

impl SwapWith for Vec<u8> {
    fn swap_with(&mut self, one: usize, other: usize, len: usize) {
        for at in 0..len {
            self.swap(one + at, other + at);
        }
    }
}

/// Lengthens a frame with one UDP or TCP packet to `bytes`, its length with check sequence, by a payload of zeros, and
/// writes its lengths and checksums. A longer frame stays as it is.
pub fn lengthen(mut frame: Vec<u8>, bytes: u16) -> Vec<u8> {
    let len = usize::from(bytes).saturating_sub(CHECK_SEQUENCE);
    if frame.len() >= len {
        return frame;
    }
    frame.resize(len, 0);
    let packet = len - LINK;
    let ipv6 = frame[LINK] >> 4 == 6;
    let (field, length, number, upper) = match ipv6 {
        true => (LINK + 4, packet - 40, frame[LINK + 6], LINK + 40),
        false => (LINK + 2, packet, frame[LINK + 9], LINK + 20),
    };
    frame[field..field + 2].copy_from_slice(&(length as u16).to_be_bytes());
    if number == protocol::UDP {
        let datagram = (len - upper) as u16;
        frame[upper + 4..upper + 6].copy_from_slice(&datagram.to_be_bytes());
    }
    finish(&mut frame);
    frame
}

/// Writes the checksums of a frame with one UDP or TCP packet and no padding.
pub fn finish(frame: &mut [u8]) {
    let packet = &mut frame[LINK..];
    let ipv6 = packet[0] >> 4 == 6;
    let word = |at: usize| [packet[at], packet[at + 1], packet[at + 2], packet[at + 3]];
    let (number, upper) = if ipv6 {
        (packet[6], 40)
    } else {
        (packet[9], 20)
    };
    let len = packet.len() - upper;
    let protocol = Protocol(number);
    let pseudo = if ipv6 {
        let address =
            |at| Ipv6Addr::from(core::array::from_fn::<u8, 16, _>(|byte| packet[at + byte]));
        checksum::pseudo_v6(address(8), address(24), protocol, len as u32)
    } else {
        let (source, destination) = (Ipv4Addr::from(word(12)), Ipv4Addr::from(word(16)));
        checksum::pseudo_v4(source, destination, protocol, len as u16)
    };
    if !ipv6 {
        packet[10..12].fill(0);
        let sum = checksum::checksum(&packet[..20]);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    let at = upper + if number == protocol::TCP { 16 } else { 6 };
    packet[at..at + 2].fill(0);
    let mut sum = !checksum::combine(pseudo, checksum::sum(&packet[upper..]));
    // A zero field means that a datagram has no checksum (RFC 768).
    if number == protocol::UDP && sum == 0 {
        sum = u16::MAX;
    }
    packet[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lengthened_packet_has_the_lengths_and_checksums_of_its_bytes() {
        let mut rng = Rng::seeded(1);
        for family in [Family::Ipv4, Family::Ipv6] {
            for transport in [protocol::UDP, protocol::TCP] {
                let short = packet(&flow(family, transport, &mut rng), b"");
                let long = lengthen(short.clone(), 1518);
                assert_eq!(long.len(), 1514);
                let mut finished = long.clone();
                finish(&mut finished);
                assert_eq!(finished, long);
                let (upper, field, length) = match family {
                    Family::Ipv4 => (LINK + 20, LINK + 2, 1500_u16),
                    Family::Ipv6 => (LINK + 40, LINK + 4, 1460),
                };
                assert_eq!(long[field..field + 2], length.to_be_bytes());
                assert_eq!(long[upper..upper + 4], short[upper..upper + 4]);
                if transport == protocol::UDP {
                    let datagram = (1514 - upper) as u16;
                    assert_eq!(long[upper + 4..upper + 6], datagram.to_be_bytes());
                }
                assert_eq!(lengthen(long.clone(), 64), long);
            }
        }
    }
}
