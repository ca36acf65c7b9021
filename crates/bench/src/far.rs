//! The remote end of tunnels: encapsulates frames for the router, and decapsulates frames from it.

use ::wireguard::session::{self, FRONT, Receiving, Sending, TAG, padded};
use dataplane::encap::between::Carries;
use dataplane::packet::protocol;
use esp::{Inbound, Opening, Outbound, Sealing};
use wire::{checksum, vxlan};

use super::ovpn::{self, OtherEnd};
use super::rig::{FAR_END, OWN4, STATION, TUNNEL_MAC, VNI};
use super::tunnels::{KEY, SESSION, TunnelKind, WIREGUARD};

/// Bytes of an Ethernet header.
pub(super) const ETHERNET: usize = 14;
/// Bytes of an IPv4 header without options.
pub(super) const IP: usize = 20;
/// Bytes of a UDP header.
const UDP: usize = 8;
/// Bytes of a VXLAN header.
const VXLAN: usize = 8;
/// The protocol number of IPv4 in IP.
pub(super) const IPIP: u8 = 4;
const IP6: u8 = 41;
/// The protocol number of GRE.
pub(super) const GRE: u8 = 47;
/// The protocol number of ESP.
pub(super) const ESP: u8 = 50;
/// First source port of VXLAN (RFC 7348, 5).
const DYNAMIC: u16 = 0xc000;
/// EtherType of IPv4.
const IPV4_TYPE: [u8; 2] = [0x08, 0x00];
/// First bytes of EoIP over IPv4.
const EOIP: [u8; 4] = [0x20, 0x01, 0x64, 0x00];

/// Both MAC addresses of a frame, destination first.
pub(super) type Link = [u8; 12];

/// The remote end of a tunnel.
pub(super) enum Far {
    /// IP in IP, GRE or EoIP.
    Between(Carries),
    /// VXLAN.
    Vxlan,
    /// WireGuard.
    Wireguard {
        sending: Sending,
        receiving: Receiving,
    },
    /// OpenVPN by UDP.
    Ovpn(Box<OtherEnd>),
    /// ESP in tunnel mode.
    Esp {
        sending: Box<Outbound>,
        receiving: Box<Inbound>,
    },
}

impl Far {
    /// Creates the remote end of a tunnel of this type.
    pub(super) fn new(kind: TunnelKind) -> Self {
        match kind {
            TunnelKind::Between(carries) => Self::Between(carries),
            TunnelKind::Vxlan => Self::Vxlan,
            TunnelKind::Wireguard => Self::Wireguard {
                sending: Sending::new(SESSION, &KEY),
                receiving: Receiving::without_window(&KEY),
            },
            TunnelKind::Ovpn(suite) => Self::Ovpn(Box::new(OtherEnd::new(suite))),
        }
    }

    /// Encapsulates an Ethernet frame, or the packet in it, for the router. The result has the link
    /// header `link`.
    pub(super) fn encapsulate(&self, link: &Link, frame: &[u8]) -> Vec<u8> {
        match self {
            Self::Between(carries) => between(link, *carries, frame),
            Self::Vxlan => {
                let ports = frame.get(ETHERNET + IP..).unwrap_or_default();
                let hash = ports
                    .first_chunk()
                    .map_or(0, |port| u16::from_be_bytes(*port));
                in_vxlan(link, DYNAMIC | hash, frame)
            }
            Self::Wireguard { sending, .. } => in_wireguard(link, sending, frame),
            Self::Ovpn(end) => {
                let data = end.encrypt(&frame[ETHERNET..]);
                outer(link, protocol::UDP, &in_udp(ovpn::PORT, ovpn::PORT, &data))
            }
            Self::Esp { sending, .. } => in_esp(link, sending, frame),
        }
    }

    /// Decapsulates a frame that the router sent to the remote end. Payload packets get an Ethernet
    /// header without addresses. Returns `None` for a wrong header, or a payload that fails
    /// authentication.
    pub(super) fn decapsulate(&self, frame: &[u8]) -> Option<Vec<u8>> {
        let (protocol, payload) = payload(frame)?;
        match self {
            Self::Between(carries) => from_between(*carries, protocol, payload),
            Self::Vxlan => {
                let (ports, datagram) = datagram(protocol, payload)?;
                let (header, carried) = datagram.split_at_checked(VXLAN)?;
                let ours = ports.0 >= DYNAMIC && ports.1 == vxlan::PORT;
                (ours && header == vxlan::to_bytes(VNI)).then_some(())?;
                is_to_station(carried).then(|| carried.to_vec())
            }
            Self::Wireguard { receiving, .. } => {
                let (ports, message) = datagram(protocol, payload)?;
                (ports == (WIREGUARD, WIREGUARD)).then_some(())?;
                (session::receiver(message) == Some(SESSION)).then_some(())?;
                let mut message = message.to_vec();
                let packet = receiving.open(&mut message).ok()?;
                framed(message.get(packet)?)
            }
            Self::Ovpn(end) => {
                let (ports, data) = datagram(protocol, payload)?;
                (ports == (ovpn::PORT, ovpn::PORT)).then_some(())?;
                framed(&end.decrypt(data)?)
            }
            Self::Esp { receiving, .. } => {
                (protocol == ESP).then_some(())?;
                let mut bytes = payload.to_vec();
                let mut batch = [Opening::new(receiving, &mut bytes)];
                esp::open(&mut batch);
                let opened = batch[0].outcome.clone().ok()?;
                (opened.next_header == IPIP).then_some(())?;
                framed(bytes.get(opened.payload)?)
            }
        }
    }
}

