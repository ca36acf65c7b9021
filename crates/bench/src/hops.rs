//! Next hops of the benchmark's router.

use dataplane::out::OutId;
use dataplane::table::{Adjacency, Kind};
use frame::InterfaceId;

use super::Family;
use super::rig::{CLIENT_MAC, EGRESS, FAR_MAC, INGRESS, MAC};

/// First bytes of the MAC address of every gateway; its number follows.
pub(super) const GATEWAYS: [u8; 5] = [2, 0, 0, 1, 0];

/// Returns the next hop with this number, on the far side.
pub(super) fn gateway(family: Family, number: u8) -> Adjacency {
    let mut gateway = Adjacency {
        kind: Kind::Forward,
        header_len: 14,
        out: OutId::port(1),
        mtu: 1500,
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
