//! Frames of an attack: IPv4 over Ethernet, built once and modified before each transmission.

use core::net::Ipv4Addr;

use bench::finish;
use machine::Rng;

/// Protocols above IP.
pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

/// TCP flags.
pub(super) const SYN: u8 = 2;
pub(super) const PSH: u8 = 8;
pub(super) const ACK: u8 = 16;

/// Lengths of the link header and of the headers up to the payload.
const LINK: usize = 14;
const UPPER: usize = LINK + 20;
/// Offsets of IP header fields in a frame.
const ID: usize = LINK + 4;
const FRAGMENT: usize = LINK + 6;
const PROTOCOL: usize = LINK + 9;
const SOURCE: usize = LINK + 12;
const DESTINATION: usize = LINK + 16;
/// More-fragments flag.
const MORE: u16 = 0x2000;

/// Random sources come from 20.0.0.0/6, which the benchmark does not use otherwise.
const STRANGERS: u32 = 0x1400_0000;
const STRANGERS_BITS: u32 = 26;
/// Sources of port scans: 192.0.2.0/26.
const SCANNERS: u32 = 0xc000_0200;
const SCANNERS_BITS: u32 = 6;

/// Target of the attack, behind the router's third port.
pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 1);

/// Fields of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet<'a> {
    pub(super) protocol: u8,
    /// Address and port.
    pub(super) source: (u32, u16),
    pub(super) destination: (u32, u16),
    /// TCP: flags, sequence number and acknowledgement.
    pub(super) flags: u8,
    pub(super) seq: u32,
    pub(super) ack: u32,
    pub(super) payload: &'a [u8],
}

impl Packet<'_> {
    /// Builds the frame to this link address, with valid checksums.
    pub(super) fn frame(&self, to: [u8; 6]) -> Vec<u8> {
        let mut frame = to.to_vec();
        frame.extend([2, 0, 0, 0, 0xfe, 1, 8, 0]);
        frame.extend([0x45, 0, 0, 0, 0, 0, 0, 0, 64, self.protocol, 0, 0]);
        frame.extend(self.source.0.to_be_bytes());
        frame.extend(self.destination.0.to_be_bytes());
        frame.extend(self.source.1.to_be_bytes());
        frame.extend(self.destination.1.to_be_bytes());
        if self.protocol == TCP {
            frame.extend(self.seq.to_be_bytes());
            frame.extend(self.ack.to_be_bytes());
            frame.extend([0x50, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        } else {
            frame.extend((8 + self.payload.len() as u16).to_be_bytes());
            frame.extend([0, 0]);
        }
        frame.extend(self.payload);
        let len = (frame.len() - LINK) as u16;
        frame[LINK + 2..LINK + 4].copy_from_slice(&len.to_be_bytes());
        finish(&mut frame);
        frame
    }
}

/// Returns the payload of a frame from [`Packet::frame`].
pub(super) fn payload(frame: &[u8]) -> Option<&[u8]> {
    let upper = match *frame.get(PROTOCOL)? {
        TCP => 20,
        UDP => 8,
        _ => return None,
    };
    frame.get(UPPER + upper..)
}

/// Returns the mutable payload of a frame from [`Packet::frame`].
pub(super) fn payload_mut(frame: &mut [u8]) -> Option<&mut [u8]> {
    let at = frame.len() - payload(frame)?.len();
    frame.get_mut(at..)
}

/// Builds a packet from an unknown host to the server: the frame of floods.
pub(super) fn stranger(to: [u8; 6], protocol: u8, port: u16) -> Vec<u8> {
    let packet = Packet {
        protocol,
        source: (STRANGERS, 1024),
        destination: (SERVER.to_bits(), port),
        flags: SYN,
        // The length including the UDP header is a multiple of eight, as a fragment needs (RFC 791, 3.2).
        payload: if protocol == UDP {
            b"what is this for"
        } else {
            b""
        },
        ..Packet::default()
    };
    packet.frame(to)
}

/// Sets a random source address and port.
pub(super) fn another_stranger(frame: &mut [u8], rng: &mut Rng) {
    let address = STRANGERS | rng.next_u32() >> (32 - STRANGERS_BITS);
    write_source(frame, address, 1024 + rng.below(64_000) as u16);
    finish(frame);
}

/// Sets the source address with this number; each number has its own address.
pub(super) fn stranger_number(frame: &mut [u8], number: u32) {
    write_source(frame, STRANGERS | number, 1024);
    finish(frame);
}

/// Turns the frame into the server's answer to the host with this number.
pub(super) fn answer_number(frame: &mut [u8], number: u32) {
    let address = (STRANGERS | number).to_be_bytes();
    frame[DESTINATION..][..4].copy_from_slice(&address);
    finish(frame);
}

/// Builds the server's answer to unknown hosts.
pub(super) fn answer(to: [u8; 6], port: u16) -> Vec<u8> {
    let packet = Packet {
        protocol: UDP,
        source: (SERVER.to_bits(), port),
        destination: (STRANGERS, 1024),
        payload: b"this is that",
        ..Packet::default()
    };
    packet.frame(to)
}

/// Turns the frame into a fragment of another incomplete datagram: every second frame is a first fragment.
pub(super) fn another_fragment(frame: &mut [u8], rng: &mut Rng) {
    let offset = match rng.below(2) {
        0 => 0,
        _ => 1 + rng.below(8_000) as u16,
    };
    frame[ID..][..2].copy_from_slice(&(rng.next_u32() as u16).to_be_bytes());
    frame[FRAGMENT..][..2].copy_from_slice(&(MORE | offset).to_be_bytes());
    another_stranger(frame, rng);
}

/// Sets another destination port, as a port scan does.
pub(super) fn another_port(frame: &mut [u8], rng: &mut Rng) {
    let address = SCANNERS | rng.next_u32() >> (32 - SCANNERS_BITS);
    write_source(frame, address, 1024 + rng.below(64_000) as u16);
    frame[UPPER + 2..][..2].copy_from_slice(&(rng.next_u32() as u16).to_be_bytes());
    finish(frame);
}

fn write_source(frame: &mut [u8], address: u32, port: u16) {
    frame[SOURCE..][..4].copy_from_slice(&address.to_be_bytes());
    frame[UPPER..][..2].copy_from_slice(&port.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use wire::checksum::sum;

    use super::*;

    #[test]
    fn frames_stay_right_while_they_are_changed() {
        let mut rng = Rng::seeded(1);
        let mut frame = stranger([2; 6], TCP, 80);
        let before = frame.clone();

        for change in [another_stranger, another_fragment, another_port] {
            change(&mut frame, &mut rng);

            assert_eq!(sum(&frame[LINK..UPPER]), 0xffff);
            assert_ne!(frame[SOURCE..UPPER + 4], before[SOURCE..UPPER + 4]);
            assert_eq!(frame.len(), before.len());
        }
    }

    #[test]
    fn parts_of_datagrams_are_multiples_of_eight_bytes() {
        let frame = stranger([2; 6], UDP, 80);
        assert!((frame.len() - UPPER).is_multiple_of(8));
    }

    #[test]
    fn the_payload_is_written_unchanged() {
        for protocol in [TCP, UDP] {
            let packet = Packet {
                protocol,
                payload: b"0123456789",
                ..Packet::default()
            };
            let mut frame = packet.frame([2; 6]);

            assert_eq!(payload(&frame), Some(&b"0123456789"[..]));
            assert_eq!(payload_mut(&mut frame).map(|bytes| bytes.len()), Some(10));
        }
    }
}
