//! Shortcuts: the program on a device forwards by itself what was forwarded before, to other devices,
//! in the kernel.
//!
//! ```text
//!   buckets   65,536 of eight slots: between these two addresses, by this entrance ─▶ lane
//!             or: this direction of a connection ─▶ lane, what is written into its packets; how many so far
//!   lanes     from where to where, the link header, how long frames may be; packets and bytes so far
//!   state     the generation: what slots of another one say is forgotten; which families go by connections
//! ```
//!
//! All of these are maps whose memory is shared with the kernel, so that nothing here is a system call.
//! A slot that holds something of this generation is written over only when nothing went by it for a
//! minute: who reads it while it changes sees its first word move. The slot of a connection belongs to the
//! worker that wrote it until that has gathered what went by it (`learner.rs`). The program is in
//! `program.rs`.

use std::collections::HashMap;
use std::hash::Hash;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use frame::InterfaceId;
use frame::shortcut::{Between, Gathered, Lane, Service, Shortcuts, Went, Which};
use rustix::time::{ClockId, clock_gettime};

use super::bpf;
use super::slot::{self, Hashing, Key, Line, Slot};
use crate::sys::Mapping;

/// Buckets, by how many bits of a hash; 64 MB with their slots. So few in a bucket that next to none of 64,000
/// connections finds its own full.
pub(super) const BUCKET_BITS: u32 = 16;
/// Slots of a bucket. The lowest bits of the hash say which is the first, so that all cache lines of all
/// buckets are used alike.
pub(super) const SLOTS: usize = 8;
/// Lanes at a time: from each entrance to each neighbour, by family and by the rules that count.
const LANES: usize = 1 << 14;
/// Time is counted in steps of 2^30 nanoseconds, a little more than a second.
pub(super) const STEP_BITS: u32 = 30;
/// For how many steps a slot holds. A packet renews it when half of them are over.
pub(super) const LIFE: u32 = 60;
/// After how many steps nothing is under way any more that was when they began.
const GRACE: u32 = 2;

/// Where the parts of a lane are, in bytes.
pub(super) mod lane {
    /// Bytes of a lane: a cache line.
    pub(in crate::af_xdp) const SIZE: usize = 64;
    pub(in crate::af_xdp) const PACKETS: i16 = 0;
    pub(in crate::af_xdp) const BYTES: i16 = 8;
    pub(in crate::af_xdp) const DEVICE: i16 = 16;
    /// The longest frame, with its Ethernet header.
    pub(in crate::af_xdp) const LONGEST: i16 = 20;
    /// Link addresses that frames get.
    pub(in crate::af_xdp) const LINK: i16 = 24;
    /// The link address that they come to.
    pub(in crate::af_xdp) const TO: i16 = 36;
    /// Not 0 where the slot says what is written into packets.
    pub(in crate::af_xdp) const TRANSLATES: i16 = 42;
    /// The entrance that they come by.
    pub(in crate::af_xdp) const ENTRANCE: i16 = 44;
}

/// Where the parts of the state are, in bytes.
pub(super) mod state {
    pub(in crate::af_xdp) const GENERATION: i16 = 0;
    /// A bit for each family whose packets are told apart by their connections.
    pub(in crate::af_xdp) const BY_CONNECTION: i16 = 4;
}

/// The bit of a family.
pub(super) fn family_bit(ipv6: bool) -> u32 {
    1 << u32::from(ipv6)
}

/// Maps that the kernel's programs read and we write.
#[derive(Debug)]
pub(super) struct Maps {
    pub(super) fronts: OwnedFd,
    pub(super) backs: OwnedFd,
    pub(super) lanes: OwnedFd,
    pub(super) state: OwnedFd,
}

/// What makes a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LaneKey {
    pub(super) lane: Lane,
    pub(super) ipv6: bool,
    pub(super) entrance: u32,
    pub(super) translates: bool,
}

/// A lane, and what of it was told.
#[derive(Debug)]
struct Told {
    key: LaneKey,
    packets: u64,
    bytes: u64,
    /// The generation that it was last asked for in, and since when that is known to be over.
    generation: u32,
    over_since: Option<u32>,
}

/// The lanes that there are.
#[derive(Debug, Default)]
struct Lanes {
    numbers: HashMap<LaneKey, u32>,
    told: Vec<Option<Told>>,
    /// Those that nothing leads to any more.
    free: Vec<u32>,
    /// When such were last looked for.
    looked: u32,
    /// The lanes that begin or end at an interface, and those that a rule counts.
    of: HashMap<InterfaceId, Vec<u32>>,
    counted_by: HashMap<u32, Vec<u32>>,
}

/// All shortcuts of a router.
#[derive(Debug)]
pub struct XdpShortcuts {
    pub(super) maps: Maps,
    fronts: Mapping,
    backs: Mapping,
    lanes: Mapping,
    state: Mapping,
    pub(super) hashing: Hashing,
    entrances: AtomicU32,
    known: Mutex<Lanes>,
}

