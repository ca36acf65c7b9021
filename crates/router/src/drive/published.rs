//! Interfaces and local addresses, as workers know them. Compares compiled interfaces with the published ones, and
//! writes only the difference into the tables of the workers.
//!
//! The cost of a call depends on the change, not on the number of interfaces.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dataplane::bond::Bond;
use dataplane::encap::Encapsulation;
use dataplane::interface::{Details, Ends, InterfaceTable, Own4, Own6, Session};
use dataplane::rule::Class;
use dataplane::table::Full;
use frame::InterfaceId;
use wire::Mac;

use super::Control;
use super::retired::Retired;
use crate::compile::{self, Compiled, SharedMirror, Shares};

/// The published interfaces and local addresses.
#[derive(Debug)]
pub(crate) struct Published {
    table: Arc<InterfaceTable>,
    interfaces: BTreeMap<InterfaceId, Compiled>,
    /// Local IPv4 addresses in use, by interface.
    own4: BTreeSet<(InterfaceId, Ipv4Addr)>,
    own6: BTreeSet<(InterfaceId, Ipv6Addr)>,
    /// Local IPv6 addresses with a scope beyond their link.
    beyond6: BTreeSet<(InterfaceId, Ipv6Addr)>,
    /// Source addresses on interfaces without an address: the first ones of the router.
    known_by: (Option<Ipv4Addr>, Option<Ipv6Addr>),
    /// The epoch of the first snapshot whose rules know all classes.
    epoch: u64,
    /// A link had no room for another station.
    full: bool,
    /// PPPoE sessions that the table did not take: another interface has the session.
    refused: Vec<(InterfaceId, Session)>,
}

impl Published {
    pub(super) fn new(table: Arc<InterfaceTable>) -> Self {
        Self {
            table,
            interfaces: BTreeMap::new(),
            own4: BTreeSet::new(),
            own6: BTreeSet::new(),
            beyond6: BTreeSet::new(),
            known_by: (None, None),
            epoch: 0,
            full: false,
            refused: Vec::new(),
        }
    }

    /// The interface table of the workers.
    pub(crate) fn table(&self) -> &Arc<InterfaceTable> {
        &self.table
    }

    /// Returns a published interface.
    pub(crate) fn get(&self, id: InterfaceId) -> Option<&Compiled> {
        self.interfaces.get(&id)
    }

