//! The host plane: which interfaces have a mirror device, and what each device should have.
//!
//! A mirror is where the sockets of ordinary services meet an interface. Whoever binds sockets on an
//! interface asks for its mirror under a name of its own ([`Control::ask_for_mirror`]): an address asks for the
//! mirror of its interface, and so may a service that works without one. Where nobody asks there is none.
//!
//! Control notes the interfaces whose mirror may be another than before. The owner of the namespace takes what
//! changed ([`Control::take_mirror_changes`]) while it has the router, makes and changes devices without it, and
//! gives the ports of new devices to [`Control::attach_mirrors`].

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};

use dataplane::Command;
use frame::{InterfaceId, Offloads};

use crate::compile::{Laid, PortState};
use crate::drive::{Control, Queue};

/// The name under which addresses ask for mirrors.
const ADDRESS: &str = "address";

/// What the host namespace should have that it has not, or has otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirrorChanges {
    /// Mirrors as they should be; none where it should go. One that is wanted may be as it was.
    pub mirrors: BTreeMap<InterfaceId, Option<Mirror>>,
    /// Where IPv4 packets leave that no mirror's own network is for: all of them go by the router, which looks the
    /// way up; so any mirror will do. The first that runs.
    pub default4: Option<InterfaceId>,
    /// The same of IPv6.
    pub default6: Option<InterfaceId>,
    /// The settings of the namespace, if they changed. It refuses packets that no socket takes.
    pub settings: Option<HostSettings>,
}

/// Settings of `/ip/settings` that concern the router's own services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Milliseconds between two errors to one host.
    pub interval_ms: u64,
    /// The types that this holds for, a bit each.
    pub mask: u32,
    /// Whether services answer SYN floods with cookies.
    pub syn_cookies: bool,
}

/// One mirror device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// The name of the interface.
    pub name: String,
    /// The layer-3 MTU in bytes.
    pub mtu: u32,
    /// The addresses with their prefix lengths, the IPv6 link-local one among them.
    pub addresses: Vec<(IpAddr, u8)>,
}

/// A mirror device that was made.
pub struct NewMirror {
    /// The interface that it mirrors.
    pub interface: InterfaceId,
    /// What the device finishes by itself.
    pub offloads: Offloads,
    /// Its queues.
    pub queues: Vec<Queue>,
}

/// Who asks for mirrors, and which may be others than the host plane knows.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    asked: BTreeSet<(InterfaceId, &'static str)>,
    changed: BTreeSet<InterfaceId>,
    /// The settings that the host plane was told.
    settings: Option<HostSettings>,
}

impl Needs {
    /// One of those who ask for the mirror of an interface.
    fn first_asking(&self, id: InterfaceId) -> Option<(InterfaceId, &'static str)> {
        let first = self.asked.range((id, "")..).next().copied();
        first.filter(|(asked, _)| *asked == id)
    }

    /// An interface came, went or changed.
    pub(crate) fn link_changed(
        &mut self,
        id: InterfaceId,
        before: Option<&Laid>,
        now: Option<&Laid>,
    ) {
        if now.is_none() {
            while let Some(asking) = self.first_asking(id) {
                self.asked.remove(&asking);
            }
        }
        let matters = |laid: &Laid| {
            (
                laid.name.clone(),
                laid.link.mtu,
                laid.link.running,
                laid.runs(),
            )
        };
        if before.map(matters) != now.map(matters) {
            self.changed.insert(id);
        }
    }
}

impl Control {
    /// Asks for the mirror of an interface under the name of a service, until [`Control::release_mirror`] or the
    /// end of the interface.
    pub fn ask_for_mirror(&mut self, id: InterfaceId, service: &'static str) {
        if self.mirror_needs.asked.insert((id, service)) {
            self.mirror_needs.changed.insert(id);
        }
    }

    /// Takes back what this service asked for.
    pub fn release_mirror(&mut self, id: InterfaceId, service: &'static str) {
        if self.mirror_needs.asked.remove(&(id, service)) {
            self.mirror_needs.changed.insert(id);
        }
    }

    /// Addresses of an interface came, went or came into use.
    pub(crate) fn mirror_addresses(&mut self, id: InterfaceId) {
        self.mirror_needs.changed.insert(id);
        if self.own_addresses(id).next().is_some() {
            self.ask_for_mirror(id, ADDRESS);
        } else {
            self.release_mirror(id, ADDRESS);
        }
    }

    /// The addresses that this router has on an interface.
    fn own_addresses(&self, id: InterfaceId) -> impl Iterator<Item = (IpAddr, u8)> {
        let ipv4 = self.addresses.of4(id);
        let ipv4 = ipv4.map(|(addr, own)| (IpAddr::V4(addr), own.len));
        let ipv6 = self.addresses.of6(id);
        let ipv6 = ipv6.filter(move |(addr, _)| self.running().is_in_use(id, *addr));
        ipv4.chain(ipv6.map(|(addr, own)| (IpAddr::V6(addr), own.len)))
    }