// SAFETY: the mappings are accessed as atomics, and only through `&self`.
unsafe impl Sync for XdpShortcuts {}

impl XdpShortcuts {
    /// Room for 524,288 pairs of addresses or directions of connections, in 67 MB; `seed` is random.
    ///
    /// # Errors
    /// What the kernel says: it has no such maps, or does not let us have them.
    pub fn new(seed: u64) -> io::Result<Arc<Self>> {
        if !cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
            // The program has no way to say in which order it reads a slot; here that is the one it is written in.
            return Err(io::ErrorKind::Unsupported.into());
        }
        let map = |value: usize, entries: usize| {
            let map = bpf::create_map(bpf::ARRAY, value as u32, entries as u32)?;
            let mapping = Mapping::new(&map, 0, (value * entries).next_multiple_of(4096))?;
            io::Result::Ok((map, mapping))
        };
        let (fronts, all_fronts) = map(SLOTS * slot::SIZE, 1 << BUCKET_BITS)?;
        let (backs, all_backs) = map(SLOTS * slot::SIZE, 1 << BUCKET_BITS)?;
        let (lanes, all_lanes) = map(lane::SIZE, LANES)?;
        let (state, all_state) = map(8, 1)?;
        let shortcuts = Self {
            maps: Maps {
                fronts,
                backs,
                lanes,
                state,
            },
            fronts: all_fronts,
            backs: all_backs,
            lanes: all_lanes,
            state: all_state,
            hashing: Hashing::new(seed),
            entrances: AtomicU32::new(0),
            known: Mutex::default(),
        };
        // What was never written is of generation 0.
        shortcuts.generation().store(1, Ordering::Release);
        Ok(Arc::new(shortcuts))
    }

    fn word(&self, offset: i16) -> &AtomicU32 {
        // SAFETY: the mapping has the word, which everybody accesses as an atomic.
        unsafe { self.state.at::<AtomicU32>(offset as usize, 1).as_ref() }
    }

    pub(super) fn generation(&self) -> &AtomicU32 {
        self.word(state::GENERATION)
    }

    /// Says whether packets of a family are told apart by their connections.
    pub(super) fn tell_apart(&self, ipv6: bool, by_connection: bool) {
        let (word, bit) = (self.word(state::BY_CONNECTION), family_bit(ipv6));
        if (word.load(Ordering::Relaxed) & bit != 0) == by_connection {
            return;
        }
        match by_connection {
            true => word.fetch_or(bit, Ordering::Relaxed),
            false => word.fetch_and(!bit, Ordering::Relaxed),
        };
    }

    /// The slot of this number.
    pub(super) fn slot(&self, number: u32) -> Slot<'_> {
        let number = number as usize % (SLOTS << BUCKET_BITS);
        Slot::at(&self.fronts, &self.backs, number)
    }

    fn line(&self, number: usize) -> Line<'_> {
        Line::at(&self.lanes, number * lane::SIZE, lane::SIZE)
    }

    /// The number of a lane, which is written down if it is new; none when there are too many.
    pub(super) fn lane(&self, key: &LaneKey, generation: u32, step: u32) -> Option<u32> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = known.numbers.get(key).copied() {
            if let Some(Some(told)) = known.told.get_mut(number as usize) {
                (told.generation, told.over_since) = (generation, None);
            }
            return Some(number);
        }
        let now = self.generation().load(Ordering::Relaxed);
        let number = known.take_number(now, step, |number| {
            let line = self.line(number);
            (line.load(lane::PACKETS), line.load(lane::BYTES))
        })?;
        let line = self.line(number as usize);
        // Who had the number before has gone, and all that went there was told.
        let (packets, bytes) = (line.load(lane::PACKETS), line.load(lane::BYTES));
        write_lane(line, key);
        known.enter(key, number);
        known.told[number as usize] = Some(Told {
            key: *key,
            packets,
            bytes,
            generation,
            over_since: None,
        });
        Some(number)
    }
}

/// Writes all of a lane but what it has counted.
fn write_lane(line: Line<'_>, key: &LaneKey) {
    let lane = &key.lane;
    let longest = lane.mtu.saturating_add(super::ETHERNET);
    let mut bytes = [0; lane::SIZE];
    let mut put = |at: i16, what: &[u8]| bytes[at as usize..][..what.len()].copy_from_slice(what);
    put(lane::DEVICE, &lane.device.to_ne_bytes());
    put(lane::LONGEST, &longest.to_ne_bytes());
    put(lane::LINK, &lane.link);
    put(lane::TO, &lane.to);
    put(lane::TRANSLATES, &u16::from(key.translates).to_ne_bytes());
    put(lane::ENTRANCE, &key.entrance.to_ne_bytes());
    let words = bytes.as_chunks::<8>().0.iter().enumerate();
    for (at, word) in words.skip(lane::DEVICE as usize / 8) {
        line.store(at as i16 * 8, u64::from_ne_bytes(*word));
    }
}

