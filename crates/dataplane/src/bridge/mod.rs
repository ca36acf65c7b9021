//! Bridges: forwarding of frames received by a bridge's ports or sent by the router.
//!
//! Begin with `receive.rs` (frames of a port, before the VLANs of its interface) and `send.rs`
//! (frames of the router, by `Out::Bridge`). Both run the passes of `passes.rs`, which ask
//! `decide.rs`: `admit` at ingress, `find` for the destination, `leaves` at each egress port.
//! `flood.rs` sends frames to several ports, and has the general transmission by one; `tags.rs`
//! rewrites tags; `offload.rs` teaches switches below the workers. Frames for the router stay in
//! their vector, which walks on as received by the bridge interface.

mod decide;
mod explain;
mod filter;
mod flood;
pub(crate) mod frame_columns;
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
