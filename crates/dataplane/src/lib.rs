//! The data plane: what happens to a packet between the port that received it and the port that
//! sends it.
//!
//! Begin with `walk/mod.rs`, which lists the stages in the packet's order, then `worker.rs`, the
//! loop around them. Control compiles a [`Snapshot`](snapshot::Snapshot) and writes the shared
//! tables (`table/`); a worker only reads them. What the walk cannot finish is handed to control
//! with its reason ([`Punt`]); what it discards is counted under its name ([`Drop`]).
//!
//! Nothing here reads a file, a clock or a configuration, or logs.

#![forbid(unsafe_code)]

mod agenda;
pub mod bench;
pub mod connection;
pub mod counters;
pub mod drop;
mod encap;
pub mod firewall;
pub mod flow;
pub mod fuzz;
mod handover;
pub mod interface;
pub mod nat;
pub mod out;
mod outlet;
pub mod packet;
pub mod punt;
pub mod rings;
pub mod rule;
pub mod snapshot;
pub mod table;
#[cfg(test)]
mod testing;
pub mod trace;
pub mod walk;
pub mod worker;
pub mod workload;

pub use counters::Counters;
pub use drop::Drop;
pub use punt::{Punt, Why};
pub use rings::{Command, Remote, rings};
pub use snapshot::Snapshot;
pub use trace::trace_packet;
pub use walk::Stage;
pub use worker::{Parts, Step, Worker};
