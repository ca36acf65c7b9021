//! The link of a traced packet: determines the receiving interface of its frame, and the destination link address.
//!
//! A host sends frames to another host directly if a bridge carries their common network, and otherwise to its gateway:
//! the interface of this router, or the virtual router on it, with an address in the host's network. Bridge and VLAN
//! membership come from the tables that the workers read.

use core::net::IpAddr;

use dataplane::bridge::{Bridge, Member};
use dataplane::interface::{Above, Details, Tag};
use dataplane::table::HostKey;
use frame::InterfaceId;
use menu::{Call, Value};
use service::neighbour::Mode;
use wire::{EtherType, Mac};

use super::missing::AwaitedAddress;
use crate::drive::Control;
use crate::probe::{Probe, argument};

/// Maximum number of stacked interfaces that a trace follows.
const INTERFACES_DEEP: usize = 8;
/// Link address of another host with an unknown address: a documentation address (RFC 9542, 2.1.2).
const HOST: Mac = Mac([0x00, 0x00, 0x5e, 0x00, 0x53, 0x02]);
/// Broadcast link address.
const BROADCAST: Mac = Mac([0xff; 6]);

/// Arrival of a probe's frame.
pub(super) struct Arrival {
    /// The ingress interface.
    pub(super) port: InterfaceId,
    /// Tags, outermost first: EtherType and VLAN id.
    pub(super) tags: Vec<(u16, u16)>,
    /// Destination link address.
    pub(super) to: Mac,
    /// Reason for this destination; `None` on links without link addresses.
    pub(super) because: Option<String>,
}

/// Link of a probe.
#[derive(Default)]
struct Link {
    /// Bridge of the link, and the VLAN id there; 0 without VLAN filtering.
    bridge: Option<(InterfaceId, u16)>,
    /// Interfaces of this router on the link: first the interface that receives its packets, then stations on it.
    routers: Vec<InterfaceId>,
}

/// Receiver of a probe.
enum Receiver {
    /// Multicast or broadcast.
    Many(Mac),
    /// This interface of the router.
    Router(InterfaceId),
    /// Another host of this network.
    Host(String),
}

impl Control {
    /// Determines how the frame of a probe arrives by this interface. Sets the sender's link address from the neighbour
    /// table, unless `call` contains it. `awaited` lists interfaces that wait for their address.
    pub(super) fn arrival(
        &self,
        call: &Call<'_>,
        probe: &mut Probe,
        id: InterfaceId,
        awaited: &[AwaitedAddress],
    ) -> Arrival {
        let mut arrival = Arrival {
            port: self.carrier(id),
            tags: self.tags(id),
            to: self.mac(id),
            because: None,
        };
        let is_ethernet =
            { self.layout.interfaces.get(&id) }.is_some_and(|laid| laid.link.ethernet);
        if !is_ethernet || super::is_revealed(call) {
            // Packets from a tunnel or from IPsec belong to the interface itself.
            let top = self.top(id);
            (arrival.port, arrival.tags, arrival.to) = (id, Vec::new(), self.mac(top));
            return arrival;
        }
        let link = self.link(id, probe.vlan_id);
        if argument(call, "src-mac-address").is_none()
            && let Some(mac) = self.neighbour(&link, probe.source)
        {
            probe.source_mac = mac;
        }
        if let Some(mac) = argument(call, "dst-mac-address").and_then(Value::as_mac) {
            arrival.to = Mac(mac);
            arrival.because = Some(format!("is sent to {}, as requested", arrival.to));
            return arrival;
        }
        let awaits_address = |id| awaited.iter().any(|awaited| awaited.interface == id);
        let receiver = self.receiver(id, &link, probe, &awaits_address);
        self.send_to(receiver, &link, probe, &mut arrival);
        arrival
    }

    /// Addresses a frame to its receiver.
    fn send_to(&self, receiver: Receiver, link: &Link, probe: &Probe, arrival: &mut Arrival) {
        let because = match receiver {
            Receiver::Many(mac) => {
                arrival.to = mac;
                format!("is sent to {mac}: to a group, or to all on the link")
            }
            Receiver::Router(router) => {
                arrival.to = self.mac(router);
                format!("is sent to {} of {}", arrival.to, self.layout.name(router))
            }
            Receiver::Host(why) => {
                let (host, known) = (probe.destination, self.neighbour(link, probe.destination));
                arrival.to = known.unwrap_or(HOST);
                let known = match known {
                    Some(mac) => format!("at {mac}"),
                    None => "whose link address is not known here".to_owned(),
                };
                let sent = format!("is sent to the host {host}, {known}: {why}");
                match self.enter_bridge(link, probe, arrival) {
                    Some(port) => {
                        let port = self.layout.name(port);
                        format!("{sent}; its assumed ingress port is {port}")
                    }
                    None => sent,
                }
            }
        };
        arrival.because = Some(because);
    }

