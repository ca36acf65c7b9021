//! A packet's fields, hashes and fates, as every floor of the data plane names them: nothing here knows a table, a
//! connection or a rule.
//!
//! [`Fields`] and [`Tuple`] are read once per packet, [`link`] what is before it; `flow` hashes them, `handover` makes
//! a worker of that; `drop` names the reasons to discard a packet, `out` what takes it; `count` has the counters'
//! numbers.

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
