//! Taps: copies of frames for whoever looks on, a sniffer or a rule that sends copies away.
//!
//! A tapped interface shows its frames where they are received and where they are transmitted, whichever way they
//! take in between. Copies go by a ring of their own, so that they keep nothing else from control. They are bounded
//! by the ring and by what holders may have of the pool; what finds no room is counted as lost. Where no interface is
//! tapped, that is asked once for each vector and each transmission.

use core::sync::atomic::{AtomicU32, Ordering};

use frame::{Frame, InterfaceId, Offload};
use machine::Instant;

use crate::interface::Above;
use crate::outlet::Outlet;
use crate::rule::Sniff;
use crate::snapshot::Role;
use crate::walk::{Context, Stage, untagged};

/// Bytes of an Ethernet header up to its type.
const ADDRESSES: usize = 12;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// The copy of a frame.
#[derive(Debug)]
pub struct Tapped {
    /// Its beginning, with what was known of the frame.
    pub frame: Frame,
    /// The length of the whole frame in bytes.
    pub len: usize,
    /// When it was seen.
    pub at: Instant,
    /// Who looked.
    pub by: By,
}

/// Who asked for a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The tap of this interface.
    Interface {
        /// The interface.
        id: InterfaceId,
        /// The way that the frame took there.
        direction: Direction,
        /// Where on the packet's way it was seen.
        stage: Stage,
    },
    /// A rule that sends copies away.
    Rule(Sniff),
}

/// Which way a frame goes at an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// It was received.
    Received,
    /// It is transmitted.
    Transmitted,
}

/// How much there is to be seen.
#[derive(Debug)]
pub(crate) struct Taps {
    interfaces: AtomicU32,
    snap: AtomicU32,
}

impl Taps {
    pub(crate) fn new() -> Self {
        Self {
            interfaces: AtomicU32::new(0),
            snap: AtomicU32::new(u32::MAX),
        }
    }

    /// Whether some interface is tapped.
    #[inline(always)]
    pub(crate) fn any(&self) -> bool {
        self.interfaces.load(Ordering::Relaxed) != 0
    }

    /// One interface more is tapped, or one less.
    pub(crate) fn count(&self, more: bool) {
        match more {
            true => self.interfaces.fetch_add(1, Ordering::Relaxed),
            false => self.interfaces.fetch_sub(1, Ordering::Relaxed),
        };
    }

    pub(crate) fn set_snap(&self, bytes: u32) {
        self.snap.store(bytes, Ordering::Relaxed);
    }

    fn snap(&self) -> usize {
        self.snap.load(Ordering::Relaxed) as usize
    }
}

/// Shows frames that a port received, as they came; on a VLAN's interface without the tags that name it.
#[cold]
#[inline(never)]
pub(crate) fn received(cx: &Context<'_>, port: InterfaceId, frames: &[Frame], outlet: &mut Outlet) {
    for frame in frames {
        show(cx, (port, Direction::Received), (frame, 0), outlet);
        // Slaves show theirs where these enter.
        let is_own = |id: InterfaceId| {
            let line = cx.interfaces.get(id);
            id != port && line.is_some_and(|line| line.above == Above::Nothing)
        };
        let vlan = untagged(cx, port, frame.bytes()).filter(|(id, _)| is_own(*id));
        if let Some((vlan, l3)) = vlan {
            show(cx, (vlan, Direction::Received), (frame, l3), outlet);
        }
    }
}

/// Shows frames that a port is about to transmit.
#[cold]
#[inline(never)]
pub(crate) fn transmitted(cx: &Context<'_>, port: u16, frames: &[Frame], outlet: &mut Outlet) {
    let binding = cx.snapshot.port(port);
    let Some(binding) = binding.filter(|binding| binding.role == Role::Wire) else {
        return;
    };
    for frame in frames {
        if frame.egress != binding.interface {
            let l3 = usize::from(frame.l3);
            show(
                cx,
                (frame.egress, Direction::Transmitted),
                (frame, l3),
                outlet,
            );
        }
        show(
            cx,
            (binding.interface, Direction::Transmitted),
            (frame, 0),
            outlet,
        );
    }
}

/// Shows a frame at an interface if that is tapped; without tags where its packet begins behind some.
pub(crate) fn show(
    cx: &Context<'_>,
    (id, direction): (InterfaceId, Direction),
    (frame, l3): (&Frame, usize),
    outlet: &mut Outlet,
) {
    if !cx.interfaces.is_tapped(id) {
        return;
    }
    let stage = match direction {
        Direction::Received => Stage::Ingress,
        Direction::Transmitted => Stage::Egress,
    };
    let by = By::Interface {
        id,
        direction,
        stage,
    };
    let tags = l3.saturating_sub(ETHERNET);
    outlet.copy_out((frame, tags), cx.interfaces.taps().snap(), by);
}

impl Outlet {
    /// Copies the beginning of a frame, without so many bytes of tags, into the ring of taps.
    #[cold]
    pub(crate) fn copy_out(&mut self, (frame, tags): (&Frame, usize), bytes_max: usize, by: By) {
        let bytes = frame.bytes();
        let (head, rest) = bytes.split_at(bytes.len().min(ADDRESSES));
        let rest = rest.get(tags..).unwrap_or_default();
        let (head, rest) = (
            &head[..head.len().min(bytes_max)],
            &rest[..rest.len().min(bytes_max.saturating_sub(ADDRESSES))],
        );
        let room = !self.rings.taps.is_full();
        let copy = room
            .then(|| self.pool.alloc(head.len() + rest.len()))
            .flatten();
        let Some(mut copy) = copy else {
            return self.counters.taps_lost.add(1);
        };
        if !self.pool.hold(&mut copy) {
            self.pool.free(copy);
            return self.counters.taps_lost.add(1);
        }
        let (first, second) = copy.bytes_mut().split_at_mut(head.len());
        first.copy_from_slice(head);
        second.copy_from_slice(rest);
        copy.copy_meta(frame);
        copy.l3 = frame.l3.saturating_sub(tags as u16);
        copy.offload = Offload::FINISHED;
        let tapped = Tapped {
            frame: copy,
            len: bytes.len() - tags.min(bytes.len()),
            at: self.memory.rules.clock.now,
            by,
        };
        match self.rings.taps.push(tapped) {
            Ok(()) => {
                self.counters.taps.add(1);
                self.wake_control();
            }
            Err(rtrb::PushError::Full(tapped)) => self.pool.free(tapped.frame),
        }
    }
}
