//! Neighbours: who was heard on which interface, what each protocol told of it, and for how long that holds.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use machine::Instant;
use wire::Mac;

use super::{PortId, Protocol, Protocols};

/// How many neighbours an interface has at most.
pub const MOST_ON_PORT: usize = 1_024;
/// How many there are at most.
pub const MOST: usize = 8_192;

/// What a neighbour told of itself. What it did not tell is empty or none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Its name.
    pub identity: String,
    /// What it runs.
    pub platform: String,
    /// Its version.
    pub version: String,
    /// Its model.
    pub board: String,
    /// Its licence.
    pub software_id: String,
    /// How it unpacks packed packets.
    pub unpack: Option<u8>,
    /// How long it ran when it told, in seconds.
    pub uptime: Option<u32>,
    /// Its addresses.
    pub ipv4: Option<Ipv4Addr>,
    /// Its addresses.
    pub ipv6: Option<Ipv6Addr>,
    /// The interface by which it told.
    pub interface: String,
    /// What it says that it is.
    pub description: String,
    /// What it can do, and what it does, as LLDP has it.
    pub capabilities: Option<(u16, u16)>,
    /// What LLDP alone tells.
    pub lldp: Option<Box<Lldp>>,
}

/// What LLDP alone tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lldp {
    /// How the chassis is named, and its name.
    pub chassis: (u8, Vec<u8>),
    /// How the port is named, and its name.
    pub port: (u8, Vec<u8>),
    /// What the port is.
    pub port_description: String,
    /// For how many seconds it holds.
    pub ttl: u16,
    /// It is an endpoint of media.
    pub endpoint: bool,
}

/// What one protocol told, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    heard: Instant,
    expires: Instant,
    told: Told,
}

/// A neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its number; none has it again.
    pub number: u64,
    /// The interface that it was heard on.
    pub port: PortId,
    /// The interface of the port below, where that is another.
    pub below: Option<PortId>,
    /// Its link address.
    pub mac: Mac,
    entries: [Option<Entry>; 3],
}

impl Neighbour {
    /// The protocols that told of it.
    pub fn protocols(&self) -> Protocols {
        let told = Protocol::ALL
            .into_iter()
            .zip(&self.entries)
            .filter(|(_, entry)| entry.is_some());
        told.fold(Protocols::default(), |all, (protocol, _)| all.and(protocol))
    }

    /// When it was heard last.
    pub fn heard(&self) -> Instant {
        let heard = self.entries.iter().flatten().map(|entry| entry.heard);
        heard.max().unwrap_or(Instant::ZERO)
    }

    /// What LLDP told.
    pub fn lldp(&self) -> Option<&Told> {
        self.of(Protocol::Lldp).map(|entry| &entry.told)
    }

    /// How long it runs at this time, in seconds.
    pub fn uptime(&self, now: Instant) -> Option<u64> {
        let entry = self.of(Protocol::Mndp)?;
        let since = now.saturating_since(entry.heard).as_secs();
        Some(u64::from(entry.told.uptime?) + since)
    }

    /// All that it told: of each thing, what MNDP says, else CDP, else LLDP.
    pub fn told(&self) -> Told {
        let mut all = Told::default();
        for protocol in [Protocol::Mndp, Protocol::Cdp, Protocol::Lldp] {
            let Some(Entry { told, .. }) = self.of(protocol) else {
                continue;
            };
            for (known, told) in [
                (&mut all.identity, &told.identity),
                (&mut all.platform, &told.platform),
                (&mut all.version, &told.version),
                (&mut all.board, &told.board),
                (&mut all.software_id, &told.software_id),
                (&mut all.interface, &told.interface),
                (&mut all.description, &told.description),
            ] {
                if known.is_empty() {
                    known.clone_from(told);
                }
            }
            all.unpack = all.unpack.or(told.unpack);
            all.uptime = all.uptime.or(told.uptime);
            all.ipv4 = all.ipv4.or(told.ipv4);
            all.ipv6 = all.ipv6.or(told.ipv6);
            all.capabilities = all.capabilities.or(told.capabilities);
        }
        all
    }

    fn of(&self, protocol: Protocol) -> Option<&Entry> {
        self.entries[protocol as usize].as_ref()
    }

    fn expires(&self) -> Option<Instant> {
        let times = self.entries.iter().flatten().map(|entry| entry.expires);
        times.min()
    }
}

