//! Configuration of DHCP servers, networks, option matchers and static leases.

use core::net::Ipv4Addr;
use core::time::Duration;
use std::sync::Arc;

use wire::Mac;

/// Id of a server, assigned by the owner of the machine.
pub type ServerId = u64;

/// DHCP server of an interface (`/ip/dhcp-server`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Name.
    pub name: Box<str>,
    /// Relay agent address of accepted requests: unspecified for clients on the link, broadcast for any relay agent.
    pub relay: Ipv4Addr,
    /// Duration of a lease.
    pub lease_time: Duration,
    /// Address pool; `None` serves static leases only.
    pub pool: Option<Box<str>>,
    /// Fields that identify clients without a static lease.
    pub identifiers: Identifiers,
    /// BOOTP clients that get an address.
    pub bootp: Bootp,
    /// Lease duration of BOOTP clients; `None` is infinite.
    pub bootp_lease_time: Option<Duration>,
    /// Requests with a smaller `secs` field are ignored.
    pub delay_threshold: Duration,
    /// Source address of answers; `None` uses the interface's address.
    pub server_address: Option<Ipv4Addr>,
    /// Handling of requests for addresses outside of the server's networks.
    pub authoritative: Authoritative,
    /// Broadcast all answers.
    pub always_broadcast: bool,
    /// Maximum number of dynamic leases per MAC address.
    pub mac_limit: Option<u32>,
    /// Probe dynamic addresses by ARP before offering them.
    pub conflict_detection: bool,
    /// DHCP options to send.
    pub options: Arc<[OptionValue]>,
    /// Dynamic leases need the grant of an authority.
    pub is_authorized: bool,
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
            is_authorized: false,
        }
    }
}

/// Fields that identify a client; all selected ones must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identifiers {
    /// MAC address.
    pub mac: bool,
    /// Client id (option 61).
    pub client_id: bool,
    /// Relay agent information (option 82).
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

/// BOOTP clients that get an address (`bootp-support`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bootp {
    /// None.
    None,
    /// Clients with a static lease.
    Static,
    /// All clients.
    Dynamic,
}

/// Handling of requests for addresses that the server cannot assign (`authoritative`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authoritative {
    /// Ignored.
    No,
    /// Refused (DHCPNAK) once the client's `secs` field reaches this time.
    After(Duration),
    /// Refused at once.
    Yes,
}

/// DHCP option to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionValue {
    /// Option number.
    pub code: u8,
    /// Parts of the value, concatenated.
    pub value: Vec<Part>,
    /// Send the option even if the client does not request it.
    pub force: bool,
}

/// Part of an option value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Literal bytes.
    Bytes(Vec<u8>),
    /// Host name of the client, `$(HOSTNAME)`.
    HostName,
    /// Remote id of option 82, `$(REMOTE_ID)`.
    RemoteId,
    /// First gateway of the network, `$(NETWORK_GATEWAY)`.
    Gateway,
}

/// Options for the clients of a network (`/ip/dhcp-server/network`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Network address and prefix length.
    pub prefix: (u32, u8),
    /// Prefix length sent to clients; `None` sends the network's.
    pub mask: Option<u8>,
    /// Gateways.
    pub gateways: Vec<Ipv4Addr>,
    /// DNS servers.
    pub dns: Vec<Ipv4Addr>,
    /// NTP servers.
    pub ntp: Vec<Ipv4Addr>,
    /// WINS servers.
    pub wins: Vec<Ipv4Addr>,
    /// CAPWAP controllers.
    pub caps: Vec<Ipv4Addr>,
    /// Domain name.
    pub domain: Box<str>,
    /// Server to boot from.
    pub next_server: Option<Ipv4Addr>,
    /// Boot file.
    pub boot_file: Box<str>,
    /// DHCP options to send.
    pub options: Vec<OptionValue>,
}

/// Option matcher: selects pool and options by an option of the request (`/ip/dhcp-server/matcher`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matcher {
    /// Server; `None` matches all servers.
    pub server: Option<ServerId>,
    /// Number of the option to match.
    pub code: u8,
    /// Value to match.
    pub value: Vec<u8>,
    /// The option may contain the value instead of being equal to it.
    pub is_substring: bool,
    /// Address pool.
    pub pool: MatchedPool,
    /// DHCP options to send.
    pub options: Vec<OptionValue>,
}

/// Address pool of a matcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchedPool {
    /// Pool of the server.
    Servers,
    /// No pool: static leases only.
    StaticOnly,
    /// Named pool.
    Pool(Box<str>),
}

/// Static lease (`/ip/dhcp-server/lease`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Static {
    /// Address.
    pub address: Assigned,
    /// MAC address of the client.
    pub mac: Option<Mac>,
    /// Compare the source MAC address of the frame instead of the one in the message.
    pub use_src_mac: bool,
    /// Client id (option 61).
    pub client_id: Option<Box<[u8]>>,
    /// Circuit id and remote id of option 82; empty matches any.
    pub agent: (Box<[u8]>, Box<[u8]>),
    /// Server; `None` matches all servers.
    pub server: Option<ServerId>,
    /// Ignore the client (`block-access`).
    pub is_blocked: bool,
    /// Lease duration; `None` uses the server's.
    pub lease_time: Option<Duration>,
    /// Broadcast all answers; `None` uses the server's setting.
    pub always_broadcast: Option<bool>,
    /// DHCP options to send.
    pub options: Vec<OptionValue>,
}

/// Address of a static lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// Fixed address.
    Address(Ipv4Addr),
    /// Any address of this pool.
    Pool(Box<str>),
}

/// Parses a client id as RouterOS writes it, `1:aa:bb:cc:dd:ee:ff`; any other form is taken as text.
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

/// Formats a client id as RouterOS does.
pub fn client_id_text(id: &[u8]) -> String {
    let digits: Vec<_> = id.iter().map(|byte| format!("{byte:x}")).collect();
    digits.join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_ids_round_trip_through_text() {
        let mac = client_id("1:2:0:c:ab:0:9").expect("an id");
        assert_eq!(*mac, [1, 2, 0, 12, 0xab, 0, 9]);
        assert_eq!(client_id_text(&mac), "1:2:0:c:ab:0:9");
        assert_eq!(client_id("printer").as_deref(), Some(&b"printer"[..]));
        assert_eq!(client_id(""), None);
    }
}
