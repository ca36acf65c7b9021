//! The shortcut table, in maps shared with the kernel.
//!
//! ```text
//!  buckets   65,536 of eight slots: source and destination address, entrance ─▶ lane
//!            or: direction of a connection ─▶ lane, translation, counters
//!  lanes     path, link header, maximum frame length; packets and bytes so far
//!  state     the generation (slots of other generations are invalid); families distinguished by connection
//! ```
//!
//! No function makes a system call. A valid slot of this generation is overwritten only after a minute
//! without packets; a reader sees its first word change. The slot of a connection belongs to the worker that
//! wrote it until that worker has collected its traffic (`installer.rs`). `program.rs` contains the program.

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use frame::shortcut::{
    AddressPair, ConnectionTraffic, Dependency, LaneSelector, LaneTraffic, Service, Shortcuts,
};
use rustix::time::{ClockId, clock_gettime};

use super::installer::Installer;
use super::lanes::{self, LANES};
use super::marks::Marks;
use super::program::Wiring;
use super::registry::Registry;
use super::slot::{self, Hashing, Key, Line, Slot};

/// Number of buckets as hash bits; 64 MB with their slots. So many that hardly any of 64,000 connections
/// finds its bucket full.
pub(crate) const BUCKET_BITS: u32 = 16;
/// Slots per bucket. The lowest hash bits select the first slot, so that all cache lines are used evenly.
pub(crate) const SLOTS: usize = 8;
/// Slots of all buckets.
pub(crate) const SLOTS_ALL: usize = SLOTS << BUCKET_BITS;
/// Time is counted in steps of 2^30 ns, a little more than a second.
pub(crate) const STEP_BITS: u32 = 30;
/// Validity of a slot in time steps. A packet renews it after half of them.
pub(crate) const VALID_STEPS: u32 = 60;
/// Time steps after which no program is running that was running at their start.
pub(crate) const GRACE_STEPS: u32 = 2;

/// Byte offsets in the state: 64 bits each, of which the program reads the lower 32.
pub(crate) mod state {
    pub(crate) const GENERATION: i16 = 0;
    /// A bit for each family whose packets are distinguished by connection.
    pub(crate) const BY_CONNECTION: i16 = 8;
    /// Bytes of the state.
    pub(crate) const SIZE: usize = 16;
}

/// Returns the bit of a family.
pub(crate) fn family_bit(ipv6: bool) -> u32 {
    1 << u32::from(ipv6)
}

/// A kernel map whose memory is shared with this process.
pub trait Map: Debug + Send + Sync {
    /// Returns the map's memory in 64-bit words, at least the requested size ([`MapSize`]).
    fn words(&self) -> &[AtomicU64];

    /// Returns the descriptor by which a program refers to the map.
    fn descriptor(&self) -> i32;
}

/// Requested size of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapSize {
    /// Bytes per entry, a multiple of 8.
    pub value_bytes: usize,
    /// Number of entries.
    pub entries: usize,
}

/// All shortcuts of a router.
#[derive(Debug)]
pub struct Table<M> {
    fronts: M,
    backs: M,
    lanes: M,
    state: M,
    pub(crate) hashing: Hashing,
    entrances: AtomicU32,
    /// Locked by the control plane only, never by a worker.
    registry: Mutex<Registry>,
    /// The objects that shortcuts depend on.
    pub(crate) marks: Marks,
    /// Reported packets and bytes of each lane; the control plane writes them.
    told: Box<[[AtomicU64; 2]]>,
}