    /// Returns all published interfaces.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Compiled> {
        self.interfaces.values()
    }

    /// Sets the epoch of the first snapshot whose rules know the classes that are set from now on.
    pub(super) fn set_epoch(&mut self, epoch: u64) {
        self.epoch = epoch;
    }

    /// Returns the IPv6 addresses in use with a scope beyond their link.
    pub(crate) fn beyond6(&self) -> impl Iterator<Item = &(InterfaceId, Ipv6Addr)> {
        self.beyond6.iter()
    }

    /// Adds or replaces an interface. Returns true if shortcuts that begin or end at the interface have become invalid.
    pub(super) fn set(
        &mut self,
        id: InterfaceId,
        mut new: Compiled,
        retired: &mut Retired,
    ) -> bool {
        let old = self.interfaces.get(&id);
        if old == Some(&new) {
            return false;
        }
        let is_other = |old: &Compiled| {
            old.line != new.line || old.class != new.class || old.details.tags != new.details.tags
        };
        let concerns_shortcuts = old.is_some_and(|old| may_have_shortcuts(old) && is_other(old));
        let (old_vlan, vlan) = (old.and_then(|old| old.vlan), new.vlan);
        if old_vlan != vlan {
            self.give_up(id, old_vlan);
        }
        // The table counts a session at the interface below and at the lowest one.
        let session = |compiled: &Compiled| Some((compiled.session?, compiled.line.under));
        let (old_session, new_session) = (old.and_then(session), session(&new));
        if old_session != new_session {
            self.table.remove_session(id);
        }
        let station = |compiled: &Compiled| Some((compiled.line.mac, compiled.station.clone()?));
        let (old_station, station) = (old.and_then(station), station(&new));
        if old_station != station {
            self.leave_link(id, old_station.as_ref());
        }
        self.give_up_ends(id, old, &new);
        match old.filter(|old| old.details == new.details) {
            // Equal details share their memory.
            Some(old) => new.details = Arc::clone(&old.details),
            None => {
                let details = Arc::clone(&new.details);
                retired.push_details(self.table.set_details(id, details));
            }
        }
        if old.map_or(Class::NONE, |old| old.class) != new.class {
            self.table.set_class(id, new.class, self.epoch);
        }
        self.table.set_above(id, new.above);
        self.table.set(id, &new.line);
        if let Some((on, tag)) = vlan {
            self.table.set_vlan(on, tag, Some(id));
        }
        for ends in ends(&new) {
            self.table.set_tunnel(ends, Some(id));
        }
        if old_session != new_session
            && let Some((on, session)) = new.session
            && !self.table.set_session(id, on, session)
        {
            self.refused.push((id, session));
        }
        if let Some((mac, shares)) = &station {
            self.full |= !self
                .table
                .set_station(shares.on, *mac, &shares.through, Some(id));
        }
        self.interfaces.insert(id, new);
        concerns_shortcuts
    }

    /// Removes an interface; the caller removes its addresses. Returns true if shortcuts may begin or end at the
    /// interface.
    pub(super) fn remove(&mut self, id: InterfaceId, retired: &mut Retired) -> bool {
        let Some(old) = self.interfaces.remove(&id) else {
            return false;
        };
        self.give_up(id, old.vlan);
        self.give_up_ends(id, Some(&old), &Compiled::default());
        let station = old.station.clone().map(|shares| (old.line.mac, shares));
        self.leave_link(id, station.as_ref());
        retired.push_details(self.table.remove(id));
        may_have_shortcuts(&old)
    }

    /// Removes a tag of an interface, unless another interface has taken the tag meanwhile.
    fn give_up(&self, id: InterfaceId, vlan: Option<(InterfaceId, dataplane::interface::Tag)>) {
        if let Some((on, tag)) = vlan
            && self.table.vlan(on, tag) == Some(id)
        {
            self.table.set_vlan(on, tag, None);
        }
    }

    /// Removes the old tunnel endpoints of an interface, unless another interface has taken them meanwhile.
    fn give_up_ends(&self, id: InterfaceId, old: Option<&Compiled>, new: &Compiled) {
        let keeps: Vec<_> = ends(new).collect();
        for given_up in old
            .into_iter()
            .flat_map(ends)
            .filter(|ends| !keeps.contains(ends))
        {
            if self.table.tunnel_of(&given_up) == Some(id) {
                self.table.set_tunnel(given_up, None);
            }
        }
    }

    /// Removes a station from its shared link, unless another station has taken the link address meanwhile.
    fn leave_link(&self, id: InterfaceId, station: Option<&(Mac, Shares)>) {
        if let Some((mac, shares)) = station
            && self.table.station(shares.on, *mac) == Some(id)
        {
            self.table
                .set_station(shares.on, *mac, &shares.through, None);
        }
    }

    /// Returns whether a link rejected a station for lack of room since the last call.
    pub(super) fn take_full(&mut self) -> bool {
        core::mem::take(&mut self.full)
    }

    /// Adds an address of an interface. Does nothing if it is already published.
    ///
    /// # Errors
    /// [`Full`]: the address table is full.
    pub(super) fn add_address(
        &mut self,
        id: InterfaceId,
        address: IpAddr,
        retired: &mut Retired,
    ) -> Result<(), Full> {
        let is_new = match address {
            IpAddr::V4(address) => !self.own4.contains(&(id, address)),
            IpAddr::V6(address) => !self.own6.contains(&(id, address)),
        };
        if !is_new {
            return Ok(());
        }
        self.table.own().add(address)?;
        match address {
            IpAddr::V4(address) => {
                self.own4.insert((id, address));
            }
            IpAddr::V6(address) => {
                self.own6.insert((id, address));
                if !address.is_unicast_link_local() {
                    self.beyond6.insert((id, address));
                }
            }
        }
        self.choose_known_by(retired);
        Ok(())
    }

    /// Removes an address of an interface. Does nothing if it is not published.
    pub(super) fn remove_address(
        &mut self,
        id: InterfaceId,
        address: IpAddr,
        retired: &mut Retired,
    ) {
        let was_there = match address {
            IpAddr::V4(address) => self.own4.remove(&(id, address)),
            IpAddr::V6(address) => {
                self.beyond6.remove(&(id, address));
                self.own6.remove(&(id, address))
            }
        };
        if was_there {
            self.table.own().remove(address);
            self.choose_known_by(retired);
        }
    }

    /// Chooses the source addresses of interfaces without an address: the router's first IPv4 address, and its first
    /// IPv6 address with a scope beyond its link.
    fn choose_known_by(&mut self, retired: &mut Retired) {
        let first4 = self.own4.first().map(|(_, address)| *address);
        let first6 = self.beyond6.first().map(|(_, address)| *address);
        if core::mem::replace(&mut self.known_by, (first4, first6)) == (first4, first6) {
            return;
        }
        let own4 = first4.map(|address| Own4 {
            address,
            network: (address, address),
        });
        let own6 = first6.map(|address| Own6 { address, len: 128 });
        let details = Details {
            address4: first4,
            addresses4: own4.into_iter().collect(),
            addresses6: own6.into_iter().collect(),
            ..Details::default()
        };
        retired.push_details(self.table.set_fallback(Arc::new(details)));
    }
}

