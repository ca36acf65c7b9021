//! Transmission of frames longer than a slot and of merged frames: one message each, many messages per system call.

use std::mem::zeroed;
use std::os::fd::RawFd;

use frame::{Frame, Pool};
use libc::{c_void, iovec, mmsghdr};

use crate::sys;
use crate::vnet::{self, VNET_BYTES};

/// Maximum number of messages per call: 512 KB of merged segments of 64 KB are 8 messages, jumbo frames 58.
const MESSAGES: usize = 64;

/// Frames for the next `sendmmsg`, and its arguments, which are allocated once.
pub(super) struct LargeSender {
    frames: Vec<Frame>,
    headers: Box<[[u8; VNET_BYTES]; MESSAGES]>,
    parts: Box<[[iovec; 2]; MESSAGES]>,
    messages: Box<[mmsghdr; MESSAGES]>,
}

// SAFETY: the pointers in `parts` and `messages` are set and used within one call of `send` and are meaningless
// outside.
unsafe impl Send for LargeSender {}

impl std::fmt::Debug for LargeSender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LargeSender")
            .field("frames", &self.frames.len())
            .finish_non_exhaustive()
    }
}

impl LargeSender {
    pub(super) fn new() -> Self {
        // SAFETY: all fields are integers and pointers, for which zero is a value.
        let (part, message): (iovec, mmsghdr) = unsafe { (zeroed(), zeroed()) };
        Self {
            frames: Vec::with_capacity(MESSAGES),
            headers: Box::new([vnet::FINISHED; MESSAGES]),
            parts: Box::new([[part; 2]; MESSAGES]),
            messages: Box::new([message; MESSAGES]),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Queues a frame; returns it if the queue is full.
    pub(super) fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        if self.frames.len() == MESSAGES {
            return Err(frame);
        }
        self.frames.push(frame);
        Ok(())
    }

    /// Sends and frees all frames; returns the numbers of sent and refused frames.
    pub(super) fn send(&mut self, socket: RawFd, pool: &mut Pool) -> (u32, u32) {
        if self.frames.is_empty() {
            return (0, 0);
        }
        self.prepare();
        let (mut next, mut sent) = (0, 0);
        while next < self.frames.len() {
            match self.send_from(socket, next) {
                Ok(count) if count > 0 => {
                    sent += count as u32;
                    next += count;
                }
                // The message at `next` was refused: too long, device down or full.
                _ => next += 1,
            }
        }
        let refused = self.frames.len() as u32 - sent;
        for frame in self.frames.drain(..) {
            pool.free(frame);
        }
        (sent, refused)
    }

    /// Points the messages at the frames' headers and bytes.
    fn prepare(&mut self) {
        let places = self
            .headers
            .iter_mut()
            .zip(self.parts.iter_mut())
            .zip(self.messages.iter_mut());
        for (frame, ((header, parts), message)) in self.frames.iter_mut().zip(places) {
            *header = vnet::encode(&frame.offload, frame.bytes(), 0);
            let bytes = frame.bytes_mut();
            parts[0].iov_base = header.as_mut_ptr().cast::<c_void>();
            parts[0].iov_len = VNET_BYTES;
            parts[1].iov_base = bytes.as_mut_ptr().cast::<c_void>();
            parts[1].iov_len = bytes.len();
            message.msg_hdr.msg_iov = parts.as_mut_ptr();
            message.msg_hdr.msg_iovlen = 2;
        }
    }

    fn send_from(&mut self, socket: RawFd, first: usize) -> std::io::Result<usize> {
        let messages = &mut self.messages[first..self.frames.len()];
        // SAFETY: `prepare` has set each message to buffers of `self` and of frames that `self` owns until the call
        // returns; the kernel reads them and writes `msg_len`.
        let sent = sys::check(unsafe {
            libc::sendmmsg(
                socket,
                messages.as_mut_ptr(),
                messages.len() as _,
                (libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL) as _,
            )
        })?;
        Ok(sent as usize)
    }
}
