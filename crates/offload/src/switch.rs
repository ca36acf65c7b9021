//! What the kernel switches between ports of one bridge, in memory that is shared with it.
//!
//! ```text
//!   hosts     32,768 buckets of eight: group, VLAN, link address ─▶ port; when it was heard last
//!   members   a line for each port: its group, whom it reaches, its device, what is done with tags
//!   vlans     by group and VLAN: where frames are taken, where they may leave, and where without a tag
//!   crossed   from each port to each: frames and bytes so far
//! ```
//!
//! A frame is switched if both its hosts are known: the sender at the port that it comes from, the receiver at one
//! that is reached. All else is left to the worker, who learns, floods, and says what was learned. Where a host is
//! stands beside the epoch of its port: a port is flushed by its next one. Nothing here is a system call.

mod hosts;
mod program;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use frame::switch::{
    BridgeOffload, Filling, Group, HostKey, Member, Seat, Seats, Switched, VlanSeats,
};

use super::slot::Line;
use super::table::{Map, MapSize, STEP_BITS, step_now};
use hosts::Hosts;
pub(crate) use program::{Wiring, switch};

/// Where the parts of a port's line are, in bytes.
mod member {
    /// Bytes of a line: a cache line.
    pub(super) const SIZE: usize = 64;
    /// The group, as the upper bits of [`fid`](super::fid); 0 where nothing is switched.
    pub(super) const GROUP: i16 = 0;
    /// The port's number and its epoch: [`SEAT_BITS`](super::SEAT_BITS).
    pub(super) const PLACE: i16 = 4;
    pub(super) const DEVICE: i16 = 8;
    /// The longest frame, with its Ethernet header.
    pub(super) const LONGEST: i16 = 12;
    /// Not 0 where tags tell VLANs.
    pub(super) const FILTERS: i16 = 16;
    /// The VLAN of frames without a tag; 0 where there is none.
    pub(super) const PVID: i16 = 20;
    pub(super) const ADMITS_TAGGED: i16 = 24;
    /// Not 0 where senders have to be known.
    pub(super) const LEARNS: i16 = 28;
    pub(super) const REACHES: i16 = 32;
}

/// Where the parts of a VLAN are, in bytes.
mod vlan {
    /// Bytes of one, as a power of two.
    pub(super) const BITS: u32 = 5;
    pub(super) const INGRESS: i16 = 0;
    pub(super) const EGRESS: i16 = 8;
    pub(super) const UNTAGGED: i16 = 16;
}

/// Where the parts of what crossed are, in bytes.
mod crossed {
    /// Bytes of one, as a power of two.
    pub(super) const BITS: u32 = 4;
    pub(super) const FRAMES: i16 = 0;
    pub(super) const BYTES: i16 = 8;
}

/// Bits of a port's number; above them is its epoch.
const SEAT_BITS: u32 = 6;
/// VLANs of a group, as a power of two.
const VID_BITS: u32 = 12;
/// Groups and VLANs together.
const FIDS: usize = 1 << 16;
/// In how many parts the hosts are swept.
const PARTS: usize = 64;

/// A VLAN of a group: what tells hosts of the same address from each other.
fn fid(group: Group, vid: u16) -> u16 {
    (group.number() as u16) << VID_BITS | vid & ((1 << VID_BITS) - 1)
}

/// Who has which place, and what was told.
#[derive(Debug)]
struct Desk {
    taken: Seats,
    /// All that were ever taken: others have counted nothing.
    used: Seats,
    /// Frames and bytes, from each port to each.
    told: Box<[[u64; 2]]>,
    /// The part of the hosts that is swept next.
    part: usize,
}

/// What the kernel switches for a router.
#[derive(Debug)]
pub struct Switch<M> {
    hosts: Hosts<M>,
    members: M,
    vlans: M,
    crossed: M,
    limits: [AtomicU32; Group::MOST + 1],
    refused: [AtomicU64; Group::MOST + 1],
    /// Control's, and whose who opens devices; no worker ever takes this lock.
    desk: Mutex<Desk>,
}

