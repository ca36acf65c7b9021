//! Lease table with indexes by id, client, address and expiry.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::Instant;
use wire::Mac;

use super::config::{Assigned, Identifiers, ServerId, Static};
use super::grant::Grant;
use crate::dhcp::{Message, code};

/// Maximum number of leases of a router.
const MOST: usize = 1 << 20;
/// First id of dynamic leases. The owner assigns the ids of static leases, which are below.
pub const DYNAMIC: u64 = 1 << 63;

/// State of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Static lease without a client.
    Waiting,
    /// The address is being probed.
    Testing,
    /// Offered to the client.
    Offered,
    /// Bound to the client.
    Bound,
    /// The client reported that another host uses the address.
    Declined,
    /// The probe found another host at the address.
    Conflict,
}

impl State {
    /// Returns the state's name in RouterOS.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Testing => "testing",
            Self::Offered => "offered",
            Self::Bound => "bound",
            Self::Declined => "declined",
            Self::Conflict => "conflict",
        }
    }
}

/// Identification of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Hardware address; zero if the client sent no Ethernet address.
    pub mac: Mac,
    /// Source MAC address of the client's frames.
    pub src_mac: Mac,
    /// Client id (option 61).
    pub id: Option<Box<[u8]>>,
    /// Relay agent information (option 82), as received.
    pub agent: Option<Box<[u8]>>,
    /// Host name (option 12).
    pub host_name: Box<str>,
    /// Vendor class (option 60).
    pub class: Box<str>,
}

impl Client {
    /// Reads the identification from a message. BOOTP messages without a hardware address yield the zero address.
    pub(super) fn of(message: &Message, src_mac: Mac) -> Self {
        let options = &message.options;
        let text = |code| options.text(code).unwrap_or_default().into_boxed_str();
        let bytes = |code| options.get(code).filter(|value| !value.is_empty());
        Self {
            mac: message.mac().unwrap_or_default(),
            src_mac,
            id: bytes(code::CLIENT_ID).map(Into::into),
            agent: bytes(code::AGENT).map(Into::into),
            host_name: text(code::HOST_NAME),
            class: text(code::CLASS),
        }
    }

    /// Returns a sub-option of the relay agent information (RFC 3046, 2.0).
    pub fn agent_part(&self, number: u8) -> Option<&[u8]> {
        let mut rest = self.agent.as_deref()?;
        while let [code, len, value @ ..] = rest {
            let (part, behind) = value.split_at_checked((*len).into())?;
            if *code == number {
                return Some(part);
            }
            rest = behind;
        }
        None
    }

    fn key(&self, server: ServerId, by: Identifiers) -> Key {
        let id = self.id.clone().filter(|_| by.client_id);
        let agent = self.agent.clone().filter(|_| by.agent);
        // A client that sent neither id nor relay agent information is identified by its MAC address in any case.
        let has_none = id.is_none() && agent.is_none();
        let mac = (by.mac || has_none).then_some(self.mac);
        Key {
            server,
            id,
            mac,
            agent,
        }
    }
}

/// Index key of a dynamic lease.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    server: ServerId,
    mac: Option<Mac>,
    id: Option<Box<[u8]>>,
    agent: Option<Box<[u8]>>,
}

/// Lease.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Id.
    pub id: u64,
    /// Server that assigned the address.
    pub server: Option<ServerId>,
    /// Address; `None` for a waiting static lease.
    pub address: Option<Ipv4Addr>,
    /// Pool of the address.
    pub pool: Option<Box<str>>,
    /// Client.
    pub client: Client,
    /// State.
    pub state: State,
    /// Time at which the lease began.
    pub since: Instant,
    /// Time of the last message from the client.
    pub seen: Option<Instant>,
    /// End of the current state; `None` is never.
    pub until: Option<Instant>,
    /// Configuration of a static lease.
    pub fixed: Option<Arc<Static>>,
    /// Terms of a lease that an authority granted.
    pub grant: Option<Arc<Grant>>,
    /// Number of consecutive offers without a request.
    pub(super) offers: u8,
    /// Request to answer when the probe of the address ends.
    pub(super) asked: Option<Box<super::Request>>,
    key: Option<Key>,
}

