//! Connection tracking: assigns packets to connections, keeps the state of each connection, and stores the
//! decisions made for it.
//!
//! Each connection is owned by one worker. The worker's [`Tracker`] looks up, decides and updates, and has
//! the timers. Entries and index are in a [`Table`] of atomics that only the owner writes and that the
//! control plane reads without a lock.
//!
//! ```text
//! packet ─ hash ─ index ─▶ entry: original line │ shared line │ reply line   + cold words
//!            classify: reads, decides   advance: counters and time into the direction's line
//! ```
//!
//! In prerouting, each packet with an entry is classified and its connection updated at once, one packet
//! after the other. A packet without an entry gets a [`Draft`] on the stack until it leaves the router; then
//! `confirm` adds it to the table. The table holds no unconfirmed connections.
//!
//! States and timeouts are those of RouterOS (`/ip/firewall/connection/tracking`). The caller passes the time
//! as a [`Tick`]; this module reads no clock.

mod batch;
mod claims;
mod copy;
mod draft;
mod endpoint;
mod entry;
mod expectation;
mod first_packet;
mod follow;
mod gre;
mod hash;
mod helper_state;
mod id;
mod index;
mod layout;
mod limits;
mod part;
mod pass;
mod queries;
mod rate;
mod remainder;
mod row;
mod settings;
mod setup;
mod shared_expectations;
mod shortcut;
mod state;
mod sweep;
mod table;
mod tcp;
mod tracker;
mod trail;
mod wheel;

#[cfg(test)]
mod tests;

pub use batch::{BatchLookup, BatchPackets, TOGETHER};
pub use claims::TupleClaims;
pub use copy::{ConnectionCopy, ExpectedConnection, NextSegment};
pub use draft::{Claims, Draft, Rewrite4, Rewrite6, Rewrites};
pub use expectation::Expectation;
pub use first_packet::is_error;
pub use gre::Gre;
pub use hash::Hash;
pub use helper_state::{Altered, Call, Calls};
pub use id::{EntryId, FlowId, NextHop, SLOTS_MAX, Slot, WORKERS_MAX};
pub use layout::ENTRY_BYTES;
pub use pass::Passed;
pub use queries::Fast;
pub use row::{Direction, Row};
pub(crate) use settings::TIMEOUT_SECS_MAX;
pub use settings::{Settings, TICKS_PER_SECOND, Tick};
pub use setup::trackers;
pub use state::{Helper, NatState, Refused, State, States, TcpState, Track};
pub use sweep::Purge;
pub use table::Table;
pub use tracker::{Setup, Tracker};
