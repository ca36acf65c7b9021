//! Firewall state that outlives a packet: rule state and connections.

use crate::connection::Tracker;
use crate::rule;

/// Firewall state of one worker.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Counters, clock and random source of rules.
    pub(crate) rules: rule::Worker,
    /// The connections of the worker.
    pub(crate) tracker: Tracker,
}
