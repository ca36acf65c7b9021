//! Packet capture: filters copies of frames and collects packets and statistics.
//!
//! ```text
//! copy of a frame ─▶ ObservedFrame ─▶ Filter ─┬▶ Torch    traffic of flows           /tool/torch
//!                                             ├▶ Memory   captured packets           /tool/sniffer/packet
//!                                             ├▶ Tables   hosts, connections, …      /tool/sniffer/host, …
//!                                             └▶ pcapng   a file
//! ```
//! The crate does no I/O: callers pass copies of frames and the time, and read rows. Every table has a
//! maximum size, and omitted packets and flows are counted.

mod connections;
mod filter;
mod hosts;
mod memory;
mod observed;
pub mod pcapng;
mod protocols;
#[cfg(test)]
mod tests;
mod torch;

pub use connections::{Connection, Connections, Side};
pub use filter::{Filter, List};
pub use hosts::{Host, Hosts};
pub use memory::{CapturedPacket, Memory};
pub use observed::{Head, Ip, ObservedFrame, Path, Tcp};
pub use protocols::{Protocols, TrafficCount};
pub use torch::{Columns, Flow, Key, Torch, Traffic};

/// Maximum number of rows of a statistics table.
pub const ROWS: usize = 4_096;
