//! Frame pools: one mapping divided into slots of three sizes, with a free list per size.
//!
//! Every worker and the control plane have their own pool; the pools are created together as a group. A frame
//! may be freed into any pool of its group; a foreign frame returns to its pool through a mailbox.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use kernels::Region;

use crate::Frame;
use crate::holder_limits::HolderLimits;

/// Free bytes before a new frame, for encapsulation.
pub const HEADROOM: usize = 256;

/// Size class of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// 2 KB: ordinary frames; also the chunk size of AF_XDP.
    Small,
    /// 16 KB: jumbo frames.
    Medium,
    /// 68 KB: merged segments of up to 64 KB.
    Large,
}

impl Class {
    /// All classes, smallest first.
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Large];

    /// Returns the bytes of a slot, including headroom.
    #[inline]
    pub const fn slot_bytes(self) -> usize {
        match self {
            Self::Small => 2048,
            Self::Medium => 16 << 10,
            Self::Large => 68 << 10,
        }
    }

    /// Returns the smallest class for `len` bytes after the usual headroom.
    #[inline]
    pub const fn for_len(len: usize) -> Option<Self> {
        if len + HEADROOM <= Self::Small.slot_bytes() {
            Some(Self::Small)
        } else if len + HEADROOM <= Self::Medium.slot_bytes() {
            Some(Self::Medium)
        } else if len + HEADROOM <= Self::Large.slot_bytes() {
            Some(Self::Large)
        } else {
            None
        }
    }
}

/// Number of slots per class.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Slots of 2 KB.
    pub small: u32,
    /// Slots of 16 KB.
    pub medium: u32,
    /// Slots of 68 KB.
    pub large: u32,
}

impl Sizes {
    /// For a worker with hardware ports: 16,384 small (32 MB), 1,024 medium (16 MB), 256 large (17 MB).
    pub const WORKER: Self = Self {
        small: 16_384,
        medium: 1_024,
        large: 256,
    };
    /// For simulations, and for routers that forward nothing: below 2 MB.
    pub const LEAST: Self = Self {
        small: 512,
        medium: 16,
        large: 4,
    };

    /// For a worker with queues of `ports` ports: the slots of their rings, as many again for holders, and at
    /// least [`Self::WORKER`].
    pub const fn for_ports(ports: usize) -> Self {
        const HOLDERS: usize = 8_192;
        // Ports leave an eighth when they lend slots to their devices.
        let small = (ports * PORT_SLOTS + HOLDERS) / 7 * 8;
        let least = Self::WORKER.small as usize;
        Self {
            small: if small > least { small } else { least } as u32,
            ..Self::WORKER
        }
    }

    /// Returns the number of slots that fit into `bytes`, in the proportions of [`Self::WORKER`].
    pub fn of_bytes(bytes: usize) -> Self {
        let of = |slots: u32| slots as u64 * bytes as u64 / Self::WORKER.bytes() as u64;
        Self {
            small: of(Self::WORKER.small) as u32,
            medium: of(Self::WORKER.medium) as u32,
            large: of(Self::WORKER.large) as u32,
        }
    }

    /// Returns the bytes of all slots.
    pub const fn bytes(&self) -> usize {
        self.small as usize * Class::Small.slot_bytes()
            + self.medium as usize * Class::Medium.slot_bytes()
            + self.large as usize * Class::Large.slot_bytes()
    }

    fn count(&self, class: Class) -> usize {
        match class {
            Class::Small => self.small as usize,
            Class::Medium => self.medium as usize,
            Class::Large => self.large as usize,
        }
    }
}

/// Maximum number of slots of a port with rings of its own.
const PORT_SLOTS: usize = 4_096;

/// State of a pool that the other pools of its group access.
#[derive(Debug)]
struct Home {
    /// Frames that other pools freed.
    mailbox: ArrayQueue<Frame>,
    share: HolderLimits,
}

