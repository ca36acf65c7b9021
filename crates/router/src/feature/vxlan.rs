//! VXLAN networks, `/interface/vxlan`: interfaces whose frames go to remote VTEPs (`vteps`, or a
//! multicast group). Workers learn the VTEP of each host (`fdb`).

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use dataplane::encap::Encapsulation;
use dataplane::encap::vxlan::Peer;
use dataplane::interface::Peers;
use frame::InterfaceId;
use machine::{Duration, Instant};
use menu::{Changes, Id, Item, Menu, Row, RowFilter, Value};

use super::{Effect, Effects, Feature, View, each_item};
use crate::intent::{Interface, ItemId, ItemState, Name};
use crate::kind::{
    self,
    vxlan::{MENU, Vxlan},
};
use crate::live::{DYNAMIC, give};
use crate::read;
use crate::running::Running;

const VTEPS: &str = "/interface/vxlan/vteps";
const FDB: &str = "/interface/vxlan/fdb";
/// Interval of ageing steps, and the number of steps for the whole host table: one minute in total.
const LOOK: Duration = Duration::from_secs(1);
const LOOKS: u32 = 60;

/// All VXLAN networks, their VTEPs and hosts.
#[derive(Debug)]
pub(crate) struct Vxlans {
    peers: Arc<Peers>,
    seed: u64,
    all: BTreeMap<ItemId, Interface>,
    names: BTreeMap<Name, ItemId>,
    vteps: BTreeMap<ItemId, Vtep>,
    /// VTEP items by the name of their network.
    of: BTreeSet<(Name, ItemId)>,
    /// Networks that workers have.
    networks: BTreeMap<InterfaceId, Network>,
    /// Time of the next ageing step, and the table line where it starts.
    look: Option<(Instant, u32)>,
}

/// An item of `vteps`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Vtep {
    interface: Name,
    address: IpAddr,
    port: Option<u16>,
    disabled: bool,
}

/// A network for rows, and the multicast group joined for it.
#[derive(Debug)]
struct Network {
    name: Name,
    ipv6: bool,
    group: Option<(IpAddr, InterfaceId)>,
}

impl Vxlans {
    /// Returns an instance without networks. `seed` is the seed of the host table's hash.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            peers: Arc::default(),
            seed,
            all: BTreeMap::new(),
            names: BTreeMap::new(),
            vteps: BTreeMap::new(),
            of: BTreeSet::new(),
            networks: BTreeMap::new(),
            look: None,
        }
    }

    /// Sets the host table of the workers.
    pub(crate) fn set_peers(&mut self, peers: &Arc<Peers>) {
        self.peers = Arc::clone(peers);
    }

    /// Applies changed VTEPs. Returns the names of their networks.
    fn follow_vteps(&mut self, view: &View<'_>, changes: Option<&Changes>) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        each_item(view, VTEPS, changes, |id, item| {
            if let Some(gone) = self.vteps.remove(&id) {
                self.of.remove(&(gone.interface.clone(), id));
                names.insert(gone.interface);
            }
            if let Some(vtep) = item.and_then(vtep) {
                self.of.insert((vtep.interface.clone(), id));
                names.insert(vtep.interface.clone());
                self.vteps.insert(id, vtep);
            }
        });
        names
    }

    /// Applies changed networks. Returns their names.
    fn follow_networks(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut Effects,
    ) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        each_item(view, MENU, changes, |id, item| {
            if let Some(gone) = self.all.remove(&id)
                && self.names.get(&gone.name) == Some(&id)
            {
                self.names.remove(&gone.name);
            }
            match item.and_then(kind::vxlan::read) {
                Some(interface) => {
                    names.insert(interface.name.clone());
                    self.names.insert(interface.name.clone(), id);
                    self.all.insert(id, interface);
                }
                None => out.push(Effect::Item(id, ItemState::Interface(None))),
            }
        });
        names
    }

    /// Returns the enabled VTEPs of a network that are of its family.
    fn peers_of(&self, name: &Name, ipv6: bool, port: u16) -> Arc<[Peer]> {
        let all = { self.of.range((name.clone(), 0)..) }.take_while(|(of, _)| of == name);
        let all = all.filter_map(|(_, id)| self.vteps.get(id));
        let used = all.filter(|vtep| !vtep.disabled && vtep.address.is_ipv6() == ipv6);
        let peers = used.map(|vtep| Peer {
            address: vtep.address,
            port: vtep.port.unwrap_or(port),
        });
        peers.collect()
    }

    /// Passes a network and its VTEPs to control.
    fn tell(&mut self, name: &Name, out: &mut Effects) {
        let Some((id, interface)) = self
            .names
            .get(name)
            .and_then(|id| Some((*id, self.all.get(id)?)))
        else {
            return;
        };
        let mut interface = interface.clone();
        if let Some(network) = interface.kind.downcast::<Vxlan>() {
            let peers = self.peers_of(name, network.is_over_ipv6(), network.port());
            interface.kind = network.with_peers(peers).into();
        }
        // Allocates the host table before workers have a network.
        if let Err(error) = self.peers.make_room(self.seed) {
            out.log(
                "interface,error",
                format!("{name}: no room for hosts: {error}"),
            );
        }
        out.push(Effect::Item(id, ItemState::Interface(Some(interface))));
    }

    /// Adds, changes or removes a network in the layout.
    fn lay_out_one(&mut self, id: InterfaceId, now: Option<Network>, out: &mut Effects) {
        let group = |network: &Network| network.group;
        let before = self.networks.get(&id).and_then(group);
        let wanted = now.as_ref().and_then(group);
        if before != wanted {
            for (joined, on) in [(before, false), (wanted, true)] {
                if let Some((group, interface)) = joined {
                    out.push(Effect::Join {
                        group,
                        interface,
                        on,
                    });
                }
            }
        }
        match now {
            Some(network) => drop(self.networks.insert(id, network)),
            None if self.networks.remove(&id).is_some() => self.peers.forget(id),
            None => {}
        }
    }
}

