//! The interfaces whose frames are copied, and the copies.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use frame::{Frame, InterfaceId};
use machine::Instant;

use crate::rule::Sniff;
use crate::walk::Stage;

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

/// How many mirrors there are at most.
pub const MIRRORS: usize = 64;

/// Interfaces whose frames are copied to others: of each the interface in the high half, in the low one who gets the
/// copies; 0 is none.
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

    /// Who gets copies of the frames of an interface.
    pub(super) fn targets(
        &self,
        id: InterfaceId,
        direction: Direction,
    ) -> impl Iterator<Item = InterfaceId> {
        let all = self.of(direction).iter();
        let all = all.map(|mirror| mirror.load(Ordering::Relaxed));
        // They are without a gap.
        let all = all.take_while(|mirror| *mirror != 0);
        all.filter(move |mirror| (*mirror >> 32) as u32 == id.0)
            .map(|mirror| InterfaceId(mirror as u32))
    }
}

/// How much there is to be seen.
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

    /// Replaces the mirrors; those beyond [`MIRRORS`] of a direction are left out. Only control calls this.
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
        // Whoever mirrors is asked about like whoever taps.
        if had != self.mirrors() {
            self.count(!had);
        }
    }

    /// Whether frames of an interface are copied to another one.
    pub(crate) fn is_mirrored(&self, id: InterfaceId) -> bool {
        let directions = [Direction::Received, Direction::Transmitted];
        let mut targets = directions
            .into_iter()
            .map(|at| self.mirrors.targets(id, at));
        targets.any(|mut targets| targets.next().is_some())
    }

    /// Whether there is a mirror.
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
