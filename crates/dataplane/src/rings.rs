//! Rings between control and the workers, and between workers: one producer and one consumer each,
//! of fixed size. No thread ever waits for a ring.

use std::sync::Arc;

use crossbeam_queue::SegQueue;
use frame::{Frame, InterfaceId, Port};
use queue::{Leaf, Packet};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::connection::{EntryId, Purge};
use crate::generator::Generation;
use crate::punt::{Punt, PuntReason};
use crate::queueing::{Change, Waiting};
use crate::stream::StreamRings;
use crate::table::NextHopId;
use crate::tap::Tapped;

/// Capacity of a ring in frames.
pub const RING: usize = 1024;
/// Part of the punt ring that is reserved for services.
pub const RESERVED: usize = RING / 4;

/// Commands from control to a worker.
pub enum Command {
    /// Attach one queue of a port under this number of the snapshot.
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
    /// Send this complete frame of IPv6's link protocols by the interface `frame.egress`, if the
    /// rules of `output` accept its packet at `frame.l3`. Routes and marks do not apply.
    OnLink(Frame),
    /// Route this packet of the router, which begins at `frame.l3`. `frame.egress`, if set, is the
    /// egress interface for link-local and multicast destinations.
    Output(Frame),
    /// Send this packet of the router by this next hop, whatever routes say, to probe that path;
    /// with [`NextHopId::NO_ROUTE`] by the point-to-point interface `egress` of the frame.
    Probe(Frame, NextHopId),
    /// Walk this punted packet again, because its neighbour is resolved. Packets of the router have
    /// `frame.ingress` unset. A packet that has passed all rules leaves by this next hop, if it is
    /// of kind forward.
    Resume(Frame, NextHopId),
    /// End this connection.
    Forget(EntryId),
    /// End the connections that refer to something that was removed.
    Purge(Purge),
    /// Begin this test of the traffic generator, or end the running one.
    Generate(Option<Box<Generation>>),
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
            Self::Generate(test) => write!(f, "Generate({test:?})"),
        }
    }
}

/// A frame that one worker hands to another, with the entry at which its walk continues.
#[derive(Debug)]
pub enum Handed {
    /// Received by this port; the other worker owns the flow.
    Wire(Frame, u16),
    /// Bridged up to the router from a port of this bridge; the other worker owns the flow.
    Risen(Frame),
    /// Received and counted by its ingress interface; the other worker owns the connection.
    Arrived(Frame),
    /// Transmission by this port, whose queues are all on other workers.
    Leaving(Frame, u16),
    /// To be encapsulated by the tunnel of the interface in this slot, whose packets all leave by the other worker.
    Tunnelled(Frame, u32),
    /// Session data, to be decapsulated by the tunnel of this interface, whose packets all enter by the other worker.
    Joining(Frame, InterfaceId),
    /// A packet that this router sends; the other worker owns its connection. It leaves by this
    /// next hop, or else along routes.
    Own(Frame, Option<NextHopId>),
    /// To wait in this queue, whose home is the other worker.
    Queued(Packet<Waiting>, Arc<Leaf>),
}

impl Handed {
    /// Returns the frame.
    pub(crate) fn into_frame(self) -> Frame {
        match self {
            Self::Wire(frame, _)
            | Self::Risen(frame)
            | Self::Arrived(frame)
            | Self::Leaving(frame, _)
            | Self::Tunnelled(frame, _)
            | Self::Joining(frame, _)
            | Self::Own(frame, _) => frame,
            Self::Queued(packet, _) => packet.carries.frame,
        }
    }
}

/// A worker's ends of its rings.
#[derive(Debug)]
pub struct Rings {
    pub(crate) commands: Consumer<Command>,
    pub(crate) punts: Producer<Punt>,
    pub(crate) taps: Producer<Tapped>,
    /// Changes of queues, from control.
    pub(crate) changes: Arc<SegQueue<Change>>,
    /// Rings to and from the tasks of byte streams.
    pub(crate) streams: Arc<StreamRings>,
    /// Rings to the other workers, by worker; `None` for the worker itself.
    pub(crate) to: Vec<Option<Producer<Handed>>>,
    /// Rings from the other workers, by worker; `None` for the worker itself.
    pub(crate) from: Vec<Option<Consumer<Handed>>>,
}

impl Rings {
    /// Returns true if the ring to control has room for a packet with this reason.
    #[inline]
    pub(crate) fn has_room_for(&self, why: PuntReason) -> bool {
        let reserved = if why.is_bulk() { RESERVED } else { 0 };
        self.punts.slots() > reserved
    }
}

/// Control's ends of one worker's rings.
#[derive(Debug)]
pub struct Remote {
    /// Commands to the worker. If the ring is full, the caller keeps the command or frees its
    /// frame.
    pub commands: Producer<Command>,
    /// Packets from the worker.
    pub punts: Consumer<Punt>,
    /// Copies of frames from the worker.
    pub taps: Consumer<Tapped>,
    /// Changes of queues for the worker, in order.
    pub changes: Arc<SegQueue<Change>>,
    /// Rings between the worker and the tasks of byte streams, for the program.
    pub streams: Arc<StreamRings>,
}

/// Creates the rings of `workers` workers. Returns the workers' ends and control's ends, by worker
/// index.
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
            let streams = Arc::new(StreamRings::default());
            let worker = Rings {
                commands,
                punts,
                taps,
                changes: Arc::clone(&changes),
                streams: Arc::clone(&streams),
                to,
                from,
            };
            let remote = Remote {
                commands: command_in,
                punts: punt_out,
                taps: tap_out,
                changes,
                streams,
            };
            (worker, remote)
        })
        .unzip()
}
