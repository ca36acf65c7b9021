//! Interfaces: one line each in a table that control writes and workers read.
//!
//! An [`Interface`] holds what the walk asks for each packet, read as one value. Rarely needed facts (name,
//! addresses, joined groups, tags) are its [`Details`]; [`OwnAddresses`] finds the addresses of all of them.
//! An interface is added, changed and removed without a new snapshot, at a cost that does not depend on the number of
//! interfaces.

mod details;
mod keys;
mod own;
mod peers;
mod station;
mod table;
mod tunnel;
pub(crate) mod vlan;

pub use crate::demux::Session;
pub use details::{Details, Own4, Own6};
pub use own::OwnAddresses;
pub use peers::Peers;
pub use station::STATIONS;
pub use table::InterfaceTable;
pub use tunnel::Ends;
pub use vlan::Tag;

use frame::InterfaceId;
use wire::Mac;

use crate::out::OutId;

/// How many interfaces there can be.
pub const INTERFACES: usize = 1 << InterfaceId::SLOT_BITS;

/// What takes the frames that an interface receives before the interface does. [`InterfaceTable::above`] names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Above {
    /// Nothing: the frames are the interface's own.
    #[default]
    Nothing,
    /// The bond that the interface is a slave of.
    Bond,
    /// The bridge that the interface is a port of.
    Bridge,
}

/// An interface, as the walk sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Enabled, and its link is up.
    pub running: bool,
    /// Frames begin with an Ethernet header; false for host mirrors and other links without one.
    pub ethernet: bool,
    /// IPv4 is in use here.
    pub ipv4: bool,
    /// IPv6 is in use here.
    pub ipv6: bool,
    /// VLAN interfaces lie on it. The table knows; what is written here does not count.
    pub vlans: bool,
    /// Stations lie on it, or on what lies on it. The table knows; what is written here does not count.
    pub stations: bool,
    /// VLANs on it are slaves: ports of bridges, or links of bonds. The table knows; what is written here does not
    /// count.
    pub slaves: bool,
    /// PPPoE sessions lie on it, or on what lies on it. The table knows; what is written here does not count.
    pub sessions: bool,
    /// Its link address; frames for another unicast address are not ours.
    pub mac: Mac,
    /// What takes the frames that it receives before it does.
    pub above: Above,
    /// The layer-3 MTU in bytes.
    pub mtu: u32,
    /// What takes its frames.
    pub out: OutId,
    /// The interface of the port below: itself, or the lowest one that a VLAN interface lies on.
    pub under: InterfaceId,
    /// The mirror port that takes TCP, UDP and the like for this router's own addresses, if any.
    pub mirror: Option<u16>,
}

impl Interface {
    /// Whether a family is in use here.
    #[inline(always)]
    pub const fn has_family(&self, ipv6: bool) -> bool {
        match ipv6 {
            true => self.ipv6,
            false => self.ipv4,
        }
    }
}