/// Builds a frame with an IPv4 packet from the remote end around these bytes.
pub(super) fn outer(link: &Link, protocol: u8, carried: &[u8]) -> Vec<u8> {
    let mut outer = link.to_vec();
    outer.extend(IPV4_TYPE);
    outer.extend([0x45, 0]);
    outer.extend(((IP + carried.len()) as u16).to_be_bytes());
    outer.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    outer.extend(FAR_END.to_be_bytes());
    outer.extend(OWN4.to_be_bytes());
    let sum = !checksum::sum(&outer[ETHERNET..]);
    outer[24..26].copy_from_slice(&sum.to_be_bytes());
    outer.extend(carried);
    outer
}

/// Encapsulates the packet of a frame in IP or GRE, or the frame itself in EoIP.
pub(super) fn between(link: &Link, carries: Carries, frame: &[u8]) -> Vec<u8> {
    let (kind, packet) = (&frame[12..ETHERNET], &frame[ETHERNET..]);
    let (protocol, mut carried) = match carries {
        Carries::Packets if kind == IPV4_TYPE => (IPIP, Vec::new()),
        Carries::Packets => (IP6, Vec::new()),
        Carries::Gre => (GRE, vec![0, 0, kind[0], kind[1]]),
        Carries::Frames(number) => {
            let mut eoip = EOIP.to_vec();
            eoip.extend((frame.len() as u16).to_be_bytes());
            eoip.extend(number.to_le_bytes());
            eoip.extend(&frame[..ETHERNET]);
            (GRE, eoip)
        }
    };
    carried.extend(packet);
    outer(link, protocol, &carried)
}

/// Encapsulates a frame in a VXLAN datagram from this port.
pub(super) fn in_vxlan(link: &Link, source_port: u16, frame: &[u8]) -> Vec<u8> {
    let carried = [&vxlan::to_bytes(VNI)[..], frame].concat();
    outer(
        link,
        protocol::UDP,
        &in_udp(source_port, vxlan::PORT, &carried),
    )
}

/// Encapsulates the packet of a frame in a WireGuard message.
pub(super) fn in_wireguard(link: &Link, sending: &Sending, frame: &[u8]) -> Vec<u8> {
    let packet = &frame[ETHERNET..];
    let mut message = vec![0; FRONT + padded(packet.len()) + TAG];
    message[FRONT..FRONT + packet.len()].copy_from_slice(packet);
    assert!(sending.seal(&mut message).is_ok());
    outer(link, protocol::UDP, &in_udp(WIREGUARD, WIREGUARD, &message))
}

/// Encapsulates the packet of a frame in ESP, in tunnel mode.
pub(super) fn in_esp(link: &Link, sending: &Outbound, frame: &[u8]) -> Vec<u8> {
    outer(link, ESP, &seal(sending, &frame[ETHERNET..], IPIP))
}

/// Encrypts a payload with ESP.
pub(super) fn seal(sending: &Outbound, payload: &[u8], next_header: u8) -> Vec<u8> {
    let (front, back) = sending.room(payload.len());
    let mut bytes = vec![0; front];
    bytes.extend(payload);
    bytes.resize(front + payload.len() + back, 0);
    let mut batch = [Sealing::new(
        sending,
        &mut bytes,
        payload.len(),
        next_header,
    )];
    esp::seal(&mut batch);
    assert!(batch[0].outcome.is_ok());
    bytes
}

/// Builds a UDP datagram without a checksum.
fn in_udp(from: u16, to: u16, carried: &[u8]) -> Vec<u8> {
    let len = (UDP + carried.len()) as u16;
    let header = [from, to, len, 0].map(u16::to_be_bytes);
    [&header.concat()[..], carried].concat()
}

