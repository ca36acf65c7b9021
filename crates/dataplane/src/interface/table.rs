//! The table of interfaces: written by control, read by workers without a lock.
//!
//! An id consists of slot and generation. When an interface is removed, its slot gets the next
//! generation, so old ids match nothing.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use arc_swap::{ArcSwapOption, Guard};
use frame::InterfaceId;
use wire::Mac;

use super::peers::Peers;
use super::station::Stations;
use super::tunnel::{Ends, Tunnels};
use super::{Above, Details, INTERFACES, Interface, OwnAddresses};
use crate::bond::Bonds;
use crate::bridge::Bridges;
use crate::demux::{Demux, Facts};
use crate::encap::wireguard::Sessions;
use crate::encap::{Encapsulation, Form};
use crate::out::OutId;
use crate::rule::Class;
use crate::service::ServiceSet;
use crate::tap::{Direction, Taps};

/// Slots that are allocated together.
const PAGE: usize = 256;

/// All interfaces.
#[derive(Debug)]
pub struct InterfaceTable {
    pages: Box<[OnceLock<Box<[Slot]>>]>,
    pub(super) demux: Demux,
    /// Changes with every interface and VLAN, so that workers can validate caches.
    version: AtomicU64,
    tunnels: Tunnels,
    own: OwnAddresses,
    /// The addresses that the router uses on interfaces without an address.
    fallback: ArcSwapOption<Details>,
    taps: Taps,
    bridges: Bridges,
    peers: Arc<Peers>,
    sessions: Arc<Sessions>,
    bonds: Bonds,
}

/// An entry of the table. Per-packet facts are on the first cache line.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Slot {
    pub(super) line: Line,
    /// The epoch of the first snapshot with the current class (32) | the previous class (16) | the
    /// current class (16).
    classes: AtomicU64,
    /// Services that receive frames of the interface.
    services: AtomicU64,
    /// The bond or bridge that receives its frames.
    above: AtomicU32,
    /// The interface is tapped.
    tapped: AtomicBool,
    details: ArcSwapOption<Details>,
    /// The stations on it, which get copies of multicast frames.
    pub(super) stations: Stations,
    /// The interface below a station or a session.
    pub(super) below: AtomicU32,
    /// The lowest interface below a session.
    pub(super) under: AtomicU32,
    /// Name part of a session's key on the interface below; 0 for all other interfaces.
    pub(super) session: AtomicU64,
    /// Number of VLANs on it.
    pub(super) vlans: AtomicU32,
    /// Numbers of stations and of sessions on it or on upper interfaces.
    pub(super) upper_counts: [AtomicU32; 2],
    /// Number of VLANs on it that are bridge ports or bond slaves.
    slaves: AtomicU32,
}

/// Word 0: version (32) | mirror (16); word 1: MAC address (48) | generation (12); word 2: MTU (32)
/// | under (32); word 3: flags | out (from bit 32 on).
///
/// The version is odd during a write.
#[derive(Debug, Default)]
#[repr(align(32))]
pub(super) struct Line([AtomicU64; 4]);

/// Mirror number for interfaces without a mirror port.
const NO_MIRROR: u16 = u16::MAX;
const MAC_BITS: u32 = 48;

/// Bits of word 3.
pub(super) mod flag {
    /// The interface exists.
    pub(super) const PRESENT: u64 = 1;
    pub(super) const RUNNING: u64 = 1 << 1;
    pub(super) const ETHERNET: u64 = 1 << 2;
    pub(super) const IPV4: u64 = 1 << 3;
    pub(super) const IPV6: u64 = 1 << 4;
    /// VLAN interfaces exist on it. Survives a write.
    pub(in crate::interface) const VLANS: u64 = 1 << 5;
    /// A bond (bit 6) or a bridge (bit 7) receives its frames.
    pub(super) const BOND: u64 = 1 << 6;
    pub(super) const BRIDGE: u64 = 1 << 7;
    /// Stations exist on it, or on an upper interface. Survives a write.
    pub(in crate::interface) const STATIONS: u64 = 1 << 8;
    /// VLANs on it are bridge ports or bond slaves. Survives a write.
    pub(super) const SLAVES: u64 = 1 << 9;
    /// PPPoE sessions exist on it, or on an upper interface. Survives a write.
    pub(in crate::interface) const SESSIONS: u64 = 1 << 10;
    /// A PPP session whose packets are encrypted.
    pub(super) const ENCRYPTED: u64 = 1 << 11;
    /// The flags that survive a write.
    pub(super) const KEPT: u64 = VLANS | STATIONS | SLAVES | SESSIONS;
}

