//! The host plane: which interfaces have a mirror device, and what each device should have.
//!
//! A mirror is the TUN device by which packets of an interface reach sockets of ordinary services. A service that binds
//! to an interface asks for the mirror by a name of the service ([`Control::ask_for_mirror`]); addresses ask for it,
//! too, as services listen on all addresses. An interface that nobody asks for has no mirror.
//!
//! Point-to-point interfaces (tunnels, WireGuard, sessions) have one mirror in common, however many they are: the
//! shared mirror. It has the addresses of all of them. Link-local addresses name the interface there
//! (`dataplane/src/zone.rs`).
//!
//! Control notes the interfaces whose mirror may have changed. The owner of the namespace takes what changed
//! ([`Control::take_mirror_changes`]) while it has the router, makes and changes devices without the router, and gives
//! the ports of new devices to [`Control::attach_mirrors`] and [`Control::attach_shared_mirror`].

use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet};

use dataplane::{Command, zone};
use frame::{InterfaceId, Offloads};

use crate::compile::{Laid, PortState};
use crate::drive::{Control, Queue};
use crate::intent::Name;

/// The name under which addresses ask for mirrors.
const ADDRESS: &str = "address";
/// The name under which the shared mirror has its port number.
const SHARED: &str = "host of point-to-point interfaces";
/// Members of the shared mirror that are taken for one mirror device: an address costs far less than a device.
const MEMBERS_PER_MIRROR: usize = 64;

