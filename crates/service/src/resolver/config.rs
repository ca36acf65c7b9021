//! Validity of resolved addresses.

use core::time::Duration;

/// Settings of a [`Resolver`](super::Resolver).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Timeout of a query.
    pub total: Duration,
    /// Maximum TTL.
    pub longest: Duration,
    /// Extra time for which an address outlives its TTL (`address-list-extra-time`).
    pub extra: Duration,
}

impl Default for Config {
    /// RouterOS: defaults of `/ip/dns`.
    fn default() -> Self {
        Self {
            total: Duration::from_secs(10),
            longest: Duration::from_secs(7 * 86_400),
            extra: Duration::ZERO,
        }
    }
}
