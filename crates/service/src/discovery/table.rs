//! Neighbour table: neighbours per interface, the data that each protocol announced, and its expiry.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use machine::Instant;
use wire::Mac;

use super::{PortId, Protocol, Protocols};

/// Maximum number of neighbours per interface.
pub const MOST_ON_PORT: usize = 1_024;
/// Maximum number of neighbours.
pub const MOST: usize = 8_192;

/// Announced data of a neighbour. Missing data is empty or `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    /// Identity.
    pub identity: String,
    /// Platform.
    pub platform: String,
    /// Version.
    pub version: String,
    /// Board name.
    pub board: String,
    /// Software id of the licence.
    pub software_id: String,
    /// Supported unpacking of packed packets.
    pub unpack: Option<u8>,
    /// Uptime in seconds at the time of the announcement.
    pub uptime: Option<u32>,
    /// IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// Interface that sent the announcement.
    pub interface: String,
    /// System description.
    pub description: String,
    /// Supported and enabled capabilities, as LLDP bits.
    pub capabilities: Option<(u16, u16)>,
    /// Data that only LLDP announces.
    pub lldp: Option<Box<Lldp>>,
}

/// Data that only LLDP announces.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lldp {
    /// Subtype and value of the chassis id.
    pub chassis: (u8, Vec<u8>),
    /// Subtype and value of the port id.
    pub port: (u8, Vec<u8>),
    /// Port description.
    pub port_description: String,
    /// Lifetime in seconds.
    pub ttl: u16,
    /// The neighbour is an LLDP-MED endpoint.
    pub endpoint: bool,
}

/// Data from one protocol, with the times of reception and expiry.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    heard: Instant,
    expires: Instant,
    told: Announcement,
}

/// A neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Id; never reused.
    pub number: u64,
    /// Interface that received the announcements.
    pub port: PortId,
    /// Interface of the bridge port, if different.
    pub below: Option<PortId>,
    /// MAC address.
    pub mac: Mac,
    entries: [Option<Entry>; 3],
}

impl Neighbour {
    /// Protocols with unexpired data.
    pub fn protocols(&self) -> Protocols {
        let told = Protocol::ALL
            .into_iter()
            .zip(&self.entries)
            .filter(|(_, entry)| entry.is_some());
        told.fold(Protocols::default(), |all, (protocol, _)| all.and(protocol))
    }

    /// Time of the last announcement.
    pub fn last_received(&self) -> Instant {
        let heard = self.entries.iter().flatten().map(|entry| entry.heard);
        heard.max().unwrap_or(Instant::ZERO)
    }

    /// Data from LLDP.
    pub fn lldp(&self) -> Option<&Announcement> {
        self.of(Protocol::Lldp).map(|entry| &entry.told)
    }

    /// Current uptime of the neighbour in seconds.
    pub fn uptime(&self, now: Instant) -> Option<u64> {
        let entry = self.of(Protocol::Mndp)?;
        let since = now.saturating_since(entry.heard).as_secs();
        Some(u64::from(entry.told.uptime?) + since)
    }

    /// Merged data of all protocols; for each field MNDP takes precedence over CDP, and CDP over LLDP.
    pub fn announcement(&self) -> Announcement {
        let mut all = Announcement::default();
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

/// Origin of a received announcement.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnnouncementSource {
    /// Ingress interface.
    pub(super) port: PortId,
    /// Interface of the bridge port, if different.
    pub(super) below: Option<PortId>,
    /// Source MAC address.
    pub(super) mac: Mac,
}

/// Neighbour table.
#[derive(Debug, Default)]
pub(super) struct Table {
    all: BTreeMap<(PortId, Mac), Neighbour>,
    /// Expiry times of neighbour data.
    expiry: BTreeSet<(Instant, PortId, Mac)>,
    on_port: BTreeMap<PortId, usize>,
    last: u64,
}

impl Table {
    /// Stores the data of an announcement. Returns false if the table is full.
    pub(super) fn put(
        &mut self,
        source: AnnouncementSource,
        protocol: Protocol,
        now: Instant,
        expires: Instant,
        told: Announcement,
    ) -> bool {
        let AnnouncementSource { port, below, mac } = source;
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

    /// Removes the data of one protocol.
    pub(super) fn end(&mut self, port: PortId, mac: Mac, protocol: Protocol) {
        if let Some(neighbour) = self.all.get_mut(&(port, mac)) {
            let before = neighbour.expires();
            neighbour.entries[protocol as usize] = None;
            self.settle(port, mac, before);
        }
    }

    /// Removes expired data.
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

    /// Removes all neighbours of an interface.
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

    /// Removes data from protocols that are not in the set.
    pub(super) fn keep(&mut self, protocols: Protocols) {
        let gone = Protocol::ALL.into_iter().filter(|one| !protocols.has(*one));
        for protocol in gone {
            let keys: Vec<_> = self.all.keys().copied().collect();
            for (port, mac) in keys {
                self.end(port, mac, protocol);
            }
        }
    }

    /// Time of the next expiry.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.expiry.first().map(|due| due.0)
    }

    /// All neighbours, ordered by interface.
    pub(super) fn all(&self) -> impl Iterator<Item = &Neighbour> {
        self.all.values()
    }

    /// Neighbours of an interface.
    pub(super) fn on(&self, port: PortId) -> impl Iterator<Item = &Neighbour> {
        let from = self.all.range((port, Mac::ZERO)..);
        from.take_while(move |((on, _), _)| *on == port)
            .map(|(_, neighbour)| neighbour)
    }

    /// Updates the expiry index after data of a neighbour was removed, and removes a neighbour without data. `before`
    /// is its previous expiry.
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
