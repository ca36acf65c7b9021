//! The packet's walk through the router, stage by stage. Start reading here.
//!
//! ```text
//!  vector of a port → demux: interface of each frame, VLAN tags off
//!                        │
//!         ┌──────────────┴── firewall or connection tracking? ──────┐
//!         │ no                                                      │ yes: guarded/
//!  1 enter:   ingress → prerouting                     1 enter, as on the left; then per chunk of 64:
//!  2 lookup:  routing in the FIB                         read headers, find connections
//!  3 depart:  next hop → forward → egress              2 decide in order: FastTrack, short path or Guard
//!         │                                              (raw → connection → mangle → dstnat → routing → …)
//!         └──────────────┬──────────────────────────────────────────┘
//!  4 passes:  dispatch to the out (port, tunnel), or settle the exit:
//!             drop · punt · collect · hand over · deliver · decapsulate · finish
//! ```
//!
//! Stages have the names of RouterOS's packet flow diagram, one file each: `ingress`, `prerouting`,
//! `routing`, `input`, `forward`, `output`, `egress`. Rules, connections and NAT of all hooks are
//! in `guarded/`; begin there with `guarded/mod.rs`, which shows the order of tables. `postrouting`
//! is empty here because everything that acts at that hook (mangle, srcnat) belongs to the
//! firewall.
//!
//! A stage *decides* about one packet in a function that changes nothing: it returns its result, or
//! the [`Exit`] by which the packet leaves the walk. Decisions are *committed* separately: the
//! passes write bytes, `Outlet` does everything else. The tracer runs the same functions and
//! commits nothing.
//!
//! Two files bring every packet into one form. `demux` finds the interface of each frame of a port
//! and takes VLAN tags off, so that every packet behind it begins 14 bytes into its frame.
//! `ingress` decides about every frame, tagged ones that `demux` left alone included.
//!
//! A vector takes four passes, split where cache misses occur: headers in pass 1 (`enter`), the
//! routing table in pass 2, next hops in pass 3 (`depart`), outs in pass 4 (`passes`). Packets keep
//! their order in every pass. `decide` has the sequence of decisions about one packet, `leave`
//! writes them, and `settle` acts on an [`Exit`]. Packets that walk alone (the router's own,
//! resumed, reassembled) enter in `single`. Frames for a tunnel, and packets out of one, wait on
//! the worker's agenda (`agenda.rs`), because a walk never begins within a walk.
//!
//! No stage names the stages that follow: it passes frames on by
//! [`Dispatch`](crate::outlet::Dispatch), a trait that `outlet/dispatch.rs` implements on top of
//! all of them.
//!
//! The fast path is the unguarded walk with `FAST` set: no rules, no routing rules, no reverse path
//! check. `SlowReason` in the snapshot says why a family does not take it. With IPsec policies the same walk looks the
//! policies up in `policed`, and its packets do not count as FastPath.

pub mod bypass;
mod challenge;
mod decide;
mod demux;
mod depart;
mod egress;
mod enter;
mod exit;
pub(crate) mod explain;
mod forward;
mod gather;
pub(crate) mod guarded;
mod headers;
mod ingress;
mod input;
mod leave;
mod next_hop_cache;
mod options;
mod options6;
mod output;
mod packet;
mod pass1_results;
mod passes;
mod policed;
mod postrouting;
mod prerouting;
pub(crate) mod routing;
mod scratch;
mod settle;
mod shortcut_installer;
mod single;
mod slaves;
mod stage;
mod stations;
mod tally;
#[cfg(test)]
mod tests;

pub use crate::context::Context;
pub(crate) use crate::context::{UNKNOWN_TIME, name};
pub(crate) use demux::session_of;
pub(crate) use egress::{count_sent, finish, rewrite, transmit};
pub use exit::Exit;
pub(crate) use forward::fit_link;
pub(crate) use gather::expire;
pub use guarded::{Event, Logged};
pub(crate) use guarded::{Memory, RuleEvents, RuleRequest};
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
