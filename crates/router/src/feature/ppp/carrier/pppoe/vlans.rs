//! VLANs of servers with `pppoe-over-vlan-range`: dynamic VLAN interfaces that exist while clients use the VLAN.
//!
//! A PADI whose tag names no interface makes the interface of its VLAN, and waits until the interface is laid out. The
//! interface is removed when it had no session for a minute.

use std::collections::BTreeMap;

use dataplane::DropReason;
use machine::{Duration, Instant};
use menu::Value;
use wire::{EtherType, Mac};

use crate::drive::timers::Timers;
use crate::feature::hear::ReceiveOutcome;
use crate::feature::{Effect, Effects, NewObject};
use crate::intent::Name;
use crate::kind;
use crate::object::{Made, Owner};

/// Menu of the interfaces.
const MENU: &str = "/interface/vlan";
/// Interval at which VLAN interfaces without sessions are removed.
const UNUSED: Duration = Duration::from_secs(60);
/// VLAN interfaces of all servers.
const MAX_VLANS: usize = 8192;
/// PADI that wait for the interface of their VLAN.
const MAX_WAITING: usize = 64;

/// A VLAN on an interface.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct VlanKey {
    /// The interface that carries the tagged frames.
    pub(super) on: Name,
    /// EtherType and VLAN id of the tag.
    pub(super) tag: (u16, u16),
}

/// A tagged discovery packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaggedPacket<'a> {
    pub(super) from: Mac,
    /// Bytes of the PPPoE packet.
    pub(super) bytes: &'a [u8],
}

/// The interface of a VLAN.
#[derive(Debug)]
struct Vlan {
    key: VlanKey,
    name: Name,
    /// Discovery packets that wait until the interface exists.
    waiting: Vec<(Mac, Box<[u8]>)>,
}

/// All VLAN interfaces of servers.
#[derive(Debug, Default)]
pub(super) struct Vlans {
    all: BTreeMap<u64, Vlan>,
    keys: BTreeMap<VlanKey, u64>,
    names: BTreeMap<Name, u64>,
    timers: Timers<u64>,
    last: u64,
}

impl Vlans {
    /// Reads the tag of a frame, and the PPPoE packet behind the tag. `frame` begins with the link header and `l3` is
    /// the offset behind the EtherType of the tag.
    pub(super) fn read(frame: &[u8], l3: usize) -> Option<((u16, u16), &[u8])> {
        let kind = frame.get(l3.checked_sub(2)?..l3)?.first_chunk::<2>()?;
        let (tag, rest) = frame.get(l3..)?.split_first_chunk::<4>()?;
        let [high, low, inner @ ..] = *tag;
        let vlan_id = u16::from_be_bytes([high, low]) & 0xfff;
        let is_discovery = u16::from_be_bytes(inner) == EtherType::PPPOE_DISCOVERY.0;
        is_discovery.then_some(((u16::from_be_bytes(*kind), vlan_id), rest))
    }

    /// Makes the interface of a VLAN, unless it is being made. The packet waits for it.
    pub(super) fn open(
        &mut self,
        key: VlanKey,
        packet: TaggedPacket<'_>,
        now: Instant,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let number = match self.keys.get(&key) {
            Some(number) => *number,
            None if self.all.len() >= MAX_VLANS => {
                return ReceiveOutcome::Bad(DropReason::PppoeFull);
            }
            None => self.make(key, now, out),
        };
        let Some(vlan) = self.all.get_mut(&number) else {
            return ReceiveOutcome::NotMine;
        };
        let is_new = vlan.waiting.iter().all(|(from, _)| *from != packet.from);
        if vlan.waiting.len() >= MAX_WAITING || !is_new {
            return ReceiveOutcome::Bad(DropReason::PppoeFull);
        }
        vlan.waiting.push((packet.from, packet.bytes.into()));
        ReceiveOutcome::Taken
    }

    fn make(&mut self, key: VlanKey, now: Instant, out: &mut Effects) -> u64 {
        self.last += 1;
        let number = self.last;
        let name = Name::from(format!("<{}.{}>", key.on, key.tag.1));
        let interface = kind::vlan::made(name.clone(), key.on.clone(), key.tag);
        out.push(Effect::Object(Box::new(NewObject {
            owner: owner(number),
            made: Made::Interface(MENU, interface),
            cells: vec![
                ("vlan-id", Value::Number(key.tag.1.into())),
                ("interface", Value::text(&*key.on)),
            ],
            removable: false,
        })));
        self.keys.insert(key.clone(), number);
        self.names.insert(name.clone(), number);
        self.timers.set(number, Some(now + UNUSED));
        let vlan = Vlan {
            key,
            name,
            waiting: Vec::new(),
        };
        self.all.insert(number, vlan);
        number
    }