impl Lanes {
    /// A number for a new lane.
    fn take_number(
        &mut self,
        generation: u32,
        step: u32,
        counted: impl Fn(usize) -> (u64, u64),
    ) -> Option<u32> {
        if self.told.len() < LANES {
            self.told.push(None);
            return Some(self.told.len() as u32 - 1);
        }
        if self.free.is_empty() && self.looked != step {
            self.looked = step;
            self.look_for_free(generation, step, counted);
        }
        self.free.pop()
    }

    /// Finds lanes of generations that are over for good, and of which everything was told.
    fn look_for_free(&mut self, generation: u32, step: u32, counted: impl Fn(usize) -> (u64, u64)) {
        for number in 0..self.told.len() {
            let Some(told) = &mut self.told[number] else {
                continue;
            };
            if told.generation == generation {
                continue;
            }
            let since = *told.over_since.get_or_insert(step);
            let is_told = counted(number) == (told.packets, told.bytes);
            if step.saturating_sub(since) < GRACE || !is_told {
                continue;
            }
            let key = told.key;
            self.told[number] = None;
            self.remove(&key, number as u32);
            self.free.push(number as u32);
        }
    }

    fn enter(&mut self, key: &LaneKey, number: u32) {
        self.numbers.insert(*key, number);
        for interface in [key.lane.ingress, key.lane.egress] {
            self.of.entry(interface).or_default().push(number);
        }
        for rule in key.lane.rules.iter() {
            self.counted_by.entry(rule).or_default().push(number);
        }
    }

    fn remove(&mut self, key: &LaneKey, number: u32) {
        self.numbers.remove(key);
        for interface in [key.lane.ingress, key.lane.egress] {
            remove_from(&mut self.of, &interface, number);
        }
        for rule in key.lane.rules.iter() {
            remove_from(&mut self.counted_by, &rule, number);
        }
    }
}

fn remove_from<K: Eq + Hash>(lists: &mut HashMap<K, Vec<u32>>, key: &K, number: u32) {
    if let Some(list) = lists.get_mut(key) {
        list.retain(|other| *other != number);
        if list.is_empty() {
            lists.remove(key);
        }
    }
}

impl XdpShortcuts {
    /// Tells what went by a lane since that was told last.
    fn take_lane(&self, number: usize, told: &mut Option<Told>, went: &mut dyn FnMut(Went)) {
        let Some(told) = told else { return };
        let line = self.line(number);
        let (packets, bytes) = (line.load(lane::PACKETS), line.load(lane::BYTES));
        if packets == told.packets && bytes == told.bytes {
            return;
        }
        went(Went {
            lane: told.key.lane,
            ipv6: told.key.ipv6,
            packets: packets.wrapping_sub(told.packets),
            bytes: bytes.wrapping_sub(told.bytes),
        });
        (told.packets, told.bytes) = (packets, bytes);
    }

    /// The slot of a key, whatever it says.
    pub(super) fn find(&self, key: &Key) -> Option<Slot<'_>> {
        let place = self.hashing.place(key);
        let mut slots = place.numbers().map(|number| self.slot(number));
        slots.find(|slot| slot.is_of(key))
    }
}

impl Shortcuts for XdpShortcuts {
    fn forget(&self) {
        // Control alone does this; 0 is nobody's.
        let next = self.generation().load(Ordering::Relaxed).wrapping_add(1);
        self.generation().store(next.max(1), Ordering::SeqCst);
    }

    fn take(&self, which: Which, went: &mut dyn FnMut(Went)) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Lanes {
            told,
            of,
            counted_by,
            ..
        } = &mut *known;
        let some = match which {
            Which::All => {
                for (number, told) in told.iter_mut().enumerate() {
                    self.take_lane(number, told, went);
                }
                return;
            }
            Which::Of(interface) => of.get(&interface),
            Which::CountedBy(rule) => counted_by.get(&rule),
        };
        for number in some.into_iter().flatten() {
            let number = *number as usize;
            self.take_lane(number, &mut told[number], went);
        }
    }

    fn waiting(&self, between: &Between, service: &Service) -> Option<Gathered> {
        let slot = self.find(&Key::of_connection(between, service))?;
        let token = slot.owner();
        (token != 0).then(|| slot.counted().gathered(token))
    }
}

/// Steps since the machine started.
pub(super) fn step_now() -> u32 {
    let now = clock_gettime(ClockId::MonotonicCoarse);
    let nanoseconds = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    (nanoseconds >> STEP_BITS) as u32
}

/// An entrance for one more device.
pub(super) fn entrance(shortcuts: &XdpShortcuts) -> u32 {
    shortcuts.entrances.fetch_add(1, Ordering::Relaxed)
}
