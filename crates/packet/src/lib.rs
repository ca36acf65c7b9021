//! Packet fields, hashes, drop reasons and outputs that all parts of the data plane share; independent of
//! tables, connections and rules.
//!
//! [`Fields`] and [`Tuple`] are parsed once per packet, [`link`] parses the link header; `flow` hashes
//! packets, `handover` derives the worker from the hash; `drop` lists the drop reasons, `out` the receivers
//! of outgoing frames; `count` has counters.

#![forbid(unsafe_code)]

pub mod count;
pub mod drop;
mod fields;
pub mod flow;
#[doc(hidden)] // The benchmark asks where the flows of its frames live.
pub mod handover;
pub mod link;
pub mod out;

pub use fields::{Fields, Fragment, SLOW_FLAGS, Tuple, protocol};