/// Returns protocol and payload of an IPv4 frame from the router to the remote end, if it has no
/// padding.
fn payload(frame: &[u8]) -> Option<(u8, &[u8])> {
    let packet = frame.get(ETHERNET..)?;
    (frame[12..ETHERNET] == IPV4_TYPE).then_some(())?;
    let (header, payload) = packet.split_at_checked(IP)?;
    let ends = [OWN4, FAR_END].map(u32::to_be_bytes).concat();
    let whole = header[2..4] == (packet.len() as u16).to_be_bytes();
    let intact = header[0] == 0x45 && whole && checksum::sum(header) == u16::MAX;
    (intact && header[12..] == ends).then_some((header[9], payload))
}

/// Returns ports and payload of a datagram.
fn datagram(protocol: u8, payload: &[u8]) -> Option<((u16, u16), &[u8])> {
    let (header, content) = payload.split_at_checked(UDP)?;
    let field = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let whole = usize::from(field(4)) == payload.len();
    (protocol == protocol::UDP && whole).then_some(((field(0), field(2)), content))
}

fn from_between(carries: Carries, protocol: u8, payload: &[u8]) -> Option<Vec<u8>> {
    match carries {
        Carries::Packets => framed(payload).filter(|_| protocol == IPIP),
        Carries::Gre => {
            let packet = payload.strip_prefix(&[0, 0, IPV4_TYPE[0], IPV4_TYPE[1]])?;
            framed(packet).filter(|_| protocol == GRE)
        }
        Carries::Frames(number) => {
            let carried = payload.strip_prefix(&EOIP)?;
            let (len, carried) = carried.split_first_chunk()?;
            let carried = carried.strip_prefix(&number.to_le_bytes())?;
            let whole = usize::from(u16::from_be_bytes(*len)) == carried.len();
            let ours = protocol == GRE && whole && is_to_station(carried);
            ours.then(|| carried.to_vec())
        }
    }
}

/// Returns true for frames from the tunnel's interface to the remote host.
fn is_to_station(frame: &[u8]) -> bool {
    frame.starts_with(&STATION) && frame[STATION.len()..].starts_with(&TUNNEL_MAC)
}

/// Returns an IPv4 packet, without padding, behind an Ethernet header without addresses.
fn framed(packet: &[u8]) -> Option<Vec<u8>> {
    let len = packet
        .get(2..4)?
        .first_chunk()
        .map(|len| u16::from_be_bytes(*len))?;
    let packet = packet.get(..usize::from(len))?;
    Some([&[0; 12][..], &IPV4_TYPE, packet].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protected;

    const LINK: Link = [2; 12];

    /// Builds a frame to the remote host with a UDP packet over IPv4.
    fn frame() -> Vec<u8> {
        let mut frame = [STATION, TUNNEL_MAC].concat();
        frame.extend(IPV4_TYPE);
        frame.extend(outer(&LINK, protocol::UDP, &in_udp(1, 2, b"hello"))[ETHERNET..].iter());
        frame
    }

    /// Exchanges source and destination of an outer packet, as if the remote end had sent it.
    fn turned(mut frame: Vec<u8>) -> Vec<u8> {
        frame[26..30].copy_from_slice(&OWN4.to_be_bytes());
        frame[30..34].copy_from_slice(&FAR_END.to_be_bytes());
        frame
    }

    fn all() -> Vec<Far> {
        let between = [Carries::Packets, Carries::Gre, Carries::Frames(100)];
        let kinds = between.map(TunnelKind::Between).into_iter();
        let kinds = kinds.chain([TunnelKind::Vxlan, TunnelKind::Wireguard]);
        kinds.map(Far::new).chain([protected::far()]).collect()
    }

    #[test]
    fn what_a_far_end_encapsulates_it_decapsulates() {
        for (number, far) in all().iter().enumerate() {
            let sent = turned(far.encapsulate(&LINK, &frame()));

            let received = far.decapsulate(&sent).unwrap_or_else(|| panic!("{number}"));

            assert_eq!(received[12..], frame()[12..], "{number}");
        }
    }

    #[test]
    fn frames_with_a_wrong_outer_header_and_truncated_ones_are_refused() {
        for (number, far) in all().iter().enumerate() {
            let sent = turned(far.encapsulate(&LINK, &frame()));
            // EtherType, total length, protocol, source, destination.
            for at in [12, 16, 23, 29, 33] {
                let mut wrong = sent.clone();
                wrong[at] ^= 0x10;
                assert_eq!(far.decapsulate(&wrong), None, "{number}: byte {at}");
            }
            for len in 0..sent.len() {
                assert_eq!(far.decapsulate(&sent[..len]), None, "{number}: {len} bytes");
            }
            let with_tail = [&sent[..], &[0]].concat();
            assert_eq!(far.decapsulate(&with_tail), None, "{number}");
        }
    }
}
