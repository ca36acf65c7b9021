//! Port wrapper that drops, duplicates, reorders and corrupts frames, reproducibly for a seed.

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;

use frame::{Frame, Offloads, Pool, Port, PortCounters, Transmitted, VECTOR_FRAMES, Vector};
use machine::Rng;

/// Rate of each fault, per million frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Loss.
    pub loss_ppm: u32,
    /// Duplication.
    pub duplication_ppm: u32,
    /// Reordering with the next frame.
    pub reordering_ppm: u32,
    /// Corruption of one bit.
    pub corruption_ppm: u32,
}

/// A port on a faulty line; faults apply to received and sent frames.
#[derive(Debug)]
pub struct Fault<P> {
    port: P,
    faults: Faults,
    rng: Rng,
    ingress: FaultyDirection,
    egress: FaultyDirection,
    /// Frames received from the wrapped port, before the faults.
    vector: Vector,
    /// Frames for the wrapped port, after the faults.
    sending: Vec<Frame>,
}

impl<P: Port> Fault<P> {
    /// Wraps `port` in a faulty line.
    pub fn new(port: P, faults: Faults, seed: u64) -> Self {
        Self {
            port,
            faults,
            rng: Rng::seeded(seed),
            ingress: FaultyDirection::new(),
            egress: FaultyDirection::new(),
            vector: Vector::new(),
            sending: Vec::with_capacity(2 * VECTOR_FRAMES + 1),
        }
    }

    /// Changes the fault rates from the next frame on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }
}

impl<P: Port> Port for Fault<P> {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let before = into.len();
        if self.ingress.done.is_empty() {
            self.port.receive(pool, &mut self.vector);
            let idle = self.vector.is_empty();
            for frame in self.vector.drain() {
                self.ingress.pass(frame, &self.faults, &mut self.rng, pool);
            }
            if idle {
                self.ingress.release();
            }
        }
        while !into.is_full()
            && let Some(frame) = self.ingress.done.pop_front()
        {
            if let Err(frame) = into.push(frame) {
                pool.free(frame);
            }
        }
        into.len() - before
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        let given = frames.len() as u32;
        for frame in frames.drain(..) {
            self.egress.pass(frame, &self.faults, &mut self.rng, pool);
        }
        self.sending.extend(self.egress.done.drain(..));
        let done = self.port.transmit(pool, &mut self.sending);
        // Frames that the line lost count as sent.
        let dropped = done.dropped.min(given);
        Transmitted {
            sent: given - dropped,
            dropped,
        }
    }

    fn flush(&mut self, pool: &mut Pool) {
        self.egress.release();
        if !self.egress.done.is_empty() {
            self.sending.extend(self.egress.done.drain(..));
            self.port.transmit(pool, &mut self.sending);
        }
        self.port.flush(pool);
    }

    fn is_sending(&self) -> bool {
        let lane = &self.egress;
        lane.held.is_some() || !lane.done.is_empty() || self.port.is_sending()
    }

    fn offloads(&self) -> Offloads {
        self.port.offloads()
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.port.wait_fd()
    }

    fn slots(&self) -> usize {
        self.port.slots()
    }

    fn counters(&self) -> PortCounters {
        self.port.counters()
    }

    fn close(&mut self, pool: &mut Pool) {
        for lane in [&mut self.ingress, &mut self.egress] {
            lane.release();
            lane.done.drain(..).for_each(|frame| pool.free(frame));
        }
        self.port.close(pool);
    }
}

/// Fault injection of one direction.
#[derive(Debug)]
struct FaultyDirection {
    /// A frame that waits to be overtaken.
    held: Option<Frame>,
    done: VecDeque<Frame>,
}

impl FaultyDirection {
    fn new() -> Self {
        Self {
            held: None,
            // A vector of frames, each duplicated, and the held frame.
            done: VecDeque::with_capacity(2 * VECTOR_FRAMES + 2),
        }
    }

    fn pass(&mut self, mut frame: Frame, faults: &Faults, rng: &mut Rng, pool: &mut Pool) {
        // Each frame draws the same random numbers whatever its faults, so that changing one rate does not change the
        // other faults.
        let [lost, double, late, damaged] = [
            faults.loss_ppm,
            faults.duplication_ppm,
            faults.reordering_ppm,
            faults.corruption_ppm,
        ]
        .map(|ppm| rng.below(1_000_000) < u64::from(ppm));
        let bit = rng.next_u64();
        if lost {
            pool.free(frame);
            return;
        }
        if damaged {
            let bits = frame.len() as u64 * 8;
            let bit = bit % bits.max(1);
            if let Some(byte) = frame.bytes_mut().get_mut((bit / 8) as usize) {
                *byte ^= 1 << (bit % 8);
            }
        }
        let copy = if double { pool.copy(&frame) } else { None };
        if late && self.held.is_none() {
            self.held = Some(frame);
            self.done.extend(copy);
            return;
        }
        self.done.push_back(frame);
        self.done.extend(copy);
        self.release();
    }