/// Details that a worker reads; `None` for an interface that is gone.
pub(crate) type DetailsGuard = Guard<Option<Arc<Details>>>;

impl Default for InterfaceTable {
    fn default() -> Self {
        Self::new()
    }
}

impl InterfaceTable {
    /// Creates an empty table.
    pub fn new() -> Self {
        Self {
            pages: (0..INTERFACES / PAGE).map(|_| OnceLock::new()).collect(),
            demux: Demux::default(),
            version: AtomicU64::new(0),
            tunnels: Tunnels::new(),
            own: OwnAddresses::new(),
            fallback: ArcSwapOption::empty(),
            taps: Taps::new(),
            bridges: Bridges::default(),
            peers: Arc::default(),
            sessions: Arc::default(),
            bonds: Bonds::default(),
        }
    }

    #[inline]
    pub(super) fn slot(&self, id: InterfaceId) -> Option<&Slot> {
        let slot = id.slot();
        let page = self.pages.get(slot / PAGE)?.get()?;
        page.get(slot % PAGE)
    }

    /// Returns the interface with this id, if it still exists. A reader never sees a partial
    /// change.
    #[inline]
    pub fn get(&self, id: InterfaceId) -> Option<Interface> {
        self.slot(id)?.line.read(id.generation())
    }

    /// Prefetches the per-packet facts of an interface.
    #[inline(always)]
    pub(crate) fn prefetch(&self, id: InterfaceId) {
        if let Some(slot) = self.slot(id) {
            kernels::prefetch(slot);
        }
    }

    /// Passes the details of an interface to `show`, if it still exists.
    #[inline]
    pub fn details<R>(&self, id: InterfaceId, show: impl FnOnce(&Details) -> R) -> Option<R> {
        self.get(id)?;
        let details = self.slot(id)?.details.load();
        details.as_deref().map(show)
    }

    /// Returns the class by which the rules of a snapshot of this epoch compare an interface.
    #[inline]
    pub fn class(&self, id: InterfaceId, epoch: u64) -> Class {
        let word = self
            .slot(id)
            .map_or(0, |slot| slot.classes.load(Ordering::Relaxed));
        let is_newer = ((word >> 32) as u32).wrapping_sub(epoch as u32) as i32 > 0;
        Class((word >> if is_newer { 16 } else { 0 }) as u16)
    }

    /// Changes the class of an interface for snapshots from this epoch on; earlier snapshots keep
    /// the previous class, because workers may still use the snapshot before the last. Only control
    /// calls this.
    pub fn set_class(&self, id: InterfaceId, class: Class, from: u64) {
        self.make_room(id);
        let Some(slot) = self.slot(id) else { return };
        let before = slot.classes.load(Ordering::Relaxed) as u16;
        let word = u64::from(from as u32) << 32 | u64::from(before) << 16 | u64::from(class.0);
        slot.classes.store(word, Ordering::Release);
    }

    /// Returns this router's own addresses.
    #[inline(always)]
    pub fn own(&self) -> &OwnAddresses {
        &self.own
    }

    /// Chooses an address of an interface, or of the fallback if the interface has none that suits
    /// (RFC 1812, 2.2.7: unnumbered lines).
    pub fn address<R>(&self, id: InterfaceId, choose: impl Fn(&Details) -> Option<R>) -> Option<R> {
        self.details(id, &choose)?
            .or_else(|| choose(self.fallback.load().as_deref()?))
    }

