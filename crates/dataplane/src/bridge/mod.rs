//! Bridges: what a frame that comes by a bridge's port, or down from the router, comes to.
//!
//! Begin with `receive.rs` (frames of a port, before the VLANs of its interface) and `send.rs` (frames of the router,
//! by `Out::Bridge`). Both run the passes of `passes.rs`, which ask `decide.rs`: `admit` at ingress, `find` for where a
//! frame goes, `leaves` at each egress port. `flood.rs` has frames for several ports, and the general way out of one;
//! `tags.rs` rewrites tags; `offload.rs` teaches what switches below the workers. What goes up stays in its vector,
//! which walks on as the bridge interface's.

mod decide;
mod explain;
mod filter;
mod flood;
mod groups;
mod guard;
mod link;
pub mod offload;
mod own_source;
mod passes;
mod port;
mod receive;
mod rules;
mod scratch;
mod send;
pub(crate) mod sheet;
mod snoop;
mod table;
mod tags;
#[cfg(test)]
mod tests;
mod vlans;

pub(crate) use explain::{Bridged, explain, explain_down};
pub(crate) use rules::Rules;
pub(crate) use scratch::Bridging;

pub use groups::{Asking, Groups, Shard};
pub use guard::{Guards, Trust};
pub use port::{Bridge, BridgePort, FrameTypes, PORTS, PortSet, VlanMode};
pub use snoop::SNOOPED;
pub use table::Bridges;
pub use vlans::{Member, VlanTable};

pub(crate) use link::packet_at;
pub(crate) use receive::{receive, spread};
pub(crate) use send::{all as send_all, some as send_some};

use crate::interface::vlan;
