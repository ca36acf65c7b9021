//! Interfaces: one line each in a table that control writes and workers read.
//!
//! An [`Interface`] holds the facts that the walk needs for each packet, read as one value. Rarely
//! needed facts (name, addresses, joined groups, tags) are in its [`Details`]; [`OwnAddresses`] has
//! the addresses of all interfaces. Interfaces are added, changed and removed without a new
//! snapshot, at a cost independent of their number.

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
pub(crate) use table::DetailsGuard;
pub use table::InterfaceTable;
pub use tunnel::Ends;
pub use vlan::Tag;

use frame::InterfaceId;
use wire::Mac;

use crate::out::OutId;

/// Maximum number of interfaces.
pub const INTERFACES: usize = 1 << InterfaceId::SLOT_BITS;

/// The bond or bridge that receives the frames of an interface. [`InterfaceTable::above`] names its
/// interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Above {
    /// None: the frames are the interface's own.
    #[default]
    Nothing,
    /// A bond, with the interface as a slave.
    Bond,
    /// A bridge, with the interface as a port.
    Bridge,
}

/// The per-packet facts of an interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Enabled, and the link is up.
    pub running: bool,
    /// Frames begin with an Ethernet header; false for host mirrors and other links without one.
    pub ethernet: bool,
    /// IPv4 is enabled.
    pub ipv4: bool,
    /// IPv6 is enabled.
    pub ipv6: bool,
    /// A PPP session whose packets are encrypted, or frames of a bridge: IP packets in session data do not enter by it.
    pub encrypted: bool,
    /// VLAN interfaces exist on it. Maintained by the table; ignored on writes.
    pub vlans: bool,
    /// Stations exist on it, or on an upper interface. Maintained by the table; ignored on writes.
    pub stations: bool,
    /// Some VLANs on it are bridge ports or bond slaves. Maintained by the table; ignored on
    /// writes.
    pub slaves: bool,
    /// PPPoE sessions exist on it, or on an upper interface. Maintained by the table; ignored on
    /// writes.
    pub sessions: bool,
    /// MAC address. Unicast frames to other addresses are not for this router.
    pub mac: Mac,
    /// The bond or bridge that receives its frames.
    pub above: Above,
    /// The layer-3 MTU in bytes.
    pub mtu: u32,
    /// The out for its frames.
    pub out: OutId,
    /// The interface of the port below: itself, or the lowest interface below a VLAN.
    pub under: InterfaceId,
    /// The mirror port for packets to this router's own addresses, if any.
    pub mirror: Option<u16>,
}

impl Interface {
    /// Returns true if a family is enabled.
    #[inline(always)]
    pub const fn has_family(&self, ipv6: bool) -> bool {
        match ipv6 {
            true => self.ipv6,
            false => self.ipv4,
        }
    }
}
