//! The worker's part of the traffic generator: a source of frames beside the ports, and the measurement of frames that
//! return, before the walk.
//!
//! A worker generates at most [`PER_STEP`] frames per step, so that ports are served in between, and only while its
//! pool has slots left for receiving.

use frame::{Class, Frame, InterfaceId, Pool, VECTOR_FRAMES, Vector};
use generator::{Receiver, Sender, Verdict};
use machine::Instant;

use crate::outlet::Outlet;
use crate::walk::{self, Context};

/// Maximum number of generated frames per step.
const PER_STEP: usize = 64;
/// Free slots of a class that generating leaves for receiving.
const RESERVED_SLOTS: usize = VECTOR_FRAMES;

/// A running test on one worker.
#[derive(Debug)]
pub struct Generation {
    /// Streams that this worker sends; `None` if it measures only.
    pub sender: Option<Sender>,
    /// Egress interfaces by position of the stream.
    pub egress: Vec<InterfaceId>,
    /// Measurement of returning frames.
    pub receiver: Receiver,
}

impl Generation {
    /// Sends the frames that are due. Returns true if more are due at once.
    pub(crate) fn send(&mut self, cx: &Context<'_>, outlet: &mut Outlet) -> bool {
        let Some(sender) = &mut self.sender else {
            return false;
        };
        for _ in 0..PER_STEP {
            let Some(due) = sender.due(cx.now) else {
                return false;
            };
            let Some(mut frame) = alloc(&mut outlet.pool, due.bytes) else {
                sender.counters().count_missing_buffer();
                return true;
            };
            frame.egress = self
                .egress
                .get(due.stream)
                .copied()
                .unwrap_or(InterfaceId::NONE);
            sender.write(due, cx.now, frame.bytes_mut());
            walk::transmit(cx, frame, outlet);
        }
        true
    }

    /// Removes the frames of the test from a received vector. Returns number and bytes of the removed frames.
    pub(crate) fn receive(
        &mut self,
        vector: &mut Vector,
        pool: &mut Pool,
        now: Instant,
    ) -> (u64, u64) {
        let receiver = &mut self.receiver;
        let measured = |frame: &mut Frame| receiver.receive(frame.bytes(), now) == Verdict::Counted;
        let (mut frames, mut bytes) = (0, 0);
        for frame in vector.extract(measured) {
            frames += 1;
            bytes += frame.len() as u64;
            pool.free(frame);
        }
        (frames, bytes)
    }

    /// Returns when the next frame is due.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.sender.as_ref()?.deadline()
    }
}

/// Allocates a frame unless the pool is nearly empty.
fn alloc(pool: &mut Pool, bytes: usize) -> Option<Frame> {
    let class = Class::for_len(bytes)?;
    if pool.available(class) <= RESERVED_SLOTS {
        return None;
    }
    pool.alloc_class(class, bytes)
}
