//! Parses and builds the IP packets of SNMP datagrams.

use core::net::{IpAddr, Ipv4Addr};

use frame::InterfaceId;
use wire::{Protocol, ipv4, ipv6, udp};

use crate::running::Running;

/// An SNMP request with its addresses and ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Question<'a> {
    pub(super) from: IpAddr,
    port: u16,
    to: IpAddr,
    own_port: u16,
    pub(super) data: &'a [u8],
}

/// Parses an IP packet. Returns `None` if it is truncated or its checksum is wrong.
pub(super) fn read(packet: &[u8]) -> Option<Question<'_>> {
    let (from, to, datagram) = match packet.first()? >> 4 {
        6 => {
            let packet = ipv6::Packet::new_checked(packet).ok()?;
            let upper = packet.upper().ok()?;
            let datagram = udp::Datagram::new_checked(upper.payload).ok()?;
            let (from, to) = (packet.src(), packet.dst());
            datagram.verify_v6(from, to).ok()?;
            (IpAddr::V6(from), IpAddr::V6(to), datagram)
        }
        _ => {
            let packet = ipv4::Packet::new_checked(packet).ok()?;
            let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
            let (from, to) = (packet.src(), packet.dst());
            datagram.verify_v4(from, to).ok()?;
            (IpAddr::V4(from), IpAddr::V4(to), datagram)
        }
    };
    Some(Question {
        from,
        port: datagram.src_port(),
        to,
        own_port: datagram.dst_port(),
        data: datagram.payload(),
    })
}

impl Question<'_> {
    /// Returns the packet of the answer. Its source is the destination of the request (RouterOS),
    /// or for multicast and broadcast the address towards the sender.
    pub(super) fn answer(
        &self,
        data: &[u8],
        running: &Running<'_>,
        interface: InterfaceId,
    ) -> Option<Vec<u8>> {
        let own = match (self.to, self.from) {
            (IpAddr::V4(to), IpAddr::V4(from)) => IpAddr::V4(
                match to.is_multicast() || to.is_broadcast() || running.is_broadcast4(to) {
                    true => running.source4(from)?,
                    false => to,
                },
            ),
            (IpAddr::V6(to), IpAddr::V6(from)) => IpAddr::V6(match to.is_multicast() {
                true => running.source6(from, interface)?,
                false => to,
            }),
            _ => return None,
        };
        Some(write((own, self.own_port), (self.from, self.port), data))
    }
}

/// Builds an IP packet with a UDP datagram. Both addresses must be of one family.
pub(super) fn write(from: (IpAddr, u16), to: (IpAddr, u16), data: &[u8]) -> Vec<u8> {
    let header = udp::Repr {
        src_port: from.1,
        dst_port: to.1,
    };
    let len = udp::HEADER_LEN + data.len();
    match (from.0, to.0) {
        (IpAddr::V6(own), IpAddr::V6(peer)) => {
            let packet = ipv6::Repr::new(Protocol::UDP, own, peer).to_bytes(len);
            [&packet[..], &header.to_bytes_v6(data, own, peer), data].concat()
        }
        (from, to) => {
            let v4 = |address| match address {
                IpAddr::V4(address) => address,
                IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
            };
            let (own, peer) = (v4(from), v4(to));
            let packet = ipv4::Repr::new(Protocol::UDP, own, peer).to_bytes(len);
            [&packet[..], &header.to_bytes_v4(data, own, peer), data].concat()
        }
    }
}
