//! Shortcuts: the program on a device forwards by itself what the fast path has forwarded before, to
//! other devices, in the kernel.
//!
//! ```text
//!   buckets   65,536 of eight slots: between these two addresses, by this entrance ─▶ lane
//!   lanes     from where to where, the link header, how long frames may be; packets and bytes so far
//!   state     the generation: what slots of another one say is forgotten
//! ```
//!
//! All three are maps whose memory is shared with the kernel, so that nothing here is a system call.
//! A slot that holds something of this generation is written over only when nothing went by it for
//! half a minute: who reads it while it changes sees its first word move. The program is in
//! `program.rs`.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

use frame::InterfaceId;
use frame::shortcut::{Lane, Shortcuts, Straight, Went};
use rustix::time::{ClockId, clock_gettime};

use super::bpf;
use crate::sys::Mapping;

/// Buckets, by how many bits of a hash; 32 MB with their slots.
pub(super) const BUCKET_BITS: u32 = 16;
/// Slots of a bucket. The lowest bits of the hash say which is the first, so that all cache lines of all
/// buckets are used alike.
pub(super) const SLOTS: usize = 8;
/// Bytes of a slot, and of a lane: a cache line.
pub(super) const LINE: usize = 64;
/// Lanes: from each entrance to each neighbour, by family.
const LANES: usize = 1 << 14;
/// Time is counted in steps of 2^30 nanoseconds, a little more than a second.
pub(super) const STEP_BITS: u32 = 30;
/// For how many steps a slot holds. A packet renews it when half of them are over.
pub(super) const LIFE: u32 = 60;

/// Where the parts of a slot are, in bytes.
pub(super) mod slot {
    /// Bits of the hash (32) | generation (32), which is 0 in none that holds something.
    pub(in crate::af_xdp) const WORD: i16 = 0;
    /// The last step of time that it holds for.
    pub(in crate::af_xdp) const UNTIL: i16 = 8;
    pub(in crate::af_xdp) const LANE: i16 = 12;
    /// Twice the entrance, and one more for IPv6.
    pub(in crate::af_xdp) const KIND: i16 = 16;
    /// Source and destination as they lie in a packet, in two words each.
    pub(in crate::af_xdp) const ADDRESSES: i16 = 24;
}

/// Where the parts of a lane are, in bytes.
pub(super) mod lane {
    pub(in crate::af_xdp) const PACKETS: i16 = 0;
    pub(in crate::af_xdp) const BYTES: i16 = 8;
    pub(in crate::af_xdp) const DEVICE: i16 = 16;
    /// The longest frame, with its Ethernet header.
    pub(in crate::af_xdp) const LONGEST: i16 = 20;
    /// Link addresses that frames get.
    pub(in crate::af_xdp) const LINK: i16 = 24;
    /// The link address that they come to.
    pub(in crate::af_xdp) const TO: i16 = 36;
}

/// Maps that the kernel's programs read and we write.
#[derive(Debug)]
pub(super) struct Maps {
    pub(super) buckets: OwnedFd,
    pub(super) lanes: OwnedFd,
    pub(super) state: OwnedFd,
}

/// The lanes that there are, and what of them was told.
#[derive(Debug, Default)]
struct Told {
    numbers: HashMap<(Lane, bool), u32>,
    lanes: Vec<Went>,
    /// The lanes that begin or end at an interface.
    of: HashMap<InterfaceId, Vec<u32>>,
}

/// All shortcuts of a router.
#[derive(Debug)]
pub struct XdpShortcuts {
    pub(super) maps: Maps,
    buckets: Mapping,
    lanes: Mapping,
    state: Mapping,
    /// What hashes are multiplied with: odd, and nobody's to guess.
    pub(super) factor: u64,
    entrances: AtomicU32,
    told: Mutex<Told>,
}

// SAFETY: the mappings are accessed as atomics, and only through `&self`.
unsafe impl Sync for XdpShortcuts {}

