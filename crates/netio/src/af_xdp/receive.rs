//! AF_XDP reception: turns filled slots into frames and lends new slots to the kernel.

use frame::{Class, Frame, Pool, Vector};

use super::XdpPort;
use super::ring::Descriptor;

/// Number of slots lent at a time, a small part of a fill ring: cache lines move between the kernel's core and this
/// one per batch, not per slot.
const REFILL: u32 = 64;

/// Reassembly of a frame that arrives in several pieces.
#[derive(Debug)]
pub(super) enum Assembly {
    /// The next piece begins a frame.
    None,
    /// The pieces so far.
    Partial(Frame),
    /// The rest of this frame is dropped: oversized frame, or no free slot.
    Skip,
}

impl XdpPort {
    pub(super) fn receive_from_ring(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let before = into.len();
        while !into.is_full() {
            let Some(descriptor) = self.rings.as_mut().and_then(|r| r.receive.pop()) else {
                break;
            };
            if let Some(frame) = self.take(pool, descriptor) {
                // The vector has room, as checked above.
                if let Err(frame) = into.push(frame) {
                    pool.free(frame);
                }
            }
        }
        if let Some(rings) = &mut self.rings {
            rings.receive.release();
        }
        self.refill(pool);
        into.len() - before
    }

    /// Reclaims one slot; returns a frame if it completes one.
    #[inline]
    fn take(&mut self, pool: &mut Pool, descriptor: Descriptor) -> Option<Frame> {
        if !self.lent.take(descriptor.address) {
            self.receive_errors += 1;
            return None;
        }
        // SAFETY: the slot was lent to this socket's fill ring, as its mark says, and the kernel has returned it
        // through the receive ring; the mark is cleared, so this happens once.
        let frame = unsafe { pool.reclaim(descriptor.address, descriptor.len as usize) };
        let Some(frame) = frame else {
            self.receive_errors += 1;
            return None;
        };
        let continues = descriptor.options & libc::XDP_PKT_CONTD != 0;
        if !continues && matches!(self.assembly, Assembly::None) {
            return Some(frame);
        }
        self.assemble(pool, frame, continues)
    }

    /// Appends a piece; returns the frame after its last piece.
    fn assemble(&mut self, pool: &mut Pool, piece: Frame, continues: bool) -> Option<Frame> {
        let state = std::mem::replace(&mut self.assembly, Assembly::None);
        let state = match state {
            Assembly::None => match pool.alloc_class(Class::Medium, 0) {
                Some(whole) => append(pool, whole, &piece),
                None => Assembly::Skip,
            },
            Assembly::Partial(whole) => append(pool, whole, &piece),
            Assembly::Skip => Assembly::Skip,
        };
        pool.free(piece);
        match (state, continues) {
            (state, true) => {
                self.assembly = state;
                None
            }
            (Assembly::Partial(whole), false) => Some(whole),
            (_, false) => {
                self.receive_errors += 1;
                None
            }
        }
    }

    /// Lends free slots to the fill ring, except for the last eighth of the pool.
    fn refill(&mut self, pool: &mut Pool) {
        let Some(rings) = &mut self.rings else {
            return;
        };
        let spare = pool
            .available(Class::Small)
            .saturating_sub(self.umem.len / 2048 / 8);
        let room = rings.fill.room(REFILL) as usize;
        if room >= REFILL as usize {
            let room = room.min(spare);
            for _ in 0..room {
                let Some(frame) = pool.alloc_class(Class::Small, 0) else {
                    break;
                };
                match pool.lend(frame) {
                    Ok(address) => {
                        self.lent.mark(address);
                        rings.fill.push(address);
                    }
                    Err(frame) => pool.free(frame),
                }
            }
            rings.fill.submit();
        }
        if rings.fill.needs_wakeup() {
            rings.wake_receiver();
        }
    }
}

fn append(pool: &mut Pool, mut whole: Frame, piece: &Frame) -> Assembly {
    let len = whole.len();
    if !whole.set_len(len + piece.len()) {
        pool.free(whole);
        return Assembly::Skip;
    }
    whole.bytes_mut()[len..].copy_from_slice(piece.bytes());
    Assembly::Partial(whole)
}
