//! Interfaces above other interfaces, by the keys in frames: VLANs by tag, stations by MAC address,
//! PPPoE sessions by peer and number.

use core::sync::atomic::Ordering;

use frame::InterfaceId;
use wire::Mac;

use super::table::{Slot, flag};
use super::{InterfaceTable, Session, Tag};
use crate::demux::{self, Entry, Facts, Key};

/// Kinds of upper interfaces that an interface counts. Each kind has a counter in the slot and a
/// flag in the interface's line.
#[derive(Clone, Copy)]
enum UpperKind {
    Stations,
    Sessions,
}

impl UpperKind {
    const fn flag(self) -> u64 {
        match self {
            Self::Stations => flag::STATIONS,
            Self::Sessions => flag::SESSIONS,
        }
    }
}

const fn entry(id: InterfaceId, facts: Facts) -> Entry {
    Entry { id, facts }
}

impl InterfaceTable {
    /// Returns the VLAN interface that has this tag on an interface.
    #[inline]
    pub fn vlan(&self, on: InterfaceId, tag: Tag) -> Option<InterfaceId> {
        let found = self.demux.vlans.get(demux::of_tag(on, tag))?;
        Some(found.id)
    }

    /// Sets the VLAN interface of a tag on an interface; `None` removes it. Only control calls
    /// this.
    pub fn set_vlan(&self, on: InterfaceId, tag: Tag, vlan: Option<InterfaceId>) {
        self.make_room(on);
        let Some(slot) = self.slot(on) else { return };
        let (key, vlans) = (demux::of_tag(on, tag), &self.demux.vlans);
        let before = vlans.get(key).is_some();
        let after = match vlan {
            // The table has room for every interface.
            Some(id) => vlans.set(key, entry(id, Facts::default())),
            None => vlans.remove(key).is_none() && before,
        };
        let count = slot.vlans.load(Ordering::Relaxed);
        let count = (count + u32::from(after)).saturating_sub(u32::from(before));
        slot.vlans.store(count, Ordering::Relaxed);
        slot.line.set_flag(flag::VLANS, count > 0);
        self.changed();
    }

    /// Returns the PPPoE session on an interface.
    #[inline]
    pub fn session(&self, on: InterfaceId, session: Session) -> Option<InterfaceId> {
        let found = self.demux.sessions.get(demux::of_session(on, session))?;
        Some(found.id)
    }

    /// Assigns a PPPoE session on another interface to an existing interface, until the interface is removed. Returns
    /// false, and changes nothing, where an interface is gone, the session is taken, or the table is full. Only control
    /// calls this.
    #[must_use]
    pub fn set_session(&self, id: InterfaceId, on: InterfaceId, session: Session) -> bool {
        let key = demux::of_session(on, session);
        let (Some(line), Some(slot), Some(below)) = (self.get(id), self.slot(id), self.get(on))
        else {
            return false;
        };
        let is_taken = self.demux.sessions.get(key).is_some();
        if is_taken || slot.session.load(Ordering::Relaxed) != 0 {
            return false;
        }
        if !self.demux.sessions.set(key, entry(id, Facts::of(&line))) {
            return false;
        }
        slot.session.store(key.name, Ordering::Relaxed);
        slot.below.store(on.0, Ordering::Release);
        slot.under.store(below.under.0, Ordering::Relaxed);
        self.carry_session(slot, false, true);
        true
    }

    /// Removes the session of an interface, if any. Only control calls this.
    pub fn remove_session(&self, id: InterfaceId) {
        let Some((slot, key)) = self.session_key(id) else {
            return;
        };
        self.demux.sessions.remove(key);
        slot.session.store(0, Ordering::Relaxed);
        self.carry_session(slot, true, false);
    }

    /// Adjusts the session counts of the interface below and of the lowest interface, whose port
    /// receives the frames: one less if `before`, one more if `after`.
    fn carry_session(&self, slot: &Slot, before: bool, after: bool) {
        let [below, under] = [&slot.below, &slot.under].map(|id| id.load(Ordering::Relaxed));
        self.carry_keys(InterfaceId(below), UpperKind::Sessions, before, after);
        if under != below && under != 0 {
            self.carry_keys(InterfaceId(under), UpperKind::Sessions, before, after);
        }
    }

    /// Returns the interface that carries the frames of a session.
    pub(crate) fn carrier(&self, id: InterfaceId) -> InterfaceId {
        let slot = self.slot(id);
        slot.map_or(InterfaceId::NONE, |slot| {
            InterfaceId(slot.below.load(Ordering::Acquire))
        })
    }

    /// Updates the facts in the entry of an interface's session.
    pub(super) fn set_facts(&self, id: InterfaceId, facts: Facts) {
        if let Some((_, key)) = self.session_key(id) {
            // The key exists, so the table has room for it.
            let _ = self.demux.sessions.set(key, entry(id, facts));
        }
    }

    fn session_key(&self, id: InterfaceId) -> Option<(&Slot, Key)> {
        let slot = self.slot(id)?;
        let name = slot.session.load(Ordering::Relaxed);
        let on = InterfaceId(slot.below.load(Ordering::Relaxed)).slot() as u32;
        (name != 0).then_some((slot, Key { on, name }))
    }