/// Returns the keys of the packets that a tunnel decapsulates; empty for other interfaces.
fn ends(interface: &Compiled) -> impl Iterator<Item = Ends> {
    let tunnel = interface.details.tunnel.as_ref();
    tunnel.into_iter().flat_map(Encapsulation::ends)
}

/// Shortcuts connect ports, and carry untagged frames.
fn may_have_shortcuts(interface: &Compiled) -> bool {
    interface.line.out.as_port().is_some() && interface.details.tags.is_empty()
}

impl Control {
    /// Publishes an interface and its mirror, or removes both.
    pub(super) fn publish_interface(&mut self, id: InterfaceId) {
        let compiled = self.compile_interface(id);
        let laid = self.layout.interfaces.get(&id);
        let mirror = laid.filter(|laid| laid.mirror != self.shared_mirror);
        let mirror = mirror.and_then(compile::mirror);
        let mut others = match compiled {
            Some(compiled) => self.published.set(id, compiled, &mut self.retired),
            None => self.published.remove(id, &mut self.retired),
        };
        if let Some((id, made)) = mirror {
            others |= self.published.set(id, made, &mut self.retired);
        }
        if others {
            self.fib.forget_shortcuts();
        }
        for (id, session) in core::mem::take(&mut self.published.refused) {
            let name = self.layout.name(id);
            let (peer, number) = (session.peer, session.number);
            let message = format!("{name}: session {number} of {peer} is in use or has no room");
            self.features.log.add("interface,error", message);
        }
        if self.published.take_full() {
            let name = self.layout.name(id);
            let message = format!("{name}: no room for another link address on its link");
            self.features.log.add("interface,error", message);
        }
    }

    /// Publishes the mirror that point-to-point interfaces share.
    pub(crate) fn publish_shared_mirror(&mut self, shared: SharedMirror) {
        self.workers.make_room(self.numbers.last());
        let compiled = compile::shared_mirror(shared);
        self.published.set(shared.1, compiled, &mut self.retired);
    }

    /// Compiles an interface for workers.
    pub(super) fn compile_interface(&self, id: InterfaceId) -> Option<Compiled> {
        let in_use = |id, address| self.running().is_in_use(id, address);
        let mut compiled =
            compile::interface(&self.intent, &self.layout, &self.addresses, id, &in_use)?;
        if let Some(details) = Arc::get_mut(&mut compiled.details) {
            self.wanted.groups.add_to(id, details);
        }
        let class = self.firewall.class(id);
        Some(Compiled { class, ..compiled })
    }

    /// Publishes a bond, or removes it.
    pub(super) fn set_bond(&mut self, id: InterfaceId, bond: Option<Arc<Bond>>) {
        let replaced = self.published.table.bonds().set(id, bond);
        self.retired.push_bond(replaced);
    }

    /// Returns the epoch of the first snapshot with the present rules: the current epoch, or the next one.
    pub(super) fn epoch_of_rules(&self) -> u64 {
        let published = Arc::ptr_eq(&self.snapshot.load().firewall, self.firewall.compiled());
        self.epoch + u64::from(!published)
    }

