//! In-memory line between two ports, for simulations, tests and benchmarks.
//!
//! ```text
//!   a.transmit ──▶ frames ──▶ b.receive          (and the reverse direction)
//!   a.flush    ◀── spent  ◀──┘
//! ```
//!
//! With [`Handing::Copy`] the ends may have unrelated pools: the receiver copies a frame into its own pool and sets
//! the original aside, and the sender reclaims it with its next transmit or flush. The line's capacity bounds the
//! outstanding frames. Between pools of one group, frames may be moved ([`Handing::Move`]). All queues are allocated
//! when the line is created.

use std::sync::Arc;

use crossbeam_queue::ArrayQueue;
use frame::{Frame, Offloads, Pool, Port, PortCounters, Transmitted, Vector};

/// How a frame gets from one end's pool to the other's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handing {
    /// Copied: the ends may have any pools.
    Copy,
    /// Moved: both ends have pools of one group.
    Move,
}

/// One direction of a line.
#[derive(Debug)]
struct Direction {
    frames: ArrayQueue<Frame>,
    /// Frames of the sender's pool that the receiver has copied.
    spent: ArrayQueue<Frame>,
}

impl Direction {
    fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            frames: ArrayQueue::new(capacity),
            spent: ArrayQueue::new(capacity),
        })
    }
}

/// One end of an in-memory line.
#[derive(Debug)]
pub struct MemoryPort {
    ingress: Arc<Direction>,
    egress: Arc<Direction>,
    handing: Handing,
    offloads: Offloads,
    receive_dropped: u64,
}

impl MemoryPort {
    /// Creates a line that holds up to `capacity` frames (at least 1) in each direction; both ends accept frames with
    /// these offloads.
    pub fn pair(capacity: usize, handing: Handing, offloads: Offloads) -> (Self, Self) {
        let capacity = capacity.max(1);
        let (one, other) = (Direction::new(capacity), Direction::new(capacity));
        let end = |ingress: &Arc<Direction>, egress: &Arc<Direction>| Self {
            ingress: Arc::clone(ingress),
            egress: Arc::clone(egress),
            handing,
            offloads,
            receive_dropped: 0,
        };
        (end(&one, &other), end(&other, &one))
    }

    /// Takes the next frame off the line into `pool`.
    fn take(&mut self, pool: &mut Pool) -> Option<Frame> {
        loop {
            // Only this end adds to `spent`, so the room found here still exists below.
            if self.handing == Handing::Copy && self.ingress.spent.is_full() {
                return None;
            }
            let frame = self.ingress.frames.pop()?;
            if self.handing == Handing::Move {
                return Some(frame);
            }
            let mut copy = pool.alloc_from(frame.bytes());
            if let Some(copy) = &mut copy {
                copy.offload = frame.offload;
            }
            let _ = self.ingress.spent.push(frame);
            if copy.is_some() {
                return copy;
            }
            self.receive_dropped += 1;
        }
    }

    fn take_home(&mut self, pool: &mut Pool) {
        while let Some(frame) = self.egress.spent.pop() {
            pool.free(frame);
        }
    }
}

impl Port for MemoryPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let before = into.len();
        while !into.is_full()
            && let Some(frame) = self.take(pool)
        {
            if let Err(frame) = into.push(frame) {
                pool.free(frame);
            }
        }
        into.len() - before
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        self.take_home(pool);
        let mut done = Transmitted::default();
        for frame in frames.drain(..) {
            match self.egress.frames.push(frame) {
                Ok(()) => done.sent += 1,
                Err(frame) => {
                    done.dropped += 1;
                    pool.free(frame);
                }
            }
        }
        done
    }

    fn flush(&mut self, pool: &mut Pool) {
        self.take_home(pool);
    }

    fn offloads(&self) -> Offloads {
        self.offloads
    }

    fn counters(&self) -> PortCounters {
        PortCounters {
            receive_dropped: self.receive_dropped,
            ..PortCounters::default()
        }
    }

    /// Takes back frames that the other end has not received yet.
    fn close(&mut self, pool: &mut Pool) {
        while let Some(frame) = self.egress.frames.pop() {
            pool.free(frame);
        }
        self.take_home(pool);
    }
}

#[cfg(test)]
mod tests {
    use frame::{Class, Segmentation, Sizes};

    use super::*;

    fn pool() -> Pool {
        Pool::new(Sizes::LEAST).expect("memory")
    }

    #[test]
    fn a_frame_crosses_between_unrelated_pools() {
        let (mut here, mut there) = (pool(), pool());
        let free = here.available(Class::Small);
        let (mut a, mut b) = MemoryPort::pair(8, Handing::Copy, Offloads::default());
        let mut frame = here.alloc_from(b"hello").expect("a slot");
        frame.offload.segmentation = Segmentation::Tcp4;
        let mut vector = Vector::new();

        let sent = a.transmit(&mut here, &mut vec![frame]);
        assert_eq!((sent.sent, sent.dropped), (1, 0));
        assert_eq!(b.receive(&mut there, &mut vector), 1);
        a.flush(&mut here);

        assert_eq!(vector.frames()[0].bytes(), b"hello");
        assert_eq!(vector.frames()[0].offload.segmentation, Segmentation::Tcp4);
        assert_eq!(here.available(Class::Small), free, "the original is home");
        vector.drain().for_each(|frame| there.free(frame));
    }

    #[test]
    fn a_full_link_drops_and_counts_frames() {
        let mut pool = pool();
        let free = pool.available(Class::Small);
        let (mut a, _b) = MemoryPort::pair(2, Handing::Move, Offloads::default());
        let mut frames: Vec<_> = (0..5).filter_map(|_| pool.alloc(60)).collect();

        let done = a.transmit(&mut pool, &mut frames);

        assert_eq!((done.sent, done.dropped), (2, 3));
        a.close(&mut pool);
        assert_eq!(pool.available(Class::Small), free);
    }

    #[test]
    fn no_slot_leaks_when_sending_and_receiving_interleave() {
        let (mut here, mut there) = (pool(), pool());
        let free = here.available(Class::Small);
        let (mut a, mut b) = MemoryPort::pair(3, Handing::Copy, Offloads::default());
        let mut rng = machine::Rng::seeded(3);
        let mut vector = Vector::new();
        for _ in 0..10_000 {
            if rng.percent(50) {
                let mut frames: Vec<_> = (0..rng.below(5)).filter_map(|_| here.alloc(60)).collect();
                a.transmit(&mut here, &mut frames);
            } else {
                b.receive(&mut there, &mut vector);
                vector.drain().for_each(|frame| there.free(frame));
            }
        }

        a.close(&mut here);

        assert_eq!(here.available(Class::Small), free);
    }
}
