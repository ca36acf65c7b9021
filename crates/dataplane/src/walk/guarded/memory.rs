//! The state of the firewall that outlives a packet.

use crate::connection::Tracker;
use crate::rule;

/// What a worker remembers between packets for the firewall.
#[derive(Debug)]
pub(crate) struct Memory {
    /// The worker's part of rules: counters, clock, random source.
    pub(crate) rules: rule::Worker,
    /// Its connections.
    pub(crate) tracker: Tracker,
}