    /// Returns the receiver of a probe from a sender behind this interface. `awaits_address` returns whether an
    /// interface waits for its address.
    fn receiver(
        &self,
        id: InterfaceId,
        link: &Link,
        probe: &Probe,
        awaits_address: &dyn Fn(InterfaceId) -> bool,
    ) -> Receiver {
        let (from, to) = (probe.source, probe.destination);
        if let Some(mac) = self.many(link, to) {
            return Receiver::Many(mac);
        }
        let of = |choose: &dyn Fn(&Details) -> bool| {
            let mut routers = link.routers.iter();
            routers.find(|id| self.has(**id, choose)).copied()
        };
        if let Some(own) = of(&|details| holds(details, to)) {
            return Receiver::Router(own);
        }
        if let Some(near) = of(&|details| network(details, from).is_some()) {
            let both = |details: &Details| network(details, from) == network(details, to);
            return match link.bridge {
                Some((bridge, _)) if self.has(near, both) && !self.answers_for_all(near) => {
                    let network = self.network(near, from);
                    let name = self.layout.name(bridge);
                    Receiver::Host(format!("both are in {network}, so {name} bridges it"))
                }
                _ => Receiver::Router(self.virtual_router(link, near, from).unwrap_or(near)),
            };
        }
        let has_address = |id: &InterfaceId| {
            let of_family = |details: &Details| !addresses(details, from.is_ipv6()).is_empty();
            self.has(*id, of_family) || awaits_address(*id)
        };
        match (link.routers.first(), link.bridge) {
            (Some(router), _) if has_address(router) => Receiver::Router(*router),
            (_, Some((bridge, _))) => {
                let name = self.layout.name(bridge);
                Receiver::Host(format!(
                    "this router has no address there, and {name} bridges it"
                ))
            }
            (Some(router), None) => Receiver::Router(*router),
            (None, None) => Receiver::Router(id),
        }
    }

    /// Returns the virtual router (VRRP) that hosts of a network use as gateway: this router is its master, and its
    /// address lies in the network of interface `near` that contains `host`.
    fn virtual_router(&self, link: &Link, near: InterfaceId, host: IpAddr) -> Option<InterfaceId> {
        let is_gateway = |id: InterfaceId| {
            let laid = self.layout.interfaces.get(&id);
            let of = |details: &Details| addresses(details, host.is_ipv6());
            let own = self.interfaces().details(id, of).unwrap_or_default();
            let is_near = |details: &Details| {
                let has = |own: &IpAddr| network(details, *own) == network(details, host);
                own.iter().any(has)
            };
            laid.is_some_and(|laid| laid.shared) && self.has(near, is_near)
        };
        let mut routers = link.routers.iter().copied();
        routers.find(|id| *id != near && is_gateway(*id))
    }

    /// Returns the link address of a multicast or broadcast destination (RFC 1112, 6.4; RFC 2464, 7).
    fn many(&self, link: &Link, to: IpAddr) -> Option<Mac> {
        match to {
            IpAddr::V4(to) if to.is_broadcast() => Some(BROADCAST),
            IpAddr::V4(to) if to.is_multicast() => {
                let [_, b, c, d] = to.octets();
                Some(Mac([0x01, 0x00, 0x5e, b & 0x7f, c, d]))
            }
            IpAddr::V4(to) => {
                let is_last = |details: &Details| {
                    let mut own = details.addresses4.iter();
                    // Networks with prefix lengths 31 and 32 have no broadcast address (RFC 3021).
                    own.any(|own| {
                        own.network.1 == to && own.network.1.to_bits() - own.network.0.to_bits() > 1
                    })
                };
                let mut routers = link.routers.iter();
                routers
                    .any(|id| self.has(*id, is_last))
                    .then_some(BROADCAST)
            }
            IpAddr::V6(to) if to.is_multicast() => {
                let [.., a, b, c, d] = to.octets();
                Some(Mac([0x33, 0x33, a, b, c, d]))
            }
            IpAddr::V6(_) => None,
        }
    }