    /// Changes the fallback addresses for interfaces without an address. Returns the previous
    /// value, to be held as for [`Self::set_details`]. Only control calls this.
    pub fn set_fallback(&self, details: Arc<Details>) -> Option<Arc<Details>> {
        self.fallback.swap(Some(details))
    }

    /// Returns the bridges and their hosts.
    #[inline(always)]
    pub fn bridges(&self) -> &Bridges {
        &self.bridges
    }

    /// Returns the hosts of all VXLAN networks and their peers.
    #[inline(always)]
    pub fn peers(&self) -> &Arc<Peers> {
        &self.peers
    }

    /// Returns the bonds.
    #[inline(always)]
    pub fn bonds(&self) -> &Bonds {
        &self.bonds
    }

    /// Returns the details of the interface in this slot, to be held for a few packets.
    #[inline(always)]
    pub(crate) fn load_details(&self, slot: u32) -> Option<DetailsGuard> {
        Some(self.slot(InterfaceId(slot))?.details.load())
    }

    /// Prefetches the place of the details of the interface in this slot.
    #[inline(always)]
    pub(crate) fn prefetch_details(&self, slot: u32) {
        if let Some(slot) = self.slot(InterfaceId(slot)) {
            kernels::prefetch(&slot.details);
        }
    }

    /// Passes the encapsulation of the interface in this slot to `show`, if it is a tunnel.
    pub(crate) fn tunnel<R>(&self, slot: u32, show: impl FnOnce(&Encapsulation) -> R) -> Option<R> {
        let details = self.slot(InterfaceId(slot))?.details.load();
        details.as_deref()?.tunnel.as_ref().map(show)
    }

    /// Returns the interface of the tunnel with these ends.
    pub fn tunnel_of(&self, ends: &Ends) -> Option<InterfaceId> {
        self.tunnels.get(ends)
    }

    /// Returns true if a tunnel of this form has this UDP port.
    #[inline(always)]
    pub(crate) fn has_tunnel_port(&self, form: Form, port: u16) -> bool {
        self.tunnels.has_port(form, port)
    }

    /// Returns true if there is a tunnel of this form.
    #[inline(always)]
    pub(crate) fn has_tunnels_of(&self, form: Form) -> bool {
        self.tunnels.has_any(form)
    }

    /// Returns the WireGuard sessions for decryption.
    pub fn sessions(&self) -> &Arc<Sessions> {
        &self.sessions
    }

    /// Returns true if there is a tunnel.
    pub(crate) fn has_tunnels(&self) -> bool {
        self.tunnels.any()
    }

    /// Sets the interface of the tunnel with these ends; `None` removes it. Only control calls
    /// this.
    pub fn set_tunnel(&self, ends: Ends, tunnel: Option<InterfaceId>) {
        self.tunnels.set(ends, tunnel);
    }

    /// Returns the services that receive frames of an interface.
    #[inline]
    pub fn services(&self, id: InterfaceId) -> ServiceSet {
        let slot = self.slot(id);
        ServiceSet(slot.map_or(0, |slot| slot.services.load(Ordering::Relaxed)))
    }

    /// Sets the services that receive frames of an existing interface. Only control calls this.
    pub fn set_services(&self, id: InterfaceId, services: ServiceSet) {
        if let Some(slot) = self.slot(id).filter(|_| self.get(id).is_some()) {
            slot.services.store(services.0, Ordering::Relaxed);
        }
    }

    /// Adds or changes an interface. Only control calls this, from one thread at a time.
    pub fn set(&self, id: InterfaceId, interface: &Interface) {
        self.make_room(id);
        if let Some(slot) = self.slot(id) {
            let before = slot.line.read(id.generation());
            slot.line.write(id.generation(), Some(interface));
            self.carry(id, before.as_ref(), Some(interface));
            self.set_facts(id, Facts::of(interface));
        }
        self.changed();
    }