impl Feature for Vxlans {
    fn menus(&self) -> &'static [&'static str] {
        &[MENU, VTEPS, FDB]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, out: &mut Effects) {
        let mut names = self.follow_vteps(view, changes);
        names.append(&mut self.follow_networks(view, changes, out));
        for name in names {
            self.tell(&name, out);
        }
    }

    fn lay_out(
        &mut self,
        others: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut Effects,
    ) {
        for id in others {
            let laid = running.layout.interfaces.get(id);
            let network = laid.and_then(|laid| match &laid.tunnel {
                Some(Encapsulation::Vxlan(network)) => Some(Network {
                    name: laid.name.clone(),
                    ipv6: network.local.is_ipv6(),
                    group: network.group,
                }),
                _ => None,
            });
            self.lay_out_one(*id, network, out);
        }
        self.look = match (self.networks.is_empty(), self.look) {
            (true, _) => None,
            (false, None) => Some((running.now + LOOK, 0)),
            (false, look) => look,
        };
    }

    fn tick(&mut self, now: Instant, _: &mut Effects) {
        let Some((_, line)) = self.look else { return };
        let lines = self.peers.hosts().map_or(0, |hosts| hosts.lines());
        let count = lines / LOOKS + 1;
        let line = self.peers.age(line, count, Peers::second(now));
        self.look = Some((now + LOOK, line));
    }

    fn deadline(&self) -> Option<Instant> {
        self.look.map(|(at, _)| at)
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if menu.path != FDB {
            return ControlFlow::Continue(());
        }
        let mut flow = ControlFlow::Continue(());
        self.peers.each(|key, peer| {
            let network = self.networks.get(&key.bridge);
            let Some(network) = network.filter(|_| flow.is_continue()) else {
                return;
            };
            let Some(address) = self.peers.address(peer, network.ipv6) else {
                return;
            };
            let [_, _, mac @ ..] = key.mac.to_be_bytes();
            let mut row = Row {
                id: Some(Id(DYNAMIC | u64::from(key.bridge.0) << 48 ^ key.mac)),
                ..Row::default()
            };
            row.set("interface", Value::Reference((&*network.name).into()));
            row.set("mac-address", Value::Mac(mac));
            row.set("remote-ip", Value::Address(address));
            row.flag("dynamic", true);
            flow = give(row, filter, each);
        });
        flow
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        if menu.path == MENU
            && let Some(interface) = self.all.get(&id.0)
            && let Some(network) = interface.kind.downcast::<Vxlan>()
        {
            let version = match network.is_over_ipv6() {
                true => "ipv6",
                false => "ipv4",
            };
            row.set("vteps-ip-version", Value::Word(version));
        }
    }
}

fn vtep(item: &Item) -> Option<Vtep> {
    Some(Vtep {
        interface: read::name(item, "interface")?,
        address: item.get("remote-ip").and_then(Value::as_address)?,
        port: item
            .number("port")
            .and_then(|port| u16::try_from(port).ok()),
        disabled: item.is("disabled"),
    })
}
