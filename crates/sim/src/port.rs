//! Simulated port of a router's worker: the router's end of a line.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use frame::{Frame, Pool, Port, Transmitted, Vector};

/// Frames between a port and its line.
#[derive(Debug, Default)]
struct Ends {
    arrived: VecDeque<Vec<u8>>,
    leaving: Vec<Vec<u8>>,
}

/// A port; a clone is the world's handle.
#[derive(Clone, Debug, Default)]
pub(crate) struct SimPort(Arc<Mutex<Ends>>);

impl SimPort {
    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues an arriving frame.
    pub(crate) fn arrive(&self, bytes: Vec<u8>) {
        self.ends().arrived.push_back(bytes);
    }

    /// Takes the frames that the router sent.
    pub(crate) fn leave(&self) -> Vec<Vec<u8>> {
        core::mem::take(&mut self.ends().leaving)
    }

    /// Drops all queued frames, like a removed device.
    pub(crate) fn clear(&self) {
        let mut ends = self.ends();
        ends.arrived.clear();
        ends.leaving.clear();
    }
}

impl Port for SimPort {
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize {
        let mut ends = self.ends();
        let before = into.len();
        while !into.is_full()
            && let Some(bytes) = ends.arrived.pop_front()
        {
            // An empty pool drops frames, like a ring without descriptors.
            if let Some(frame) = pool.alloc_from(&bytes)
                && let Err(frame) = into.push(frame)
            {
                pool.free(frame);
            }
        }
        into.len() - before
    }

    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted {
        let mut ends = self.ends();
        let sent = frames.len() as u32;
        for frame in frames.drain(..) {
            ends.leaving.push(frame.bytes().to_vec());
            pool.free(frame);
        }
        Transmitted { sent, dropped: 0 }
    }
}
