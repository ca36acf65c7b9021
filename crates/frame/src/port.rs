//! Ports: one receive and one transmit queue of a device, owned by one worker.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use crate::shortcut::FlowOffload;
use crate::switch::SwitchPort;
use crate::{Frame, Offloads, Pool, VECTOR_FRAMES, Vector};

/// Result of `transmit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transmitted {
    /// Frames that the device accepted.
    pub sent: u32,
    /// Frames for which the device had no room; they were freed.
    pub dropped: u32,
}

/// Counters of a port since opening, including the driver's values if available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounters {
    /// Frames lost before reception: ring full, or out of memory.
    pub receive_dropped: u64,
    /// Frames that arrived damaged or too long.
    pub receive_errors: u64,
    /// Frames that the device rejected.
    pub transmit_errors: u64,
}

/// Shared readiness of many mostly idle ports, so that a worker need not poll each of them.
pub trait Crowd: Send + Sync {
    /// Polls all members once and calls `ready` with the numbers of those that have frames. Members that one
    /// poll cannot report follow with the next.
    fn ask(&self, ready: &mut dyn FnMut(u32));

    /// Returns the file descriptor on which an idle worker waits for all members.
    fn wait_fd(&self) -> Option<BorrowedFd<'_>>;
}

/// One receive and one transmit queue of a device, owned by one worker.
///
/// A worker calls `receive` and `transmit` alternately; neither blocks. Middleware (capture, fault injection)
/// wraps a port and implements this trait.
pub trait Port: Send {
    /// Appends received frames to `into` up to its limits; the worker sets their `ingress`. Returns their
    /// number.
    fn receive(&mut self, pool: &mut Pool, into: &mut Vector) -> usize;

    /// Sends all `frames` in order and empties the list. Frames may stay with the device until a later call;
    /// frames without room are freed and counted.
    ///
    /// Each frame must be in a state that `offloads` accepts.
    fn transmit(&mut self, pool: &mut Pool, frames: &mut Vec<Frame>) -> Transmitted;

    /// Does deferred work when there was nothing to send: notifies the device, frees sent frames.
    fn flush(&mut self, pool: &mut Pool) {
        let _ = pool;
    }

    /// Returns true if accepted frames wait until `flush` notifies the device again: the worker must not
    /// sleep.
    fn is_sending(&self) -> bool {
        false
    }

    /// Returns the offload capabilities of the port.
    fn offloads(&self) -> Offloads {
        Offloads::default()
    }

    /// Returns the file descriptor on which an idle worker waits for frames; `None` for ports that are always
    /// polled.
    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Returns the crowd that the port belongs to, and its number there. The worker then receives only when
    /// the crowd reports the port, and does not call it while nothing is sent. Such a port has no offloads
    /// and needs no flush, and its counters change only when it receives or sends.
    fn crowd(&self) -> Option<(Arc<dyn Crowd>, u32)> {
        None
    }

    /// Returns the maximum number of pool slots that the port's device uses.
    fn slots(&self) -> usize {
        VECTOR_FRAMES
    }

    /// Returns the flow offload behind this port, if there is one.
    fn offload(&mut self) -> Option<&mut dyn FlowOffload> {
        None
    }

    /// Returns the port's position in the switch below the workers ([`switch`](crate::switch)), if it has
    /// one.
    fn seat(&self) -> Option<SwitchPort> {
        None
    }

    /// Returns the counters.
    fn counters(&self) -> PortCounters {
        PortCounters::default()
    }

    /// Returns all frames to the pool before the port is dropped.
    fn close(&mut self, pool: &mut Pool) {
        let _ = pool;
    }
}
