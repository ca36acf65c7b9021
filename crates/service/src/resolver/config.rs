//! How long addresses are believed.

use core::time::Duration;

/// The settings of a [`Resolver`](super::Resolver).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How long an answer may take.
    pub total: Duration,
    /// The longest that an answer is believed.
    pub longest: Duration,
    /// How much longer than its answer says an address stays.
    pub extra: Duration,
}

impl Default for Config {
    /// RouterOS: the defaults of `/ip/dns`.
    fn default() -> Self {
        Self {
            total: Duration::from_secs(10),
            longest: Duration::from_secs(7 * 86_400),
            extra: Duration::ZERO,
        }
    }
}
