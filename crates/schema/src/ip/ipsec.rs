//! `/ip/ipsec`: packets that are encrypted and signed (RFC 4301), and the keys for that (RFC 7296).

pub(crate) mod active_peers;
pub(crate) mod identity;
pub(crate) mod installed_sa;
pub(crate) mod key;
pub(crate) mod mode_config;
pub(crate) mod peer;
pub(crate) mod policy;
pub(crate) mod profile;
pub(crate) mod proposal;
pub(crate) mod settings;
pub(crate) mod statistics;

use menu::{Family, Kind};

/// An address or prefix of either family.
pub(crate) const PREFIX: Kind = Kind::Prefix(Family::Any);
/// An address of either family.
pub(crate) const ADDRESS: Kind = Kind::Address(Family::Any);
/// The name of a peer.
pub(crate) const PEER: Kind = Kind::Reference("ipsec-peer");
