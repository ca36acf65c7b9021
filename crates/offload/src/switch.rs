//! Switching between the ports of a bridge by the kernel, in maps shared with it.
//!
//! ```text
//!  hosts     32,768 buckets of eight: group, VLAN, MAC address ─▶ port; time last seen
//!  members   a line per port: its group, reachable ports, device, tag handling
//!  vlans     by group and VLAN: ingress ports, egress ports, and untagged egress ports
//!  crossed   per pair of ports: frames and bytes so far
//! ```
//!
//! A frame is switched if both hosts are known: the sender at the ingress port, the receiver at a reachable
//! port. All other frames go to the worker, which learns, floods, and reports learned hosts. A host's entry
//! contains the epoch of its port: a new epoch flushes the port. No function makes a system call.

mod hosts;
mod program;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use frame::switch::{
    BridgeOffload, Filling, Group, HostKey, Member, SwitchPort, SwitchPorts, Switched, VlanPorts,
};

use super::slot::Line;
use super::table::{Map, MapSize, STEP_BITS, step_now};
use hosts::Hosts;
pub(crate) use program::{Wiring, switch};

/// Byte offsets in a port's line.
mod member {
    /// Bytes of a line: a cache line.
    pub(super) const SIZE: usize = 64;
    /// The group, as the upper bits of [`fid`](super::fid); 0 if the port does not switch.
    pub(super) const GROUP: i16 = 0;
    /// The port's number and epoch: [`PORT_BITS`](super::PORT_BITS).
    pub(super) const PLACE: i16 = 4;
    pub(super) const DEVICE: i16 = 8;
    /// Maximum frame length, including the Ethernet header.
    pub(super) const FRAME_MAX: i16 = 12;
    /// Nonzero with VLAN filtering.
    pub(super) const FILTERS: i16 = 16;
    /// VLAN of untagged frames; 0 if there is none.
    pub(super) const PVID: i16 = 20;
    pub(super) const ADMITS_TAGGED: i16 = 24;
    /// Nonzero if senders must be known.
    pub(super) const LEARNS: i16 = 28;
    pub(super) const REACHES: i16 = 32;
}

/// Byte offsets in a VLAN entry.
mod vlan {
    /// Size of an entry, as a power of two.
    pub(super) const BITS: u32 = 5;
    pub(super) const INGRESS: i16 = 0;
    pub(super) const EGRESS: i16 = 8;
    pub(super) const UNTAGGED: i16 = 16;
}

/// Byte offsets in the counters of a pair of ports.
mod crossed {
    /// Size of an entry, as a power of two.
    pub(super) const BITS: u32 = 4;
    pub(super) const FRAMES: i16 = 0;
    pub(super) const BYTES: i16 = 8;
}

/// Bits of a port's number; the epoch is above them.
const PORT_BITS: u32 = 6;
/// VLANs per group, as a power of two.
const VID_BITS: u32 = 12;
/// Number of groups times VLANs.
const FIDS: usize = 1 << 16;
/// Number of parts in which the hosts are swept.
const PARTS: usize = 64;

/// Returns the filtering id, a VLAN of a group, in which MAC addresses are unique.
fn fid(group: Group, vid: u16) -> u16 {
    (group.number() as u16) << VID_BITS | vid & ((1 << VID_BITS) - 1)
}

/// Assigned ports and reported counters.
#[derive(Debug)]
struct Assignments {
    taken: SwitchPorts,
    /// All ports ever assigned: the counters of others are zero.
    used: SwitchPorts,
    /// Reported frames and bytes, per pair of ports.
    told: Box<[[u64; 2]]>,
    /// The part of the hosts to sweep next.
    part: usize,
}

/// The kernel's switch of a router.
#[derive(Debug)]
pub struct Switch<M> {
    hosts: Hosts<M>,
    members: M,
    vlans: M,
    crossed: M,
    limits: [AtomicU32; Group::MOST + 1],
    refused: [AtomicU64; Group::MOST + 1],
    /// Locked by the control plane and by the code that opens devices, never by a worker.
    assignments: Mutex<Assignments>,
}