    /// Adds an address of an interface.
    pub(super) fn use_address(&mut self, id: InterfaceId, address: IpAddr) {
        let added = self.published.add_address(id, address, &mut self.retired);
        if added.is_err() {
            let message = format!("no room for address {address} in the table of local addresses");
            self.features.log.add("interface,error", message);
        }
    }

    /// Removes an address of an interface.
    pub(super) fn give_up_address(&mut self, id: InterfaceId, address: IpAddr) {
        self.published
            .remove_address(id, address, &mut self.retired);
    }
}

#[cfg(test)]
mod tests {
    use dataplane::interface::{Interface, Tag};
    use dataplane::out::OutId;

    use super::*;

    fn published() -> (Published, Retired) {
        let table = Arc::new(InterfaceTable::new());
        (Published::new(table), Retired::default())
    }

    #[test]
    fn interfaces_may_swap_their_vlan_tags() {
        let (mut published, mut retired) = published();
        let (below, one, other) = (InterfaceId(1), InterfaceId(2), InterfaceId(3));
        let tag = |vlan_id| Tag {
            ethertype: 0x8100,
            vlan_id,
        };
        let with = |vlan_id| Compiled {
            vlan: Some((below, tag(vlan_id))),
            ..Compiled::default()
        };
        published.set(below, Compiled::default(), &mut retired);
        published.set(one, with(5), &mut retired);

        // The interfaces swap their tags, and the second one is published first.
        published.set(other, with(5), &mut retired);
        published.set(one, with(6), &mut retired);

        let table = Arc::clone(published.table());
        let at = |vlan_id| table.vlan(below, tag(vlan_id));
        assert_eq!((at(5), at(6)), (Some(other), Some(one)));
        published.remove(other, &mut retired);
        assert_eq!((at(5), at(6)), (None, Some(one)));
    }

    #[test]
    fn shortcuts_are_concerned_by_ports_alone() {
        let (mut published, mut retired) = published();
        let id = InterfaceId(1);
        let port = |mtu, tags| Compiled {
            line: Interface {
                out: OutId::port(3),
                mtu,
                ..Interface::default()
            },
            details: Arc::new(Details {
                tags,
                ..Details::default()
            }),
            ..Compiled::default()
        };
        let tag = Tag {
            ethertype: 0x8100,
            vlan_id: 5,
        };
        assert!(
            !published.set(id, port(1500, vec![]), &mut retired),
            "it is new"
        );
        assert!(
            !published.set(id, port(1500, vec![]), &mut retired),
            "it is the same"
        );
        assert!(published.set(id, port(1400, vec![]), &mut retired));
        assert!(published.remove(id, &mut retired));

        published.set(id, port(1500, vec![tag]), &mut retired);
        assert!(!published.set(id, port(1400, vec![tag]), &mut retired));
        published.remove(id, &mut retired);
        published.set(id, Compiled::default(), &mut retired);
        assert!(
            !published.remove(id, &mut retired),
            "frames leave by no port"
        );
    }

    #[test]
    fn interfaces_without_an_address_use_the_first_one_of_another_interface() {
        let (mut published, mut retired) = published();
        let (bare, one, other) = (InterfaceId(1), InterfaceId(2), InterfaceId(3));
        for id in [bare, one, other] {
            published.set(id, Compiled::default(), &mut retired);
        }
        let table = Arc::clone(published.table());
        let known_by = || {
            let first4 = table.address(bare, |details| details.address4);
            let to = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9);
            (
                first4,
                table.address(bare, |details| details.source6_towards(to)),
            )
        };
        assert_eq!(known_by(), (None, None));

        let (first4, first6) = (
            Ipv4Addr::new(192, 0, 2, 1),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
        );
        let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
        for (id, address) in [
            (other, first4.into()),
            (other, IpAddr::from(first6)),
            (one, link_local.into()),
        ] {
            let added = published.add_address(id, address, &mut retired);
            assert_eq!(added, Ok(()));
        }
        assert_eq!(known_by(), (Some(first4), Some(first6)));

        published.remove_address(other, first4.into(), &mut retired);
        published.remove_address(other, first6.into(), &mut retired);
        assert_eq!(known_by(), (None, None));
    }
}
