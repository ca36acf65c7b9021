//! Queues limit and share bandwidth, and hold packets that wait.
//!
//! ```text
//!  packet ─► index: which queue? ─► node: may the packet pass at once? ── yes ──► forwarded
//!           (targets, marks)       (tokens of the queue and       no
//!                                   of its parents)              │
//!                                                                ▼
//!                                  schedule: the tree of queues with waiting packets (HTB), on the home
//!                                  worker of the tree; each leaf has a discipline: fifo, red, sfq, pcq,
//!                                  codel …
//! ```
//!
//! All workers share the [`Node`]s and charge them without locks. If no packet waits in a tree, any worker
//! can let packets of the tree pass. If packets wait, only the home worker of the tree decides
//! ([`Schedule`]). The crate does no I/O: callers pass the time and own the contents of packets.

mod burst;
mod discipline;
mod gate;
mod index;
mod kind;
mod leaf;
mod marks;
mod node;
mod packet;
mod schedule;
mod target;
mod together;

pub use discipline::Discipline;
pub use gate::ticks;
pub use index::{Index, Order};
pub use kind::{
    Cake, CakeFlows, CakeTins, Classify, Codel, Delay, Fifo, FqCodel, Kind, Line, Lost, Pcq, Red,
    Sfq,
};
pub use leaf::Leaf;
pub use marks::ByMark;
pub use node::{Counts, Limits, Node, Settings};
pub use packet::{Packet, Payload};
pub use schedule::Schedule;
pub use target::{Direction, Match, PacketFields, Target};
pub use together::{TOGETHER, Together};
