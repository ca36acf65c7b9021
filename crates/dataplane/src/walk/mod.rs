//! The packet's walk through the router, stage by stage. Start reading here.
//!
//! ```text
//!  vector of a port → demux: interface of each frame, VLAN tags off
//!                        │
//!       ┌────────────────┴─── rules, connections, routing rules, rp-filter? ───┐
//!       │ no: fast path                                                        │ yes: chunks of 64
//!  1 enter:   ingress → prerouting                            1 enter, as on the left;
//!  2 lookup:  routing in the FIB                                read headers, find connections
//!  3 depart:  next hop → forward → egress                     2 in order: FastTrack, batch of plain packets
//!       │             └── any other packet ──→ decide/ ←── any other packet ──┘        │
//!  4 passes:  dispatch to the out (port, tunnel), or settle the exit:
//!             drop · punt · collect · hand over · deliver · decapsulate · finish
//! ```
//!
//! Stages have the names of RouterOS's packet flow diagram, one file each: `ingress`, `prerouting`,
//! `routing`, `input`, `forward`, `output`, `egress`. Rules, connections and NAT of all hooks are
//! in `decide/`.
//!
//! Three places know the sequence of stages. `decide/mod.rs` has it for one packet: it decides, in functions that
//! change nothing and return their result or the [`Exit`] by which the packet leaves the walk, whatever the router
//! has: a router without firewall has empty chains there. `passes` and `fast/` have it for vectors: loops over the
//! packets that need few decisions, which give the same results. The tracer (`explain/`) calls `decide/`, and follows
//! the packet through bridges, tunnels and queues. Decisions are *committed* separately: the passes write bytes,
//! `Outlet` does everything else.
//!
//! Two files bring every packet into one form. `demux` finds the interface of each frame of a port
//! and takes VLAN tags off, so that every packet behind it begins 14 bytes into its frame.
//! `ingress` decides about every frame, tagged ones that `demux` left alone included.
//!
//! A vector takes four passes, split where cache misses occur: headers in pass 1 (`fast/enter`), the
//! routing table in pass 2, next hops in pass 3 (`fast/depart`), outs in pass 4 (`passes`). Packets keep
//! their order in every pass. `settle` acts on an [`Exit`]. Packets that walk alone (the router's own,
//! resumed, reassembled) enter in `single`. Frames for a tunnel, and packets out of one, wait on
//! the worker's agenda (`agenda.rs`), because a walk never begins within a walk.
//!
//! No stage names the stages that follow: it passes frames on by
//! [`Dispatch`](crate::outlet::Dispatch), a trait that `outlet/dispatch.rs` implements on top of
//! all of them.
//!
//! `SlowReason` in the snapshot says why a family does not take the fast path. With IPsec policies or queues packets
//! take its loops (policies are looked up in `fast/policed`), but do not count as FastPath.

pub mod bypass;
mod challenge;
pub(crate) mod decide;
mod demux;
mod egress;
mod exit;
pub(crate) mod explain;
mod fast;
mod forward;
mod gather;
mod headers;
mod ingress;
mod input;
mod leave;
mod options;
mod options6;
mod output;
mod packet;
mod passes;
mod postrouting;
mod prerouting;
pub(crate) mod routing;
mod scratch;
mod settle;
mod single;
mod slaves;
mod stage;
mod stations;
mod tally;
#[cfg(test)]
mod tests;

pub use crate::context::Context;
pub(crate) use crate::context::{UNKNOWN_TIME, name};
pub use decide::{Event, Logged};
pub(crate) use decide::{Memory, RuleEvents, RuleRequest};
pub(crate) use demux::session_of;
pub(crate) use egress::{count_sent, finish, rewrite, transmit};
pub use exit::Exit;
pub(crate) use forward::fit_link;
pub(crate) use gather::expire;
pub(crate) use ingress::{Entrance, service_of_session_data, untagged};
pub(crate) use input::service_of_packet;
pub(crate) use output::run as route_own;
pub(crate) use packet::Leaving;
pub(crate) use passes::{Entry, vector};
pub(crate) use scratch::Scratch;
pub(crate) use settle::settle;
pub(crate) use single::{on_link, own, own_all, own_handed, resume};
pub use stage::Stage;
pub(crate) use stations::leave as leave_station;
pub(crate) use tally::received;
