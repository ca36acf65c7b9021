//! Leases, and the ways to find one: by number, by client, by address, by the time of what is next.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::Instant;
use wire::Mac;

use super::config::{Assigned, Identifiers, ServerId, Static};
use crate::dhcp::{Message, code};

/// Leases of a router at most.
const MOST: usize = 1 << 20;
/// Numbers from here on are of dynamic leases; below stand those of static ones, which their owner gives.
pub const DYNAMIC: u64 = 1 << 63;

/// How far a lease is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A static lease whose client is not there.
    Waiting,
    /// Its address is being probed.
    Testing,
    /// It was offered.
    Offered,
    /// The client has it.
    Bound,
    /// The client found somebody else at the address.
    Declined,
    /// The probe found somebody else at the address.
    Conflict,
}

impl State {
    /// As RouterOS calls it.
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

/// What a client says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Its hardware address; zeros if it has none of Ethernet.
    pub mac: Mac,
    /// The source of its frames.
    pub src_mac: Mac,
    /// Option 61.
    pub id: Option<Box<[u8]>>,
    /// Option 82, as the relay agent sent it.
    pub agent: Option<Box<[u8]>>,
    /// Option 12.
    pub host_name: Box<str>,
    /// Option 60.
    pub class: Box<str>,
}

impl Client {
    /// Who sent this message. A message of BOOTP without a hardware address is of nobody.
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

    /// A sub-option of what the relay agent added (RFC 3046, 2.0).
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
        // Somebody has to be told from others by something.
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

/// Whom a dynamic lease is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    server: ServerId,
    mac: Option<Mac>,
    id: Option<Box<[u8]>>,
    agent: Option<Box<[u8]>>,
}

/// A lease.
#[derive(Clone, Debug)]
pub struct Lease {
    /// Its number.
    pub id: u64,
    /// The server that gave it.
    pub server: Option<ServerId>,
    /// The address in use; none of a static lease whose client is not there.
    pub address: Option<Ipv4Addr>,
    /// The pool that the address is of.
    pub pool: Option<Box<str>>,
    /// The client.
    pub client: Client,
    /// How far it is.
    pub state: State,
    /// When it began.
    pub since: Instant,
    /// When the client was last heard.
    pub seen: Option<Instant>,
    /// When that ends; none is never.
    pub until: Option<Instant>,
    /// What is configured of it.
    pub fixed: Option<Arc<Static>>,
    /// Offers in a row.
    pub(super) offers: u8,
    /// What is answered once the address has been probed.
    pub(super) asked: Option<Box<super::Asked>>,
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
            offers: 0,
            asked: None,
            key: None,
        }
    }

    /// Whether it is none of the configuration.
    pub const fn is_dynamic(&self) -> bool {
        self.id & DYNAMIC != 0
    }
}

/// A server, a circuit and a relay agent.
type Behind = (Option<ServerId>, Box<[u8]>, Box<[u8]>);

/// All leases.
#[derive(Clone, Debug, Default)]
pub(super) struct Leases {
    all: BTreeMap<u64, Lease>,
    given: u64,
    clients: BTreeMap<Key, u64>,
    /// Of dynamic leases: how many a hardware address has of a server.
    macs: BTreeMap<(ServerId, Mac), u32>,
    addresses: BTreeMap<Ipv4Addr, u64>,
    times: BTreeSet<(Instant, u64)>,
    /// Addresses that static leases have, whether in use or not.
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

    /// A number for a dynamic lease.
    pub(super) fn next_id(&mut self) -> u64 {
        self.given += 1;
        DYNAMIC | self.given
    }

    /// Changes a lease and what finds it.
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

    /// Says whom a dynamic lease is for; none is for nobody any more.
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

    /// The dynamic lease of a client.
    pub(super) fn of_client(
        &self,
        client: &Client,
        server: ServerId,
        by: Identifiers,
    ) -> Option<u64> {
        self.clients.get(&client.key(server, by)).copied()
    }

    /// How many dynamic leases a hardware address has.
    pub(super) fn of_mac(&self, server: ServerId, mac: Mac) -> u32 {
        self.macs.get(&(server, mac)).copied().unwrap_or(0)
    }

    /// The lease that an address is in use for.
    pub(super) fn at(&self, address: Ipv4Addr) -> Option<&Lease> {
        self.all.get(self.addresses.get(&address)?)
    }

    /// The static lease that an address is of.
    pub(super) fn fixed_at(&self, address: Ipv4Addr) -> Option<u64> {
        self.fixed.get(&address).copied()
    }

    /// The next lease whose time is over.
    pub(super) fn due(&self, now: Instant) -> Option<u64> {
        let (at, id) = self.times.first()?;
        (*at <= now).then_some(*id)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.times.first().map(|(at, _)| *at)
    }

    /// The static leases that may be a client's, the best first: by client id, by option 82, by hardware address; of a
    /// server before those of all.
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

    /// Enters what is configured of a static lease, in place of what was.
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
            // A client id tells more than a hardware address, which then is only shown.
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

/// Has an index name a lease, or not any more.
fn mark<K: Ord>(index: &mut BTreeMap<K, u64>, key: K, id: u64, is_there: bool) {
    match is_there {
        true => _ = index.insert(key, id),
        false if index.get(&key) == Some(&id) => _ = index.remove(&key),
        false => {}
    }
}
