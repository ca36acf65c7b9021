//! The four rings that a socket shares with the kernel, each with one producer and one consumer.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys::Mapping;

/// Offsets of the parts of a ring in its mapping, in bytes (`struct xdp_ring_offset`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets {
    pub(super) producer: u64,
    pub(super) consumer: u64,
    pub(super) entries: u64,
    pub(super) flags: u64,
}

/// A part of a frame in the UMEM (`struct xdp_desc`).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    /// Offset of the bytes in the UMEM.
    pub(super) address: u64,
    pub(super) len: u32,
    pub(super) options: u32,
}

/// Mapping of a ring of `D`; its length is a power of two.
#[derive(Debug)]
struct Ring<D> {
    /// Keeps the memory behind the pointers alive.
    _mapping: Mapping,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<D>,
    mask: u32,
}

// SAFETY: the pointers point into the mapping, which moves along; the other side is the kernel.
unsafe impl<D: Send> Send for Ring<D> {}

impl<D: Copy> Ring<D> {
    fn new(mapping: Mapping, offsets: Offsets, len: u32) -> Self {
        assert!(
            len.is_power_of_two(),
            "the kernel's rings are powers of two"
        );
        Self {
            producer: mapping.at(offsets.producer as usize, 1),
            consumer: mapping.at(offsets.consumer as usize, 1),
            flags: mapping.at(offsets.flags as usize, 1),
            entries: mapping.at(offsets.entries as usize, len as usize),
            _mapping: mapping,
            mask: len - 1,
        }
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: `at` has checked that it lies in the mapping, which `self` keeps; both sides access it as an
        // atomic.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as for `producer`.
        unsafe { self.consumer.as_ref() }
    }

    fn entry(&self, index: u32) -> NonNull<D> {
        // SAFETY: masked, the index is below the length for which `at` has checked the range.
        unsafe { self.entries.add((index & self.mask) as usize) }
    }

    fn needs_wakeup(&self) -> bool {
        // SAFETY: as for `producer`.
        let flags = unsafe { self.flags.as_ref() };
        flags.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

/// Length of a ring's mapping in bytes.
pub(super) fn mapping_bytes<D>(offsets: Offsets, len: u32) -> usize {
    offsets.entries as usize + len as usize * size_of::<D>()
}

/// Producer end of a ring.
#[derive(Debug)]
pub(super) struct Producer<D> {
    ring: Ring<D>,
    /// Index of the next entry to write.
    next: u32,
    /// Last known consumer index of the kernel.
    consumed: u32,
}

impl<D: Copy> Producer<D> {
    pub(super) fn new(mapping: Mapping, offsets: Offsets, len: u32) -> Self {
        let ring = Ring::new(mapping, offsets, len);
        let next = ring.producer().load(Ordering::Relaxed);
        let consumed = ring.consumer().load(Ordering::Relaxed);
        Self {
            ring,
            next,
            consumed,
        }
    }

    /// Number of free entries. Reads the kernel's index only if fewer than `wanted` are known to be free.
    #[inline]
    pub(super) fn room(&mut self, wanted: u32) -> u32 {
        let len = self.ring.mask + 1;
        let known = len - self.next.wrapping_sub(self.consumed);
        if known >= wanted {
            return known;
        }
        // Acquire pairs with the kernel's release: it has read the entries before it moved its index.
        self.consumed = self.ring.consumer().load(Ordering::Acquire);
        len.saturating_sub(self.next.wrapping_sub(self.consumed))
    }

    /// Number of entries that the kernel has not yet taken.
    pub(super) fn pending(&mut self) -> u32 {
        self.consumed = self.ring.consumer().load(Ordering::Acquire);
        self.next.wrapping_sub(self.consumed)
    }

    /// True if the kernel has taken all entries.
    pub(super) fn is_empty(&self) -> bool {
        self.next == self.ring.consumer().load(Ordering::Acquire)
    }

    /// Writes the next entry, for which there must be room; the kernel sees it after `submit`.
    #[inline]
    pub(super) fn push(&mut self, entry: D) {
        debug_assert!(self.next.wrapping_sub(self.consumed) <= self.ring.mask);
        // SAFETY: the entry lies in the mapping and is free: the kernel does not read it before the producer's index
        // has passed it, and `&mut self` makes this the only writer.
        unsafe { self.ring.entry(self.next).write(entry) };
        self.next = self.next.wrapping_add(1);
    }

    /// Publishes the written entries to the kernel.
    #[inline]
    pub(super) fn submit(&mut self) {
        // Release: the entries are written before the index moves.
        self.ring.producer().store(self.next, Ordering::Release);
    }

    /// True if the kernel needs a system call to make progress.
    #[inline]
    pub(super) fn needs_wakeup(&self) -> bool {
        self.ring.needs_wakeup()
    }
}

/// Consumer end of a ring.
#[derive(Debug)]
pub(super) struct Consumer<D> {
    ring: Ring<D>,
    next: u32,
    /// Last known producer index of the kernel.
    produced: u32,
}

impl<D: Copy> Consumer<D> {
    pub(super) fn new(mapping: Mapping, offsets: Offsets, len: u32) -> Self {
        let ring = Ring::new(mapping, offsets, len);
        let next = ring.consumer().load(Ordering::Relaxed);
        Self {
            ring,
            next,
            produced: next,
        }
    }

    /// Reads the next entry. The kernel may reuse its space after `release`.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<D> {
        if self.next == self.produced {
            // Acquire pairs with the kernel's release: the entries were written before the index moved.
            self.produced = self.ring.producer().load(Ordering::Acquire);
            if self.next == self.produced {
                return None;
            }
        }
        // SAFETY: the entry lies in the mapping; the kernel has published it and will not write it again before the
        // consumer's index has passed it. Any bits are a valid `D`.
        let entry = unsafe { self.ring.entry(self.next).read() };
        self.next = self.next.wrapping_add(1);
        Some(entry)
    }

    /// Returns the space of the read entries to the kernel.
    #[inline]
    pub(super) fn release(&mut self) {
        // Release: the entries were read before the index moves.
        self.ring.consumer().store(self.next, Ordering::Release);
    }
}