/// All neighbours.
#[derive(Debug, Default)]
pub(super) struct Table {
    all: BTreeMap<(PortId, Mac), Neighbour>,
    /// When what somebody told does not hold any more.
    expiry: BTreeSet<(Instant, PortId, Mac)>,
    on_port: BTreeMap<PortId, usize>,
    last: u64,
}

impl Table {
    /// Takes over what a neighbour told until then. Says whether there was room.
    pub(super) fn put(
        &mut self,
        (port, below, mac): (PortId, Option<PortId>, Mac),
        protocol: Protocol,
        (now, expires): (Instant, Instant),
        told: Told,
    ) -> bool {
        let key = (port, mac);
        if !self.all.contains_key(&key) {
            let on_port = self.on_port.entry(port).or_default();
            if *on_port >= MOST_ON_PORT || self.all.len() >= MOST {
                return false;
            }
            *on_port += 1;
            self.last += 1;
            let neighbour = Neighbour {
                number: self.last,
                port,
                below,
                mac,
                entries: [None, None, None],
            };
            self.all.insert(key, neighbour);
        }
        let Some(neighbour) = self.all.get_mut(&key) else {
            return false;
        };
        if let Some(before) = neighbour.expires() {
            self.expiry.remove(&(before, port, mac));
        }
        neighbour.below = below;
        neighbour.entries[protocol as usize] = Some(Entry {
            heard: now,
            expires,
            told,
        });
        if let Some(then) = neighbour.expires() {
            self.expiry.insert((then, port, mac));
        }
        true
    }

    /// Forgets what a neighbour told by a protocol.
    pub(super) fn end(&mut self, port: PortId, mac: Mac, protocol: Protocol) {
        if let Some(neighbour) = self.all.get_mut(&(port, mac)) {
            let before = neighbour.expires();
            neighbour.entries[protocol as usize] = None;
            self.settle(port, mac, before);
        }
    }

    /// Forgets what does not hold any more.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((at, port, mac)) = self.expiry.first().copied().filter(|due| due.0 <= now) {
            if let Some(neighbour) = self.all.get_mut(&(port, mac)) {
                for entry in &mut neighbour.entries {
                    entry.take_if(|entry| entry.expires <= now);
                }
            }
            self.settle(port, mac, Some(at));
        }
    }

    /// Forgets who was heard on an interface.
    pub(super) fn forget(&mut self, port: PortId) {
        let keys = self.all.range((port, Mac::ZERO)..);
        let keys = keys.take_while(|((on, _), _)| *on == port);
        let gone: Vec<_> = keys.map(|((_, mac), of)| (*mac, of.expires())).collect();
        for (mac, expires) in gone {
            self.all.remove(&(port, mac));
            if let Some(at) = expires {
                self.expiry.remove(&(at, port, mac));
            }
        }
        self.on_port.remove(&port);
    }

    /// Forgets what was told by protocols that are not among these.
    pub(super) fn keep(&mut self, protocols: Protocols) {
        let gone = Protocol::ALL.into_iter().filter(|one| !protocols.has(*one));
        for protocol in gone {
            let keys: Vec<_> = self.all.keys().copied().collect();
            for (port, mac) in keys {
                self.end(port, mac, protocol);
            }
        }
    }

    /// When something does not hold any more.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.expiry.first().map(|due| due.0)
    }

    /// All, by interface.
    pub(super) fn all(&self) -> impl Iterator<Item = &Neighbour> {
        self.all.values()
    }

    /// Those of an interface.
    pub(super) fn on(&self, port: PortId) -> impl Iterator<Item = &Neighbour> {
        let from = self.all.range((port, Mac::ZERO)..);
        from.take_while(move |((on, _), _)| *on == port)
            .map(|(_, neighbour)| neighbour)
    }

    /// A neighbour of which something is told no longer; `before` is when it was due.
    fn settle(&mut self, port: PortId, mac: Mac, before: Option<Instant>) {
        if let Some(at) = before {
            self.expiry.remove(&(at, port, mac));
        }
        match self.all.get(&(port, mac)).map(Neighbour::expires) {
            Some(Some(then)) => _ = self.expiry.insert((then, port, mac)),
            Some(None) => {
                self.all.remove(&(port, mac));
                if let Some(count) = self.on_port.get_mut(&port) {
                    *count -= 1;
                }
            }
            None => {}
        }
    }
}
