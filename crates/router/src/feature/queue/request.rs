//! Effects of queues that control carries out.

use dataplane::queueing::Change;

use crate::intent::Name;

/// A request of the queues to control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueRequest {
    /// Sends a change to the workers; control resolves the names of marks.
    Change {
        /// The change.
        change: Change,
        /// Packet marks that the queue matches.
        marks: Vec<Name>,
        /// Packet marks of the queues above this one, the outermost first.
        within: Vec<Vec<Name>>,
    },
    /// Frames of an interface pass its queues before they leave by it, or no longer do.
    Before(Name, bool),
    /// Packets pass simple queues or trees at `global`, or no longer do.
    Packets(bool),
}