impl XdpShortcuts {
    /// Room for 524,288 pairs of addresses, in 33 MB; `seed` is random.
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
        let (buckets, all_buckets) = map(SLOTS * LINE, 1 << BUCKET_BITS)?;
        let (lanes, all_lanes) = map(LINE, LANES)?;
        let (state, all_state) = map(8, 1)?;
        let shortcuts = Self {
            maps: Maps {
                buckets,
                lanes,
                state,
            },
            buckets: all_buckets,
            lanes: all_lanes,
            state: all_state,
            factor: seed | 1,
            entrances: AtomicU32::new(0),
            told: Mutex::default(),
        };
        // What was never written is of generation 0.
        shortcuts.generation().store(1, Ordering::Release);
        Ok(Arc::new(shortcuts))
    }

    fn generation(&self) -> &AtomicU32 {
        // SAFETY: the mapping has the word, which everybody accesses as an atomic.
        unsafe { self.state.at::<AtomicU32>(0, 1).as_ref() }
    }

    fn line(mapping: &Mapping, number: usize) -> Line<'_> {
        let words = mapping.at::<AtomicU64>(number * LINE, LINE / 8);
        // SAFETY: `at` has checked that they lie in the mapping, which the reference borrows; everybody
        // accesses them as atomics, whose parts of 32 bits the kernel's program may read alone.
        Line(unsafe { NonNull::slice_from_raw_parts(words, LINE / 8).as_ref() })
    }

    /// The number of a lane, which is written down if it is new; none when there are too many.
    fn lane(&self, lane: &Lane, ipv6: bool) -> Option<u32> {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(number) = told.numbers.get(&(*lane, ipv6)) {
            return Some(*number);
        }
        let number = told.lanes.len();
        if number >= LANES {
            return None;
        }
        let line = Self::line(&self.lanes, number);
        let longest = lane.mtu.saturating_add(super::ETHERNET);
        let mut bytes = [0; LINE];
        bytes[lane::DEVICE as usize..][..4].copy_from_slice(&lane.device.to_ne_bytes());
        bytes[lane::LONGEST as usize..][..4].copy_from_slice(&longest.to_ne_bytes());
        bytes[lane::LINK as usize..][..12].copy_from_slice(&lane.link);
        bytes[lane::TO as usize..][..6].copy_from_slice(&lane.to);
        line.write(&bytes);
        told.numbers.insert((*lane, ipv6), number as u32);
        for interface in [lane.ingress, lane.egress] {
            told.of.entry(interface).or_default().push(number as u32);
        }
        told.lanes.push(Went {
            ingress: lane.ingress,
            egress: lane.egress,
            ipv6,
            packets: 0,
            bytes: 0,
        });
        Some(number as u32)
    }
}

impl XdpShortcuts {
    /// Tells what went by a lane since `before`.
    fn take_lane(&self, number: usize, before: &mut Went, went: &mut dyn FnMut(Went)) {
        let line = Self::line(&self.lanes, number);
        let (packets, bytes) = (line.load(lane::PACKETS), line.load(lane::BYTES));
        if packets == before.packets && bytes == before.bytes {
            return;
        }
        went(Went {
            packets: packets.wrapping_sub(before.packets),
            bytes: bytes.wrapping_sub(before.bytes),
            ..*before
        });
        (before.packets, before.bytes) = (packets, bytes);
    }
}

impl Shortcuts for XdpShortcuts {
    fn forget(&self) {
        // Control alone does this; 0 is nobody's.
        let next = self.generation().load(Ordering::Relaxed).wrapping_add(1);
        self.generation().store(next.max(1), Ordering::SeqCst);
    }

    fn take(&self, by: Option<InterfaceId>, went: &mut dyn FnMut(Went)) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let Told { lanes, of, .. } = &mut *told;
        match by {
            None => {
                for (number, before) in lanes.iter_mut().enumerate() {
                    self.take_lane(number, before, went);
                }
            }
            Some(interface) => {
                for number in of.get(&interface).into_iter().flatten() {
                    let number = *number as usize;
                    self.take_lane(number, &mut lanes[number], went);
                }
            }
        }
    }
}

/// A slot or a lane.
#[derive(Clone, Copy)]
struct Line<'a>(&'a [AtomicU64]);

impl Line<'_> {
    fn word(&self, offset: i16) -> &AtomicU64 {
        &self.0[offset as usize / 8]
    }

    fn load(&self, offset: i16) -> u64 {
        self.word(offset).load(Ordering::Relaxed)
    }

    fn write(&self, bytes: &[u8; LINE]) {
        for (word, bytes) in self.0.iter().zip(bytes.as_chunks::<8>().0) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
    }
}

/// What one port learns.
#[derive(Debug)]
pub(super) struct Learner {
    shortcuts: Arc<XdpShortcuts>,
    entrance: u32,
    /// When the round began: the generation, and the step of time.
    generation: u32,
    step: u32,
    /// The lanes that were met here.
    lanes: HashMap<(Lane, bool), u32>,
}

impl Learner {
    pub(super) fn new(shortcuts: &Arc<XdpShortcuts>, entrance: u32) -> Self {
        Self {
            shortcuts: Arc::clone(shortcuts),
            entrance,
            generation: 0,
            step: 0,
            lanes: HashMap::new(),
        }
    }

    /// A round begins.
    pub(super) fn begin(&mut self) {
        self.generation = self.shortcuts.generation().load(Ordering::SeqCst);
        let now = clock_gettime(ClockId::MonotonicCoarse);
        let nanoseconds = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
        self.step = (nanoseconds >> STEP_BITS) as u32;
    }

