//! Rings between control and the workers, and between workers: one producer and one consumer each, of fixed size,
//! never waited for.

use std::sync::Arc;

use crossbeam_queue::SegQueue;
use frame::{Frame, Port};
use queue::{Leaf, Packet};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::connection::{EntryId, Purge};
use crate::punt::{Punt, Why};
use crate::queueing::{Change, Waiting};
use crate::table::NextHopId;
use crate::tap::Tapped;

/// How many frames a ring between two threads holds.
pub const RING: usize = 1024;
/// The part of the punt ring that only services may fill.
pub const RESERVED: usize = RING / 4;

/// What control asks of a worker.
pub enum Command {
    /// Take this port (one queue of it) under this number of the snapshot.
    Attach {
        /// The port's number.
        number: u16,
        /// The queue.
        port: Box<dyn Port>,
    },
    /// Close all queues of the port with this number.
    Detach {
        /// The port's number.
        number: u16,
    },
    /// Send this complete frame by the interface `frame.egress`.
    Transmit(Frame),
    /// Send this complete frame by the interface `frame.egress`, as far as `output` lets its IPv6 packet
    /// pass, which begins at `frame.l3`: what IPv6 runs on every link, to whom its link header says.
    OnLink(Frame),
    /// Route this packet of the router's own, which begins at `frame.l3`. With `frame.egress` set,
    /// a link-local or multicast destination goes out there.
    Output(Frame),
    /// Send this packet of the router's own by this next hop, whatever routes say: what it finds out is
    /// about that way alone.
    Probe(Frame, NextHopId),
    /// Walk this punted packet again, because its neighbour is known now. Packets of the router's
    /// own have `frame.ingress` unset. What only waits to leave leaves by this next hop, if that forwards.
    Resume(Frame, NextHopId),
    /// Forget this connection.
    Forget(EntryId),
    /// Forget connections that something is gone of.
    Purge(Purge),
}

impl core::fmt::Debug for Command {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Attach { number, .. } => write!(f, "Attach({number})"),
            Self::Detach { number } => write!(f, "Detach({number})"),
            Self::Transmit(frame) => write!(f, "Transmit({frame:?})"),
            Self::OnLink(frame) => write!(f, "OnLink({frame:?})"),
            Self::Output(frame) => write!(f, "Output({frame:?})"),
            Self::Probe(frame, hop) => write!(f, "Probe({frame:?}, {hop:?})"),
            Self::Resume(frame, hop) => write!(f, "Resume({frame:?}, {hop:?})"),
            Self::Forget(id) => write!(f, "Forget({id})"),
            Self::Purge(purge) => write!(f, "Purge({purge:?})"),
        }
    }
}

/// A frame that one worker hands to another.
#[derive(Debug)]
pub enum Handed {
    /// It came by this port, and its flow lives on the other worker.
    Wire(Frame, u16),
    /// It came up from a port of this bridge, and its flow lives on the other worker.
    Risen(Frame),
    /// Its ingress interface is known and has counted it; its connection lives on the other worker.
    Arrived(Frame),
    /// It is to leave by this port, of which only the other worker has a queue.
    Leaving(Frame, u16),
    /// It is this router's own, and its connection lives on the other worker. It leaves by this next hop,
    /// if there is one; else routes say.
    Own(Frame, Option<NextHopId>),
    /// It is to wait in this queue, whose home the other worker is.
    Queued(Packet<Waiting>, Arc<Leaf>),
}

impl Handed {
    /// The frame itself.
    pub(crate) fn into_frame(self) -> Frame {
        match self {
            Self::Wire(frame, _)
            | Self::Risen(frame)
            | Self::Arrived(frame)
            | Self::Leaving(frame, _)
            | Self::Own(frame, _) => frame,
            Self::Queued(packet, _) => packet.carries.frame,
        }
    }
}

/// A worker's ends.
#[derive(Debug)]
pub struct Rings {
    pub(crate) commands: Consumer<Command>,
    pub(crate) punts: Producer<Punt>,
    pub(crate) taps: Producer<Tapped>,
    /// What control tells of queues.
    pub(crate) changes: Arc<SegQueue<Change>>,
    /// By worker: the ring to it; none to itself.
    pub(crate) to: Vec<Option<Producer<Handed>>>,
    /// By worker: the ring from it.
    pub(crate) from: Vec<Option<Consumer<Handed>>>,
}

impl Rings {
    /// Whether a packet of this kind finds room on its way to control.
    #[inline]
    pub(crate) fn has_room_for(&self, why: Why) -> bool {
        let reserved = if why.is_bulk() { RESERVED } else { 0 };
        self.punts.slots() > reserved
    }
}

/// Control's ends of one worker's rings.
#[derive(Debug)]
pub struct Remote {
    /// Commands to the worker. A full ring gives the command back: keep it or free its frame.
    pub commands: Producer<Command>,
    /// Packets from the worker.
    pub punts: Consumer<Punt>,
    /// Copies of frames from the worker.
    pub taps: Consumer<Tapped>,
    /// Where the worker is told of queues, in order.
    pub changes: Arc<SegQueue<Change>>,
}

/// Makes the rings of `workers` workers: their ends, and control's, by worker index.
pub fn rings(workers: usize) -> (Vec<Rings>, Vec<Remote>) {
    let mut to: Vec<Vec<_>> = (0..workers).map(|_| Vec::new()).collect();
    let mut from: Vec<Vec<_>> = (0..workers).map(|_| Vec::new()).collect();
    for (sender, to) in to.iter_mut().enumerate() {
        for (receiver, from) in from.iter_mut().enumerate() {
            let pair = (sender != receiver).then(|| RingBuffer::new(RING));
            let (producer, consumer) = pair.unzip();
            to.push(producer);
            from.push(consumer);
        }
    }
    to.into_iter()
        .zip(from)
        .map(|(to, from)| {
            let (command_in, commands) = RingBuffer::new(RING);
            let (punts, punt_out) = RingBuffer::new(RING);
            let (taps, tap_out) = RingBuffer::new(RING);
            let changes = Arc::new(SegQueue::new());
            let worker = Rings {
                commands,
                punts,
                taps,
                changes: Arc::clone(&changes),
                to,
                from,
            };
            let remote = Remote {
                commands: command_in,
                punts: punt_out,
                taps: tap_out,
                changes,
            };
            (worker, remote)
        })
        .unzip()
}