impl<M: Map> Table<M> {
    /// Creates a table for 524,288 pairs of addresses or directions of connections, in 71 MB of maps that
    /// `map` creates; `seed` must be random.
    ///
    /// # Errors
    /// Returns the errors of `map`, and an error on architectures without support.
    pub fn new(seed: u64, map: impl Fn(MapSize) -> io::Result<M>) -> io::Result<Arc<Self>> {
        if !cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
            // The program cannot order its reads of a slot; on these architectures they happen in program
            // order.
            return Err(io::ErrorKind::Unsupported.into());
        }
        let of = |value_bytes, entries| MapSize {
            value_bytes,
            entries,
        };
        let table = Self {
            fronts: map(of(SLOTS * slot::SIZE, 1 << BUCKET_BITS))?,
            backs: map(of(SLOTS * slot::SIZE, 1 << BUCKET_BITS))?,
            lanes: map(of(lanes::lane::SIZE, LANES))?,
            state: map(of(state::SIZE, 1))?,
            hashing: Hashing::new(seed),
            entrances: AtomicU32::new(0),
            registry: Mutex::new(Registry::new()),
            marks: Marks::new(seed),
            told: (0..LANES).map(|_| Default::default()).collect(),
        };
        // A slot that was never written has generation 0.
        table.state(state::GENERATION).store(1, Ordering::Release);
        Ok(Arc::new(table))
    }

    /// Returns the entrance of another device.
    pub fn entrance(&self) -> u32 {
        self.entrances.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the references that a program needs to use shortcuts.
    pub(crate) fn wiring(&self) -> Wiring {
        Wiring {
            fronts: self.fronts.descriptor(),
            backs: self.backs.descriptor(),
            lanes: self.lanes.descriptor(),
            state: self.state.descriptor(),
            factor: self.hashing.factor,
        }
    }

    /// Creates the installer for a port of the device with this number and entrance, with all memory that it
    /// needs.
    pub fn installer(self: &Arc<Self>, entrance: u32, device: u32) -> Installer<M> {
        let lanes = self.registry().enter();
        Installer::new(Arc::clone(self), entrance, device, lanes)
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self, offset: i16) -> &AtomicU64 {
        &self.state.words()[offset as usize / 8]
    }

    /// Returns the current generation.
    pub(crate) fn generation(&self) -> u32 {
        self.state(state::GENERATION).load(Ordering::SeqCst) as u32
    }

    /// Sets whether packets of a family are distinguished by connection.
    pub(crate) fn set_by_connection(&self, ipv6: bool, by_connection: bool) {
        let (word, bit) = (self.state(state::BY_CONNECTION), family_bit(ipv6).into());
        if (word.load(Ordering::Relaxed) & bit != 0) == by_connection {
            return;
        }
        match by_connection {
            true => word.fetch_or(bit, Ordering::Relaxed),
            false => word.fetch_and(!bit, Ordering::Relaxed),
        };
    }

    /// Returns a slot by its number.
    pub(crate) fn slot(&self, number: u32) -> Slot<'_> {
        let number = number as usize % SLOTS_ALL;
        Slot::at(self.fronts.words(), self.backs.words(), number)
    }

    /// Returns a lane by its number.
    pub(crate) fn line(&self, number: u32) -> Line<'_> {
        let number = number as usize % LANES;
        Line::at(self.lanes.words(), number, lanes::lane::SIZE)
    }

    /// Returns the packets and bytes that a lane has counted.
    pub(crate) fn counted(&self, lane: u32) -> [u64; 2] {
        let line = self.line(lane);
        [lanes::lane::PACKETS, lanes::lane::BYTES].map(|at| line.load(at))
    }

    /// Returns the packets and bytes of a lane that were reported.
    pub(crate) fn told(&self, lane: u32) -> [u64; 2] {
        let told = &self.told[lane as usize % LANES];
        [0, 1].map(|at: usize| told[at].load(Ordering::Acquire))
    }

    pub(crate) fn set_told(&self, lane: u32, counted: [u64; 2]) {
        for (word, count) in self.told[lane as usize % LANES].iter().zip(counted) {
            word.store(count, Ordering::Release);
        }
    }

    /// Returns the slot of a key, valid or not.
    pub(crate) fn find(&self, key: &Key) -> Option<Slot<'_>> {
        let place = self.hashing.place(key);
        let mut slots = place.numbers().map(|number| self.slot(number));
        slots.find(|slot| slot.is_of(key))
    }

    /// Invalidates all shortcuts as [`Shortcuts::forget`] does, at a given time step.
    pub(crate) fn forget_at(&self, step: u32) {
        // Only the control plane calls this; generation 0 is unused.
        let next = self.generation().wrapping_add(1).max(1);
        let word = self.state(state::GENERATION);
        word.store(next.into(), Ordering::SeqCst);
        self.registry().follow(next, step);
    }

    /// Reports traffic as [`Shortcuts::take`] does, at a given time step.
    pub(crate) fn take_at(
        &self,
        which: LaneSelector,
        step: u32,
        went: &mut dyn FnMut(LaneTraffic),
    ) {
        let mut registry = self.registry();
        registry.follow(self.generation(), step);
        registry.tell(which, self, went);
    }
}

impl<M: Map> Shortcuts for Table<M> {
    fn forget(&self) {
        self.forget_at(step_now());
    }

    fn rests_on(&self, footing: &Dependency) -> bool {
        self.marks.may_bear(self.generation(), footing)
    }

    fn take(&self, which: LaneSelector, went: &mut dyn FnMut(LaneTraffic)) {
        self.take_at(which, step_now(), went);
    }

    fn waiting(&self, between: &AddressPair, service: &Service) -> Option<ConnectionTraffic> {
        let slot = self.find(&Key::of_connection(between, service))?;
        let token = slot.owner();
        (token != 0).then(|| slot.counted().gathered(token))
    }
}

/// Returns the time steps since the machine started.
pub(crate) fn step_now() -> u32 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    let nanoseconds = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    (nanoseconds >> STEP_BITS) as u32
}
