//! Messages of phase 1 that wait for a signature of this end.

use machine::Instant;

/// A message of phase 1 that needs a signature.
pub(super) enum Proving {
    /// Initiator, main mode: message 5.
    MainIdentity,
    /// Responder, main mode: message 6.
    MainAnswer,
    /// Responder, aggressive mode: message 2, with this proposal.
    AggressiveAnswer(Vec<u8>),
    /// Initiator, aggressive mode: message 3.
    AggressiveProof,
}

/// A message whose signature is not made yet.
pub(super) struct PendingProof {
    pub(super) message: Proving,
    /// The peer's message that it answers.
    pub(super) heard: Vec<u8>,
    /// Time to ask for the signature again.
    pub(super) again_at: Instant,
}
