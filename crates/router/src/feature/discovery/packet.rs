//! Headers around the messages of neighbour discovery protocols.

use core::net::{Ipv4Addr, Ipv6Addr};

use frame::InterfaceId;
use service::discovery::{Port, Protocol};
use wire::{EtherType, Mac, Protocol as IpProtocol, cdp, ipv4, ipv6, lldp, mndp, udp};

use super::ALL_NODES;
use crate::feature::hear::{How, Outgoing};

const PORTS: udp::Repr = udp::Repr {
    src_port: mndp::PORT,
    dst_port: mndp::PORT,
};
const NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Returns the frames of a message. MNDP is sent by IPv4, and by IPv6 if there is a link-local
/// address (RouterOS).
pub(super) fn outgoing(
    interface: InterfaceId,
    port: &Port,
    protocol: Protocol,
    bytes: Vec<u8>,
) -> Vec<Outgoing> {
    let frame = |to: Mac, kind: EtherType, bytes: Vec<u8>| Outgoing {
        interface,
        bytes,
        how: How::Frame(to, kind),
    };
    match protocol {
        Protocol::Lldp => vec![frame(lldp::GROUP, EtherType::LLDP, bytes)],
        Protocol::Cdp => {
            let bytes = [&cdp::LLC[..], &bytes].concat();
            // CDP frames have a length instead of an EtherType (IEEE 802.3, 3.2.6).
            let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
            vec![frame(cdp::GROUP, EtherType(length), bytes)]
        }
        Protocol::Mndp => {
            let mut both = Vec::with_capacity(2);
            if let Some(from) = port.link_local {
                both.push(frame(ALL_NODES, EtherType::IPV6, packet6(from, &bytes)));
            }
            let from = port.ipv4.unwrap_or(Ipv4Addr::UNSPECIFIED);
            both.push(frame(
                Mac::BROADCAST,
                EtherType::IPV4,
                packet4(from, &bytes),
            ));
            both
        }
    }
}

fn packet4(from: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let to = Ipv4Addr::BROADCAST;
    let header = ipv4::Repr::new(IpProtocol::UDP, from, to);
    let datagram = PORTS.to_bytes_v4(payload, from, to);
    let length = datagram.len() + payload.len();
    [&header.to_bytes(length)[..], &datagram, payload].concat()
}

fn packet6(from: Ipv6Addr, payload: &[u8]) -> Vec<u8> {
    let header = ipv6::Repr::new(IpProtocol::UDP, from, NODES);
    let datagram = PORTS.to_bytes_v6(payload, from, NODES);
    let length = datagram.len() + payload.len();
    [&header.to_bytes(length)[..], &datagram, payload].concat()
}

/// Returns the bytes behind the SNAP header of a CDP message.
pub(super) fn behind_snap(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(&cdp::LLC)
}

/// Returns the payload of an MNDP datagram, or `None` for other packets.
pub(super) fn datagram(packet: &[u8]) -> Option<&[u8]> {
    let datagram = match packet.first()? >> 4 {
        4 => {
            let packet = ipv4::Packet::new_checked(packet).ok()?;
            let is_udp = !packet.fragment().is_piece() && packet.protocol() == IpProtocol::UDP;
            let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
            let sound = datagram.verify_v4(packet.src(), packet.dst()).is_ok();
            (is_udp && sound).then_some(datagram)?
        }
        6 => {
            let packet = ipv6::Packet::new_checked(packet).ok()?;
            if packet.next_header() != IpProtocol::UDP {
                return None;
            }
            let datagram = udp::Datagram::new_checked(packet.payload()).ok()?;
            let sound = datagram.verify_v6(packet.src(), packet.dst()).is_ok();
            sound.then_some(datagram)?
        }
        _ => return None,
    };
    (datagram.dst_port() == mndp::PORT).then_some(datagram.payload())
}
