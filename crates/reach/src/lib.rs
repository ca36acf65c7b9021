//! Reachability: which packets a configuration lets through, by classes of packets that its rules do not tell apart.
//!
//! ```text
//!  question ─► class ─► raw prerouting ─► dstnat ─► forward or input ─► outcomes: class, verdict, rule
//! ```
//!
//! A class has a set of values for each field: interfaces, addresses, protocol, ports, state of the connection, whether
//! destination NAT translated the packet. Other matchers (rates, content, marks, lists that fill at run time) are not
//! decided: an outcome names the rules that take some of its packets by such a matcher. So are addresses of the router
//! that are assigned at run time.

mod addressing;
mod compare;
mod matcher;
mod nat;
mod query;
mod ranges;
mod shadow;
mod target;
#[cfg(test)]
mod tests;
mod walk;

pub use compare::{Acceptance, acceptance, gained};
pub use matcher::ProtocolNumber;
pub use query::{Mistake, Query, Router};
pub use ranges::{Class, Field, Ranges, STATES, difference};
pub use shadow::{Shadowed, shadowed};
pub use target::Target;
pub use walk::{Flow, MAX_CLASSES, Outcome, RuleId, TooManyClasses, Verdict};