    /// Follows frames of an interface up through bonds, bridges and VLANs to the interface that receives their packets.
    /// `vlan` is a further tag of the frames, inside the tags of the interface.
    fn link(&self, id: InterfaceId, mut vlan: Option<u16>) -> Link {
        let (mut at, mut link) = (id, Link::default());
        for _ in 0..INTERFACES_DEEP {
            match self.layout.interfaces.get(&at).and_then(|laid| laid.above) {
                Some((Above::Bond, bond)) => at = bond,
                Some((Above::Bridge, bridge)) => {
                    let port = core::mem::replace(&mut at, bridge);
                    match self.vlan_of(bridge, port, vlan) {
                        Some((vid, router)) => {
                            link.bridge = Some((bridge, vid));
                            let Some(router) = router else { return link };
                            (at, vlan) = (router, None);
                        }
                        None => link.bridge = Some((bridge, 0)),
                    }
                }
                Some((Above::Nothing, _)) | None => match vlan.take() {
                    Some(vid) => match self.tagged(at, EtherType::VLAN.0, vid) {
                        Some(tagged) => at = tagged,
                        None => return link,
                    },
                    None => break,
                },
            }
        }
        if link.bridge.is_none() {
            link.bridge = self.bridge_below(at);
        }
        link.routers.push(at);
        self.interfaces()
            .each_station(at, |station| link.routers.push(station));
        link.routers.retain(|id| *id == at || self.runs(*id));
        link
    }

    /// Returns the VLAN id of frames with this tag on a bridge port, and the router's interface in the VLAN, if the
    /// bridge filters VLANs.
    fn vlan_of(
        &self,
        bridge: InterfaceId,
        port: InterfaceId,
        tag: Option<u16>,
    ) -> Option<(u16, Option<InterfaceId>)> {
        self.with_bridge(bridge, |table| {
            let vlans = table.vlans.as_ref()?;
            let port = table.ports().get(table.number(port)?)?;
            let vid = tag.unwrap_or(port.pvid);
            let router = match vlans.member(vid, table.ports().len()) {
                Member::No => None,
                Member::Untagged => Some(bridge),
                Member::Tagged | Member::AsTheyCame => self.tagged(bridge, table.ethertype, vid),
            };
            Some((vid, router))
        })
    }

    /// Returns the bridge of a bridge interface or of a VLAN interface on a bridge, with the VLAN id.
    fn bridge_below(&self, id: InterfaceId) -> Option<(InterfaceId, u16)> {
        let filters = |table: &Bridge| Some(table.vlans.is_some().then_some(table.pvid));
        if let Some(pvid) = self.with_bridge(id, filters) {
            return Some((id, pvid.unwrap_or(0)));
        }
        let (parent, (_, vid)) = self.layout.interfaces.get(&id)?.parent?;
        let filters = self.with_bridge(parent, filters)?.is_some();
        Some((parent, if filters { vid } else { 0 }))
    }

    fn with_bridge<R>(
        &self,
        id: InterfaceId,
        show: impl FnOnce(&Bridge) -> Option<R>,
    ) -> Option<R> {
        let bridge = self.interfaces().bridges().get(id.slot());
        let bridge = bridge.as_ref().and_then(|bridge| bridge.as_deref());
        show(bridge.filter(|bridge| bridge.id == id)?)
    }

    /// Chooses the ingress port of a frame between two hosts of a bridge, if the caller named only the bridge or a VLAN
    /// interface: the port on which the sender was learned, otherwise the first port of the VLAN. Leaves out the port
    /// of the receiver.
    fn enter_bridge(
        &self,
        link: &Link,
        probe: &Probe,
        arrival: &mut Arrival,
    ) -> Option<InterfaceId> {
        let (bridge, vid) = link.bridge.filter(|(bridge, _)| *bridge == arrival.port)?;
        let learned = |mac: Mac| {
            let [a, b, c, d, e, f] = mac.0;
            let mac = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
            let hosts = self.interfaces().bridges().hosts();
            let host = hosts.get(&HostKey { bridge, vid, mac });
            host.map(|host| host.port)
        };
        let (sender, receiver) = (learned(probe.source_mac), learned(arrival.to));
        let found = self.with_bridge(bridge, |table| {
            let ports = table.ports().iter().enumerate();
            let fitting = ports.filter_map(|(number, port)| {
                let tag = match &table.vlans {
                    None => arrival.tags.first().copied(),
                    Some(_) if port.pvid == vid => None,
                    Some(vlans) => match vlans.member(vid, number) {
                        Member::Tagged => Some((table.ethertype, vid)),
                        _ => return None,
                    },
                };
                Some((port.interface, tag))
            });
            let fitting = fitting.filter(|(id, _)| self.runs(*id) && Some(*id) != receiver);
            fitting.min_by_key(|(id, _)| Some(*id) != sender)
        });
        let (port, tag) = found?;
        (arrival.port, arrival.tags) = (self.carrier(port), self.tags(port));
        arrival.tags.extend(tag);
        Some(port)
    }