impl Lease {
    pub(super) fn new(id: u64, now: Instant) -> Self {
        Self {
            id,
            server: None,
            address: None,
            pool: None,
            client: Client::default(),
            state: State::Waiting,
            since: now,
            seen: None,
            until: None,
            fixed: None,
            grant: None,
            offers: 0,
            asked: None,
            key: None,
        }
    }

    /// True for leases that are not configured.
    pub const fn is_dynamic(&self) -> bool {
        self.id & DYNAMIC != 0
    }
}

/// Index key: server, circuit id, remote id.
type Behind = (Option<ServerId>, Box<[u8]>, Box<[u8]>);

/// Lease table.
#[derive(Clone, Debug, Default)]
pub(super) struct Leases {
    all: BTreeMap<u64, Lease>,
    given: u64,
    clients: BTreeMap<Key, u64>,
    /// Number of dynamic leases per server and MAC address.
    macs: BTreeMap<(ServerId, Mac), u32>,
    addresses: BTreeMap<Ipv4Addr, u64>,
    times: BTreeSet<(Instant, u64)>,
    /// Addresses of static leases, in use or not.
    fixed: BTreeMap<Ipv4Addr, u64>,
    by_id: BTreeMap<(Option<ServerId>, Box<[u8]>), u64>,
    by_mac: BTreeMap<(Option<ServerId>, Mac, bool), u64>,
    by_agent: BTreeMap<Behind, u64>,
}

impl Leases {
    pub(super) fn get(&self, id: u64) -> Option<&Lease> {
        self.all.get(&id)
    }

    pub(super) fn all(&self) -> &BTreeMap<u64, Lease> {
        &self.all
    }

    pub(super) fn is_full(&self) -> bool {
        self.all.len() >= MOST
    }

    /// Allocates the id of a dynamic lease.
    pub(super) fn next_id(&mut self) -> u64 {
        self.given += 1;
        DYNAMIC | self.given
    }

    /// Changes a lease and updates the indexes.
    pub(super) fn change<T>(&mut self, id: u64, change: impl FnOnce(&mut Lease) -> T) -> Option<T> {
        let mut lease = self.all.remove(&id)?;
        self.leave(&lease);
        let result = change(&mut lease);
        self.enter(lease);
        Some(result)
    }

    pub(super) fn insert(&mut self, lease: Lease) {
        self.remove(lease.id);
        self.enter(lease);
    }

    pub(super) fn remove(&mut self, id: u64) -> Option<Lease> {
        let lease = self.all.remove(&id)?;
        self.leave(&lease);
        Some(lease)
    }

    fn enter(&mut self, lease: Lease) {
        if let Some(address) = lease.address {
            self.addresses.insert(address, lease.id);
        }
        if let Some(until) = lease.until {
            self.times.insert((until, lease.id));
        }
        if let Some(key) = &lease.key {
            self.clients.insert(key.clone(), lease.id);
            *self.macs.entry((key.server, lease.client.mac)).or_default() += 1;
        }
        self.all.insert(lease.id, lease);
    }

    fn leave(&mut self, lease: &Lease) {
        if let Some(address) = lease.address
            && self.addresses.get(&address) == Some(&lease.id)
        {
            self.addresses.remove(&address);
        }
        if let Some(until) = lease.until {
            self.times.remove(&(until, lease.id));
        }
        if let Some(key) = &lease.key {
            if self.clients.get(key) == Some(&lease.id) {
                self.clients.remove(key);
            }
            let of_mac = (key.server, lease.client.mac);
            if let Some(count) = self.macs.get_mut(&of_mac) {
                *count -= 1;
                if *count == 0 {
                    self.macs.remove(&of_mac);
                }
            }
        }
    }

    /// Assigns a dynamic lease to a client; `None` unassigns it.
    pub(super) fn set_client(&mut self, id: u64, client: Option<(&Client, ServerId, Identifiers)>) {
        self.change(id, |lease| match client {
            Some((client, server, by)) => {
                lease.client = client.clone();
                lease.server = Some(server);
                lease.key = (id & DYNAMIC != 0).then(|| client.key(server, by));
            }
            None => lease.key = None,
        });
    }