    /// Returns the VLAN of a dynamic interface.
    pub(super) fn vlan_of(&self, name: &Name) -> Option<&VlanKey> {
        let number = self.names.get(name)?;
        Some(&self.all.get(number)?.key)
    }

    /// Returns the packets that waited for an interface.
    pub(super) fn begin(&mut self, name: &Name) -> Vec<(Mac, Box<[u8]>)> {
        let number = self.names.get(name).copied();
        let vlan = number.and_then(|number| self.all.get_mut(&number));
        vlan.map(|vlan| core::mem::take(&mut vlan.waiting))
            .unwrap_or_default()
    }

    /// Removes interfaces without sessions.
    pub(super) fn tick(
        &mut self,
        now: Instant,
        has_sessions: impl Fn(&Name) -> bool,
        out: &mut Effects,
    ) {
        while let Some(number) = self.timers.due(now) {
            let Some(vlan) = self.all.get(&number) else {
                continue;
            };
            if has_sessions(&vlan.name) {
                self.timers.set(number, Some(now + UNUSED));
                continue;
            }
            if let Some(vlan) = self.all.remove(&number) {
                self.keys.remove(&vlan.key);
                self.names.remove(&vlan.name);
                out.push(Effect::Gone(owner(number)));
            }
        }
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }
}

/// Owner of the interface of a VLAN.
const fn owner(number: u64) -> Owner {
    Owner {
        feature: "pppoe-vlan",
        number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padi(from: u8) -> (Mac, [u8; 6]) {
        (Mac([2, 0, 0, 0, 0, from]), [0x11, 9, 0, 0, 0, 0])
    }

    #[test]
    fn packets_wait_for_the_interface_of_their_vlan_and_it_goes_when_it_has_no_session() {
        let mut vlans = Vlans::default();
        let mut out = Effects::default();
        let key = VlanKey {
            on: "ether2".into(),
            tag: (0x8100, 100),
        };
        let now = Instant::from_secs(5);
        let mut open = |vlans: &mut Vlans, from| {
            let (from, bytes) = padi(from);
            let packet = TaggedPacket {
                from,
                bytes: &bytes,
            };
            vlans.open(key.clone(), packet, now, &mut out)
        };
        assert_eq!(open(&mut vlans, 1), ReceiveOutcome::Taken);
        let full = ReceiveOutcome::Bad(DropReason::PppoeFull);
        assert_eq!(open(&mut vlans, 1), full, "a client waits once");
        for from in 2..=MAX_WAITING as u8 {
            assert_eq!(open(&mut vlans, from), ReceiveOutcome::Taken);
        }
        assert_eq!(open(&mut vlans, 200), full, "those that wait are bounded");

        let name = Name::from("<ether2.100>");
        assert_eq!(vlans.vlan_of(&name), Some(&key));
        assert_eq!(vlans.begin(&name).len(), MAX_WAITING);
        assert!(vlans.begin(&name).is_empty());
        let mut out = Effects::default();
        vlans.tick(now + UNUSED, |_| true, &mut out);
        assert!(out.is_empty(), "it has a session");
        vlans.tick(now + UNUSED * 2, |_| false, &mut out);
        assert!(!out.is_empty());
        assert_eq!(vlans.vlan_of(&name), None);
        assert_eq!(vlans.deadline(), None);
    }

    #[test]
    fn only_discovery_behind_one_tag_is_read() {
        let frame = |inner: [u8; 2]| {
            let mut frame = vec![0xff; 12];
            frame.extend([0x81, 0x00, 0xa0, 0x64]);
            frame.extend(inner);
            frame.extend([0x11, 9, 0, 0, 0, 0]);
            frame
        };
        let discovery = frame([0x88, 0x63]);
        let (tag, rest) = Vlans::read(&discovery, 14).expect("it is discovery");
        assert_eq!((tag, rest.len()), ((0x8100, 100), 6));
        assert_eq!(Vlans::read(&frame([0x88, 0x64]), 14), None);
        for length in 0..18 {
            assert_eq!(Vlans::read(&discovery[..length], 14), None);
        }
    }
}