impl<M: Map> Switch<M> {
    /// Creates a switch for 262,144 hosts, in 7 MB of maps that `map` creates; `seed` must be random.
    ///
    /// # Errors
    ///
    /// Returns the errors of `map`, and an error on architectures without support.
    pub fn new(seed: u64, map: impl Fn(MapSize) -> io::Result<M>) -> io::Result<Arc<Self>> {
        if !cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
            // For the same reason as the shortcut table.
            return Err(io::ErrorKind::Unsupported.into());
        }
        // Programs access a map with a single value without a lookup.
        let one = |value_bytes| {
            map(MapSize {
                value_bytes,
                entries: 1,
            })
        };
        let pairs = SwitchPort::MOST * SwitchPort::MOST;
        Ok(Arc::new(Self {
            hosts: Hosts::new(one(hosts::BYTES)?, seed),
            members: one(SwitchPort::MOST * member::SIZE)?,
            vlans: one(FIDS << vlan::BITS)?,
            crossed: one(pairs << crossed::BITS)?,
            limits: std::array::from_fn(|_| AtomicU32::new(u32::MAX)),
            refused: Default::default(),
            assignments: Mutex::new(Assignments {
                taken: SwitchPorts::default(),
                used: SwitchPorts::default(),
                told: vec![[0; 2]; pairs].into(),
                part: 0,
            }),
        }))
    }

    /// Assigns a port to a device; `None` if all are taken. The port does not switch until it gets settings.
    pub fn enter(&self, device: u32) -> Option<SwitchPort> {
        let mut assignments = self.assignments();
        let port = (0..SwitchPort::MOST)
            .filter_map(SwitchPort::new)
            .find(|port| !assignments.taken.has(*port))?;
        assignments.taken = assignments.taken.with(port);
        assignments.used = assignments.used.with(port);
        self.part_of_member(port, member::DEVICE, device);
        Some(port)
    }

    /// Frees the port of a removed device.
    pub fn leave(&self, port: SwitchPort) {
        self.set_member(port, None);
        self.flush(port);
        let mut assignments = self.assignments();
        assignments.taken = assignments.taken.without(port);
    }

    /// Returns the references that a program needs to switch for this port.
    pub(crate) fn wiring(&self, port: SwitchPort) -> Wiring {
        Wiring {
            hosts: self.hosts.map.descriptor(),
            members: self.members.descriptor(),
            vlans: self.vlans.descriptor(),
            crossed: self.crossed.descriptor(),
            factor: self.hosts.factor,
            port,
        }
    }

    fn assignments(&self) -> std::sync::MutexGuard<'_, Assignments> {
        self.assignments
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn member(&self, port: SwitchPort) -> Line<'_> {
        Line::at(self.members.words(), port.number(), member::SIZE)
    }

    /// Writes 32 bits of a line. Only the control plane calls this, so writes do not collide.
    fn part_of_member(&self, port: SwitchPort, at: i16, value: u32) {
        let (line, word) = (self.member(port), at & !7);
        let shift = u32::from(at != word) * 32;
        let others = line.load(word) & !(u64::from(u32::MAX) << shift);
        line.store(word, others | u64::from(value) << shift);
    }

    /// Returns the port's number and epoch.
    fn place(&self, port: SwitchPort) -> u32 {
        let place = (self.member(port).load(member::GROUP) >> 32) as u32;
        // Before the first flush the number is not written.
        place | port.number() as u32
    }

    /// Returns true if an entry with this number and epoch is still valid.
    fn holds(&self, place: u32) -> bool {
        let port = place as usize % SwitchPort::MOST;
        SwitchPort::new(port).is_some_and(|port| self.place(port) == place)
    }
}

