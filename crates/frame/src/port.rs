//! What carries frames in and out: one queue of one device, in the hands of one worker.

use std::os::fd::BorrowedFd;

use crate::shortcut::{Between, Gathered, Service, Shortcut};
use crate::{Frame, Offloads, Pool, Vector};

/// What one call of `transmit` did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmitted {
    /// Frames that the device took.
    pub sent: u32,
    /// Frames that it had no room for; they are freed.
    pub dropped: u32,
}

/// What a port counted since it was opened, under the driver's own names where it has some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames lost before they reached us: ring full, no memory.
    pub receive_dropped: u64,
    /// Frames that arrived damaged or too long.
    pub receive_errors: u64,
    /// Frames that the device refused.
    pub transmit_errors: u64,
}

/// One receive and one transmit queue of a device, owned by one worker.
///
/// A worker calls `receive` and `transmit` in turn and never blocks in either. Middleware (capture,
/// fault injection) wraps a port and is one.
pub trait Port: Send {
    /// Appends what has arrived to `into`, up to its limits; the frames' `ingress` is left to the
    /// worker. Returns how many.
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize;

    /// Sends all of `frames`, in order, and leaves it empty. Frames may stay with the device until
    /// a later call; what finds no room is freed and counted.
    ///
    /// Each frame is in a state that `offloads` takes.
    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted;

    /// Does what is due when there was nothing to send: wakes the device, takes sent frames back.
    fn flush(&mut self, pool: &mut Pool) {
        let _ = pool;
    }

    /// Which unfinished frames it takes.
    fn offloads(&self) -> Offloads {
        Offloads::default()
    }

    /// What a worker with nothing to do waits on (readable when frames are there); none for ports
    /// that are always polled.
    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Begins a worker's round, before that reads anything that control publishes: what is learned in it
    /// rests on what there was now.
    fn begin(&mut self) {}

    /// Whether it learns shortcuts.
    fn learns(&self) -> bool {
        false
    }

    /// Learns to forward packets like this one, which it received in this round, by itself.
    fn learn(&mut self, shortcut: &Shortcut) {
        let _ = shortcut;
    }

    /// Tells what went by the shortcuts of connections that it has learned: of each once in a second if this is
    /// called often, with the time in 64ths of a second; of all of them without a time. Where `gathered` says no,
    /// the connection is gone, and its shortcut goes too.
    fn gather(&mut self, ticks: Option<u32>, gathered: &mut dyn FnMut(Gathered) -> bool) {
        let _ = (ticks, gathered);
    }

    /// Whether it has learned shortcuts of connections, so that [`Port::gather`] is to be called.
    fn gathers(&self) -> bool {
        false
    }

    /// Forgets the shortcut of a direction of a connection, if it has learned one.
    fn unlearn(&mut self, between: &Between, service: &Service) {
        let _ = (between, service);
    }

    /// The kernel's number of its device, where others' shortcuts may lead to it.
    fn device(&self) -> Option<u32> {
        None
    }

    /// What it counted.
    fn counters(&self) -> PortCounters {
        PortCounters::default()
    }

    /// Gives everything back to the pool before the port goes.
    fn close(&mut self, pool: &mut Pool) {
        let _ = pool;
    }
}
