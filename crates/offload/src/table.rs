//! The table of shortcuts, in memory that is shared with the kernel.
//!
//! ```text
//!   buckets   65,536 of eight slots: between these two addresses, by this entrance ─▶ lane
//!             or: this direction of a connection ─▶ lane, what is written into its packets; how many so far
//!   lanes     from where to where, the link header, how long frames may be; packets and bytes so far
//!   state     the generation: what slots of another one say is forgotten; which families go by connections
//! ```
//!
//! Nothing here is a system call. A slot that holds something of this generation is written over only when
//! nothing went by it for a minute: who reads it while it changes sees its first word move. The slot of a
//! connection belongs to the worker that wrote it until that has gathered what went by it (`installer.rs`).
//! The program is in `program.rs`.

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use frame::shortcut::{Between, Footing, Gathered, Service, Shortcuts, Went, Which};
use rustix::time::{ClockId, clock_gettime};

use super::installer::Installer;
use super::lanes::{self, LANES};
use super::marks::Marks;
use super::program::Wiring;
use super::registry::Registry;
use super::slot::{self, Hashing, Key, Line, Slot};

/// Buckets, by how many bits of a hash; 64 MB with their slots. So few in a bucket that next to none of 64,000
/// connections finds its own full.
pub(crate) const BUCKET_BITS: u32 = 16;
/// Slots of a bucket. The lowest bits of the hash say which is the first, so that all cache lines of all
/// buckets are used alike.
pub(crate) const SLOTS: usize = 8;
/// Slots of all buckets.
pub(crate) const SLOTS_ALL: usize = SLOTS << BUCKET_BITS;
/// Time is counted in steps of 2^30 nanoseconds, a little more than a second.
pub(crate) const STEP_BITS: u32 = 30;
/// For how many steps a slot holds. A packet renews it when half of them are over.
pub(crate) const LIFE: u32 = 60;
/// After how many steps nothing is under way any more that was when they began.
pub(crate) const GRACE: u32 = 2;

/// Where the parts of the state are, in bytes: 64 bits each, of which the program reads the lower 32.
pub(crate) mod state {
    pub(crate) const GENERATION: i16 = 0;
    /// A bit for each family whose packets are told apart by their connections.
    pub(crate) const BY_CONNECTION: i16 = 8;
    /// Bytes of all.
    pub(crate) const SIZE: usize = 16;
}

/// The bit of a family.
pub(crate) fn family_bit(ipv6: bool) -> u32 {
    1 << u32::from(ipv6)
}

/// A map of the kernel whose memory is shared with it.
pub trait Map: Debug + Send + Sync {
    /// Its memory: at least what was asked for ([`MapSize`]), in words of 64 bits.
    fn words(&self) -> &[AtomicU64];

    /// The descriptor by which a program names it.
    fn descriptor(&self) -> i32;
}

/// How large a map is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapSize {
    /// Bytes of an entry, a multiple of 8.
    pub value_bytes: usize,
    /// How many entries it has.
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
    /// Control's alone: no worker ever takes this lock.
    registry: Mutex<Registry>,
    /// What shortcuts rest on.
    pub(crate) marks: Marks,
    /// Packets and bytes of each lane that were told; control writes them.
    told: Box<[[AtomicU64; 2]]>,
}

impl<M: Map> Table<M> {
    /// Room for 524,288 pairs of addresses or directions of connections, in 71 MB of maps that `map` makes;
    /// `seed` is random.
    ///
    /// # Errors
    /// What `map` says; and that there is no such thing on this architecture.
    pub fn new(seed: u64, map: impl Fn(MapSize) -> io::Result<M>) -> io::Result<Arc<Self>> {
        if !cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
            // The program has no way to say in which order it reads a slot; here that is the one it is written in.
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
        // What was never written is of generation 0.
        table.state(state::GENERATION).store(1, Ordering::Release);
        Ok(Arc::new(table))
    }

    /// An entrance for one more device.
    pub fn entrance(&self) -> u32 {
        self.entrances.fetch_add(1, Ordering::Relaxed)
    }

