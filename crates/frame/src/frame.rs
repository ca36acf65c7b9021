//! One frame: a slot of a pool, its bytes, and the metadata of its processing.

use core::ptr::NonNull;

use crate::{Class, Offload};

/// An interface in the data plane: a slot of the interface table and the generation of the slot. Slot 0 is no
/// interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub u32);

impl InterfaceId {
    /// No interface.
    pub const NONE: Self = Self(0);
    /// Number of bits of a slot; the other bits are the generation.
    pub const SLOT_BITS: u32 = 20;

    /// Creates the id of a slot in a generation, whose low 12 bits are used.
    pub const fn new(slot: u32, generation: u16) -> Self {
        Self(slot & Self::SLOT_MASK | (generation as u32) << Self::SLOT_BITS)
    }

    const SLOT_MASK: u32 = (1 << Self::SLOT_BITS) - 1;

    /// Returns the slot.
    #[inline(always)]
    pub const fn slot(self) -> usize {
        (self.0 & Self::SLOT_MASK) as usize
    }

    /// Returns how often the slot was assigned before, modulo 4,096.
    #[inline(always)]
    pub const fn generation(self) -> u16 {
        (self.0 >> Self::SLOT_BITS) as u16
    }
}

/// IPsec processing of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpsecState {
    /// Not processed.
    #[default]
    Clear,
    /// Decapsulated by IPsec: the policy of its association admits it.
    Revealed,
    /// Encapsulated by IPsec: no policy is applied again.
    Protected,
}

/// Unique owner of a pool's slot and its bytes.
///
/// Layout of a slot: `| headroom … | the frame's bytes | tailroom … |`; headers are pushed into the headroom.
/// A frame that is dropped instead of freed costs its pool one slot.
#[derive(Debug)]
#[must_use = "a frame ends in `Pool::free` or in a port"]
pub struct Frame {
    slot: NonNull<u8>,
    /// Offset of the first byte in the slot.
    start: u32,
    len: u32,
    /// Number of the slot in its pool.
    pub(crate) index: u32,
    pub(crate) class: Class,
    /// Number of the slot's pool in the group.
    pub(crate) home: u8,
    /// Offset of the network header in the frame; set at ingress.
    pub l3: u16,
    /// The ingress interface: the port's, replaced by that of a VLAN or tunnel on top of it.
    pub ingress: InterfaceId,
    /// The interface below the ingress interface: a bridge port, the parent of a VLAN interface, or the
    /// ingress of a tunnel's outer packet. Lost in [`Self::wait_for`].
    pub below: InterfaceId,
    /// The egress interface; none before the routing decision.
    pub egress: InterfaceId,
    /// RouterOS: `packet-mark`, which bridge rules, firewall rules and queues share; 0 is `no-mark`.
    pub mark: u32,
    /// Flow hash, equal in both directions; for a tunnel packet that of the inner packet. 0 if not computed
    /// yet.
    pub flow: u32,
    /// True if the firewall has accepted the packet and its changes are written: only the next hop is
    /// missing.
    pub walked: bool,
    /// Priority of VLAN tags on egress, 0 to 7.
    pub priority: u8,
    /// Priority of the ingress tag, if a tag was removed; 0 to 7.
    pub came_priority: u8,
    /// True if FastTrack forwarded the frame: it bypasses simple queues.
    pub fasttracked: bool,
    /// Number of tunnels that the frame passed, in or out.
    pub depth: u8,
    /// Number of bytes of tags removed at ingress.
    pub untagged: u8,
    /// IPsec processing.
    pub guarded: IpsecState,
    /// True if a holder has the frame, which its pool counts.
    pub(crate) held: bool,
    /// Unfinished checksum and segmentation.
    pub offload: Offload,
}

/// Frames are moved in bulk between passes.
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
            guarded: IpsecState::Clear,
            held: false,
            offload: Offload::FINISHED,
        }
    }

    /// Stores the slot of the tunnel or IPsec policy that the frame waits for, in place of [`Self::below`]: a frame has
    /// one cache line.
    #[inline(always)]
    pub fn wait_for(&mut self, slot: u32) {
        self.below = InterfaceId(slot);
    }

    /// Returns the slot that [`Self::wait_for`] has stored.
    #[inline(always)]
    pub fn waits_for(&self) -> u32 {
        self.below.0
    }

    /// Returns the frame's bytes, from the Ethernet header on.
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

    /// Returns the `N` bytes of the slot from the frame's first byte on; bytes after the frame's end are
    /// undefined. Returns `None` if the slot ends before.
    #[inline(always)]
    pub fn ahead<const N: usize>(&self) -> Option<&[u8; N]> {
        let start = self.start as usize;
        // SAFETY: they lie in the slot, whose mapping began as zeros, and whose only owner this frame is.
        (start + N <= self.class.slot_bytes())
            .then(|| unsafe { &*self.slot.as_ptr().add(start).cast() })
    }

    /// Returns the frame's bytes for modification.
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

    /// Returns the length in bytes, without the frame check sequence.
    #[inline(always)]
    #[expect(
        clippy::len_without_is_empty,
        reason = "a frame has no meaning when empty"
    )]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns the number of free bytes before the frame.
    #[inline]
    pub fn headroom(&self) -> usize {
        self.start as usize
    }

    /// Returns the number of free bytes after the frame.
    #[inline]
    pub fn tailroom(&self) -> usize {
        self.class.slot_bytes() - (self.start + self.len) as usize
    }

    /// Returns the class of the slot.
    pub fn class(&self) -> Class {
        self.class
    }

    /// Extends the frame by `count` bytes of undefined content at the front.
    ///
    /// # Errors
    /// Returns false without changes if the headroom is too small.
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

    /// Removes `count` bytes at the front, or all if there are fewer.
    #[inline]
    pub fn pull_front(&mut self, count: usize) {
        let count = count.min(self.len as usize) as u32;
        self.start += count;
        self.len -= count;
    }

    /// Extends or truncates the frame at its end.
    ///
    /// # Errors
    /// Returns false without changes if the slot is too small.
    #[inline]
    #[must_use]
    pub fn set_len(&mut self, len: usize) -> bool {
        if self.start as usize + len > self.class.slot_bytes() {
            return false;
        }
        self.len = len as u32;
        true
    }

    /// Sets offset and length of the frame, after a driver has filled the slot.
    ///
    /// # Errors
    /// Returns false without changes if they exceed the slot.
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

    /// Returns the whole slot, for drivers that place data themselves.
    pub fn slot_mut(&mut self) -> &mut [u8] {
        // SAFETY: the frame owns the whole slot.
        unsafe { core::slice::from_raw_parts_mut(self.slot.as_ptr(), self.class.slot_bytes()) }
    }

    /// Moves the frame from an ingress interface to an interface on top of it.
    #[inline(always)]
    pub fn rise(&mut self, from: InterfaceId, to: InterfaceId) {
        (self.below, self.ingress) = (from, to);
    }

    /// Copies the metadata (interfaces, marks, offsets, offload state) from `other`.
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

    /// Prefetches the first cache line of the frame.
    #[inline(always)]
    pub fn prefetch(&self) {
        kernels::prefetch(self.bytes());
    }
}
