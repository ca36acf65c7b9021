//! Connection tracking: which packets belong together, in which state they are, and what was
//! decided for them.
//!
//! A connection has one owner, a worker. The worker's [`Tracker`] finds, decides and advances; it
//! keeps the timers for itself. Entries and index lie in a [`Table`] of atomics that the owner
//! alone writes and control reads without a lock.
//!
//! ```text
//! packet ─ hash ─ index ─▶ entry: original line │ shared line │ reply line   + cold words
//!            classify: reads, decides   advance: counters and time into the direction's line
//! ```
//!
//! A packet that has an entry is classified and at once advanced, one packet after the other, in
//! prerouting. One without is a [`Draft`] on the stack until it leaves the router; then `confirm`
//! puts it into the table. Nothing unconfirmed lies there.
//!
//! States and timeouts are RouterOS's (`/ip/firewall/connection/tracking`). Time comes in as a
//! [`Tick`]; nothing here reads a clock.

mod board;
mod draft;
mod endpoint;
mod entry;
mod expectation;
mod facts;
mod first;
mod follow;
mod gre;
mod hash;
mod helped;
mod homes;
mod id;
mod index;
mod known;
mod layout;
mod limits;
mod part;
mod pass;
mod rate;
mod remainder;
mod row;
mod settings;
mod setup;
mod shortcut;
mod state;
mod sweep;
mod table;
mod tcp;
mod together;
mod tracker;
mod trail;
mod wheel;

#[cfg(test)]
mod tests;

pub use draft::{Claims, Draft, Rewrite4, Rewrite6, Rewrites};
pub use expectation::Expectation;
pub use facts::Fast;
pub use first::is_error;
pub use gre::Gre;
pub use hash::Hash;
pub use helped::{Altered, Call, Calls};
pub use homes::Homes;
pub use id::{EntryId, NextHop, SLOTS_MAX, Slot, WORKERS_MAX, Way};
pub use known::{Awaited, Known, NextSegment};
pub use layout::ENTRY_BYTES;
pub use pass::Passed;
pub use row::{Direction, Row};
pub(crate) use settings::TIMEOUT_SECS_MAX;
pub use settings::{Settings, TICKS_PER_SECOND, Tick};
pub use setup::trackers;
pub use state::{Helper, NatState, Refused, State, States, TcpState, Track};
pub use sweep::Purge;
pub use table::Table;
pub use together::{TOGETHER, Ways};
pub use tracker::{Setup, Tracker};
