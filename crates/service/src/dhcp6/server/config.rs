//! Configuration of DHCPv6 servers and of static bindings.

use core::net::Ipv6Addr;

use machine::Duration;

use super::{Identity, ServerId};

/// Settings of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Name, for log lines.
    pub name: Box<str>,
    /// Pool of delegated prefixes; `None` serves static bindings only.
    pub prefix_pool: Option<Box<str>>,
    /// Pool of addresses; `None` serves static bindings only.
    pub address_pool: Option<Box<str>>,
    /// Prefixes that the server delegates before those of the pool.
    pub prefixes: Vec<(Ipv6Addr, u8)>,
    /// Valid lifetime of dynamic bindings.
    pub lifetime: Duration,
    /// Answers solicitations with rapid commit at once.
    pub rapid_commit: bool,
    /// Preference value.
    pub preference: u8,
    /// Ignores requests for addresses (`ignore-ia-na-bindings`).
    pub ignores_addresses: bool,
    /// Options of every answer.
    pub options: Vec<(u16, Vec<u8>)>,
    /// User whose sessions have such servers: a client that moves to another session of the user keeps its subnet.
    pub user: Option<Box<str>>,
    /// Maximum number of dynamic bindings; `None` for the maximum of the machine.
    pub max_bindings: Option<usize>,
}

/// A configured binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Static {
    /// Server of the binding; `None` for all servers.
    pub server: Option<ServerId>,
    /// DUID of the client.
    pub duid: Box<[u8]>,
    /// IAID of the request.
    pub iaid: u32,
    /// True for a prefix, false for an address.
    pub is_prefix: bool,
    /// The prefix or address, with its length; `None` takes one of the pool.
    pub subnet: Option<(Ipv6Addr, u8)>,
    /// Pool; `None` is the server's pool.
    pub pool: Option<Box<str>>,
    /// Valid lifetime.
    pub lifetime: Duration,
    /// Options of answers to the client.
    pub options: Vec<(u16, Vec<u8>)>,
}

impl Static {
    /// Returns the identity of the binding.
    pub(super) fn identity(&self) -> Identity {
        Identity {
            server: self.server,
            duid: self.duid.clone(),
            iaid: self.iaid,
            is_prefix: self.is_prefix,
        }
    }
}
