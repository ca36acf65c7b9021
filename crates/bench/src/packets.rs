//! The benchmark's packets: UDP, with random addresses and ports for each flow.

use dataplane::encap::between::Carries;
use machine::Rng;
use ppp::Encryptor;

use super::Family;
use super::far::{self, Link};
use super::rig::{CLIENT_MAC, CLIENTS4, CLIENTS6, MAC, Rig, STATION, TUNNEL_MAC};

/// Bytes of Ethernet's check sequence, which frames in memory lack.
const CHECK_SEQUENCE: usize = 4;
/// Bytes of a tag.
const TAG: u16 = 4;
/// Bytes of the header of a tunnel.
const OUTER: u16 = 20;
/// Bytes in front of a VXLAN frame: link, IPv4, UDP, VXLAN.
const FRAMED: u16 = 50;

/// Frames that are sent repeatedly, in order.
pub(super) struct Templates {
    bytes: Vec<u8>,
    /// Bytes from one frame to the next.
    len: usize,
    /// Length of each frame; empty where all frames have `len` bytes.
    lens: Vec<u16>,
    order: Vec<u32>,
    next: usize,
    seal: Option<Seal>,
}

/// Encryption of frames when they are received.
pub(super) struct Seal {
    pub(super) cipher: Encryptor,
    /// Offset of flags and count, which the encrypted packet follows.
    pub(super) header: usize,
}

impl Seal {
    /// Encrypts a frame.
    fn apply(&mut self, frame: &mut [u8]) {
        let behind = frame.get_mut(self.header..);
        let parts = behind.and_then(<[u8]>::split_first_chunk_mut);
        if let Some((header, packet)) = parts {
            *header = self.cipher.encrypt(packet);
        }
    }
}

impl Templates {
    /// Creates a frame for each of `flows` flows, `frame` bytes long with the check sequence.
    pub(super) fn new(rig: &Rig, flows: u32, frame: u16, seed: u64) -> Self {
        let mut rng = Rng::seeded(seed ^ 0x7e3a);
        let destinations = rig.destinations(flows, seed);
        let packets = destinations.into_iter();
        let packets = packets.map(|one| packet(rig.family(), frame, one, &mut rng));
        Self::of(packets, length(frame), seed)
    }

    /// Creates frames with tags of VLANs 1 to `vlans` in turn; if `mixed`, half of them are
    /// untagged. Tagged and untagged frames have one length.
    pub(super) fn tagged(
        rig: &Rig,
        flows: u32,
        frame: u16,
        vlans: u16,
        mixed: bool,
        seed: u64,
    ) -> Self {
        let mut rng = Rng::seeded(seed ^ 0x7e3a);
        let len = length(frame);
        let destinations = (0..).zip(rig.destinations(flows, seed));
        let packets = destinations.map(|(number, destination): (u16, _)| {
            if mixed && number % 2 == 0 {
                return packet(rig.family(), frame, destination, &mut rng);
            }
            let mut tagged = packet(rig.family(), frame - TAG, destination, &mut rng);
            let [high, low] = (number % vlans + 1).to_be_bytes();
            tagged.splice(12..12, [0x81, 0, high, low]);
            tagged
        });
        Self::of(packets, len, seed)
    }

    /// Creates frames of `frame` bytes with outer packets of the tunnel around the packets.
    pub(super) fn wrapped(rig: &Rig, carries: Carries, flows: u32, frame: u16, seed: u64) -> Self {
        let mut rng = Rng::seeded(seed ^ 0x7e3a);
        let destinations = rig.destinations(flows, seed).into_iter();
        let behind = match carries {
            Carries::Packets => 0,
            Carries::Gre => 4,
            // The inner frame has a link header, but no check sequence.
            Carries::Frames(_) => 22,
        };
        let inner = frame - OUTER - behind;
        let packets = destinations.map(|one| {
            let mut frame = packet(rig.family(), inner, one, &mut rng);
            let link = link_of(&frame);
            to_tunnel(&mut frame);
            far::between(&link, carries, &frame)
        });
        Self::of(packets, length(frame), seed)
    }

    /// Creates frames of `frame` bytes with VXLAN frames in datagrams over IPv4.
    pub(super) fn framed(rig: &Rig, flows: u32, frame: u16, seed: u64) -> Self {
        let mut rng = Rng::seeded(seed ^ 0x7e3a);
        let destinations = rig.destinations(flows, seed).into_iter();
        let packets = destinations.map(|one| {
            let mut inner = packet(rig.family(), frame - FRAMED, one, &mut rng);
            let link = link_of(&inner);
            to_tunnel(&mut inner);
            far::in_vxlan(&link, 0xc000 | rng.next_u32() as u16, &inner)
        });
        Self::of(packets, length(frame), seed)
    }

