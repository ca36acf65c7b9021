//! Simulation in virtual time: whole routers, simple hosts, and lines between them that delay, lose, duplicate
//! and reorder. One seed determines everything; a failing test prints it.
//!
//! Routers are the types that the program runs on threads: control and its workers, stepped in turn. Hosts
//! ([`Host`]) are a small independent implementation, so that a router is not tested against itself.
//!
//! Begin with [`World`].

#![forbid(unsafe_code)]

mod host;
mod line;
pub mod odd;
mod port;
mod rig;
mod world;

pub use host::{Host, HostConfig, Received, Stream};
pub use line::{Fault, Line};
pub use rig::{LAN, Rig, WAN};
pub use world::{NodeId, World};
