//! The state of the firewall that outlives a packet.

use crate::connection::Tracker;
use crate::rule;

/// A worker's state of the firewall.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Counters, clock and random source of rules.
    pub(crate) rules: rule::Worker,
    /// The connections of the worker.
    pub(crate) tracker: Tracker,
}
