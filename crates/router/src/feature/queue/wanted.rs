//! What queues ask of control.

use dataplane::queueing::Change;

use crate::intent::Name;

/// A wish of the queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Workers are told of a change; marks are named.
    Change {
        /// What has changed.
        change: Change,
        /// Marks of a queue's packets.
        marks: Vec<Name>,
        /// The packet marks of the queues above this one, the outermost first.
        within: Vec<Vec<Name>>,
    },
    /// Frames of an interface meet its queues before its out, or no longer do.
    Before(Name, bool),
    /// Packets meet simple queues or those of `global`, or do not any more.
    Packets(bool),
}