/// What the host namespace should have that it has not, or has otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirrorChanges {
    /// Mirrors as they should be, by interface; `None` removes the mirror. An entry may be unchanged.
    pub mirrors: BTreeMap<InterfaceId, Option<Mirror>>,
    /// The interface whose mirror takes IPv4 packets to networks that no mirror has: the first that runs. The router
    /// looks up the route of each packet, so any mirror will do.
    pub default4: Option<InterfaceId>,
    /// The first IPv4 address of that interface: the source of packets of sockets that name none.
    pub source4: Option<Ipv4Addr>,
    /// The interface whose mirror takes such packets of IPv6.
    pub default6: Option<InterfaceId>,
    /// Further changes are waiting.
    pub more: bool,
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
    /// The addresses with their prefix lengths, IPv6 link-local ones among them. On the shared mirror link-local
    /// addresses have their zone, and the lowest is missing: every interface has it as [`zone::HOST`].
    pub addresses: Vec<(IpAddr, u8)>,
    /// The interface has no device: its addresses are on the shared mirror.
    pub shared: bool,
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
    /// Interfaces whose addresses the host plane was told to have on the shared mirror.
    members: BTreeSet<InterfaceId>,
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

    /// Notes whether the host plane has the addresses of an interface on the shared mirror; returns whether it had.
    fn set_member(&mut self, id: InterfaceId, is_member: bool) -> bool {
        match is_member {
            true => !self.members.insert(id),
            false => self.members.remove(&id),
        }
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

    /// Takes what changed since the last time, at most `most` mirror devices and a multiple of that of members of the
    /// shared mirror; `None` if nothing did. The ports of mirrors that are to go are detached.
    pub fn take_mirror_changes(&mut self, most: usize) -> Option<MirrorChanges> {
        let wanted = self.host_settings();
        let settings = (self.mirror_needs.settings != Some(wanted)).then_some(wanted);
        if settings.is_none() && self.mirror_needs.changed.is_empty() {
            return None;
        }
        self.mirror_needs.settings = Some(wanted);
        let mirrors = self.take_mirrors(most);
        let gone = mirrors.iter().filter(|(_, wanted)| wanted.is_none());
        self.detach_mirrors(gone.map(|(id, _)| *id));
        let default4 = self.default4();
        Some(MirrorChanges {
            mirrors,
            default4: default4.map(|(id, _)| id),
            source4: default4.map(|(_, address)| address),
            default6: self.default6(),
            more: !self.mirror_needs.changed.is_empty(),
            settings,
        })
    }

    fn take_mirrors(&mut self, most: usize) -> BTreeMap<InterfaceId, Option<Mirror>> {
        let mut mirrors = BTreeMap::new();
        let mut devices = 0;
        while devices < most
            && mirrors.len() < most.saturating_mul(MEMBERS_PER_MIRROR)
            && let Some(id) = self.mirror_needs.changed.pop_first()
        {
            let wanted = self.mirror(id);
            let is_member = wanted.as_ref().is_some_and(|mirror| mirror.shared);
            let was_member = self.mirror_needs.set_member(id, is_member);
            if wanted.is_some() || was_member || self.mirrors.contains_key(&id) {
                devices += usize::from(!is_member && !was_member);
                mirrors.insert(id, wanted);
            }
        }
        mirrors
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
        let mut addresses: Vec<_> = self.own_addresses(id).collect();
        let is_asked = self.mirror_needs.first_asking(id).is_some();
        if !is_asked || !laid.runs() && addresses.is_empty() {
            return None;
        }
        let shared = laid.is_point_to_point();
        if shared {
            name_zones(&mut addresses, id);
        }
        Some(Mirror {
            name: laid.name.to_string(),
            mtu: laid.link.mtu,
            addresses,
            shared,
        })
    }

    fn default4(&self) -> Option<(InterfaceId, Ipv4Addr)> {
        let mut own = self.addresses.ipv4.keys();
        own.find(|(id, _)| self.has_link(*id)).copied()
    }

    fn default6(&self) -> Option<InterfaceId> {
        let mut own = self.published.beyond6().map(|(id, _)| *id);
        own.find(|id| self.has_link(*id))
    }

    fn has_link(&self, id: InterfaceId) -> bool {
        let laid = self.layout.interfaces.get(&id);
        laid.is_some_and(|laid| laid.link.running)
    }

    /// Takes the ports of new mirrors. Mirrors whose interface is gone by now, or for which no port number is free, end
    /// here; returns their interfaces.
    pub fn attach_mirrors(&mut self, made: Vec<NewMirror>) -> Vec<InterfaceId> {
        let (mut ids, mut late, mut attaching) = (Vec::new(), Vec::new(), Vec::new());
        for new in made {
            let id = new.interface;
            let number = match self.layout.interfaces.contains_key(&id) {
                true => self.port_numbers.take(&port_name(id)),
                false => None,
            };
            let Some(number) = number else {
                late.push(id);
                continue;
            };
            let port = mirror_port(number, new.offloads, &new.queues);
            self.mirror_ports.insert(number, port);
            self.mirrors.insert(id, number);
            ids.push(id);
            attaching.push((number, new.queues));
        }
        if !attaching.is_empty() {
            // Workers look a port's number up in the snapshot: it is there before the port is.
            self.mirrors_changed(&ids);
        }
        for (number, queues) in attaching {
            self.attach_queues(number, queues);
        }
        late
    }

    /// Takes the port of the shared mirror: from now on packets for sockets leave point-to-point interfaces by it.
    pub fn attach_shared_mirror(&mut self, offloads: Offloads, queues: Vec<Queue>) {
        let Some(number) = self.port_numbers.take(&Name::from(SHARED)) else {
            return;
        };
        let shared = (number, self.numbers.shared_mirror());
        self.mirror_ports
            .insert(number, mirror_port(number, offloads, &queues));
        self.shared_mirror = Some(shared);
        self.publish_shared_mirror(shared);
        let all = self.layout.interfaces.iter();
        let members = all.filter(|(_, laid)| laid.is_point_to_point());
        let members: Vec<_> = members.map(|(id, _)| *id).collect();
        self.mirrors_changed(&members);
        self.attach_queues(number, queues);
    }

    fn attach_queues(&mut self, number: u16, queues: Vec<Queue>) {
        for (worker, port) in queues {
            self.workers.send(worker, Command::Attach { number, port });
        }
    }

    /// Lets the mirrors of these interfaces go.
    fn detach_mirrors(&mut self, ids: impl Iterator<Item = InterfaceId>) {
        let mut gone = Vec::new();
        for id in ids {
            let number = self.mirrors.remove(&id);
            if let Some(state) = number.and_then(|number| self.mirror_ports.remove(&number)) {
                self.detach(&state);
                self.port_numbers.release(&port_name(id));
                gone.push(id);
            }
        }
        if !gone.is_empty() {
            self.mirrors_changed(&gone);
        }
    }
}

/// The name under which the port of a mirror has its number.
fn port_name(id: InterfaceId) -> Name {
    format!("host of {}", id.slot()).into()
}

fn mirror_port(number: u16, offloads: Offloads, queues: &[Queue]) -> PortState {
    PortState {
        number,
        up: true,
        offloads,
        workers: queues.iter().map(|(worker, _)| *worker).collect(),
        ..PortState::default()
    }
}

/// Replaces the link-local addresses of an interface by those that the shared mirror has.
fn name_zones(addresses: &mut Vec<(IpAddr, u8)>, id: InterfaceId) {
    let ipv6 = addresses.iter().filter_map(|(address, _)| match address {
        IpAddr::V6(address) => Some(*address),
        IpAddr::V4(_) => None,
    });
    let own = zone::own(ipv6).map(IpAddr::V6);
    addresses.retain(|(address, _)| Some(*address) != own);
    for (address, len) in addresses {
        if let IpAddr::V6(plain) = address
            && plain.is_unicast_link_local()
        {
            (*address, *len) = (zone::embed(*plain, id).into(), 128);
        }
    }
}

#[cfg(test)]
mod tests;