impl<M: Map> Switch<M> {
    /// Room for 262,144 hosts, in 7 MB of maps that `map` makes; `seed` is random.
    ///
    /// # Errors
    /// What `map` says; and that there is no such thing on this architecture.
    pub fn new(seed: u64, map: impl Fn(MapSize) -> io::Result<M>) -> io::Result<Arc<Self>> {
        if !cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
            // As for the table of shortcuts.
            return Err(io::ErrorKind::Unsupported.into());
        }
        // Programs reach into a map of one value without asking for a place in it.
        let one = |value_bytes| {
            map(MapSize {
                value_bytes,
                entries: 1,
            })
        };
        let pairs = Seat::MOST * Seat::MOST;
        Ok(Arc::new(Self {
            hosts: Hosts::new(one(hosts::BYTES)?, seed),
            members: one(Seat::MOST * member::SIZE)?,
            vlans: one(FIDS << vlan::BITS)?,
            crossed: one(pairs << crossed::BITS)?,
            limits: std::array::from_fn(|_| AtomicU32::new(u32::MAX)),
            refused: Default::default(),
            desk: Mutex::new(Desk {
                taken: Seats::default(),
                used: Seats::default(),
                told: vec![[0; 2]; pairs].into(),
                part: 0,
            }),
        }))
    }

    /// A place for a device with this number; none where all are taken. It switches nothing before control says so.
    pub fn enter(&self, device: u32) -> Option<Seat> {
        let mut desk = self.desk();
        let seat = (0..Seat::MOST)
            .filter_map(Seat::new)
            .find(|seat| !desk.taken.has(*seat))?;
        desk.taken = desk.taken.with(seat);
        desk.used = desk.used.with(seat);
        self.part_of_member(seat, member::DEVICE, device);
        Some(seat)
    }

    /// The device has gone: its place is another's.
    pub fn leave(&self, seat: Seat) {
        self.set_member(seat, None);
        self.flush(seat);
        let mut desk = self.desk();
        desk.taken = desk.taken.without(seat);
    }

    /// What a program has to know to switch what comes to this place.
    pub(crate) fn wiring(&self, seat: Seat) -> Wiring {
        Wiring {
            hosts: self.hosts.map.descriptor(),
            members: self.members.descriptor(),
            vlans: self.vlans.descriptor(),
            crossed: self.crossed.descriptor(),
            factor: self.hosts.factor,
            seat,
        }
    }

    fn desk(&self) -> std::sync::MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn member(&self, seat: Seat) -> Line<'_> {
        Line::at(self.members.words(), seat.number(), member::SIZE)
    }

    /// Changes 32 bits of a line. Control alone does: no two changes meet.
    fn part_of_member(&self, seat: Seat, at: i16, value: u32) {
        let (line, word) = (self.member(seat), at & !7);
        let shift = u32::from(at != word) * 32;
        let others = line.load(word) & !(u64::from(u32::MAX) << shift);
        line.store(word, others | u64::from(value) << shift);
    }

    /// The port's number and its epoch.
    fn place(&self, seat: Seat) -> u32 {
        let place = (self.member(seat).load(member::GROUP) >> 32) as u32;
        // Before it was ever flushed its number is not written either.
        place | seat.number() as u32
    }

    /// Whether a host that is at this place is there still.
    fn holds(&self, place: u32) -> bool {
        let seat = place as usize % Seat::MOST;
        Seat::new(seat).is_some_and(|seat| self.place(seat) == place)
    }
}

impl<M: Map> BridgeOffload for Switch<M> {
    fn set_member(&self, seat: Seat, member: Option<&Member>) {
        let Some(member) = member else {
            self.part_of_member(seat, member::GROUP, 0);
            self.member(seat).store(member::REACHES, 0);
            return;
        };
        let tags = member.tags.as_ref();
        let pvid = tags.and_then(|tags| tags.pvid).unwrap_or(0);
        let admits_tagged = tags.is_some_and(|tags| tags.admits_tagged);
        for (at, value) in [
            (member::LONGEST, member.longest),
            (member::FILTERS, tags.is_some().into()),
            (member::PVID, pvid.into()),
            (member::ADMITS_TAGGED, admits_tagged.into()),
            (member::LEARNS, member.learns.into()),
            (member::PLACE, self.place(seat)),
        ] {
            self.part_of_member(seat, at, value);
        }
        let reaches = member.reaches.without(seat).0;
        self.member(seat).store(member::REACHES, reaches);
        // Last: from here on it switches.
        let group = fid(member.group, 0);
        self.part_of_member(seat, member::GROUP, group.into());
    }

    fn set_vlan(&self, group: Group, vid: u16, seats: &VlanSeats) {
        let number = usize::from(fid(group, vid));
        let line = Line::at(self.vlans.words(), number, 1 << vlan::BITS);
        line.store(vlan::UNTAGGED, seats.untagged.0);
        line.store(vlan::EGRESS, seats.egress.0);
        line.store(vlan::INGRESS, seats.ingress.0);
    }

    fn set_limit(&self, group: Group, hosts: u32) {
        self.limits[group.number()].store(hosts, Ordering::Relaxed);
    }

    fn flush(&self, seat: Seat) {
        let next = self.place(seat).wrapping_add(1 << SEAT_BITS);
        self.part_of_member(seat, member::PLACE, next);
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

    fn learn(&self, host: &HostKey, seat: Seat) {
        let limit = self.limits[host.group.number()].load(Ordering::Relaxed);
        let holds = |place| self.holds(place);
        if !self.hosts.put(host, self.place(seat), limit, holds) {
            self.refused[host.group.number()].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn take(&self, switched: &mut dyn FnMut(Switched)) {
        let mut desk = self.desk();
        let used = desk.used;
        let seats = || { (0..Seat::MOST).filter_map(Seat::new) }.filter(|seat| used.has(*seat));
        for (from, to) in seats().flat_map(|from| seats().map(move |to| (from, to))) {
            let number = from.number() * Seat::MOST + to.number();
            let line = Line::at(self.crossed.words(), number, 1 << crossed::BITS);
            let now = [crossed::FRAMES, crossed::BYTES].map(|at| line.load(at));
            let told = std::mem::replace(&mut desk.told[number], now);
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
            let mut desk = self.desk();
            let next = (desk.part + 1) % PARTS;
            std::mem::replace(&mut desk.part, next)
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