    /// Advances the version, which invalidates the caches of workers.
    pub(super) fn changed(&self) {
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Returns the version, which changes with every interface and VLAN.
    #[inline(always)]
    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Returns the tables from keys of frames to interfaces.
    #[inline(always)]
    pub(crate) fn demux(&self) -> &Demux {
        &self.demux
    }

    /// Updates the slave count of the interface below a VLAN.
    fn carry(&self, id: InterfaceId, before: Option<&Interface>, now: Option<&Interface>) {
        let carrier = |line: &Interface| {
            let is_slave = line.above != Above::Nothing && line.under != id;
            is_slave.then_some(line.under)
        };
        let (before, now) = (before.and_then(carrier), now.and_then(carrier));
        if before == now {
            return;
        }
        for (on, more) in [(now, true), (before, false)] {
            let Some(on) = on else { continue };
            self.make_room(on);
            let Some(slot) = self.slot(on) else { continue };
            let slaves = slot.slaves.load(Ordering::Relaxed);
            let slaves = match more {
                true => slaves + 1,
                false => slaves.saturating_sub(1),
            };
            slot.slaves.store(slaves, Ordering::Relaxed);
            slot.line.set_flag(flag::SLAVES, slaves > 0);
        }
    }

    /// Changes the details of an interface. Returns the previous value: the caller holds it until
    /// no worker can be reading it, so that no worker frees it. Only control calls this.
    pub fn set_details(&self, id: InterfaceId, details: Arc<Details>) -> Option<Arc<Details>> {
        self.make_room(id);
        self.slot(id)?.details.swap(Some(details))
    }

    /// Returns the bond or bridge that receives the frames of an interface. Valid only while the interface's `above`
    /// is set.
    #[inline]
    pub fn above(&self, id: InterfaceId) -> InterfaceId {
        let slot = self.slot(id);
        slot.map_or(InterfaceId::NONE, |slot| {
            InterfaceId(slot.above.load(Ordering::Acquire))
        })
    }

    /// Sets the bond or bridge that receives the frames of an interface. Only control calls this, before it publishes
    /// the interface with its `above` set.
    pub fn set_above(&self, id: InterfaceId, above: InterfaceId) {
        self.make_room(id);
        if let Some(slot) = self.slot(id) {
            slot.above.store(above.0, Ordering::Release);
        }
    }

    /// Switches the tap of an interface on or off. The caller then ends shortcuts that could bypass
    /// the tap. Only control calls this.
    pub fn set_tap(&self, id: InterfaceId, on: bool) {
        self.make_room(id);
        if let Some(slot) = self.slot(id)
            && slot.tapped.swap(on, Ordering::Relaxed) != on
        {
            self.taps.count(on);
        }
    }

    /// Replaces the mirrors: frames of the first interface in this direction are copied whole to
    /// the second. The caller then ends shortcuts that could bypass the mirrors. Only control calls
    /// this.
    pub fn set_mirrors(&self, mirrors: &[(InterfaceId, Direction, InterfaceId)]) {
        self.taps.set_mirrors(mirrors);
    }

    /// Sets the most bytes per copied frame, for all taps.
    pub fn set_snap(&self, bytes: u32) {
        self.taps.set_snap(bytes);
    }

    /// Returns true if frames of this interface are copied.
    #[inline]
    pub fn is_tapped(&self, id: InterfaceId) -> bool {
        let tapped = |slot: &Slot| slot.tapped.load(Ordering::Relaxed);
        self.taps.any() && self.slot(id).is_some_and(tapped)
    }

    /// Returns the tapped and mirrored interfaces.
    #[inline(always)]
    pub(crate) fn taps(&self) -> &Taps {
        &self.taps
    }

    /// Removes an interface. The caller has removed its VLANs and stations; a session's key is
    /// removed here. Returns the details, to be held as for [`Self::set_details`]. Only control
    /// calls this.
    pub fn remove(&self, id: InterfaceId) -> Option<Arc<Details>> {
        self.set_tap(id, false);
        self.remove_session(id);
        let slot = self.slot(id)?;
        let before = slot.line.read(id.generation());
        slot.line.write(id.generation(), None);
        self.carry(id, before.as_ref(), None);
        self.changed();
        slot.classes.store(0, Ordering::Relaxed);
        slot.services.store(0, Ordering::Relaxed);
        slot.above.store(0, Ordering::Relaxed);
        slot.details.swap(None)
    }

    pub(super) fn make_room(&self, id: InterfaceId) {
        if let Some(page) = self.pages.get(id.slot() / PAGE) {
            page.get_or_init(|| (0..PAGE).map(|_| Slot::default()).collect());
        }
    }
}

impl Line {
    #[inline]
    fn read(&self, generation: u16) -> Option<Interface> {
        let line = &self.0;
        loop {
            let first = line[0].load(Ordering::Acquire);
            let [second, third, flags] =
                [&line[1], &line[2], &line[3]].map(|word| word.load(Ordering::Relaxed));
            fence(Ordering::Acquire);
            if first & 1 != 0 || line[0].load(Ordering::Relaxed) != first {
                core::hint::spin_loop();
                continue;
            }
            let present = flags & flag::PRESENT != 0;
            if !present || (second >> MAC_BITS) as u16 != generation {
                return None;
            }
            let [_, _, mac @ ..] = second.to_be_bytes();
            let mirror = (first >> 32) as u16;
            return Some(Interface {
                running: flags & flag::RUNNING != 0,
                ethernet: flags & flag::ETHERNET != 0,
                ipv4: flags & flag::IPV4 != 0,
                ipv6: flags & flag::IPV6 != 0,
                encrypted: flags & flag::ENCRYPTED != 0,
                vlans: flags & flag::VLANS != 0,
                stations: flags & flag::STATIONS != 0,
                slaves: flags & flag::SLAVES != 0,
                sessions: flags & flag::SESSIONS != 0,
                above: above(flags),
                mac: Mac(mac),
                mtu: third as u32,
                out: OutId::from_bits((flags >> 32) as u32),
                under: InterfaceId((third >> 32) as u32),
                mirror: (mirror != NO_MIRROR).then_some(mirror),
            });
        }
    }