    /// Returns the station on an interface with this MAC address.
    #[inline]
    pub fn station(&self, on: InterfaceId, mac: Mac) -> Option<InterfaceId> {
        let found = self.demux.stations.get(demux::of_station(on, mac))?;
        Some(found.id)
    }

    /// Returns the interface whose link the station in this slot shares.
    #[inline]
    pub(crate) fn station_on(&self, slot: u32) -> InterfaceId {
        let slot = self.slot(InterfaceId(slot));
        slot.map_or(InterfaceId::NONE, |slot| {
            InterfaceId(slot.below.load(Ordering::Acquire))
        })
    }

    /// Calls `each` for all stations on an interface.
    pub fn each_station(&self, on: InterfaceId, each: impl FnMut(InterfaceId)) {
        if let Some(slot) = self.slot(on) {
            slot.stations.each(each);
        }
    }

    /// Sets the station on an interface with this MAC address; `None` removes it. `through` are the
    /// interfaces that carry the frames of `on`, such as the port of a VLAN. Returns false if there
    /// is no room ([`super::STATIONS`]). Only control calls this.
    pub fn set_station(
        &self,
        on: InterfaceId,
        mac: Mac,
        through: &[InterfaceId],
        station: Option<InterfaceId>,
    ) -> bool {
        self.make_room(on);
        let Some(slot) = self.slot(on) else {
            return false;
        };
        let (key, stations) = (demux::of_station(on, mac), &self.demux.stations);
        let was_there = stations.get(key).is_some();
        if !slot.stations.set(mac, station) {
            return false;
        }
        match station {
            Some(id) => {
                if !stations.set(key, entry(id, Facts::default())) {
                    slot.stations.set(mac, None);
                    return false;
                }
                self.make_room(id);
                if let Some(slot) = self.slot(id) {
                    slot.below.store(on.0, Ordering::Release);
                }
            }
            None => _ = stations.remove(key),
        }
        for id in through.iter().chain([&on]) {
            self.carry_keys(*id, UpperKind::Stations, was_there, station.is_some());
        }
        true
    }

    /// Adjusts an interface's count of upper interfaces: one less if `before`, one more if `after`.
    fn carry_keys(&self, id: InterfaceId, kind: UpperKind, before: bool, after: bool) {
        self.make_room(id);
        if let Some(slot) = self.slot(id) {
            let carried = &slot.upper_counts[kind as usize];
            let count = carried.load(Ordering::Relaxed) + u32::from(after);
            let count = count.saturating_sub(u32::from(before));
            carried.store(count, Ordering::Relaxed);
            slot.line.set_flag(kind.flag(), count > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interface::Interface;

    const PORT: InterfaceId = InterfaceId(1);
    const PEER: Mac = Mac([2, 0, 0, 0, 0, 9]);

    fn session(number: u16) -> Session {
        Session { peer: PEER, number }
    }

    fn running() -> Interface {
        Interface {
            running: true,
            ipv4: true,
            ..Interface::default()
        }
    }

    #[test]
    fn tags_name_interfaces_and_the_line_says_whether_any_does() {
        let table = InterfaceTable::new();
        let vlan = InterfaceId(2);
        let tag = |ethertype| Tag {
            ethertype,
            vlan_id: 10,
        };
        table.set(PORT, &running());
        table.set_vlan(PORT, tag(0x8100), Some(vlan));
        table.set(
            PORT,
            &Interface {
                mtu: 9,
                ..running()
            },
        );

        assert_eq!(table.vlan(PORT, tag(0x8100)), Some(vlan));
        assert_eq!(table.vlan(PORT, tag(0x88a8)), None);
        assert!(table.get(PORT).is_some_and(|is| is.vlans && is.mtu == 9));
        for _ in 0..2 {
            table.set_vlan(PORT, tag(0x8100), None);
            assert_eq!(table.vlan(PORT, tag(0x8100)), None);
            assert!(table.get(PORT).is_some_and(|is| !is.vlans && is.mtu == 9));
        }
    }

    #[test]
    fn a_session_ends_with_its_interface_and_its_entry_follows_the_line() {
        let table = InterfaceTable::new();
        let (id, other) = (InterfaceId(2), InterfaceId(3));
        for id in [PORT, id, other] {
            table.set(id, &running());
        }
        assert!(table.set_session(id, PORT, session(7)));
        assert!(!table.set_session(other, PORT, session(7)), "taken");
        assert!(table.get(PORT).is_some_and(|is| is.sessions));
        let key = demux::of_session(PORT, session(7));
        let facts = |line: &Interface| Some(entry(id, Facts::of(line)));
        assert_eq!(table.demux.sessions.get(key), facts(&running()));

        let down = Interface::default();
        table.set(id, &down);
        assert_eq!(table.demux.sessions.get(key), facts(&down));

        table.remove(id);
        assert_eq!(table.session(PORT, session(7)), None);
        assert!(table.get(PORT).is_some_and(|is| !is.sessions));
        assert!(table.set_session(other, PORT, session(7)));
    }
}
