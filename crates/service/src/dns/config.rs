//! Configuration of the DNS forwarder: servers, limits and timeouts.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Network stack that queries a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkStack {
    /// The router's own addresses.
    Router,
    /// The host that the router runs on.
    Machine,
}

/// DNS server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Server {
    /// Address and port.
    pub address: SocketAddr,
    /// Network stack that queries it.
    pub place: NetworkStack,
}

/// DoH server (RFC 8484).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secure {
    /// URL, as configured.
    pub url: Arc<str>,
    /// Host name in wire format and lower case, never resolved through DoH itself; empty if the URL has an address.
    pub name: Box<[u8]>,
    /// Verify the certificate.
    pub verify: bool,
    /// Maximum number of connections.
    pub connections: usize,
}

/// Group of equivalent servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// Plain DNS servers, in order; the first one is used until it fails.
    pub plain: Vec<Server>,
    /// DoH servers; they replace the plain servers.
    pub secure: Vec<Arc<Secure>>,
}

/// Settings of the forwarder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Default servers.
    pub servers: Servers,
    /// Forwarders by name.
    pub forwarders: BTreeMap<Arc<str>, Servers>,
    /// Cache size in bytes.
    pub cache_size: usize,
    /// Maximum TTL of cached answers.
    pub longest: Duration,
    /// Maximum UDP payload of answers in bytes.
    pub datagram_max: usize,
    /// Timeout per server.
    pub patience: Duration,
    /// Timeout per DoH server.
    pub secure_patience: Duration,
    /// Total timeout of a query over all servers.
    pub total: Duration,
    /// Maximum number of pending queries.
    pub questions_max: usize,
    /// Maximum number of pending queries by DoH.
    pub secure_max: usize,
}

impl Default for Config {
    /// RouterOS: defaults of `/ip/dns`.
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
