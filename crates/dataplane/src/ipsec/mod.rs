//! IPsec: policies that protect packets, and the packets of associations (RFC 4301).
//!
//! ```text
//! leaves:  … postrouting → outbound ─▶ queues ─▶ Out::Protect ─▶ agenda ─▶ protect ─▶ output of the outer packet
//! arrives: … input → arrival ─▶ Exit::Reveal ─▶ decapsulate ─▶ agenda ─▶ prerouting of the inner packet
//! ```
//!
//! [`outbound`] and [`admit`] decide about one packet and change nothing. A protected packet is
//! sent by the router itself and is not checked against policies again; a decapsulated packet must
//! match the policy of its association. FastTracked packets meet no policy (RouterOS: FastTrack
//! bypasses IPsec).

mod arrival;
mod associations;
mod coverage;
mod decapsulate;
mod decide;
mod path;
mod peer_port;
mod policies;
mod policy_lookup;
mod protect;
#[cfg(test)]
pub(crate) mod tests;

use core::fmt;
use std::sync::Arc;

pub(crate) use self::arrival::{Arrivals, arrival};
pub use self::associations::{Arriving, Associations, Leaving, Mode, Protocol, SLOTS};
pub(crate) use self::decapsulate::{decapsulate, policy_of_revealed};
pub(crate) use self::decide::{admit, fits, goes_in, outbound, room};
pub use self::peer_port::PeerPort;
pub use self::policies::{Action, Policies, Policy, Position, Selector};
pub(crate) use self::policy_lookup::PolicyLookup;
pub(crate) use self::protect::{protect, protect_unencrypted};

/// The IPsec part of a snapshot.
#[derive(Clone, Default)]
pub struct Ipsec {
    /// Policies, which select the protected packets.
    pub policies: Arc<Policies>,
    /// Associations, shared by all snapshots.
    pub associations: Arc<Associations>,
}

impl Ipsec {
    /// Returns true if there are neither policies nor associations.
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
