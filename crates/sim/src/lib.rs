//! A world in virtual time: whole routers, simple hosts, and lines between them that delay, lose,
//! double and reorder. Everything follows from one seed, which a failing test prints.
//!
//! Routers are the very values that the binary runs on threads: control and its workers, stepped
//! in turn. Hosts ([`Host`]) are an implementation of their own, small and naive, so that a router
//! is not tested against itself.
//!
//! Begin with [`World`].

#![forbid(unsafe_code)]

mod host;
mod line;
pub mod odd;
mod port;
mod rig;
mod world;

pub use host::{Heard, Host, HostConfig, Stream};
pub use line::{Fault, Line};
pub use rig::{LAN, Rig, WAN};
pub use world::{NodeId, World};
