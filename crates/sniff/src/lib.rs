//! Packet capture: filters copies of frames and collects packets and statistics.
//!
//! ```text
//! copy of a frame ─▶ Seen ─▶ Filter ─┬▶ Torch    traffic of flows           /tool/torch
//!                                    ├▶ Memory   captured packets           /tool/sniffer/packet
//!                                    ├▶ Tables   hosts, connections, …      /tool/sniffer/host, …
//!                                    └▶ pcapng   a file
//! ```
//! The crate does no I/O: callers pass copies of frames and the time, and read rows. Every table has a
//! maximum size, and omitted packets and flows are counted.

mod connections;
mod filter;
mod hosts;
mod memory;
pub mod pcapng;
mod protocols;
mod seen;
#[cfg(test)]
mod tests;
mod torch;

pub use connections::{Connection, Connections, Side};
pub use filter::{Filter, List};
pub use hosts::{Host, Hosts};
pub use memory::{Kept, Memory};
pub use protocols::{Protocols, Share};
pub use seen::{Head, Ip, Path, Seen, Tcp};
pub use torch::{Columns, Flow, Key, Torch, Traffic};

/// Maximum number of rows of a statistics table.
pub const ROWS: usize = 4_096;