    /// Finds the dynamic lease of a client.
    pub(super) fn of_client(
        &self,
        client: &Client,
        server: ServerId,
        by: Identifiers,
    ) -> Option<u64> {
        self.clients.get(&client.key(server, by)).copied()
    }

    /// Number of dynamic leases of a MAC address.
    pub(super) fn of_mac(&self, server: ServerId, mac: Mac) -> u32 {
        self.macs.get(&(server, mac)).copied().unwrap_or(0)
    }

    /// Finds the lease that uses an address.
    pub(super) fn at(&self, address: Ipv4Addr) -> Option<&Lease> {
        self.all.get(self.addresses.get(&address)?)
    }

    /// Finds the static lease that reserves an address.
    pub(super) fn fixed_at(&self, address: Ipv4Addr) -> Option<u64> {
        self.fixed.get(&address).copied()
    }

    /// Returns a lease whose time has expired.
    pub(super) fn due(&self, now: Instant) -> Option<u64> {
        let (at, id) = self.times.first()?;
        (*at <= now).then_some(*id)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.times.first().map(|(at, _)| *at)
    }

    /// Static leases that match a client, best first: by client id, by option 82, by MAC address; leases of this
    /// server before leases of all servers.
    pub(super) fn fixed_for(&self, client: &Client, server: ServerId) -> impl Iterator<Item = u64> {
        let of = [Some(server), None];
        let agent = |number| client.agent_part(number).unwrap_or_default().into();
        let (circuit, remote): (Box<[u8]>, Box<[u8]>) = (agent(1), agent(2));
        let nothing = <Box<[u8]>>::default();
        let mut found = Vec::new();
        for server in of {
            if let Some(id) = &client.id {
                found.extend(self.by_id.get(&(server, id.clone())));
            }
        }
        if client.agent.is_some() {
            for server in of {
                for parts in [
                    (&circuit, &remote),
                    (&circuit, &nothing),
                    (&nothing, &remote),
                ] {
                    let key = (server, parts.0.clone(), parts.1.clone());
                    found.extend(self.by_agent.get(&key));
                }
            }
        }
        for server in of {
            found.extend(self.by_mac.get(&(server, client.mac, false)));
            found.extend(self.by_mac.get(&(server, client.src_mac, true)));
        }
        found.into_iter().copied()
    }

    /// Replaces the configuration of a static lease and updates the indexes.
    pub(super) fn set_fixed(&mut self, id: u64, fixed: Option<Arc<Static>>) {
        let before = self.all.get(&id).and_then(|lease| lease.fixed.clone());
        for (fixed, is_there) in [(before, false), (fixed, true)] {
            let Some(fixed) = fixed else { continue };
            let server = fixed.server;
            if let Assigned::Address(address) = fixed.address {
                mark(&mut self.fixed, address, id, is_there);
            }
            if let Some(client_id) = &fixed.client_id {
                mark(&mut self.by_id, (server, client_id.clone()), id, is_there);
            }
            let (circuit, remote) = &fixed.agent;
            if !(circuit.is_empty() && remote.is_empty()) {
                let key = (server, circuit.clone(), remote.clone());
                mark(&mut self.by_agent, key, id, is_there);
            }
            // A client id takes precedence; the MAC address of such a lease is only displayed.
            if let (Some(mac), None) = (fixed.mac, &fixed.client_id) {
                mark(
                    &mut self.by_mac,
                    (server, mac, fixed.use_src_mac),
                    id,
                    is_there,
                );
            }
        }
    }
}

/// Adds an index entry for a lease, or removes it.
fn mark<K: Ord>(index: &mut BTreeMap<K, u64>, key: K, id: u64, is_there: bool) {
    match is_there {
        true => _ = index.insert(key, id),
        false if index.get(&key) == Some(&id) => _ = index.remove(&key),
        false => {}
    }
}