/// A mapping divided into slots, and the free slots.
#[derive(Debug)]
pub struct Pool {
    region: Option<Region>,
    sizes: Sizes,
    free: [Vec<u32>; 3],
    home: u8,
    homes: Arc<[Home]>,
}

impl Pool {
    /// Creates a group of `count` pools (at most 255) that accept each other's frames.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn group(count: usize, sizes: Sizes) -> std::io::Result<Vec<Self>> {
        assert!(count <= 255, "a group has at most 255 pools");
        let slots: usize = Class::ALL.iter().map(|class| sizes.count(*class)).sum();
        let home = |_| Home {
            mailbox: ArrayQueue::new(slots.max(1)),
            share: HolderLimits::new(Class::ALL.map(|class| sizes.count(class))),
        };
        let homes: Arc<[_]> = (0..count).map(home).collect();
        (0..count)
            .map(|home| {
                Ok(Self {
                    region: Some(Region::new(sizes.bytes())?),
                    sizes,
                    // The lowest slots are allocated first, so that used memory stays compact.
                    free: Class::ALL.map(|c| (0..sizes.count(c) as u32).rev().collect()),
                    home: home as u8,
                    homes: Arc::clone(&homes),
                })
            })
            .collect()
    }

    /// Creates a single pool.
    ///
    /// # Errors
    /// Returns the errors of `group`.
    pub fn new(sizes: Sizes) -> std::io::Result<Self> {
        let mut group = Self::group(1, sizes)?;
        group
            .pop()
            .ok_or_else(|| std::io::Error::other("a group of one is empty"))
    }

    /// Allocates a frame of `len` bytes with undefined content and the usual headroom; `None` if the class
    /// has no free slot or `len` exceeds every class.
    #[inline]
    pub fn alloc(&mut self, len: usize) -> Option<Frame> {
        self.alloc_class(Class::for_len(len)?, len)
    }

    /// Allocates a frame of `len` bytes in a slot of exactly this class.
    #[inline]
    pub fn alloc_class(&mut self, class: Class, len: usize) -> Option<Frame> {
        if HEADROOM + len > class.slot_bytes() {
            return None;
        }
        let index = match self.free[class as usize].pop() {
            Some(index) => index,
            None => {
                self.collect();
                self.free[class as usize].pop()?
            }
        };
        Some(self.frame(class, index, HEADROOM, len))
    }

    /// Allocates a frame with a copy of `bytes`.
    #[inline]
    pub fn alloc_from(&mut self, bytes: &[u8]) -> Option<Frame> {
        let mut frame = self.alloc(bytes.len())?;
        frame.bytes_mut().copy_from_slice(bytes);
        Some(frame)
    }

    /// Copies a frame: bytes and metadata.
    pub fn copy(&mut self, frame: &Frame) -> Option<Frame> {
        let mut copy = self.alloc_from(frame.bytes())?;
        copy.copy_meta(frame);
        Some(copy)
    }

    /// Frees a frame of any pool of the group.
    #[inline]
    pub fn free(&mut self, mut frame: Frame) {
        if frame.held {
            self.let_go(&mut frame);
        }
        if frame.home == self.home {
            self.free[frame.class as usize].push(frame.index);
        } else if let Some(home) = self.homes.get(usize::from(frame.home)) {
            // A mailbox has room for every slot of its pool.
            let _ = home.mailbox.push(frame);
        }
    }

    /// Marks a frame of this group as held by a component that keeps it for longer than a step. Returns false
    /// if holders have their maximum of the frame's pool: the caller must then drop the frame. Freeing a
    /// frame ends its hold.
    #[must_use]
    pub fn hold(&self, frame: &mut Frame) -> bool {
        if !frame.held {
            let home = self.homes.get(usize::from(frame.home));
            frame.held = home.is_some_and(|home| home.share.take(frame.class));
        }
        frame.held
    }

    /// Ends the hold of a frame that continues on its way.
    pub fn let_go(&self, frame: &mut Frame) {
        if core::mem::take(&mut frame.held)
            && let Some(home) = self.homes.get(usize::from(frame.home))
        {
            home.share.give_back(frame.class);
        }
    }

    /// Reserves up to `slots` small slots of this pool for ports and frames in transit; holders may have the
    /// rest.
    pub fn reserve(&mut self, slots: usize) {
        let share = &self.homes[usize::from(self.home)].share;
        share.reserve(self.sizes.count(Class::Small), slots);
    }

    /// Returns the number of slots of a class that holders have of this pool, and their maximum.
    pub fn held(&self, class: Class) -> (usize, usize) {
        self.homes[usize::from(self.home)].share.get(class)
    }

    /// Returns frames that other pools freed to the free lists.
    pub fn collect(&mut self) {
        while let Some(frame) = self.homes[usize::from(self.home)].mailbox.pop() {
            self.free[frame.class as usize].push(frame.index);
        }
    }

    /// Returns the number of free slots of a class. Collects the mailbox first if fewer than half are free,
    /// because the caller is about to allocate.
    #[inline]
    pub fn available(&mut self, class: Class) -> usize {
        if self.free[class as usize].len() < self.sizes.count(class) / 2 {
            self.collect();
        }
        self.free[class as usize].len()
    }

    /// Returns address and length of the small slots, which AF_XDP registers as its UMEM in chunks of 2 KB.
    pub fn umem(&self) -> (core::ptr::NonNull<u8>, usize) {
        let region = self
            .region
            .as_ref()
            .expect("the region is taken only on drop");
        (
            region.base(),
            self.sizes.small as usize * Class::Small.slot_bytes(),
        )
    }

    /// Lends a small frame's slot to a ring of the kernel; returns its offset in the UMEM.
    ///
    /// # Errors
    /// Returns the frame if it is not a small frame of this pool.
    pub fn lend(&self, frame: Frame) -> Result<u64, Frame> {
        if frame.home == self.home && frame.class == Class::Small {
            Ok(u64::from(frame.index) * Class::Small.slot_bytes() as u64)
        } else {
            Err(frame)
        }
    }

    /// Takes back a slot of `lend`, with `len` bytes at `address`, an offset in the UMEM. Returns `None` if
    /// these do not lie in one slot.
    ///
    /// # Safety
    /// The slot was lent, the kernel no longer owns it, and it is taken back once.
    pub unsafe fn reclaim(&mut self, address: u64, len: usize) -> Option<Frame> {
        let slot_bytes = Class::Small.slot_bytes() as u64;
        let index = u32::try_from(address / slot_bytes).ok()?;
        let start = (address % slot_bytes) as usize;
        if index >= self.sizes.small || start + len > slot_bytes as usize {
            return None;
        }
        Some(self.frame(Class::Small, index, start, len))
    }

    #[inline]
    fn frame(&self, class: Class, index: u32, start: usize, len: usize) -> Frame {
        let mut offset = 0;
        for smaller in &Class::ALL[..class as usize] {
            offset += self.sizes.count(*smaller) * smaller.slot_bytes();
        }
        offset += index as usize * class.slot_bytes();
        let region = self
            .region
            .as_ref()
            .expect("the region is taken only on drop");
        debug_assert!(offset + class.slot_bytes() <= region.len());
        // SAFETY: the slot lies in the region; its index came off the free list (or back from the
        // kernel), so no frame owns it; the region outlives the frame (see `drop`).
        unsafe {
            Frame::from_slot(
                region.base().add(offset),
                index,
                class,
                self.home,
                start,
                len,
            )
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.collect();
        let all_home = Class::ALL
            .iter()
            .all(|c| self.free[*c as usize].len() == self.sizes.count(*c));
        // A frame is still in use: its memory must stay.
        if !all_home && let Some(region) = self.region.take() {
            region.leak();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_freed_elsewhere_returns_to_its_pool() {
        let mut pools = Pool::group(
            2,
            Sizes {
                small: 1,
                medium: 0,
                large: 0,
            },
        )
        .expect("memory");
        let mut other = pools.pop().expect("two pools");
        let mut home = pools.pop().expect("two pools");

        let frame = home.alloc(64).expect("one slot");
        assert!(home.alloc(64).is_none());
        other.free(frame);

        assert!(home.alloc(64).map(|f| home.free(f)).is_some());
    }

    #[test]
    #[cfg_attr(miri, ignore = "thousands of frames take Miri minutes")]
    fn returned_slots_are_available_before_the_pool_is_empty() {
        let mut pools = Pool::group(2, Sizes::LEAST).expect("memory");
        let mut other = pools.pop().expect("two pools");
        let mut home = pools.pop().expect("two pools");
        let all = Sizes::LEAST.small as usize;

        // As a port that takes no more than its share, whatever the other pool frees.
        for _ in 0..10 * all {
            assert!(home.available(Class::Small) > all / 8);
            let frame = home.alloc(64).expect("a slot");
            other.free(frame);
        }

        home.collect();
        assert_eq!(home.available(Class::Small), all);
    }

    #[test]
    fn holders_are_limited_to_their_share_and_release_it_with_each_frame() {
        let mut pools = Pool::group(2, Sizes::LEAST).expect("memory");
        let mut other = pools.pop().expect("two pools");
        let mut home = pools.pop().expect("two pools");
        home.reserve(200);
        let all = Sizes::LEAST.small as usize;
        let bound = all - all / 8 - 200;

        let mut held = Vec::new();
        while let Some(mut frame) = home.alloc(64) {
            // A holder on another thread uses another pool of the group.
            if !other.hold(&mut frame) {
                home.free(frame);
                break;
            }
            assert!(home.hold(&mut frame), "twice is once");
            held.push(frame);
        }

        assert_eq!(
            (held.len(), home.held(Class::Small)),
            (bound, (bound, bound))
        );
        assert_eq!(home.available(Class::Small), all - bound);
        let mut gone = held.pop().expect("some");
        other.let_go(&mut gone);
        other.free(gone);
        held.drain(..).for_each(|frame| other.free(frame));
        assert_eq!(home.held(Class::Small), (0, bound));
        home.reserve(all);
        assert_eq!(home.held(Class::Small), (0, all / 4), "some in any case");
    }

    #[test]
    fn sizes_follow_from_ports_and_from_memory() {
        assert_eq!(Sizes::for_ports(1).small, Sizes::WORKER.small);
        let of_ten = Sizes::for_ports(10);
        assert!(of_ten.small as usize / 8 * 7 >= 10 * PORT_SLOTS + 8_000);
        let half = Sizes::of_bytes(Sizes::WORKER.bytes() / 2);
        assert_eq!((half.small, half.medium, half.large), (8_192, 512, 128));
    }

    #[test]
    fn a_frame_grows_into_its_headroom_and_not_beyond() {
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        let mut frame = pool.alloc_from(&[1, 2, 3]).expect("a slot");

        assert!(frame.push_front(HEADROOM));
        assert!(!frame.push_front(1));
        assert_eq!(frame.len(), 3 + HEADROOM);
        frame.pull_front(HEADROOM);
        assert_eq!(frame.bytes(), [1, 2, 3]);
        assert!(!frame.set_len(2048));
        pool.free(frame);
    }

    #[test]
    fn the_slot_class_follows_the_length() {
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        for (len, class) in [
            (60, Class::Small),
            (1792, Class::Small),
            (9014, Class::Medium),
            (65_550, Class::Large),
        ] {
            let frame = pool.alloc(len).expect("a slot");
            assert_eq!((frame.class(), frame.len()), (class, len));
            pool.free(frame);
        }
        assert!(pool.alloc(70_000).is_none());
    }
}
