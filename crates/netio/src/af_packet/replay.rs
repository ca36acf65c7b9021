//! Packet generator that sends a fixed set of frames repeatedly. The frames are written into the ring once; sending
//! one means marking its slot.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use frame::Offload;
use libc::{TP_STATUS_AVAILABLE, TP_STATUS_SEND_REQUEST};

use super::bind;
use super::slots::{BLOCK_BYTES, HEADER_BYTES, SLOT_BYTES, Slots};
use super::transmit::send_socket;
use crate::sys;
use crate::vnet::{self, VNET_BYTES};

/// Minimum number of slots: two bursts of [`PacketReplay::send`] in a usual size.
const MIN_SLOTS: usize = 512;
/// Minimum slot length; the kernel needs space for its header and a socket address.
const MIN_SLOT_BYTES: usize = 128;

/// Frames in a transmit ring, sent in order again and again.
#[derive(Debug)]
pub struct PacketReplay {
    socket: OwnedFd,
    slots: Slots,
    /// Lengths of the frames; slots use them in turn.
    lens: Vec<usize>,
    count: u32,
    next: u32,
}

impl PacketReplay {
    /// Writes `frames` (without FCS, each up to about 2,000 bytes) into a ring on a device of the calling thread's
    /// network namespace. The kernel holds the ring's memory: 128 bytes to 2 KB per frame.
    ///
    /// # Errors
    /// Fails without frames or with one that is too long. Returns the kernel's error: no such device, not permitted,
    /// no memory for the ring.
    pub fn open(device: &str, frames: &[Vec<u8>]) -> io::Result<Self> {
        let longest = frames.iter().map(Vec::len).max();
        let longest = longest.ok_or_else(|| invalid("no frames to send"))?;
        let slot_bytes = (HEADER_BYTES + VNET_BYTES + longest)
            .next_power_of_two()
            .max(MIN_SLOT_BYTES);
        if slot_bytes > SLOT_BYTES {
            return Err(invalid("a frame is too long for a slot"));
        }
        let socket = send_socket()?;
        let count = frames.len().max(MIN_SLOTS);
        let count = count.next_multiple_of(BLOCK_BYTES / slot_bytes);
        let count = u32::try_from(count).map_err(|_| invalid("too many frames"))?;
        let mut slots = Slots::map(&socket, libc::PACKET_TX_RING, count, slot_bytes)?;
        for (slot, frame) in (0..count).zip(frames.iter().cycle()) {
            // Makes the kernel copy the whole frame, as in `TransmitRing::push`.
            let header = vnet::encode(&Offload::FINISHED, frame, frame.len());
            let bytes = slots.bytes_mut(slot);
            bytes[..VNET_BYTES].copy_from_slice(&header);
            bytes[VNET_BYTES..VNET_BYTES + frame.len()].copy_from_slice(frame);
            slots.set_len(slot, (VNET_BYTES + frame.len()) as u32);
        }
        bind(&socket, sys::device_index(device)?, 0)?;
        Ok(Self {
            socket,
            slots,
            lens: frames.iter().map(Vec::len).collect(),
            count,
            next: 0,
        })
    }

    /// Number of frames in one round of the ring, at least the number of given frames.
    pub fn round(&self) -> u32 {
        self.count
    }

    /// Sends up to `burst` frames, fewer if the device or the socket's send buffer is full. Frames that the kernel
    /// did not take are sent by the next call. Returns the number of frames marked for sending.
    pub fn send(&mut self, burst: u32) -> u32 {
        self.send_changed(burst, |_| ())
    }

    /// Sends frames like [`Self::send`]; `change` may first rewrite each frame without changing its length. A frame
    /// keeps its contents until its next turn.
    pub fn send_changed(&mut self, burst: u32, mut change: impl FnMut(&mut [u8])) -> u32 {
        let mut marked = 0;
        while marked < burst {
            let status = self.slots.status(self.next).load(Ordering::Acquire);
            if status != TP_STATUS_AVAILABLE {
                break;
            }
            let len = self.lens[self.next as usize % self.lens.len()];
            change(&mut self.slots.bytes_mut(self.next)[VNET_BYTES..VNET_BYTES + len]);
            self.slots.hand_over(self.next, TP_STATUS_SEND_REQUEST);
            self.next = self.slots.after(self.next);
            marked += 1;
        }
        // A full device returns an error; the slots stay marked.
        let _ = sys::kick(self.socket.as_raw_fd());
        marked
    }
}

fn invalid(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}
