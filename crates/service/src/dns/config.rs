//! Whom a forwarder asks, and what it may take.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

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

/// A server that is asked by HTTPS (RFC 8484).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secure {
    /// Where, as it is configured.
    pub url: Arc<str>,
    /// Its name on the wire, in lower case; empty where it is known by its address. It is not asked for that itself.
    pub name: Box<[u8]>,
    /// Whether its certificate is checked.
    pub verify: bool,
    /// Most connections to it.
    pub connections: usize,
}

/// Servers that know the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// In order: the first one is asked until it fails.
    pub plain: Vec<Server>,
    /// Where there are some, the others are not asked.
    pub secure: Vec<Arc<Secure>>,
}

/// The settings of a forwarder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Who is asked.
    pub servers: Servers,
    /// Who is asked for some names.
    pub forwarders: BTreeMap<Arc<str>, Servers>,
    /// Bytes of answers that are kept.
    pub cache_size: usize,
    /// The longest that an answer is kept.
    pub longest: Duration,
    /// Most bytes of an answer in a datagram.
    pub datagram_max: usize,
    /// How long one server has.
    pub patience: Duration,
    /// How long a server has that is asked by HTTPS.
    pub secure_patience: Duration,
    /// How long an answer may take, over all servers.
    pub total: Duration,
    /// Most questions under way, and most of them by HTTPS.
    pub questions_max: usize,
    /// Most questions under way by HTTPS.
    pub secure_max: usize,
}

impl Default for Config {
    /// RouterOS: the defaults of `/ip/dns`.
    fn default() -> Self {
        Self {
            servers: Servers::default(),
            forwarders: BTreeMap::new(),
            cache_size: 2048 << 10,
            longest: Duration::from_secs(7 * 86_400),
            datagram_max: 4096,
            patience: Duration::from_secs(2),
            secure_patience: Duration::from_secs(5),
            total: Duration::from_secs(10),
            questions_max: 100,
            secure_max: 50,
        }
    }
}