    /// Takes what changed since the last time, of this many mirrors at most; none if nothing did. The ports of
    /// mirrors that are to go are detached.
    pub fn take_mirror_changes(&mut self, most: usize) -> Option<MirrorChanges> {
        let wanted = self.host_settings();
        let settings = (self.mirror_needs.settings != Some(wanted)).then_some(wanted);
        if settings.is_none() && self.mirror_needs.changed.is_empty() {
            return None;
        }
        self.mirror_needs.settings = Some(wanted);
        let mut mirrors = BTreeMap::new();
        while mirrors.len() < most
            && let Some(id) = self.mirror_needs.changed.pop_first()
        {
            let wanted = self.mirror(id);
            if wanted.is_some() || self.mirrors.contains_key(&id) {
                mirrors.insert(id, wanted);
            }
        }
        self.detach_mirrors(
            mirrors
                .iter()
                .filter_map(|(id, wanted)| wanted.is_none().then_some(*id)),
        );
        Some(MirrorChanges {
            mirrors,
            default4: self.default4(),
            default6: self.default6(),
            settings,
        })
    }

    /// Has the mirrors of these interfaces among the next changes: what was to be done could not be done.
    pub fn retry_mirrors(&mut self, ids: impl IntoIterator<Item = InterfaceId>) {
        self.mirror_needs.changed.extend(ids);
    }

    fn host_settings(&self) -> HostSettings {
        let ipv4 = &self.intent.ipv4;
        HostSettings {
            interval_ms: ipv4.icmp_rate_limit.as_nanos() as u64 / 1_000_000,
            mask: ipv4.icmp_rate_mask,
            syn_cookies: ipv4.syn_cookies,
        }
    }

    /// The mirror that an interface should have. An address is this router's whether its link is up or not;
    /// who has none hears nobody before the interface runs.
    fn mirror(&self, id: InterfaceId) -> Option<Mirror> {
        let laid = self.layout.interfaces.get(&id)?;
        let addresses: Vec<_> = self.own_addresses(id).collect();
        let is_asked = self.mirror_needs.first_asking(id).is_some();
        let wanted = is_asked && (laid.runs() || !addresses.is_empty());
        wanted.then(|| Mirror {
            name: laid.name.to_string(),
            mtu: laid.link.mtu,
            addresses,
        })
    }

    fn default4(&self) -> Option<InterfaceId> {
        let mut own = self.addresses.ipv4.keys();
        own.find(|(id, _)| self.has_link(*id)).map(|(id, _)| *id)
    }

    fn default6(&self) -> Option<InterfaceId> {
        let mut own = self.published.beyond6().map(|(id, _)| *id);
        own.find(|id| self.has_link(*id))
    }

    fn has_link(&self, id: InterfaceId) -> bool {
        let laid = self.layout.interfaces.get(&id);
        laid.is_some_and(|laid| laid.link.running)
    }

    /// Takes the ports of mirrors: where local traffic of an interface meets ordinary sockets. Those whose
    /// interface is not there any more end here; gives these interfaces.
    pub fn attach_mirrors(&mut self, made: Vec<NewMirror>) -> Vec<InterfaceId> {
        let is_there = |new: &NewMirror| self.layout.interfaces.contains_key(&new.interface);
        let (made, late): (Vec<_>, Vec<_>) = made.into_iter().partition(is_there);
        let ids: Vec<_> = made.iter().map(|new| new.interface).collect();
        let mut attaching = Vec::new();
        for new in made {
            let number = self.port_number(format!("host of {}", new.interface.slot()).into());
            let state = PortState {
                number,
                up: true,
                offloads: new.offloads,
                workers: new.queues.iter().map(|(worker, _)| *worker).collect(),
                ..PortState::default()
            };
            self.mirrors.insert(new.interface, number);
            self.mirror_ports.insert(number, state);
            attaching.push((number, new.queues));
        }
        if !attaching.is_empty() {
            // Workers look a port's number up in the snapshot: it is there before the port is.
            self.mirrors_changed(&ids);
        }
        for (number, queues) in attaching {
            for (worker, port) in queues {
                self.workers.send(worker, Command::Attach { number, port });
            }
        }
        late.into_iter().map(|new| new.interface).collect()
    }

    /// Lets the mirrors of these interfaces go.
    fn detach_mirrors(&mut self, ids: impl Iterator<Item = InterfaceId>) {
        let mut gone = Vec::new();
        for id in ids {
            let number = self.mirrors.remove(&id);
            if let Some(state) = number.and_then(|number| self.mirror_ports.remove(&number)) {
                self.detach(&state);
                gone.push(id);
            }
        }
        if !gone.is_empty() {
            self.mirrors_changed(&gone);
        }
    }
}

#[cfg(test)]
mod tests;
