//! L2TP sessions of the benchmark's router, and datagrams of the other end.

use core::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use dataplane::encap::Encapsulation;
use dataplane::encap::l2tp::{CallIds, L2tp, Received};
use dataplane::interface::Details;
use dataplane::out::OutId;
use dataplane::table::Adjacency;
use frame::InterfaceId;
use wire::{Protocol, ipv4, udp};

use super::Family;
use super::hops::{SESSION_MTU, gateway};
use super::rig::{FAR_END, OWN4, Rig};

/// UDP port of both ends.
const PORT: u16 = 1701;
const ETHERNET: usize = 14;

/// Returns the numbers of a session, at both ends: 256 sessions share a tunnel.
const fn ids(number: u32) -> CallIds {
    CallIds {
        tunnel: (number >> 8) as u16 + 1,
        session: (number & 0xff) as u16 + 1,
    }
}

/// Opens a session on an interface.
pub(super) fn open(rig: &Rig, id: InterfaceId, number: u32) {
    let [local, remote] =
        [OWN4, FAR_END].map(|end| SocketAddrV4::new(Ipv4Addr::from_bits(end), PORT));
    let session = Encapsulation::from(L2tp {
        id,
        local,
        remote,
        local_ids: ids(number),
        remote_ids: ids(number),
        sequence: None,
        received: Received::default(),
        fast: true,
        protected: false,
    });
    for ends in session.ends() {
        rig.interfaces().set_tunnel(ends, Some(id));
    }
    let details = Details {
        tunnel: Some(session),
        ..Details::default()
    };
    rig.interfaces().set_details(id, Arc::new(details));
}

/// Returns a next hop that leads into a session.
pub(super) fn hop(family: Family, id: InterfaceId) -> Adjacency {
    Adjacency {
        mtu: SESSION_MTU,
        egress: id,
        out: OutId::tunnel(id),
        ..gateway(family, 0)
    }
}

/// Encapsulates the packet of a frame in a datagram of the other end.
pub(super) fn encapsulate(frame: &mut Vec<u8>, family: Family, number: u32) {
    let CallIds { tunnel, session } = ids(number);
    let protocol: u16 = match family {
        Family::Ipv4 => 0x0021,
        Family::Ipv6 => 0x0057,
    };
    let words = [2, tunnel, session, 0xff03, protocol];
    let mut message: Vec<u8> = words.into_iter().flat_map(u16::to_be_bytes).collect();
    message.extend_from_slice(&frame[ETHERNET..]);
    let [source, to] = [FAR_END, OWN4].map(Ipv4Addr::from_bits);
    let header = udp::Repr {
        src_port: PORT,
        dst_port: PORT,
    };
    let udp = header.to_bytes_v4(&message, source, to);
    let length = udp.len() + message.len();
    let ip = ipv4::Repr::new(Protocol::UDP, source, to).to_bytes(length);
    frame.truncate(ETHERNET);
    frame[12..].copy_from_slice(&[0x08, 0x00]);
    frame.extend_from_slice(&ip);
    frame.extend_from_slice(&udp);
    frame.extend_from_slice(&message);
}
