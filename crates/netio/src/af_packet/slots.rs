//! Memory of a ring: slots of one size, each with a header whose status tells its owner.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{tpacket_req, tpacket2_hdr};

use super::set;
use crate::sys::Mapping;

/// Length of a slot for ordinary frames, including the header.
pub(super) const SLOT_BYTES: usize = 2048;
/// Size of a block that the kernel allocates at once.
pub(super) const BLOCK_BYTES: usize = 64 << 10;
/// Offset of the frame data in a slot.
pub(super) const HEADER_BYTES: usize = size_of::<tpacket2_hdr>();

/// A mapped ring, shared with the kernel. It may move between threads.
#[derive(Debug)]
pub(super) struct Slots {
    mapping: Mapping,
    count: u32,
    slot_bytes: usize,
}

impl Slots {
    /// Creates and maps a ring of `count` slots of `slot_bytes` (a power of two from 128 to 2,048) by this socket
    /// option. `count` is a multiple of the slots in 64 KB.
    pub(super) fn map(
        socket: &OwnedFd,
        option: libc::c_int,
        count: u32,
        slot_bytes: usize,
    ) -> io::Result<Self> {
        let bytes = count as usize * slot_bytes;
        let request = tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: (bytes / BLOCK_BYTES) as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: count,
        };
        set(socket, option, &request)?;
        let mapping = Mapping::new(socket, 0, bytes)?;
        Ok(Self {
            mapping,
            count,
            slot_bytes,
        })
    }

    /// Next slot.
    #[inline]
    pub(super) fn after(&self, slot: u32) -> u32 {
        if slot + 1 == self.count { 0 } else { slot + 1 }
    }

    /// Previous slot.
    #[inline]
    pub(super) fn before(&self, slot: u32) -> u32 {
        if slot == 0 { self.count - 1 } else { slot - 1 }
    }

    /// Status word of a slot.
    #[inline]
    pub(super) fn status(&self, slot: u32) -> &AtomicU32 {
        // SAFETY: the word is the first of the slot's header, inside the mapping that `self` keeps; the kernel
        // accesses it as one word, and nothing here makes another reference to it.
        unsafe { self.slot(slot).cast::<AtomicU32>().as_ref() }
    }

    /// Copies the header of a slot if its status has one of the bits of `ours`.
    #[inline]
    pub(super) fn header(&self, slot: u32, ours: u32) -> Option<tpacket2_hdr> {
        // Acquire pairs with the kernel's barrier: it wrote the slot before it set the status.
        if self.status(slot).load(Ordering::Acquire) & ours == 0 {
            return None;
        }
        // SAFETY: the header lies in the slot, and the kernel does not access a slot that belongs to this process.
        Some(unsafe { self.slot(slot).cast::<tpacket2_hdr>().read() })
    }

    /// Sets the length in the header of a slot that belongs to this process.
    #[inline]
    pub(super) fn set_len(&mut self, slot: u32, len: u32) {
        // SAFETY: the field lies in the slot's header; `&mut self` makes this the only access of this process, and
        // the kernel reads it only after the status was set.
        unsafe { (*self.slot(slot).cast::<tpacket2_hdr>().as_ptr()).tp_len = len };
    }

    /// Frame data of a slot. The slot must belong to this process; otherwise the data may change.
    #[inline]
    pub(super) fn bytes(&self, slot: u32) -> &[u8] {
        // SAFETY: the range lies in the slot and begins behind the status word.
        unsafe {
            std::slice::from_raw_parts(
                self.slot(slot).add(HEADER_BYTES).as_ptr(),
                self.slot_bytes - HEADER_BYTES,
            )
        }
    }

    /// Writable frame data of a slot. The slot must belong to this process.
    #[inline]
    pub(super) fn bytes_mut(&mut self, slot: u32) -> &mut [u8] {
        // SAFETY: as in `bytes`, and the borrow is exclusive.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.slot(slot).add(HEADER_BYTES).as_ptr(),
                self.slot_bytes - HEADER_BYTES,
            )
        }
    }

    /// Hands a slot over to the kernel, or takes it back, with this status.
    #[inline]
    pub(super) fn hand_over(&self, slot: u32, status: u32) {
        // Release: earlier accesses to the slot happen before the other side sees the status.
        self.status(slot).store(status, Ordering::Release);
    }

    #[inline]
    fn slot(&self, slot: u32) -> NonNull<u8> {
        debug_assert!(slot < self.count);
        self.mapping
            .at::<u8>(slot as usize * self.slot_bytes, self.slot_bytes)
    }
}
