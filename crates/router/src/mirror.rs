//! The host plane: decides which interfaces need a mirror device, and its addresses and settings.
//!
//! A mirror is the TUN device through which packets of an interface reach the sockets of ordinary programs. A service
//! that binds to an interface requests the mirror under the name of the service ([`Control::ask_for_mirror`]); an
//! interface with addresses needs one as well, because services listen on all addresses. Other interfaces have no
//! mirror.
//!
//! Point-to-point interfaces (tunnels, WireGuard, sessions) have one common mirror, the shared mirror, which has the
//! addresses of all of them. Link-local addresses name the interface there (`dataplane/src/zone.rs`).
//!
//! Control records the interfaces whose mirror may have changed. The owner of the namespace takes what changed
//! ([`Control::take_mirror_changes`]) while it has the router, makes and changes devices without the router, and gives
//! the ports of new devices to [`Control::attach_mirrors`] and [`Control::attach_shared_mirror`].

use core::net::{IpAddr, Ipv4Addr};
use std::collections::{BTreeMap, BTreeSet};

use dataplane::{Command, zone};
use frame::{InterfaceId, Offloads};

use crate::compile::{LayoutEntry, PortState};
use crate::drive::{Control, Queue};
use crate::intent::Name;

/// Name under which addresses request mirrors.
const ADDRESS: &str = "address";
/// Name under which the shared mirror gets its port number.
const SHARED: &str = "host of point-to-point interfaces";
/// Members of the shared mirror that count as one mirror device in a batch: an address costs far less than a device.
const MEMBERS_PER_MIRROR: usize = 64;

/// Changes to apply to the host namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MirrorChanges {
    /// Desired mirrors, by interface; `None` removes the mirror. An entry may equal the present mirror.
    pub mirrors: BTreeMap<InterfaceId, Option<Mirror>>,
    /// The interface whose mirror takes IPv4 packets for other networks: the first running interface. The router routes
    /// each packet again, so any mirror will do.
    pub default4: Option<InterfaceId>,
    /// First IPv4 address of that interface: source address of sockets that set none.
    pub source4: Option<Ipv4Addr>,
    /// The interface whose mirror takes IPv6 packets for other networks.
    pub default6: Option<InterfaceId>,
    /// Further changes are waiting.
    pub more: bool,
    /// Settings of the namespace, if they changed. The namespace refuses packets without a socket.
    pub settings: Option<HostSettings>,
}

/// Settings of `/ip/settings` for the router's own services.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Minimum milliseconds between two ICMP errors to one host.
    pub interval_ms: u64,
    /// ICMP types under this limit, one bit each.
    pub mask: u32,
    /// Whether services use SYN cookies.
    pub syn_cookies: bool,
}

/// Desired state of a mirror device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// The name of the interface.
    pub name: String,
    /// The layer-3 MTU in bytes.
    pub mtu: u32,
    /// Addresses with their prefix lengths, including IPv6 link-local addresses. On the shared mirror, link-local
    /// addresses contain a zone, and the lowest one is omitted: every interface has it as [`zone::HOST`].
    pub addresses: Vec<(IpAddr, u8)>,
    /// The interface has no device of its own: its addresses are on the shared mirror.
    pub shared: bool,
}

/// A mirror device that the owner created.
pub struct NewMirror {
    /// The mirrored interface.
    pub interface: InterfaceId,
    /// Offloads of the device.
    pub offloads: Offloads,
    /// Its queues.
    pub queues: Vec<Queue>,
}

/// Requests for mirrors, and mirrors that may differ from the host plane.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    asked: BTreeSet<(InterfaceId, &'static str)>,
    /// Interfaces whose addresses the host plane has on the shared mirror.
    members: BTreeSet<InterfaceId>,
    changed: BTreeSet<InterfaceId>,
    /// Settings that the host plane has.
    settings: Option<HostSettings>,
}

impl Needs {
    /// Returns a request for the mirror of an interface; `None` without any.
    fn first_asking(&self, id: InterfaceId) -> Option<(InterfaceId, &'static str)> {
        let first = self.asked.range((id, "")..).next().copied();
        first.filter(|(asked, _)| *asked == id)
    }

    /// Records whether the host plane has the addresses of an interface on the shared mirror; returns the previous
    /// state.
    fn set_member(&mut self, id: InterfaceId, is_member: bool) -> bool {
        match is_member {
            true => !self.members.insert(id),
            false => self.members.remove(&id),
        }
    }

    /// Handles an interface that was added, removed or changed.
    pub(crate) fn link_changed(
        &mut self,
        id: InterfaceId,
        before: Option<&LayoutEntry>,
        now: Option<&LayoutEntry>,
    ) {
        if now.is_none() {
            while let Some(asking) = self.first_asking(id) {
                self.asked.remove(&asking);
            }
        }
        let matters = |laid: &LayoutEntry| {
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
    /// Requests the mirror of an interface for a service, until [`Control::release_mirror`] or the removal of the
    /// interface.
    pub fn ask_for_mirror(&mut self, id: InterfaceId, service: &'static str) {
        if self.mirror_needs.asked.insert((id, service)) {
            self.mirror_needs.changed.insert(id);
        }
    }

    /// Withdraws the request of a service.
    pub fn release_mirror(&mut self, id: InterfaceId, service: &'static str) {
        if self.mirror_needs.asked.remove(&(id, service)) {
            self.mirror_needs.changed.insert(id);
        }
    }

    /// Handles addresses of an interface that were added, removed or became usable.
    pub(crate) fn mirror_addresses(&mut self, id: InterfaceId) {
        self.mirror_needs.changed.insert(id);
        if self.own_addresses(id).next().is_some() {
            self.ask_for_mirror(id, ADDRESS);
        } else {
            self.release_mirror(id, ADDRESS);
        }
    }

    /// Returns the usable addresses of an interface.
    fn own_addresses(&self, id: InterfaceId) -> impl Iterator<Item = (IpAddr, u8)> {
        let ipv4 = self.addresses.of4(id);
        let ipv4 = ipv4.map(|(addr, own)| (IpAddr::V4(addr), own.len));
        let ipv6 = self.addresses.of6(id);
        let ipv6 = ipv6.filter(move |(addr, _)| self.running().is_in_use(id, *addr));
        ipv4.chain(ipv6.map(|(addr, own)| (IpAddr::V6(addr), own.len)))
    }

    /// Returns the changes since the last call: at most `most` mirror devices, and a multiple of that number of members
    /// of the shared mirror; `None` without changes. Detaches the ports of mirrors to remove.
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

    /// Queues the mirrors of these interfaces again, after applying their changes failed.
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

    /// Returns the desired mirror of an interface. An address works even if its link is down; an interface without
    /// addresses gets its mirror once it runs.
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

    /// Attaches the ports of new mirrors. Returns the interfaces whose mirror has to be removed again: the interface
    /// has been removed meanwhile, or no port number is free.
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
            // Workers look up a port's number in the snapshot: publish the snapshot before the port.
            self.mirrors_changed(&ids);
        }
        for (number, queues) in attaching {
            self.attach_queues(number, queues);
        }
        late
    }

    /// Attaches the port of the shared mirror: from now on packets for sockets leave point-to-point interfaces by it.
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

    /// Detaches the mirrors of these interfaces.
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

/// Returns the name under which a mirror's port gets its number.
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

/// Adds the zone to the link-local addresses of an interface, as the shared mirror needs.
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
