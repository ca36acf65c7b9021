//! AF_XDP transmission: frames in the pool's UMEM are sent in place, others are copied into slots of it.

use std::io;
use std::os::fd::AsRawFd;

use frame::{Class, Frame, Pool, Transmitted};

use super::ring::Descriptor;
use super::{CHUNK, XdpPort};
use crate::sys;

/// Maximum number of pieces of a frame (`CONFIG_MAX_SKB_FRAGS` is at least 17).
const PIECES: usize = 17;
/// Maximum number of send calls while the kernel makes progress: 32 frames per call before Linux 6.17.
const KICKS: u32 = 16;

impl XdpPort {
    pub(super) fn transmit_to_ring(
        &mut self,
        pool: &mut Pool,
        frames: &mut Vec<Frame>,
    ) -> Transmitted {
        self.take_completed(pool);
        if self.down {
            // Retries first, so that a device that returns does not send old frames.
            self.kick();
        }
        let mut done = Transmitted::default();
        for frame in frames.drain(..) {
            if self.down {
                pool.free(frame);
                done.dropped += 1;
            } else if self.enqueue(pool, frame) {
                done.sent += 1;
            } else {
                done.dropped += 1;
            }
        }
        if let Some(rings) = &mut self.rings {
            rings.transmit.submit();
        }
        self.kick();
        self.take_completed(pool);
        self.transmit_errors += u64::from(done.dropped);
        done
    }

    /// Queues a frame in the transmit ring; if it does not fit, frees the frame and returns false.
    #[inline]
    fn enqueue(&mut self, pool: &mut Pool, frame: Frame) -> bool {
        let pieces = frame.len().div_ceil(CHUNK).max(1) as u32;
        if pieces as usize > PIECES || !self.has_room(pool, pieces) {
            pool.free(frame);
            return false;
        }
        let (len, start) = (frame.len() as u32, frame.headroom() as u64);
        match pool.lend(frame) {
            Ok(address) => {
                self.push(address, start, len, 0);
                true
            }
            Err(frame) => {
                let copied = self.enqueue_copy(pool, frame.bytes());
                pool.free(frame);
                copied
            }
        }
    }

    /// Copies a frame into as many slots as it needs; the ring has room for their descriptors.
    fn enqueue_copy(&mut self, pool: &mut Pool, bytes: &[u8]) -> bool {
        // Descriptors cannot be withdrawn, so the slots must be available first.
        if pool.available(Class::Small) < PIECES {
            pool.collect();
        }
        let pieces = bytes.chunks(CHUNK);
        if pool.available(Class::Small) < pieces.len() {
            return false;
        }
        let last = pieces.len().saturating_sub(1);
        for (number, piece) in pieces.enumerate() {
            let Some(Ok(address)) = pool.alloc_from(piece).map(|frame| pool.lend(frame)) else {
                return false;
            };
            let options = if number < last {
                libc::XDP_PKT_CONTD
            } else {
                0
            };
            self.push(address, frame::HEADROOM as u64, piece.len() as u32, options);
        }
        true
    }

    #[inline]
    fn push(&mut self, slot: u64, start: u64, len: u32, options: u32) {
        self.lent.mark(slot);
        if let Some(rings) = &mut self.rings {
            rings.transmit.push(Descriptor {
                address: slot + start,
                len,
                options,
            });
        }
    }

    /// True if the transmit ring has room, if necessary after a send call.
    #[inline]
    fn has_room(&mut self, pool: &mut Pool, wanted: u32) -> bool {
        let Some(rings) = &mut self.rings else {
            return false;
        };
        if rings.transmit.room(wanted) >= wanted {
            return true;
        }
        rings.transmit.submit();
        self.kick();
        self.take_completed(pool);
        let rings = self.rings.as_mut();
        rings.is_some_and(|rings| rings.transmit.room(wanted) >= wanted)
    }

    /// Makes the kernel send the waiting frames, if it needs a wakeup.
    pub(super) fn kick(&mut self) {
        let Some(rings) = &mut self.rings else {
            return;
        };
        let mut pending = rings.transmit.pending();
        for _ in 0..KICKS {
            if pending == 0 && !self.down || !rings.transmit.needs_wakeup() {
                return;
            }
            let result = sys::kick(rings.socket().as_raw_fd());
            self.down = is_down(&result);
            let left = rings.transmit.pending();
            if left == 0 || left == pending {
                return;
            }
            pending = left;
        }
    }

    /// Reclaims the slots of sent frames.
    pub(super) fn take_completed(&mut self, pool: &mut Pool) {
        let Some(rings) = &mut self.rings else {
            return;
        };
        while let Some(address) = rings.completion.pop() {
            if !self.lent.take(address) {
                continue;
            }
            // SAFETY: the slot was lent to this socket's transmit ring, as its mark says, and the kernel has returned
            // it; the mark is cleared, so this happens once.
            if let Some(frame) = unsafe { pool.reclaim(address, 0) } {
                pool.free(frame);
            }
        }
        rings.completion.release();
    }
}

/// True if the device is down or gone.
fn is_down(result: &io::Result<()>) -> bool {
    result.as_ref().is_err_and(|error| {
        matches!(
            error.raw_os_error(),
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV)
        )
    })
}
