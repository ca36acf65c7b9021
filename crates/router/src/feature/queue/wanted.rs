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
        /// Marks of the packets of what it lies in.
        within: Vec<Vec<Name>>,
    },
    /// An interface has queues before what it leaves by, or has none any more.
    Before(Name, bool),
    /// Packets meet simple queues or those of `global`, or do not any more.
    Packets(bool),
}
