//! One frame: a slot of a pool, the bytes in it, and what the walk has learnt about them.

use core::ptr::NonNull;

use crate::{Class, Offload};

/// An interface as the data plane numbers it: a slot of the table of interfaces, and how often that was
/// given before. Slot 0 is no interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub u32);

impl InterfaceId {
    /// No interface.
    pub const NONE: Self = Self(0);
    /// Slots are numbers of so many bits; the generation has the others.
    pub const SLOT_BITS: u32 = 20;

    /// The id of a slot in this generation, of which the low 12 bits count.
    pub const fn new(slot: u32, generation: u16) -> Self {
        Self(slot & Self::SLOT_MASK | (generation as u32) << Self::SLOT_BITS)
    }

    const SLOT_MASK: u32 = (1 << Self::SLOT_BITS) - 1;

    /// The slot.
    #[inline(always)]
    pub const fn slot(self) -> usize {
        (self.0 & Self::SLOT_MASK) as usize
    }

    /// How often the slot was given before, modulo 4,096.
    #[inline(always)]
    pub const fn generation(self) -> u16 {
        (self.0 >> Self::SLOT_BITS) as u16
    }
}

/// What IPsec has done to a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guarded {
    /// Nothing.
    #[default]
    Clear,
    /// It came out of IPsec: its association's policy lets it in.
    Revealed,
    /// It is what IPsec made of a packet: no policy looks at it again.
    Protected,
}

/// The unique owner of a pool's slot, and of the bytes in it.
///
/// The layout of a slot: `| headroom … | the frame's bytes | tailroom … |`; headers are pushed into
/// the headroom. A frame that is dropped instead of freed costs its pool one slot.
#[derive(Debug)]
#[must_use = "a frame ends in `Pool::free` or in a port"]
pub struct Frame {
    slot: NonNull<u8>,
    /// Where the bytes begin, from the slot's first byte.
    start: u32,
    len: u32,
    /// The slot's number in its pool.
    pub(crate) index: u32,
    pub(crate) class: Class,
    /// The pool that the slot belongs to, by its number in the group.
    pub(crate) home: u8,
    /// Where the network header begins, from the frame's first byte; set at ingress.
    pub l3: u16,
    /// The interface that it came in by: the port's, then the VLAN's or tunnel's on top of it.
    pub ingress: InterfaceId,
    /// The interface under that, where its ingress was laid over another: a bridge's port, a VLAN's interface, what
    /// a tunnel's packet came in by. Of a frame that waits for IPsec: the slot of its policy.
    pub below: InterfaceId,
    /// The interface that it goes out by; none before the routing decision.
    pub egress: InterfaceId,
    /// RouterOS: `packet-mark`, that rules of bridges, of the firewall and queues share; 0 is `no-mark`.
    pub mark: u32,
    /// The hash of its flow, the same in both directions; of a tunnel's packet, that of the packet in it. 0: nobody
    /// has computed it yet.
    pub flow: u32,
    /// The firewall has let it pass and what was decided is written into it: all that is left is its
    /// next hop.
    pub walked: bool,
    /// The priority of the VLAN tags that it leaves with, 0 to 7.
    pub priority: u8,
    /// The priority of the tag that it came with, where tags were taken off it; 0 to 7.
    pub came_priority: u8,
    /// It went by FastTrack: simple queues do not see it.
    pub fasttracked: bool,
    /// How many tunnels it went through, in or out.
    pub depth: u8,
    /// Bytes of tags that were taken off it at ingress.
    pub untagged: u8,
    /// What IPsec has done to it.
    pub guarded: Guarded,
    /// A holder has it, and its pool counts it.
    pub(crate) held: bool,
    /// What is unfinished about it.
    pub offload: Offload,
}

/// Frames are moved in bulk from pass to pass.
const _: () = assert!(size_of::<Frame>() <= 64, "a frame fits a cache line");

// SAFETY: a frame is the only owner of its slot (the pool gives a slot to one frame at a time and
// keeps the memory mapped while any frame is out), so moving it moves all access.
unsafe impl Send for Frame {}

impl Frame {
    /// # Safety
    /// `slot` is the first byte of a slot of `class` that no other frame owns, in a mapping that
    /// outlives the frame.
    pub(crate) unsafe fn from_slot(
        slot: NonNull<u8>,
        index: u32,
        class: Class,
        home: u8,
        start: usize,
        len: usize,
    ) -> Self {
        debug_assert!(start + len <= class.slot_bytes());
        Self {
            slot,
            start: start as u32,
            len: len as u32,
            index,
            class,
            home,
            l3: 0,
            ingress: InterfaceId::NONE,
            below: InterfaceId::NONE,
            egress: InterfaceId::NONE,
            mark: 0,
            flow: 0,
            walked: false,
            priority: 0,
            came_priority: 0,
            untagged: 0,
            fasttracked: false,
            depth: 0,
            guarded: Guarded::Clear,
            held: false,
            offload: Offload::FINISHED,
        }
    }

