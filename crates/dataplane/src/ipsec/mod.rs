//! IPsec: which packets policies protect, and the packets of associations (RFC 4301).
//!
//! ```text
//! leaves:  … postrouting → outbound ─▶ queues ─▶ Out::Protect ─▶ agenda ─▶ protect ─▶ output of the outer packet
//! arrives: … input → arrival ─▶ Exit::Reveal ─▶ reveal ─▶ agenda ─▶ prerouting of the inner packet, same interface
//! ```
//!
//! [`outbound`] and [`admit`] decide about one packet and change nothing. What IPsec made of a packet is the router's
//! own and meets no policy again; what came out of IPsec must be what the policy of its association lets in.
//! FastTracked packets meet no policy (RouterOS: FastTrack bypasses IPsec).

mod associations;
mod decide;
mod policies;
mod protect;
mod reveal;
#[cfg(test)]
mod tests;

use core::fmt;
use std::sync::Arc;

pub use self::associations::{Arriving, Associations, Leaving, Mode, Protocol, SLOTS};
pub(crate) use self::decide::{admit, fits, goes_in, outbound, room};
pub use self::policies::{Action, Policies, Policy, Position, Selector};
pub(crate) use self::protect::{Ways, protect, protect_unsealed};
pub(crate) use self::reveal::{arrival, policy_of_revealed, reveal};

/// What a snapshot says of IPsec.
#[derive(Clone, Default)]
pub struct Ipsec {
    /// Which packets are protected.
    pub policies: Arc<Policies>,
    /// By what; shared by all snapshots.
    pub associations: Arc<Associations>,
}

impl Ipsec {
    /// Whether no packet has to do with it.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }
}

impl PartialEq for Ipsec {
    fn eq(&self, other: &Self) -> bool {
        self.policies == other.policies && Arc::ptr_eq(&self.associations, &other.associations)
    }
}

impl fmt::Debug for Ipsec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ipsec")
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}