    /// What a program has to know to take shortcuts.
    pub(crate) fn wiring(&self) -> Wiring {
        Wiring {
            fronts: self.fronts.descriptor(),
            backs: self.backs.descriptor(),
            lanes: self.lanes.descriptor(),
            state: self.state.descriptor(),
            factor: self.hashing.factor,
        }
    }

    /// What installs shortcuts for a port of the device with this number and entrance. All memory that it
    /// ever needs is allocated here.
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

    /// The generation that holds.
    pub(crate) fn generation(&self) -> u32 {
        self.state(state::GENERATION).load(Ordering::SeqCst) as u32
    }

    /// Says whether packets of a family are told apart by their connections.
    pub(crate) fn tell_apart(&self, ipv6: bool, by_connection: bool) {
        let (word, bit) = (self.state(state::BY_CONNECTION), family_bit(ipv6).into());
        if (word.load(Ordering::Relaxed) & bit != 0) == by_connection {
            return;
        }
        match by_connection {
            true => word.fetch_or(bit, Ordering::Relaxed),
            false => word.fetch_and(!bit, Ordering::Relaxed),
        };
    }

    /// The slot of this number.
    pub(crate) fn slot(&self, number: u32) -> Slot<'_> {
        let number = number as usize % SLOTS_ALL;
        Slot::at(self.fronts.words(), self.backs.words(), number)
    }

    /// The lane of this number.
    pub(crate) fn line(&self, number: u32) -> Line<'_> {
        let number = number as usize % LANES;
        Line::at(self.lanes.words(), number, lanes::lane::SIZE)
    }

    /// Packets and bytes that a lane has counted.
    pub(crate) fn counted(&self, lane: u32) -> [u64; 2] {
        let line = self.line(lane);
        [lanes::lane::PACKETS, lanes::lane::BYTES].map(|at| line.load(at))
    }

    /// What of that was told.
    pub(crate) fn told(&self, lane: u32) -> [u64; 2] {
        let told = &self.told[lane as usize % LANES];
        [0, 1].map(|at: usize| told[at].load(Ordering::Acquire))
    }

    pub(crate) fn set_told(&self, lane: u32, counted: [u64; 2]) {
        for (word, count) in self.told[lane as usize % LANES].iter().zip(counted) {
            word.store(count, Ordering::Release);
        }
    }

    /// The slot of a key, whatever it says.
    pub(crate) fn find(&self, key: &Key) -> Option<Slot<'_>> {
        let place = self.hashing.place(key);
        let mut slots = place.numbers().map(|number| self.slot(number));
        slots.find(|slot| slot.is_of(key))
    }

    /// As [`Shortcuts::forget`], at a step of time.
    pub(crate) fn forget_at(&self, step: u32) {
        // Control alone does this; 0 is nobody's.
        let next = self.generation().wrapping_add(1).max(1);
        let word = self.state(state::GENERATION);
        word.store(next.into(), Ordering::SeqCst);
        self.registry().follow(next, step);
    }

    /// As [`Shortcuts::take`], at a step of time.
    pub(crate) fn take_at(&self, which: Which, step: u32, went: &mut dyn FnMut(Went)) {
        let mut registry = self.registry();
        registry.follow(self.generation(), step);
        registry.tell(which, self, went);
    }
}

impl<M: Map> Shortcuts for Table<M> {
    fn forget(&self) {
        self.forget_at(step_now());
    }

    fn rests_on(&self, footing: &Footing) -> bool {
        self.marks.may_bear(self.generation(), footing)
    }

    fn take(&self, which: Which, went: &mut dyn FnMut(Went)) {
        self.take_at(which, step_now(), went);
    }

    fn waiting(&self, between: &Between, service: &Service) -> Option<Gathered> {
        let slot = self.find(&Key::of_connection(between, service))?;
        let token = slot.owner();
        (token != 0).then(|| slot.counted().gathered(token))
    }
}

/// Steps since the machine started.
pub(crate) fn step_now() -> u32 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    let nanoseconds = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    (nanoseconds >> STEP_BITS) as u32
}
