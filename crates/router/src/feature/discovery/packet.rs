//! The headers around messages of discovery.

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

/// What is sent for a message: MNDP goes by IPv6, where there is an address, and by IPv4 (RouterOS).
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
            // A length stands in the place of the type (IEEE 802.3, 3.2.6).
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

/// What stands behind the SNAP header of a message of CDP.
pub(super) fn behind_snap(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix(&cdp::LLC)
}

/// The payload of a datagram of MNDP; none where the packet is of something else.
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
