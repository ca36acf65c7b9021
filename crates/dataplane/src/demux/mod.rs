//! Demultiplexing: from what a frame carries to the interface that receives it.
//!
//! Each key space has a table from keys to interfaces. A key distinguishes the interfaces on one lower interface: a
//! VLAN tag, peer and number of a PPPoE session, the address of a station.
//! [`crate::walk`] looks keys up for whole vectors. Ends of IP tunnels, SPIs and UDP ports are in
//! `interface/tunnel.rs`.

pub(crate) mod pppoe;
mod table;

use frame::InterfaceId;
use wire::Mac;

pub use self::pppoe::Session;
pub(crate) use self::table::{Entry, Facts, Key, KeyHash, KeyTable, View};
use crate::interface::{Interface, Tag, vlan};

/// The tables of all key spaces.
#[derive(Debug, Default)]
pub(crate) struct Demux {
    /// VLAN interfaces, by tag.
    pub(crate) vlans: KeyTable,
    /// PPPoE sessions, by peer and number.
    pub(crate) sessions: KeyTable,
    /// Stations, by MAC address.
    pub(crate) stations: KeyTable,
}

/// What frames of point-to-point interfaces must have in common to walk as one vector: the facts and
/// the link address of their interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SessionClass(u64);

impl SessionClass {
    /// Returns the class of an interface.
    #[inline(always)]
    pub(crate) const fn of(interface: &Interface) -> Self {
        let link = (interface.ethernet as u64) << 12;
        Self(mac_bits(interface.mac.0) << 16 | Facts::of(interface).0 as u64 | link)
    }
}

/// Returns the key of a VLAN tag on an interface.
#[inline(always)]
pub(crate) const fn of_tag(on: InterfaceId, tag: Tag) -> Key {
    let is_service = tag.ethertype == vlan::SERVICE;
    Key {
        on: on.slot() as u32,
        name: tag.vlan_id as u64 | (is_service as u64) << 16,
    }
}

/// Returns the key of a station's link address on an interface.
#[inline(always)]
pub(crate) const fn of_station(on: InterfaceId, mac: Mac) -> Key {
    Key {
        on: on.slot() as u32,
        name: mac_bits(mac.0),
    }
}

/// Returns the name of a PPPoE session: link address of the peer and session number, in the byte order of frames.
#[inline(always)]
pub(crate) const fn session_name(peer: [u8; 6], [high, low]: [u8; 2]) -> u64 {
    let [a, b, c, d, e, f] = peer;
    u64::from_ne_bytes([a, b, c, d, e, f, high, low])
}

/// Returns the key of a PPPoE session on an interface.
#[inline(always)]
pub(crate) const fn of_session(on: InterfaceId, session: Session) -> Key {
    Key {
        on: on.slot() as u32,
        name: session_name(session.peer.0, session.number.to_be_bytes()),
    }
}

/// A link address as a number of 48 bits.
#[inline(always)]
pub(crate) const fn mac_bits([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

impl Facts {
    const RUNNING: u16 = 1;
    const IPV4: u16 = 1 << 1;
    const IPV6: u16 = 1 << 2;
    const ENCRYPTED: u16 = 1 << 3;

    /// Returns the facts about an interface that decide whether packets enter by it.
    #[inline]
    pub(crate) const fn of(interface: &Interface) -> Self {
        let running = interface.running as u16 * Self::RUNNING;
        let ipv4 = interface.ipv4 as u16 * Self::IPV4;
        let ipv6 = interface.ipv6 as u16 * Self::IPV6;
        let encrypted = interface.encrypted as u16 * Self::ENCRYPTED;
        Self(running | ipv4 | ipv6 | encrypted)
    }
}