    /// Releases the held frame.
    fn release(&mut self) {
        self.done.extend(self.held.take());
    }
}

#[cfg(test)]
mod tests {
    use frame::{Class, Sizes};

    use super::*;
    use crate::{Handing, MemoryPort};

    const FRAMES: usize = 4000;

    /// Sequence of the frames that arrive, of `FRAMES` numbered ones; checks that no slot was lost.
    fn sent_over(faults: Faults, seed: u64) -> Vec<Vec<u8>> {
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        let free = pool.available(Class::Small);
        let (one, mut other) = MemoryPort::pair(600, Handing::Move, Offloads::default());
        let mut port = Fault::new(one, faults, seed);
        let mut arrived = Vec::new();
        let mut vector = Vector::new();
        for number in 0..FRAMES as u32 {
            let bytes = [number.to_be_bytes(); 16];
            let frame = pool.alloc_from(bytes.as_flattened()).expect("a slot");
            port.transmit(&mut pool, &mut vec![frame]);
            if number as usize == FRAMES - 1 {
                port.flush(&mut pool);
            }
            other.receive(&mut pool, &mut vector);
            for frame in vector.drain() {
                arrived.push(frame.bytes().to_vec());
                pool.free(frame);
            }
        }
        port.close(&mut pool);
        assert_eq!(pool.available(Class::Small), free);
        arrived
    }

    fn number(bytes: &[u8]) -> u32 {
        bytes
            .first_chunk::<4>()
            .map_or(0, |b| u32::from_be_bytes(*b))
    }

    #[test]
    fn without_faults_everything_arrives_in_order() {
        let arrived = sent_over(Faults::default(), 1);

        assert!(arrived.iter().map(|b| number(b)).eq(0..FRAMES as u32));
    }

    #[test]
    fn the_same_seed_makes_the_same_faults() {
        let faults = Faults {
            loss_ppm: 100_000,
            duplication_ppm: 100_000,
            reordering_ppm: 100_000,
            corruption_ppm: 100_000,
        };

        assert!(sent_over(faults, 7) == sent_over(faults, 7));
        assert!(sent_over(faults, 7) != sent_over(faults, 8));
    }

    #[test]
    fn faults_occur_at_the_configured_rate() {
        let around = |count: usize| (FRAMES / 5..FRAMES * 3 / 10).contains(&count);
        let quarter = 250_000;

        let lossy = Faults {
            loss_ppm: quarter,
            ..Faults::default()
        };
        assert!(around(FRAMES - sent_over(lossy, 1).len()));
        let double = Faults {
            duplication_ppm: quarter,
            ..Faults::default()
        };
        assert!(around(sent_over(double, 2).len() - FRAMES));
        let damaged = Faults {
            corruption_ppm: quarter,
            ..Faults::default()
        };
        let differ = |bytes: &&Vec<u8>| bytes.chunks(4).any(|c| c != &bytes[..4]);
        assert!(around(sent_over(damaged, 3).iter().filter(differ).count()));
        let reordered = Faults {
            reordering_ppm: quarter,
            ..Faults::default()
        };
        let arrived = sent_over(reordered, 4);
        let late = arrived
            .windows(2)
            .filter(|w| number(&w[0]) > number(&w[1]))
            .count();
        assert_eq!(arrived.len(), FRAMES);
        // A late frame cannot be overtaken by another late one.
        assert!((FRAMES / 6..FRAMES * 3 / 10).contains(&late), "{late}");
    }

    #[test]
    fn a_reordered_frame_keeps_the_worker_awake() {
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        let (one, _other) = MemoryPort::pair(8, Handing::Move, Offloads::default());
        let always = Faults {
            reordering_ppm: 1_000_000,
            ..Faults::default()
        };
        let mut port = Fault::new(one, always, 1);
        let frame = pool.alloc(60).expect("a slot");

        port.transmit(&mut pool, &mut vec![frame]);
        assert!(port.is_sending());

        port.flush(&mut pool);
        assert!(!port.is_sending());
        port.close(&mut pool);
    }

    #[test]
    fn a_single_reordered_frame_is_late_but_not_lost() {
        let mut pool = Pool::new(Sizes::LEAST).expect("memory");
        let (one, mut other) = MemoryPort::pair(8, Handing::Move, Offloads::default());
        let always = Faults {
            reordering_ppm: 1_000_000,
            ..Faults::default()
        };
        let mut port = Fault::new(one, always, 1);
        let mut vector = Vector::new();
        let frame = pool.alloc(60).expect("a slot");

        other.transmit(&mut pool, &mut vec![frame]);
        assert_eq!(port.receive(&mut pool, &mut vector), 0);

        assert_eq!(port.receive(&mut pool, &mut vector), 1);
        vector.drain().for_each(|frame| pool.free(frame));
    }
}
