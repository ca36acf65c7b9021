//! IP packets of DNS datagrams, in both families.

use core::net::{IpAddr, SocketAddr};

use frame::InterfaceId;
use wire::{Protocol, ipv4, ipv6, udp};

use super::super::hear::{Outgoing, ReceivedPacket};

/// Maximum bytes of an answer in an IPv6 datagram: routers do not fragment IPv6 (RFC 8200, 5).
const WHOLE6: usize = 1232;
/// Initial capacity for an answer in bytes; most answers fit.
const USUAL: usize = 512;

/// Interface, sender and receiver of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Between {
    pub(super) interface: InterfaceId,
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
}

/// Parses a datagram. Ignores its checksum: hosts on this machine may leave it to offloading, and
/// messages have other checks.
pub(super) fn read<'a>(heard: &ReceivedPacket<'a>) -> Option<(Between, &'a [u8])> {
    let packet = heard.packet();
    let (from, to, payload): (IpAddr, IpAddr, _) = match packet.first()? >> 4 {
        4 => {
            let packet = ipv4::Packet::new_checked(packet).ok()?;
            (packet.src().into(), packet.dst().into(), packet.payload())
        }
        _ => {
            let packet = ipv6::Packet::new_checked(packet).ok()?;
            let upper = packet.upper().ok()?;
            (packet.src().into(), packet.dst().into(), upper.payload)
        }
    };
    let datagram = udp::Datagram::new_checked(payload).ok()?;
    let between = Between {
        interface: heard.interface,
        from: SocketAddr::new(from, datagram.src_port()),
        to: SocketAddr::new(to, datagram.dst_port()),
    };
    Some((between, datagram.payload()))
}

impl Between {
    /// Returns the maximum bytes of an answer.
    pub(super) fn datagram_max(&self, most: usize) -> usize {
        match self.to {
            SocketAddr::V4(_) => most,
            SocketAddr::V6(_) => most.min(WHOLE6),
        }
    }

    fn headers(&self) -> usize {
        let network = match self.to {
            SocketAddr::V4(_) => ipv4::HEADER_LEN,
            SocketAddr::V6(_) => ipv6::HEADER_LEN,
        };
        network + udp::HEADER_LEN
    }

    /// Returns a packet with room for headers, to append the answer to.
    pub(super) fn room(&self) -> Vec<u8> {
        let mut packet = Vec::with_capacity(self.headers() + USUAL);
        packet.resize(self.headers(), 0);
        packet
    }

    /// Returns the packet of an answer.
    pub(super) fn reply(&self, message: &[u8]) -> Outgoing {
        let mut packet = self.room();
        packet.extend_from_slice(message);
        self.finish(packet)
    }

    /// Writes the headers before an appended answer.
    pub(super) fn finish(&self, mut packet: Vec<u8>) -> Outgoing {
        write(self.to, self.from, &mut packet, self.headers());
        Outgoing::packet(self.interface, packet)
    }
}

/// Writes the headers of a datagram into the first `headers` bytes; the payload follows.
fn write(from: SocketAddr, to: SocketAddr, packet: &mut [u8], headers: usize) {
    let (head, payload) = packet.split_at_mut(headers);
    let len = udp::HEADER_LEN + payload.len();
    let ports = udp::Repr {
        src_port: from.port(),
        dst_port: to.port(),
    };
    match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let network = ipv4::Repr::new(Protocol::UDP, from, to);
            let (network_head, udp_head) = head.split_at_mut(ipv4::HEADER_LEN);
            network_head.copy_from_slice(&network.to_bytes(len));
            udp_head.copy_from_slice(&ports.to_bytes_v4(payload, from, to));
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            let network = ipv6::Repr::new(Protocol::UDP, from, to);
            let (network_head, udp_head) = head.split_at_mut(ipv6::HEADER_LEN);
            network_head.copy_from_slice(&network.to_bytes(len));
            udp_head.copy_from_slice(&ports.to_bytes_v6(payload, from, to));
        }
        // Both addresses are of one family.
        _ => {}
    }
}