impl<M: Map> BridgeOffload for Switch<M> {
    fn set_member(&self, port: SwitchPort, member: Option<&Member>) {
        let Some(member) = member else {
            self.part_of_member(port, member::GROUP, 0);
            self.member(port).store(member::REACHES, 0);
            return;
        };
        let tags = member.tags.as_ref();
        let pvid = tags.and_then(|tags| tags.pvid).unwrap_or(0);
        let admits_tagged = tags.is_some_and(|tags| tags.admits_tagged);
        for (at, value) in [
            (member::FRAME_MAX, member.longest),
            (member::FILTERS, tags.is_some().into()),
            (member::PVID, pvid.into()),
            (member::ADMITS_TAGGED, admits_tagged.into()),
            (member::LEARNS, member.learns.into()),
            (member::PLACE, self.place(port)),
        ] {
            self.part_of_member(port, at, value);
        }
        let reaches = member.reaches.without(port).0;
        self.member(port).store(member::REACHES, reaches);
        // Last, because it enables switching.
        let group = fid(member.group, 0);
        self.part_of_member(port, member::GROUP, group.into());
    }

    fn set_vlan(&self, group: Group, vid: u16, ports: &VlanPorts) {
        let number = usize::from(fid(group, vid));
        let line = Line::at(self.vlans.words(), number, 1 << vlan::BITS);
        line.store(vlan::UNTAGGED, ports.untagged.0);
        line.store(vlan::EGRESS, ports.egress.0);
        line.store(vlan::INGRESS, ports.ingress.0);
    }

    fn set_limit(&self, group: Group, hosts: u32) {
        self.limits[group.number()].store(hosts, Ordering::Relaxed);
    }

    fn flush(&self, port: SwitchPort) {
        let next = self.place(port).wrapping_add(1 << PORT_BITS);
        self.part_of_member(port, member::PLACE, next);
    }

    fn forget(&self, host: &HostKey) {
        self.hosts.remove(host);
    }

    fn seen(&self, host: &HostKey) -> Option<u32> {
        let found = self.hosts.find(host)?;
        let steps = step_now().saturating_sub(found.seen);
        let seconds = (u64::from(steps) << STEP_BITS) / 1_000_000_000;
        self.holds(found.place).then_some(seconds as u32)
    }

    fn learn(&self, host: &HostKey, port: SwitchPort) {
        let limit = self.limits[host.group.number()].load(Ordering::Relaxed);
        let holds = |place| self.holds(place);
        if !self.hosts.put(host, self.place(port), limit, holds) {
            self.refused[host.group.number()].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn take(&self, switched: &mut dyn FnMut(Switched)) {
        let mut assignments = self.assignments();
        let used = assignments.used;
        let ports =
            || { (0..SwitchPort::MOST).filter_map(SwitchPort::new) }.filter(|port| used.has(*port));
        for (from, to) in ports().flat_map(|from| ports().map(move |to| (from, to))) {
            let number = from.number() * SwitchPort::MOST + to.number();
            let line = Line::at(self.crossed.words(), number, 1 << crossed::BITS);
            let now = [crossed::FRAMES, crossed::BYTES].map(|at| line.load(at));
            let told = std::mem::replace(&mut assignments.told[number], now);
            if now != told {
                switched(Switched {
                    from,
                    to,
                    frames: now[0].wrapping_sub(told[0]),
                    bytes: now[1].wrapping_sub(told[1]),
                });
            }
        }
    }

    fn sweep(&self) {
        let part = {
            let mut assignments = self.assignments();
            let next = (assignments.part + 1) % PARTS;
            std::mem::replace(&mut assignments.part, next)
        };
        self.hosts.sweep(part, |place| self.holds(place));
    }

    fn filling(&self, group: Group) -> Filling {
        Filling {
            hosts: self.hosts.count(group),
            refused: self.refused[group.number()].load(Ordering::Relaxed),
        }
    }
}