    /// Learns the way of such packets, if there is room.
    pub(super) fn learn(&mut self, straight: &Straight) {
        let key = (straight.lane, straight.ipv6);
        let lane = match self.lanes.get(&key) {
            Some(lane) => *lane,
            None => {
                let Some(lane) = self.shortcuts.lane(&straight.lane, straight.ipv6) else {
                    return;
                };
                self.lanes.insert(key, lane);
                lane
            }
        };
        let [s0, s1] = words(straight.source, straight.ipv6);
        let [d0, d1] = words(straight.destination, straight.ipv6);
        let learned = Learned {
            kind: kind(self.entrance, straight.ipv6),
            addresses: [s0, s1, d0, d1],
            lane,
        };
        self.write(&learned);
    }

    fn write(&self, learned: &Learned) {
        let hash = learned.hash(self.shortcuts.factor);
        let bucket = (hash >> (64 - BUCKET_BITS)) as usize;
        let word = word(hash, self.generation);
        let first = hash as usize;
        let slots = (0..SLOTS).map(|slot| {
            let slot = first.wrapping_add(slot) % SLOTS;
            XdpShortcuts::line(&self.shortcuts.buckets, bucket * SLOTS + slot)
        });
        let mut free = None;
        for slot in slots {
            let found = slot.load(slot::WORD);
            if found == word && learned.is_in(&slot) {
                // It may hold for longer.
                slot.word(slot::UNTIL)
                    .store(self.until(learned.lane), Ordering::Relaxed);
                return;
            }
            let until = slot.load(slot::UNTIL) as u32;
            if (found >> 32) as u32 != self.generation || until < self.step {
                free = free.or(Some((slot, found)));
            }
        }
        let Some((slot, found)) = free else { return };
        // Another worker may take it at the same time; what it says is nobody's meanwhile.
        let taken = slot.word(slot::WORD).compare_exchange(
            found,
            BUSY,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        if found == BUSY || taken.is_err() {
            return;
        }
        fence(Ordering::Release);
        slot.word(slot::UNTIL)
            .store(self.until(learned.lane), Ordering::Relaxed);
        slot.word(slot::KIND)
            .store(u64::from(learned.kind), Ordering::Relaxed);
        for (at, address) in learned.addresses.iter().enumerate() {
            let offset = slot::ADDRESSES + at as i16 * 8;
            slot.word(offset).store(*address, Ordering::Relaxed);
        }
        slot.word(slot::WORD).store(word, Ordering::Release);
    }

    /// The word of how long a slot holds, and of its lane.
    fn until(&self, lane: u32) -> u64 {
        u64::from(self.step.saturating_add(LIFE)) | u64::from(lane) << 32
    }
}

/// A slot that is written to.
const BUSY: u64 = 1;

/// What a slot says.
struct Learned {
    kind: u32,
    addresses: [u64; 4],
    lane: u32,
}

impl Learned {
    /// As the program makes it.
    fn hash(&self, factor: u64) -> u64 {
        let start = factor.wrapping_add(u64::from(self.kind));
        let mix = |hash: u64, word: &u64| hash.wrapping_mul(factor) ^ word;
        let hash = self.addresses.iter().fold(start, mix).wrapping_mul(factor);
        (hash ^ hash >> 32).wrapping_mul(factor)
    }

    fn is_in(&self, slot: &Line<'_>) -> bool {
        let same =
            |(at, address): (usize, &u64)| slot.load(slot::ADDRESSES + at as i16 * 8) == *address;
        slot.load(slot::KIND) as u32 == self.kind && self.addresses.iter().enumerate().all(same)
    }
}

/// The first word of a slot.
fn word(hash: u64, generation: u32) -> u64 {
    u64::from((hash >> 8) as u32) | u64::from(generation) << 32
}

/// How many bits of the hash are not in a slot's first word.
pub(super) const TAG_SHIFT: i32 = 8;

/// What packets of a family are at an entrance.
pub(super) fn kind(entrance: u32, ipv6: bool) -> u32 {
    entrance << 1 | u32::from(ipv6)
}

/// An address as it lies in a packet.
fn words(address: u128, ipv6: bool) -> [u64; 2] {
    let bytes = address.to_be_bytes();
    let (halves, _) = bytes.as_chunks::<8>();
    if ipv6 {
        return [halves[0], halves[1]].map(u64::from_ne_bytes);
    }
    [
        0,
        u64::from(u32::from_ne_bytes((address as u32).to_be_bytes())),
    ]
}

/// An entrance for one more device.
pub(super) fn entrance(shortcuts: &XdpShortcuts) -> u32 {
    shortcuts.entrances.fetch_add(1, Ordering::Relaxed)
}
