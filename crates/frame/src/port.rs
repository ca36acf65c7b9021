//! What carries frames in and out: one queue of one device, in the hands of one worker.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::shortcut::FlowOffload;
use crate::switch::Seat;
use crate::{Frame, Offloads, Pool, VECTOR_FRAMES, Vector};

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

/// What many ports share that nearly always have nothing, so that no worker asks each of them in every step.
pub trait Crowd: Send + Sync {
    /// Asks once for all members which of them have something; tells their numbers, of as many as one question
    /// brings, and of the others with the next one.
    fn ask(&self, ready: &mut dyn FnMut(u32));

    /// What a worker with nothing to do waits on for all of them.
    fn wait_fd(&self) -> Option<BorrowedFd<'_>>;
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

    /// Whether frames that it took wait until `flush` wakes the device again: its worker does not sleep over them.
    fn is_sending(&self) -> bool {
        false
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

    /// The crowd that it is one of, with its number there: then it is received from when the crowd says so, and is
    /// asked nothing while nothing is sent. It has no offload and nothing to flush, and what it counts changes only
    /// when it receives or sends.
    fn crowd(&self) -> Option<(Arc<dyn Crowd>, u32)> {
        None
    }

    /// Slots of the pool that it takes at most for what its device fills and sends.
    fn slots(&self) -> usize {
        VECTOR_FRAMES
    }

    /// What forwards flows past the workers by itself, if something behind this port does.
    fn offload(&mut self) -> Option<&mut dyn FlowOffload> {
        None
    }

    /// Its place in what switches below the workers ([`switch`](crate::switch)), if it has one.
    fn seat(&self) -> Option<Seat> {
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
