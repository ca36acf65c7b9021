//! Bridges: what a frame that comes by a bridge's port, or down from the router, comes to.

mod port;
mod table;
mod vlans;

pub use port::{Bridge, BridgePort, FrameTypes, PORTS, PortSet};
pub use table::Bridges;
pub use vlans::{Member, VlanTable};

use crate::interface::vlan;
