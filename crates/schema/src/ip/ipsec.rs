//! `/ip/ipsec`: IPsec (RFC 4301) and IKE (RFC 7296).

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

/// An IPv4 or IPv6 prefix.
pub(crate) const PREFIX: Kind = Kind::Prefix(Family::Any);
/// An IPv4 or IPv6 address.
pub(crate) const ADDRESS: Kind = Kind::Address(Family::Any);
/// The name of a peer.
pub(crate) const PEER: Kind = Kind::Reference("ipsec-peer");