    /// The frame's bytes, from the Ethernet header on.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start + len` never passes the slot's end (checked wherever either changes), and
        // this frame is the slot's only owner.
        unsafe {
            core::slice::from_raw_parts(
                self.slot.as_ptr().add(self.start as usize),
                self.len as usize,
            )
        }
    }

    /// The slot's bytes from the frame's first one on; those behind its last one mean nothing. None where
    /// the slot ends before.
    #[inline(always)]
    pub fn ahead<const N: usize>(&self) -> Option<&[u8; N]> {
        let start = self.start as usize;
        // SAFETY: they lie in the slot, whose mapping began as zeros, and whose only owner this frame is.
        (start + N <= self.class.slot_bytes())
            .then(|| unsafe { &*self.slot.as_ptr().add(start).cast() })
    }

    /// The frame's bytes, to be changed.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; the borrow of the only owner is exclusive.
        unsafe {
            core::slice::from_raw_parts_mut(
                self.slot.as_ptr().add(self.start as usize),
                self.len as usize,
            )
        }
    }

    /// Length in bytes, without the frame check sequence.
    #[inline(always)]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a frame has no meaning when empty"
    )]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Bytes free in front.
    #[inline]
    pub fn headroom(&self) -> usize {
        self.start as usize
    }

    /// Bytes free behind.
    #[inline]
    pub fn tailroom(&self) -> usize {
        self.class.slot_bytes() - (self.start + self.len) as usize
    }

    /// The class of its slot.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Grows the frame by `count` bytes in front, of undefined content.
    ///
    /// # Errors
    /// False, and nothing changed, when the headroom is too small.
    #[inline]
    #[must_use]
    pub fn push_front(&mut self, count: usize) -> bool {
        if count > self.start as usize {
            return false;
        }
        self.start -= count as u32;
        self.len += count as u32;
        true
    }

    /// Takes `count` bytes off the front; all there are if there are fewer.
    #[inline]
    pub fn pull_front(&mut self, count: usize) {
        let count = count.min(self.len as usize) as u32;
        self.start += count;
        self.len -= count;
    }

    /// Grows or shrinks the frame at its end.
    ///
    /// # Errors
    /// False, and nothing changed, when the slot is too small.
    #[inline]
    #[must_use]
    pub fn set_len(&mut self, len: usize) -> bool {
        if self.start as usize + len > self.class.slot_bytes() {
            return false;
        }
        self.len = len as u32;
        true
    }

    /// Sets where the bytes begin and how many there are, as a driver does after it filled the slot.
    ///
    /// # Errors
    /// False, and nothing changed, when they do not lie in the slot.
    #[inline]
    #[must_use]
    pub fn set_extent(&mut self, start: usize, len: usize) -> bool {
        match start.checked_add(len) {
            Some(end) if end <= self.class.slot_bytes() => {
                self.start = start as u32;
                self.len = len as u32;
                true
            }
            _ => false,
        }
    }

    /// The whole slot, headroom and tailroom included, for drivers that place data themselves.
    pub fn slot_mut(&mut self) -> &mut [u8] {
        // SAFETY: the frame owns the whole slot.
        unsafe { core::slice::from_raw_parts_mut(self.slot.as_ptr(), self.class.slot_bytes()) }
    }

    /// It is taken up by an interface that lies on the one which it came in by.
    #[inline(always)]
    pub fn rise(&mut self, from: InterfaceId, to: InterfaceId) {
        (self.below, self.ingress) = (from, to);
    }

    /// Copies what the walk knows (interfaces, marks, offsets, offload state) from `other`.
    pub fn copy_meta(&mut self, other: &Self) {
        self.l3 = other.l3;
        self.ingress = other.ingress;
        self.below = other.below;
        self.egress = other.egress;
        self.mark = other.mark;
        self.flow = other.flow;
        self.walked = other.walked;
        self.priority = other.priority;
        self.came_priority = other.came_priority;
        self.untagged = other.untagged;
        self.depth = other.depth;
        self.guarded = other.guarded;
        self.fasttracked = other.fasttracked;
        self.offload = other.offload;
    }

    /// Asks the processor for the first cache line of the bytes.
    #[inline(always)]
    pub fn prefetch(&self) {
        kernels::prefetch(self.bytes());
    }
}
