//! Bindings of a DHCPv6 server, and their stored form.

use core::net::Ipv6Addr;

use machine::{Duration, Instant};

use super::super::pool::User;
use super::ServerId;

/// Bit that marks the ids of dynamic bindings and of servers without a configuration item.
pub const DYNAMIC: u64 = 1 << 63;
/// Seconds that stand for an infinite lifetime.
pub(super) const INFINITE: u32 = u32::MAX;
/// Version byte at the start of a record.
const VERSION: u8 = 1;

/// What identifies a binding (RFC 8415, 6.5): a client's identity association at one server or at all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// DUID of the client.
    pub duid: Box<[u8]>,
    /// IAID.
    pub iaid: u32,
    /// True for prefixes (IA_PD), false for addresses (IA_NA).
    pub is_prefix: bool,
    /// Server; `None` for all servers.
    pub server: Option<ServerId>,
}

impl Identity {
    /// User of pools.
    pub(super) fn user(&self) -> User {
        let kind = if self.is_prefix { "pd" } else { "na" };
        let server = self
            .server
            .map_or_else(String::new, |id| format!(" {id:x}"));
        User {
            owner: "DHCP",
            key: format!("{} {kind} {}{server}", hex(&self.duid), self.iaid),
        }
    }
}

/// Prefix or address of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The configuration item, or a number with [`DYNAMIC`].
    pub id: u64,
    /// The client.
    pub identity: Identity,
    /// The prefix or address with its length; `None` if nothing is assigned.
    pub subnet: Option<(Ipv6Addr, u8)>,
    /// Pool of the subnet.
    pub(super) pool: Option<Box<str>>,
    /// Server that assigned the subnet.
    pub active_server: Option<ServerId>,
    /// End of the valid lifetime; `None` if infinite or if nothing is assigned.
    pub until: Option<Instant>,
    /// Time of the client's last message.
    pub seen: Option<Instant>,
    /// Link-local address of the client.
    pub client: Ipv6Addr,
}

impl Binding {
    pub(super) const fn new(id: u64, identity: Identity) -> Self {
        Self {
            id,
            identity,
            subnet: None,
            pool: None,
            active_server: None,
            until: None,
            seen: None,
            client: Ipv6Addr::UNSPECIFIED,
        }
    }

    /// True if the client has the subnet.
    pub const fn is_bound(&self) -> bool {
        self.active_server.is_some()
    }

    /// True without a configuration item.
    pub const fn is_dynamic(&self) -> bool {
        self.id & DYNAMIC != 0
    }

    /// Returns the stored form of a bound binding; `None` if it ends with its server, or is not bound.
    pub fn record(&self, now: Instant) -> Option<Record> {
        let server = self.active_server.filter(|id| id & DYNAMIC == 0)?;
        let left = self
            .until
            .map(|until| until.saturating_since(now).as_secs());
        let left = left.map(|left| u32::try_from(left).unwrap_or(INFINITE - 1));
        Some(Record {
            id: self.id,
            server,
            identity: self.identity.clone(),
            subnet: self.subnet?,
            left_s: left.unwrap_or(INFINITE),
            client: self.client,
        })
    }
}

/// Stored binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Id of the binding.
    pub id: u64,
    server: ServerId,
    identity: Identity,
    subnet: (Ipv6Addr, u8),
    /// Remaining valid lifetime in seconds.
    left_s: u32,
    client: Ipv6Addr,
}

impl Record {
    /// Encodes the record: version, kind, length, addresses, numbers, and the DUID.
    pub fn to_bytes(&self) -> Vec<u8> {
        let identity = &self.identity;
        let mut bytes = vec![VERSION, identity.is_prefix.into(), self.subnet.1];
        bytes.extend(self.subnet.0.octets());
        bytes.extend(self.client.octets());
        bytes.extend(self.id.to_be_bytes());
        bytes.extend(self.server.to_be_bytes());
        bytes.extend(identity.iaid.to_be_bytes());
        bytes.extend(self.left_s.to_be_bytes());
        bytes.extend(&identity.duid);
        bytes
    }

    /// Decodes a record of this age; `None` for other versions, and after the end of the valid lifetime.
    pub fn read(bytes: &[u8], age: Duration) -> Option<Self> {
        let ([VERSION, is_prefix, len], rest) = bytes.split_first_chunk()? else {
            return None;
        };
        let (subnet, rest) = rest.split_first_chunk::<16>()?;
        let (client, rest) = rest.split_first_chunk::<16>()?;
        let (id, rest) = rest.split_first_chunk()?;
        let (server, rest) = rest.split_first_chunk()?;
        let (iaid, rest) = rest.split_first_chunk()?;
        let (left, duid) = rest.split_first_chunk()?;
        let (id, server) = (u64::from_be_bytes(*id), u64::from_be_bytes(*server));
        let left_s = match u32::from_be_bytes(*left) {
            INFINITE => INFINITE,
            left => left.checked_sub(u32::try_from(age.as_secs()).ok()?)?,
        };
        let is_dynamic = id & DYNAMIC != 0;
        (left_s > 0 && *len <= 128 && !duid.is_empty()).then(|| Self {
            id,
            server,
            identity: Identity {
                server: is_dynamic.then_some(server),
                duid: duid.into(),
                iaid: u32::from_be_bytes(*iaid),
                is_prefix: *is_prefix != 0,
            },
            subnet: ((*subnet).into(), *len),
            left_s,
            client: (*client).into(),
        })
    }

    /// Restores the binding.
    pub(super) fn restore(&self, identity: Identity, now: Instant) -> Binding {
        let left = Duration::from_secs(self.left_s.into());
        Binding {
            subnet: Some(self.subnet),
            active_server: Some(self.server),
            until: (self.left_s != INFINITE).then(|| now + left),
            client: self.client,
            ..Binding::new(self.id, identity)
        }
    }

    pub(super) const fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) const fn server(&self) -> ServerId {
        self.server
    }
}

/// Formats bytes as hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
