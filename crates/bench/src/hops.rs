//! Next hops of the benchmark's router.

use dataplane::interface::Session;
use dataplane::out::OutId;
use dataplane::table::{Adjacency, Kind};
use frame::InterfaceId;

use super::Family;
use super::rig::{CLIENT_MAC, EGRESS, FAR_MAC, INGRESS, MAC};

/// Layer-3 MTU of a PPPoE session in bytes.
pub(super) const SESSION_MTU: u32 = 1492;
/// MTU of the router's Ethernet interfaces in bytes: frames of 9,000 bytes fit with their tunnel's headers.
pub(super) const ETHERNET_MTU: u32 = 9_216;
/// First bytes of the MAC address of every gateway; its number follows.
pub(super) const GATEWAYS: [u8; 5] = [2, 0, 0, 1, 0];

/// Returns the next hop with this number, on the far side.
pub(super) fn gateway(family: Family, number: u8) -> Adjacency {
    let mut gateway = Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        out: OutId::port(1),
        mtu: ETHERNET_MTU,
        egress: EGRESS,
        ..Adjacency::default()
    };
    gateway.header[..5].copy_from_slice(&GATEWAYS);
    gateway.header[5] = number;
    gateway.header[6..12].copy_from_slice(&FAR_MAC);
    gateway.header[12..14].copy_from_slice(match family {
        Family::Ipv4 => &[0x08, 0x00],
        Family::Ipv6 => &[0x86, 0xdd],
    });
    gateway
}

/// Returns the next hop of the clients.
pub(super) fn client(family: Family) -> Adjacency {
    let mut client = gateway(family, 0xfe);
    (client.out, client.egress) = (OutId::port(0), INGRESS);
    client.header[..6].copy_from_slice(&CLIENT_MAC);
    client.header[6..12].copy_from_slice(&MAC);
    client
}

/// Returns a next hop with the tag of a VLAN interface.
pub(super) fn tagged(mut hop: Adjacency, interface: InterfaceId, vlan_id: u16) -> Adjacency {
    hop.header.copy_within(12..14, 16);
    hop.header[12..14].copy_from_slice(&[0x81, 0]);
    hop.header[14..16].copy_from_slice(&vlan_id.to_be_bytes());
    (hop.header_len, hop.egress) = (18, interface);
    hop
}

/// Returns a next hop that leads into a PPPoE session, with the session's header and MTU.
pub(super) fn in_session(
    mut hop: Adjacency,
    family: Family,
    session: Session,
    interface: InterfaceId,
) -> Adjacency {
    let header = session_header(family, session, 0);
    hop.header[..6].copy_from_slice(&session.peer.0);
    hop.header[12..][..header.len()].copy_from_slice(&header);
    hop.header_len = 12 + header.len() as u8;
    (hop.egress, hop.mtu) = (interface, SESSION_MTU);
    hop
}

/// Returns the EtherType and the session header in front of a packet of `packet` bytes.
pub(super) fn session_header(family: Family, session: Session, packet: usize) -> Vec<u8> {
    let mut header = vec![0x88, 0x64];
    header.extend(session.header(family == Family::Ipv6));
    header[6..8].copy_from_slice(&(packet as u16 + 2).to_be_bytes());
    header
}