    /// Returns the interface whose port receives the frames of an interface.
    fn carrier(&self, mut id: InterfaceId) -> InterfaceId {
        for _ in 0..INTERFACES_DEEP {
            let laid = self.layout.interfaces.get(&id);
            let below = laid.and_then(|laid| {
                let shares = laid.station.as_ref().map(|shares| shares.on);
                laid.parent.map(|(parent, _)| parent).or(shares)
            });
            match below {
                Some(below) => id = below,
                None => break,
            }
        }
        id
    }

    /// Returns the topmost bond or bridge above an interface, or the interface itself.
    fn top(&self, mut id: InterfaceId) -> InterfaceId {
        for _ in 0..INTERFACES_DEEP {
            match self.layout.interfaces.get(&id).and_then(|laid| laid.above) {
                Some((Above::Bond | Above::Bridge, above)) => id = above,
                Some((Above::Nothing, _)) | None => break,
            }
        }
        id
    }

    fn tags(&self, id: InterfaceId) -> Vec<(u16, u16)> {
        let laid = self.layout.interfaces.get(&id);
        laid.map(|laid| laid.link.tags.clone()).unwrap_or_default()
    }

    fn mac(&self, id: InterfaceId) -> Mac {
        let line = self.interfaces().get(id);
        line.map(|line| line.mac).unwrap_or_default()
    }

    fn runs(&self, id: InterfaceId) -> bool {
        self.interfaces().get(id).is_some_and(|line| line.running)
    }

    /// Returns the VLAN interface of a tag on an interface.
    fn tagged(&self, on: InterfaceId, ethertype: u16, vlan_id: u16) -> Option<InterfaceId> {
        self.interfaces().vlan(on, Tag { ethertype, vlan_id })
    }

    fn has(&self, id: InterfaceId, choose: impl Fn(&Details) -> bool) -> bool {
        self.interfaces().details(id, choose).unwrap_or(false)
    }

    /// Returns the network of an interface that contains an address, in CIDR notation.
    fn network(&self, id: InterfaceId, address: IpAddr) -> String {
        let found = self
            .interfaces()
            .details(id, |details| network(details, address));
        found.flatten().unwrap_or_default()
    }

    /// Whether the router answers ARP requests for hosts on the interface's own link (RouterOS: `arp=local-proxy-arp`).
    fn answers_for_all(&self, id: InterfaceId) -> bool {
        let laid = self.layout.interfaces.get(&id);
        laid.is_some_and(|laid| laid.arp == Mode::LocalProxyArp)
    }

    /// Returns the link address of a neighbour, if it is known.
    fn neighbour(&self, link: &Link, address: IpAddr) -> Option<Mac> {
        let mut routers = link.routers.iter();
        routers.find_map(|id| match address {
            IpAddr::V4(address) => self.v4.machines.get(id)?.row(address)?.mac,
            IpAddr::V6(address) => self.v6.machines.get(id)?.row(address)?.mac,
        })
    }
}

fn holds(details: &Details, address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => details.addresses4.iter().any(|own| own.address == address),
        IpAddr::V6(address) => details.has_ipv6(address.to_bits()),
    }
}

/// Returns the addresses of one family on an interface.
fn addresses(details: &Details, ipv6: bool) -> Vec<IpAddr> {
    match ipv6 {
        true => { details.addresses6.iter() }
            .map(|own| own.address.into())
            .collect(),
        false => { details.addresses4.iter() }
            .map(|own| own.address.into())
            .collect(),
    }
}

/// Returns the network of an interface that contains an address, in CIDR notation.
fn network(details: &Details, address: IpAddr) -> Option<String> {
    match address {
        IpAddr::V4(address) => {
            let has = |own: &&dataplane::interface::Own4| {
                (own.network.0..=own.network.1).contains(&address)
            };
            let own = details.addresses4.iter().find(has)?;
            let (first, last) = own.network;
            let len = (first.to_bits() ^ last.to_bits()).leading_zeros();
            Some(format!("{first}/{len}"))
        }
        IpAddr::V6(address) => {
            let masked = |bits: u128, len: u8| bits.checked_shr(128 - u32::from(len)).unwrap_or(0);
            let has = |own: &&dataplane::interface::Own6| {
                masked(own.address.to_bits(), own.len) == masked(address.to_bits(), own.len)
            };
            let own = details.addresses6.iter().find(has)?;
            let bits = masked(own.address.to_bits(), own.len);
            let first = bits.checked_shl(128 - u32::from(own.len)).unwrap_or(0);
            Some(format!(
                "{}/{}",
                core::net::Ipv6Addr::from_bits(first),
                own.len
            ))
        }
    }
}
