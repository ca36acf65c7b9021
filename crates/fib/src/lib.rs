//! Forwarding tables that the control plane writes and workers read, without copies or locks.
//!
//! `fib` finds the next hop of an address; `adjacency` describes next hops; `grace` tells the writer when no
//! worker can still read removed data. `bridge_hosts` is also written by workers.

#![forbid(unsafe_code)]

pub mod adjacency;
pub mod bridge_hosts;
mod build;
mod entry;
pub mod fib;
pub mod grace;
mod heap;
mod hosts;
mod line;
mod lookup_start;
pub mod lpm;
pub mod network;
mod node;
pub mod routes;
mod short;
mod slots;

#[cfg(test)]
mod tests;

pub use adjacency::{Adjacency, AdjacencyTable, Kind, NextHopId};
pub use bridge_hosts::{BridgeHosts, Host, HostKey, HostKind, Learned};
pub use fib::{Fib, FibWriter, Table};
pub use lpm::{Fib4, Fib6, Full, Lpm};
pub use network::{Address, Network};
pub use routes::Routes;
