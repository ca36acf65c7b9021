//! Queues: who may send how much, and what waits meanwhile.
//!
//! ```text
//!  packet ─► index: which queue? ─► node: may it pass at once? ── yes ──► on its way
//!            (targets, marks)       (tokens of the queue and      no
//!                                    of all that it lies in)      │
//!                                                                 ▼
//!                                   schedule: the tree of queues that packets wait in (HTB), on the home worker
//!                                   of the tree; each leaf has a discipline: fifo, red, sfq, pcq, codel …
//! ```
//!
//! [`Node`]s are shared by all workers, which charge them without a lock; a packet of a tree in which nothing waits
//! passes on the worker that has it. Where something waits, the tree's home worker alone decides ([`Schedule`]).
//! Everything here is a value: time is passed in, and what a packet carries is the caller's business.

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
pub use packet::{Carried, Packet};
pub use schedule::Schedule;
pub use target::{Direction, Match, Seen, Target};
