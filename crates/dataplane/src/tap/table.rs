//! The tapped and mirrored interfaces, and the copies of frames.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use frame::{Frame, InterfaceId};
use machine::Instant;

use crate::rule::Sniff;
use crate::walk::Stage;

/// The copy of a frame.
#[derive(Debug)]
pub struct Tapped {
    /// The beginning of the frame, with the frame's metadata.
    pub frame: Frame,
    /// The length of the whole frame in bytes.
    pub len: usize,
    /// The time of the copy.
    pub at: Instant,
    /// The origin of the request.
    pub by: TapOrigin,
}

/// The origin of a request for a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapOrigin {
    /// The tap of this interface.
    Interface {
        /// The interface.
        id: InterfaceId,
        /// The direction of the frame at the interface.
        direction: Direction,
        /// The stage at which the frame was copied.
        stage: Stage,
    },
    /// A rule that sends copies away.
    Rule(Sniff),
}

/// The direction of a frame at an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The frame is received.
    Received,
    /// The frame is transmitted.
    Transmitted,
}

/// Maximum number of mirrors of a direction.
pub const MIRRORS: usize = 64;

/// Pairs of interfaces: the high half of a word is the mirrored interface, the low half the target of the copies.
/// 0 is no mirror.
#[derive(Debug)]
pub(super) struct Mirrors {
    received: [AtomicU64; MIRRORS],
    transmitted: [AtomicU64; MIRRORS],
}

impl Mirrors {
    fn of(&self, direction: Direction) -> &[AtomicU64; MIRRORS] {
        match direction {
            Direction::Received => &self.received,
            Direction::Transmitted => &self.transmitted,
        }
    }

    /// Returns the targets of the copies of an interface's frames.
    pub(super) fn targets(
        &self,
        id: InterfaceId,
        direction: Direction,
    ) -> impl Iterator<Item = InterfaceId> {
        let all = self.of(direction).iter();
        let all = all.map(|mirror| mirror.load(Ordering::Relaxed));
        // Mirrors are stored without gaps.
        let all = all.take_while(|mirror| *mirror != 0);
        all.filter(move |mirror| (*mirror >> 32) as u32 == id.0)
            .map(|mirror| InterfaceId(mirror as u32))
    }
}

/// The tapped and mirrored interfaces.
#[derive(Debug)]
pub(crate) struct Taps {
    interfaces: AtomicU32,
    snap: AtomicU32,
    pub(super) mirrors: Mirrors,
}

impl Taps {
    pub(crate) fn new() -> Self {
        Self {
            interfaces: AtomicU32::new(0),
            snap: AtomicU32::new(u32::MAX),
            mirrors: Mirrors {
                received: [const { AtomicU64::new(0) }; MIRRORS],
                transmitted: [const { AtomicU64::new(0) }; MIRRORS],
            },
        }
    }

    /// Returns true if an interface is tapped or mirrored.
    #[inline(always)]
    pub(crate) fn any(&self) -> bool {
        self.interfaces.load(Ordering::Relaxed) != 0
    }

    /// Counts one tapped interface more, or one less.
    pub(crate) fn count(&self, more: bool) {
        match more {
            true => self.interfaces.fetch_add(1, Ordering::Relaxed),
            false => self.interfaces.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// Replaces the mirrors; drops those beyond [`MIRRORS`] of a direction. Only control calls
    /// this.
    pub(crate) fn set_mirrors(&self, mirrors: &[(InterfaceId, Direction, InterfaceId)]) {
        let had = self.mirrors();
        for direction in [Direction::Received, Direction::Transmitted] {
            let wanted = mirrors.iter().filter(|(_, at, _)| *at == direction);
            let wanted = wanted.map(|(of, _, to)| u64::from(of.0) << 32 | u64::from(to.0));
            let wanted = wanted.chain(core::iter::repeat(0));
            for (place, mirror) in self.mirrors.of(direction).iter().zip(wanted) {
                place.store(mirror, Ordering::Relaxed);
            }
        }
        // All mirrors together count as one tapped interface.
        if had != self.mirrors() {
            self.count(!had);
        }
    }

    /// Returns true if frames of an interface are mirrored.
    pub(crate) fn is_mirrored(&self, id: InterfaceId) -> bool {
        let directions = [Direction::Received, Direction::Transmitted];
        let mut targets = directions
            .into_iter()
            .map(|at| self.mirrors.targets(id, at));
        targets.any(|mut targets| targets.next().is_some())
    }

    /// Returns true if there is a mirror.
    fn mirrors(&self) -> bool {
        let first = |all: &[AtomicU64; MIRRORS]| all[0].load(Ordering::Relaxed) != 0;
        first(&self.mirrors.received) || first(&self.mirrors.transmitted)
    }

    pub(crate) fn set_snap(&self, bytes: u32) {
        self.snap.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn snap(&self) -> usize {
        self.snap.load(Ordering::Relaxed) as usize
    }
}
