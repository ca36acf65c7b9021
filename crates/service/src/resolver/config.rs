//! Who is asked for names, and how long that may take.

use core::net::SocketAddr;
use core::time::Duration;

/// From where a server is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// From the router's own addresses.
    Router,
    /// From the machine that the router runs on.
    Machine,
}

/// Somebody who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Server {
    /// His address.
    pub address: SocketAddr,
    /// From where he is asked.
    pub place: Place,
}

/// The settings of a [`Resolver`](super::Resolver). Without servers names wait for some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Who is asked, the first one first; whoever answered last is asked next.
    pub servers: Vec<Server>,
    /// How long one server has.
    pub patience: Duration,
    /// How long a name may take, over all servers.
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
            servers: Vec::new(),
            patience: Duration::from_secs(2),
            total: Duration::from_secs(10),
            longest: Duration::from_secs(7 * 86_400),
            extra: Duration::ZERO,
        }
    }
}
