//! Firewall rules: filter, nat, mangle and raw of both address families, compiled from the configuration and
//! evaluated for packets.
//!
//! ```text
//! Rule = matchers (all must hold) + action        Chain = rules in order, cut into blocks
//! Table = chains of one menu; jumps know their chain's place          ┌─ changes, marks (Subject)
//! run(table, chain, subject, facts, worker, watch) ── first rule… ──→ ├─ Verdict
//!                                                                     └─ events (Watch)
//! ```
//!
//! The state that a rule keeps between packets (token buckets, `nth` counters, address lists) is held by an
//! `Arc` and consists of atomics: all workers share it, and a rule that is unchanged in a new [`Table`] keeps
//! it. [`Worker`] has the state of a single worker.
//!
//! [`Watch::COMMITS`] selects whether evaluation changes state (counters, tokens, list entries); the packet
//! tracer runs the same code without changes. RouterOS: the order of matchers within a rule is fixed;
//! matchers with state come last and are evaluated only if all others match.

mod action;
mod address;
mod classify;
mod evaluate;
mod event;
mod header;
mod limit;
mod link;
mod list;
mod matcher;
mod run;
mod shared;
mod stream;
mod subject;
mod table;
#[cfg(test)]
mod tests;
mod worker;

pub use conntrack::connection::{Helper, NatState, State, States};

pub use action::{
    Action, Dscp, Mss, Npt, Priority, Readdress, Reject, Sniff, Timeout, Ttl, Verdict,
};
pub use address::{AddressRange, AddressTypes, Class, ClassSet};
pub use classify::{First, Of, Packets, Parts, TOGETHER};
pub use event::{Event, Logged};
pub use limit::{ConnectionLimit, DstLimit, Limit, Nth, Psd, Rate, Unit};
pub use link::{ArpMatch, Audience, Bridged, Carries, LinkMatch, MacSet, StpMatch};
pub use list::{Added, DYNAMIC_MAX, List};
pub use matcher::{
    Compare, FlowKey, Headers, Hotspot, Icmp, Ipv4Option, Match, Matcher, Tos, When,
};
pub use run::{Ahead, Watch, run};
#[doc(hidden)] // Fuzzers drive them one by one.
pub use stream::readers as stream_readers;
pub use stream::{
    CompileMode, Glob, Joined, Joining, Layer7, StreamPatterns, StreamResult, StreamState,
};
pub use subject::{Carrier, Changes, Clock, Facts, Ipsec, Marks, Nothing, Sender, Subject};
pub use table::{Chain, ChainId, DEPTH, NOBODY, NONE, Quick, Rule, Table};
pub use worker::{RuleCounters, Worker};