    fn write(&self, generation: u16, interface: Option<&Interface>) {
        let line = &self.0;
        let version = self.begin();
        let none = Interface::default();
        let is = interface.unwrap_or(&none);
        let [a, b, c, d, e, f] = is.mac.0;
        let mac = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
        line[1].store(mac | u64::from(generation) << MAC_BITS, Ordering::Relaxed);
        let third = u64::from(is.mtu) | u64::from(is.under.0) << 32;
        line[2].store(third, Ordering::Relaxed);
        let kept = line[3].load(Ordering::Relaxed) & flag::KEPT;
        let flags = [
            (interface.is_some(), flag::PRESENT),
            (is.running, flag::RUNNING),
            (is.ethernet, flag::ETHERNET),
            (is.ipv4, flag::IPV4),
            (is.ipv6, flag::IPV6),
            (is.encrypted, flag::ENCRYPTED),
            (is.above == Above::Bond, flag::BOND),
            (is.above == Above::Bridge, flag::BRIDGE),
        ];
        let flags = flags.iter().filter(|(holds, _)| *holds);
        let flags = flags.fold(kept, |all, (_, flag)| all | flag);
        let flags = flags | u64::from(is.out.bits()) << 32;
        line[3].store(flags, Ordering::Relaxed);
        let mirror = is.mirror.unwrap_or(NO_MIRROR);
        let ports = u64::from(mirror) << 32;
        line[0].store(
            u64::from(version.wrapping_add(1)) | ports,
            Ordering::Release,
        );
    }

