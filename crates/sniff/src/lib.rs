//! What instruments see of frames: which ones they look at, and what becomes of those.
//!
//! ```text
//! copy of a frame ─▶ Seen ─▶ Filter ─┬▶ Torch    what flows carry          /tool/torch
//!                                    ├▶ Memory   the packets themselves    /tool/sniffer/packet
//!                                    ├▶ Tables   hosts, connections, …     /tool/sniffer/host, …
//!                                    └▶ pcapng   a file
//! ```
//! All of it is values: copies and the time come in, rows are read out. Every table is bounded, and what finds no room
//! is counted.

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

/// Rows that a table of what was seen has at most.
pub const ROWS: usize = 4_096;
