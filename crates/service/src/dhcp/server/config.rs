//! What servers are configured to do.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::sync::Arc;

use wire::Mac;

/// A server, by a number of its owner's.
pub type ServerId = u64;

/// A server on an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Its name.
    pub name: Box<str>,
    /// The relay agent that its requests come by: unspecified for clients on the link, broadcast for any agent.
    pub relay: Ipv4Addr,
    /// How long a lease holds.
    pub lease_time: Duration,
    /// The pool of its addresses; none serves static leases alone.
    pub pool: Option<Box<str>>,
    /// What tells clients apart that have no static lease.
    pub identifiers: Identifiers,
    /// Which clients of BOOTP are served.
    pub bootp: Bootp,
    /// How long they keep an address; none is for ever.
    pub bootp_lease_time: Option<Duration>,
    /// Requests of clients that began later than that ago are ignored.
    pub delay_threshold: Duration,
    /// Its address in answers; none is the interface's.
    pub server_address: Option<Ipv4Addr>,
    /// What becomes of requests for addresses that it does not have.
    pub authoritative: Authoritative,
    /// Whether all answers are broadcast.
    pub always_broadcast: bool,
    /// Most dynamic leases of one hardware address.
    pub mac_limit: Option<u32>,
    /// Whether a dynamic address is probed before it is offered.
    pub conflict_detection: bool,
    /// Options to send.
    pub options: Arc<[OptionValue]>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            name: "".into(),
            relay: Ipv4Addr::UNSPECIFIED,
            lease_time: Duration::from_secs(30 * 60),
            pool: None,
            identifiers: Identifiers::default(),
            bootp: Bootp::Static,
            bootp_lease_time: None,
            delay_threshold: Duration::ZERO,
            server_address: None,
            authoritative: Authoritative::Yes,
            always_broadcast: false,
            mac_limit: None,
            conflict_detection: true,
            options: Arc::default(),
        }
    }
}

/// What tells clients apart: all of it that they send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identifiers {
    /// The hardware address.
    pub mac: bool,
    /// Option 61.
    pub client_id: bool,
    /// Option 82.
    pub agent: bool,
}

impl Default for Identifiers {
    fn default() -> Self {
        Self {
            mac: true,
            client_id: true,
            agent: false,
        }
    }
}

/// Which clients of BOOTP are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bootp {
    /// None.
    None,
    /// Those with a static lease.
    Static,
    /// All.
    Dynamic,
}

/// What becomes of a request for an address that is not the server's to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authoritative {
    /// It is ignored.
    No,
    /// It is refused when the client has asked for so long.
    After(Duration),
    /// It is refused.
    Yes,
}

/// An option to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionValue {
    /// Its number.
    pub code: u8,
    /// Its value, piece by piece.
    pub value: Vec<Part>,
    /// Whether it is sent to clients that do not ask for it.
    pub force: bool,
}

/// A piece of an option's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The client's name, `$(HOSTNAME)`.
    HostName,
    /// The remote id of option 82, `$(REMOTE_ID)`.
    RemoteId,
    /// The first gateway of the network, `$(NETWORK_GATEWAY)`.
    Gateway,
}

/// What clients of a network are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Its address, and the length of its prefix.
    pub prefix: (u32, u8),
    /// The length of the prefix that clients are told; none is the network's.
    pub mask: Option<u8>,
    /// The gateways.
    pub gateways: Vec<Ipv4Addr>,
    /// Servers of names.
    pub dns: Vec<Ipv4Addr>,
    /// Servers of time.
    pub ntp: Vec<Ipv4Addr>,
    /// Servers of NetBIOS names.
    pub wins: Vec<Ipv4Addr>,
    /// Managers of access points.
    pub caps: Vec<Ipv4Addr>,
    /// The domain.
    pub domain: Box<str>,
    /// The server to boot from.
    pub next_server: Option<Ipv4Addr>,
    /// The file to boot.
    pub boot_file: Box<str>,
    /// Options to send.
    pub options: Vec<OptionValue>,
}

/// Clients that get other addresses or options by what they send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    /// The server; none is any.
    pub server: Option<ServerId>,
    /// The number of the option.
    pub code: u8,
    /// What it says.
    pub value: Vec<u8>,
    /// Whether that may be a part of what it says.
    pub is_substring: bool,
    /// The pool of addresses.
    pub pool: MatchedPool,
    /// Options to send.
    pub options: Vec<OptionValue>,
}

/// The pool of a matcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchedPool {
    /// That of the server.
    Servers,
    /// None: static leases alone.
    StaticOnly,
    /// This one.
    Pool(Box<str>),
}

/// A lease of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Static {
    /// The address.
    pub address: Assigned,
    /// The client's hardware address.
    pub mac: Option<Mac>,
    /// Whether the source of its frames counts in the place of what its messages say.
    pub use_src_mac: bool,
    /// The client's option 61.
    pub client_id: Option<Box<[u8]>>,
    /// The circuit and the relay agent of option 82; empty is any.
    pub agent: (Box<[u8]>, Box<[u8]>),
    /// The server; none is any.
    pub server: Option<ServerId>,
    /// Whether the client is ignored.
    pub is_blocked: bool,
    /// How long it holds; none is as the server says.
    pub lease_time: Option<Duration>,
    /// Whether all answers are broadcast; none is as the server says.
    pub always_broadcast: Option<bool>,
    /// Options to send.
    pub options: Vec<OptionValue>,
}

/// The address of a static lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// This one.
    Address(Ipv4Addr),
    /// One of this pool.
    Pool(Box<str>),
}

/// The bytes of a client id as RouterOS writes them: `1:aa:bb:cc:dd:ee:ff`; what is not written so is taken as text.
pub fn client_id(text: &str) -> Option<Box<[u8]>> {
    if text.is_empty() {
        return None;
    }
    let byte = |digits: &str| match digits.len() {
        1 | 2 => u8::from_str_radix(digits, 16).ok(),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
    Some(bytes.unwrap_or_else(|| text.as_bytes().to_vec()).into())
}

/// A client id as RouterOS writes it.
pub fn client_id_text(id: &[u8]) -> String {
    let digits: Vec<_> = id.iter().map(|byte| format!("{byte:x}")).collect();
    digits.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_ids_are_written_as_they_are_read() {
        let mac = client_id("1:2:0:c:ab:0:9").expect("an id");
        assert_eq!(*mac, [1, 2, 0, 12, 0xab, 0, 9]);
        assert_eq!(client_id_text(&mac), "1:2:0:c:ab:0:9");
        assert_eq!(client_id("printer").as_deref(), Some(&b"printer"[..]));
        assert_eq!(client_id(""), None);
    }
}
