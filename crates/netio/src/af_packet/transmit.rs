//! Transmit ring for ordinary frames, flushed with one system call per vector.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use frame::Frame;
use libc::{TP_STATUS_AVAILABLE, TP_STATUS_SEND_REQUEST};

use super::slots::{HEADER_BYTES, SLOT_BYTES, Slots};
use super::{bind, raw_socket, set};
use crate::sys;
use crate::vnet::{self, VNET_BYTES};

/// Number of slots: two vectors.
const SLOTS: u32 = 512;
/// Send buffer size in bytes; the kernel accounts about 2 KB for a small frame.
const SEND_BYTES: libc::c_int = 4 << 20;
/// Number of consecutive send attempts without progress after which waiting frames are dropped, so that a device that
/// returns after an hour does not send frames of an hour ago.
const ATTEMPTS: u32 = 64;

/// A packet socket that only sends, with its ring.
///
/// Slots `oldest..next` were handed over and are not known to be sent; the kernel's own position is `oldest` whenever
/// that slot is still marked.
#[derive(Debug)]
pub(super) struct TransmitRing {
    socket: OwnedFd,
    slots: Slots,
    oldest: u32,
    next: u32,
    attempts: u32,
    errors: u64,
}

impl TransmitRing {
    pub(super) fn open(index: u32) -> io::Result<Self> {
        let socket = send_socket()?;
        let slots = Slots::map(&socket, libc::PACKET_TX_RING, SLOTS, SLOT_BYTES)?;
        bind(&socket, index, 0)?;
        Ok(Self {
            socket,
            slots,
            oldest: 0,
            next: 0,
            attempts: 0,
            errors: 0,
        })
    }

    /// True if a frame and its virtio-net header fit into a slot.
    #[inline]
    pub(super) fn fits(frame: &Frame) -> bool {
        frame.len() + VNET_BYTES <= SLOT_BYTES - HEADER_BYTES
    }

    /// Number of dropped frames.
    pub(super) fn errors(&self) -> u64 {
        self.errors
    }

    /// True if the kernel had taken all frames at the last kick.
    pub(super) fn is_empty(&self) -> bool {
        self.oldest == self.next
    }

    /// Copies a frame that `fits` into the ring; returns false if the ring is full even after a kick.
    #[inline]
    pub(super) fn push(&mut self, frame: &Frame) -> bool {
        if !self.has_room() {
            self.kick();
            if !self.has_room() {
                return false;
            }
        }
        let bytes = frame.bytes();
        // Makes the kernel copy the whole frame. Otherwise it would send the ring's own pages, and a receiver in
        // another namespace might still read them after the slot is reused.
        let header = vnet::encode(&frame.offload, bytes, bytes.len());
        let slot = self.slots.bytes_mut(self.next);
        slot[..VNET_BYTES].copy_from_slice(&header);
        slot[VNET_BYTES..VNET_BYTES + bytes.len()].copy_from_slice(bytes);
        self.slots
            .set_len(self.next, (VNET_BYTES + bytes.len()) as u32);
        self.slots.hand_over(self.next, TP_STATUS_SEND_REQUEST);
        self.next = self.slots.after(self.next);
        true
    }

    /// Makes the kernel send the waiting frames. Without any, it does nothing.
    pub(super) fn kick(&mut self) {
        if self.is_empty() {
            return;
        }
        let before = self.oldest;
        let result = sys::kick(self.socket.as_raw_fd());
        self.advance();
        self.attempts = if self.oldest == before {
            self.attempts + 1
        } else {
            0
        };
        // ENOBUFS and EAGAIN mean a full device: the frames stay until there is room.
        let gone = result.is_err_and(|error| {
            !matches!(
                error.raw_os_error(),
                Some(libc::ENOBUFS | libc::EAGAIN | libc::EINTR)
            )
        });
        if gone || self.attempts >= ATTEMPTS {
            self.give_up();
        }
    }

    /// One slot stays empty to distinguish a full ring from an empty one.
    #[inline]
    fn has_room(&self) -> bool {
        self.slots.after(self.next) != self.oldest
            && self
                .slots
                .status(self.next)
                .load(std::sync::atomic::Ordering::Acquire)
                == TP_STATUS_AVAILABLE
    }

    /// Moves `oldest` past the frames that the kernel took.
    fn advance(&mut self) {
        if !self.waits(self.slots.before(self.next)) {
            // The kernel takes frames in order, so all earlier frames are taken as well.
            self.oldest = self.next;
        }
        while self.oldest != self.next && !self.waits(self.oldest) {
            self.oldest = self.slots.after(self.oldest);
        }
    }

    fn waits(&self, slot: u32) -> bool {
        let status = self
            .slots
            .status(slot)
            .load(std::sync::atomic::Ordering::Acquire);
        status & TP_STATUS_SEND_REQUEST != 0
    }

    /// Takes back all waiting slots. The kernel accesses them only within `kick`.
    fn give_up(&mut self) {
        let mut slot = self.oldest;
        while slot != self.next {
            self.slots.hand_over(slot, TP_STATUS_AVAILABLE);
            self.errors += 1;
            slot = self.slots.after(slot);
        }
        self.next = self.oldest;
        self.attempts = 0;
    }
}

/// Creates the socket of a transmit ring, without queueing discipline and with a send buffer for the whole ring.
pub(super) fn send_socket() -> io::Result<OwnedFd> {
    let socket = raw_socket()?;
    // The kernel skips malformed frames instead of blocking the ring.
    set(&socket, libc::PACKET_LOSS, &1)?;
    set(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
    if sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BYTES).is_err() {
        sys::set_option(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BYTES)?;
    }
    Ok(socket)
}