    /// Creates templates of these frames, at most `len` bytes of each, in random order.
    pub(super) fn of(frames: impl IntoIterator<Item = Vec<u8>>, len: usize, seed: u64) -> Self {
        let mut rng = Rng::seeded(seed ^ 0x51de);
        let (mut bytes, mut lens) = (Vec::new(), Vec::new());
        for frame in frames {
            let frame = &frame[..len.min(frame.len())];
            bytes.extend_from_slice(frame);
            bytes.resize(bytes.len().next_multiple_of(len.max(1)), 0);
            lens.push(frame.len() as u16);
        }
        if lens.iter().all(|of| usize::from(*of) == len) {
            lens.clear();
        }
        let mut order: Vec<u32> = (0..(bytes.len() / len) as u32).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, rng.below(at as u64 + 1) as usize);
        }
        Self {
            bytes,
            len,
            lens,
            order,
            next: 0,
            seal: None,
        }
    }

    /// Encrypts each frame when it is received.
    pub(super) fn sealed(self, seal: Seal) -> Self {
        Self {
            seal: Some(seal),
            ..self
        }
    }

    /// Encrypts a received frame, if frames are to be encrypted.
    pub(super) fn seal(&mut self, frame: &mut [u8]) {
        if let Some(seal) = &mut self.seal {
            seal.apply(frame);
        }
    }

    /// Transforms all frames, which get one length, and orders them randomly.
    pub(super) fn map(self, seed: u64, wrap: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        let frames: Vec<_> = self.bytes.chunks_exact(self.len).map(wrap).collect();
        let len = frames.first().map_or(0, Vec::len);
        Self::of(frames, len, seed)
    }

    /// Returns the number of frames.
    pub(super) fn count(&self) -> usize {
        self.order.len()
    }

    /// Returns the next frame.
    pub(super) fn next(&mut self) -> &[u8] {
        let number = self.order[self.next] as usize;
        self.next += 1;
        if self.next == self.order.len() {
            self.next = 0;
        }
        let len = self.lens.get(number).map_or(self.len, |len| (*len).into());
        &self.bytes[number * self.len..][..len]
    }
}

/// Returns a UDP packet to `destination` (IPv4 in the low 32 bits) with random source and ports, in
/// an Ethernet frame of `frame` bytes. That length includes the check sequence, which is omitted.
/// The first six bytes are the MAC address of the router in memory; other routers need them
/// replaced.
pub fn packet(family: Family, frame: u16, destination: u128, rng: &mut Rng) -> Vec<u8> {
    let len = length(frame);
    match family {
        Family::Ipv4 => ipv4(len, destination as u32, rng),
        Family::Ipv6 => ipv6(len, destination, rng),
    }
}

/// Returns the length of a frame in memory, without check sequence.
fn length(frame: u16) -> usize {
    usize::from(frame).max(64) - CHECK_SEQUENCE
}

fn ipv4(len: usize, destination: u32, rng: &mut Rng) -> Vec<u8> {
    let mut frame = link(0x0800);
    let total = len - frame.len();
    let mut header = [0; 20];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&(total as u16).to_be_bytes());
    header[8..10].copy_from_slice(&[64, 17]);
    let source = CLIENTS4 | rng.next_u32() >> 10;
    header[12..16].copy_from_slice(&source.to_be_bytes());
    header[16..20].copy_from_slice(&destination.to_be_bytes());
    let sum = !wire::checksum::sum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    udp(&mut frame, len, rng);
    frame
}

fn ipv6(len: usize, destination: u128, rng: &mut Rng) -> Vec<u8> {
    let mut frame = link(0x86dd);
    let payload = len - frame.len() - 40;
    frame.extend([0x60, 0, 0, 0]);
    frame.extend((payload as u16).to_be_bytes());
    frame.extend([17, 64]);
    let source = CLIENTS6 | u128::from(rng.next_u64());
    frame.extend(source.to_be_bytes());
    frame.extend(destination.to_be_bytes());
    udp(&mut frame, len, rng);
    frame
}

/// Returns the MAC addresses of a frame.
pub(super) fn link_of(frame: &[u8]) -> Link {
    core::array::from_fn(|at| frame[at])
}

/// Writes the MAC addresses of a frame from the remote host to the tunnel's interface.
fn to_tunnel(frame: &mut [u8]) {
    frame[..6].copy_from_slice(&TUNNEL_MAC);
    frame[6..12].copy_from_slice(&STATION);
}

fn link(ethertype: u16) -> Vec<u8> {
    let mut frame = MAC.to_vec();
    frame.extend(CLIENT_MAC);
    frame.extend(ethertype.to_be_bytes());
    frame
}

/// Appends a UDP header as far as it fits, and zeros up to `len` bytes.
fn udp(frame: &mut Vec<u8>, len: usize, rng: &mut Rng) {
    frame.extend((rng.next_u32() as u16).to_be_bytes());
    frame.extend((rng.next_u32() as u16).to_be_bytes());
    frame.resize(len, 0);
}
