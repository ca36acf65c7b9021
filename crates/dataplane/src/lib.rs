//! The data plane: from the port that receives a packet to the port that sends it.
//!
//! Start with `walk/mod.rs`, which shows the stages in the packet's order, then read `worker.rs`,
//! the loop around them. Control compiles a [`Snapshot`](snapshot::Snapshot) of rules and settings
//! and writes the shared tables: interfaces (`interface/`), routes and next hops (crate `fib`).
//! Workers read both. Packets that the walk cannot finish go to control with a reason ([`Punt`]);
//! discarded packets are counted under a name ([`DropReason`]). Packets into and out of tunnels are
//! queued on the worker's agenda (`agenda.rs`).
//!
//! Nothing here reads a file, a clock or a configuration, or logs.

#![forbid(unsafe_code)]

mod agenda;
pub mod bond;
pub mod bridge;
mod context;
pub mod counters;
mod deadline;
mod demux;
pub mod encap;
pub mod gate;
pub mod generator;
pub mod interface;
pub mod ipsec;
pub mod meter;
mod numbered;
mod outlet;
mod poll_set;
mod prefix;
pub mod profile;
pub mod punt;
pub mod queueing;
pub mod rings;
pub mod routing_rules;
pub mod service;
pub mod snapshot;
pub mod stream;
pub mod tap;
#[cfg(test)]
mod testing;
pub mod trace;
mod tracer;
pub mod walk;
pub mod worker;
pub mod zone;

pub use ::firewall;
pub use ::packet;
pub use conntrack::{connection, nat};
pub use counters::Counters;
pub use fib as table;
pub use firewall::rule;
pub use packet::drop::DropReason;
#[doc(hidden)]
pub use packet::handover;
pub use packet::{count, drop, flow, out};
pub use punt::{Punt, PuntReason};
pub use rings::{Command, Remote, rings};
pub use snapshot::Snapshot;
pub use trace::trace_packet;
pub use walk::Stage;
pub use worker::{Parts, Step, Worker};