    /// Sets or clears one of the flags that survive a write.
    pub(super) fn set_flag(&self, flag: u64, any: bool) {
        let line = &self.0;
        let flags = line[3].load(Ordering::Relaxed);
        let wanted = match any {
            true => flags | flag,
            false => flags & !flag,
        };
        let ports = line[0].load(Ordering::Relaxed) & !u64::from(u32::MAX);
        let version = self.begin();
        line[3].store(wanted, Ordering::Relaxed);
        line[0].store(
            u64::from(version.wrapping_add(1)) | ports,
            Ordering::Release,
        );
    }

    /// Makes the version odd, so that readers wait. Returns the odd version.
    fn begin(&self) -> u32 {
        let first = self.0[0].load(Ordering::Relaxed);
        let version = (first as u32).wrapping_add(1);
        let ports = first & !u64::from(u32::MAX);
        self.0[0].store(u64::from(version) | ports, Ordering::Relaxed);
        fence(Ordering::Release);
        version
    }
}

#[inline(always)]
const fn above(flags: u64) -> Above {
    match flags & (flag::BOND | flag::BRIDGE) {
        0 => Above::Nothing,
        flag::BOND => Above::Bond,
        _ => Above::Bridge,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ether(port: u16) -> Interface {
        Interface {
            running: true,
            ethernet: true,
            ipv4: true,
            ipv6: false,
            mac: Mac([2, 0, 0, 0, 0xab, 1]),
            mtu: 9000,
            out: OutId::port(port),
            under: InterfaceId(7),
            mirror: Some(3),
            encrypted: true,
            vlans: false,
            stations: false,
            slaves: false,
            sessions: false,
            above: Above::Bridge,
        }
    }

    #[test]
    fn what_was_written_is_read_until_it_is_gone() {
        let table = InterfaceTable::new();
        let id = InterfaceId::new(700, 0);
        assert_eq!(table.get(id), None);

        table.set(id, &ether(9));
        assert_eq!(table.get(id), Some(ether(9)));
        assert_eq!(table.get(InterfaceId(701)), None);

        table.remove(id);
        assert_eq!(table.get(id), None);
        let next = InterfaceId::new(700, 1);
        let other = Interface {
            mirror: None,
            ..ether(10)
        };
        table.set(next, &other);
        assert_eq!(table.get(next), Some(other));
        assert_eq!(table.get(id), None, "the old id is of nobody");
        assert_eq!(table.get(InterfaceId::NONE), None);
    }

    #[test]
    fn each_snapshot_knows_an_interface_by_a_class_of_its_rules() {
        let (table, id) = (InterfaceTable::new(), InterfaceId(1));
        assert_eq!(table.class(id, 3), Class::NONE);
        table.set_class(id, Class(7), 3);
        table.set_class(id, Class(8), 5);
        assert_eq!(
            (table.class(id, 4), table.class(id, 5)),
            (Class(7), Class(8))
        );

        // Epochs may wrap around.
        table.set_class(id, Class(9), (1 << 32) + 1);
        assert_eq!(table.class(id, (1 << 32) - 1), Class(8));
        assert_eq!(table.class(id, (1 << 32) + 2), Class(9));
        table.remove(id);
        assert_eq!(table.class(id, (1 << 32) + 2), Class::NONE);
    }

    #[test]
    fn details_go_with_their_interface() {
        let table = InterfaceTable::new();
        let id = InterfaceId(1);
        table.set(id, &ether(0));
        let named = |name: &str| {
            Arc::new(Details {
                name: name.into(),
                ..Details::default()
            })
        };
        assert!(table.set_details(id, named("ether1")).is_none());
        let old = table.set_details(id, named("wan"));

        assert_eq!(
            old.map(|old| old.name.to_string()).as_deref(),
            Some("ether1")
        );
        let name = table.details(id, |details| details.name.to_string());
        assert_eq!(name.as_deref(), Some("wan"));
        table.remove(id);
        assert_eq!(table.details(id, |_| ()), None);
    }
}
