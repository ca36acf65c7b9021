//! A worker's table of queues, the packets that wait in them, and the look-up of the queues of a packet.

use std::sync::Arc;

use frame::{Frame, InterfaceId};
use queue::{
    ByMark, Direction, Index, Leaf, Lost, Node, Packet, PacketFields, Payload, Schedule, TOGETHER,
    Together,
};

use super::change::Simple;
use crate::out::OutId;
use crate::walk::{Context, Exit};

/// Maximum number of queues that a packet passes at one hook: of the `global` tree, of one direction, of both
/// directions.
pub(super) const LEAVES: usize = 3;

/// Offset of the network header behind demux, in bytes.
pub(super) const ETHERNET: usize = 14;

/// The destination of a packet behind its queues.
#[derive(Clone, Copy, Debug)]
pub(super) enum AfterQueues {
    Out(OutId),
    Exit(Exit),
}

/// A packet in a queue.
#[derive(Debug)]
pub struct Waiting {
    pub(crate) frame: Frame,
    /// The remaining queues, in order.
    pub(super) left: [Option<Arc<Leaf>>; LEAVES - 1],
    pub(super) then: AfterQueues,
}

impl Payload for Waiting {
    fn mark_congestion(&mut self) -> bool {
        let l3 = usize::from(self.frame.l3);
        wire::ecn::mark(self.frame.bytes_mut().get_mut(l3..).unwrap_or_default())
    }

    fn clear_class(&mut self) {
        let l3 = usize::from(self.frame.l3);
        wire::ecn::clear_class(self.frame.bytes_mut().get_mut(l3..).unwrap_or_default());
    }
}

/// A leaf with a direct reference to its node.
#[derive(Clone, Debug)]
pub(super) struct QueueLeaf {
    pub(super) node: Arc<Node>,
    pub(super) leaf: Arc<Leaf>,
}

impl QueueLeaf {
    pub(super) fn of(leaf: Arc<Leaf>) -> Self {
        Self {
            node: Arc::clone(&leaf.node),
            leaf,
        }
    }
}

/// The leaves of a simple queue: upload from the target, download to the target, and both
/// directions.
#[derive(Clone, Debug)]
pub(super) struct SimpleLeaves {
    pub(super) up: Option<QueueLeaf>,
    pub(super) down: Option<QueueLeaf>,
    pub(super) total: Option<QueueLeaf>,
}

impl SimpleLeaves {
    pub(super) fn of(queue: Simple) -> Self {
        Self {
            up: queue.up.map(QueueLeaf::of),
            down: queue.down.map(QueueLeaf::of),
            total: queue.total.map(QueueLeaf::of),
        }
    }
}

/// A packet of a vector that its queues do not let pass.
#[derive(Debug)]
pub(crate) struct HeldPacket {
    /// Position of the packet in the vector.
    pub(crate) at: usize,
    pub(super) leaves: [Option<Arc<Leaf>>; LEAVES],
}

/// The queues of an interface.
#[derive(Debug, Default)]
pub(super) struct InterfaceQueues {
    pub(super) next: OutId,
    pub(super) leaves: ByMark<QueueLeaf>,
}

/// A worker's table of queues, and the packets that wait on this worker.
#[derive(Debug, Default)]
pub(crate) struct Queueing {
    pub(super) global: ByMark<QueueLeaf>,
    pub(super) simple: Index<SimpleLeaves>,
    /// By interface slot.
    pub(super) interfaces: Vec<Option<Box<InterfaceQueues>>>,
    /// Memory for the limits of a vector's packets, for each of the [`LEAVES`].
    together: Box<[Together; LEAVES]>,
    pub(super) schedule: Schedule<Waiting>,
    /// Packets that disciplines have dropped, not counted yet.
    pub(super) lost: Vec<(Packet<Waiting>, Lost)>,
}

impl Queueing {
    /// Returns true if there are queues behind input and postrouting.
    #[inline(always)]
    pub(crate) fn looks_at_packets(&self) -> bool {
        !(self.simple.is_empty() && self.global.is_empty())
    }

    /// Returns true if no packet waits on this worker.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.schedule.packets() == 0
    }

    /// Returns the time of the next step for waiting packets.
    pub(crate) fn deadline(&self, now: machine::Instant) -> Option<machine::Instant> {
        self.schedule.deadline(now)
    }

    /// Returns the queues of a packet behind postrouting or input.
    #[inline]
    pub(super) fn queues_of(&self, seen: &PacketFields) -> [Option<&QueueLeaf>; LEAVES] {
        queues_of(&self.global, &self.simple, seen)
    }

    /// Passes the packets of a vector for which `meets` is true through their queues. `sources` are their addresses on
    /// arrival. Stores the packets that have to wait in `held`, in order.
    pub(crate) fn ask_all(
        &mut self,
        cx: &Context<'_>,
        frames: &[Frame],
        sources: &[u128],
        meets: impl Fn(usize) -> bool,
        held: &mut Vec<HeldPacket>,
    ) {
        let Self {
            global,
            simple,
            together,
            ..
        } = self;
        let mut queues = [[None; TOGETHER]; LEAVES];
        let mut used = [false; LEAVES];
        let packets = frames.iter().zip(sources).enumerate();
        for (at, (frame, source)) in packets.take(TOGETHER) {
            if frame.fasttracked || !meets(at) {
                continue;
            }
            let Some(seen) = seen(frame, usize::from(frame.l3), *source) else {
                continue;
            };
            let rows = queues.iter_mut().zip(&mut used);
            for ((row, used), queue) in rows.zip(queues_of(global, simple, &seen)) {
                if let Some(queue) = queue {
                    kernels::prefetch(&*queue.node);
                    row[at] = Some(queue);
                    *used = true;
                }
            }
        }
        // Queues of different rows have no parent in common, so the limits do not depend on the order of rows.
        for row in (0..LEAVES).filter(|row| used[*row]) {
            let packet = |at: usize| {
                let queue: Option<&QueueLeaf> = queues[row][at];
                queue.map(|queue| (&*queue.node, frames[at].len() as u32))
            };
            let first = held.len();
            together[row].pass(frames.len(), packet, cx.now, |at| {
                let leaves = left(queues[row..].iter().map(|row| row[at]));
                held.push(HeldPacket { at, leaves });
            });
            for held in &held[first..] {
                queues[row + 1..]
                    .iter_mut()
                    .for_each(|row| row[held.at] = None);
            }
        }
        held.sort_unstable_by_key(|held| held.at);
    }

    /// Passes the number of the innermost queue of each packet of a vector to `each`, for a profile. The arguments are
    /// those of [`Self::ask_all`].
    #[cold]
    pub(crate) fn note_all(
        &self,
        frames: &[Frame],
        sources: &[u128],
        meets: impl Fn(usize) -> bool,
        each: &mut dyn FnMut(u64),
    ) {
        let packets = frames.iter().zip(sources).enumerate();
        for (at, (frame, source)) in packets.take(TOGETHER) {
            if frame.fasttracked || !meets(at) {
                continue;
            }
            if let Some(seen) = seen(frame, usize::from(frame.l3), *source) {
                let queues = self.queues_of(&seen).into_iter().flatten();
                queues.for_each(|queue| each(queue.node.id()));
            }
        }
    }

    pub(super) fn interface(&self, slot: u32) -> Option<&InterfaceQueues> {
        self.interfaces.get(slot as usize)?.as_deref()
    }

    pub(super) fn interface_mut(&mut self, id: InterfaceId) -> &mut InterfaceQueues {
        if self.interfaces.len() <= id.slot() {
            self.interfaces.resize_with(id.slot() + 1, || None);
        }
        self.interfaces[id.slot()].get_or_insert_default()
    }

    /// Passes every waiting frame to `each` when the worker ends.
    pub(crate) fn clear(&mut self, each: &mut dyn FnMut(Frame)) {
        self.schedule
            .clear(&mut |packet| each(packet.carries.frame));
    }
}

/// Returns the queues of a packet: in the tree `global`, and the simple queue of its direction and of both directions.
#[inline]
fn queues_of<'a>(
    global: &'a ByMark<QueueLeaf>,
    simple: &'a Index<SimpleLeaves>,
    seen: &PacketFields,
) -> [Option<&'a QueueLeaf>; LEAVES] {
    let (own, total) = match simple.find(seen) {
        Some((Direction::Up, queues)) => (queues.up.as_ref(), queues.total.as_ref()),
        Some((Direction::Down, queues)) => (queues.down.as_ref(), queues.total.as_ref()),
        None => (None, None),
    };
    [global.find(seen.mark), own, total]
}

/// Returns the remaining leaves, beginning with the first leaf that holds the packet; `None` if all
/// leaves let the packet pass.
#[inline]
pub(super) fn stops(
    queues: [Option<&QueueLeaf>; LEAVES],
    bytes: u32,
    now: machine::Instant,
) -> Option<[Option<Arc<Leaf>>; LEAVES]> {
    let passes = |queue: &Option<&QueueLeaf>| queue.is_none_or(|queue| queue.node.pass(bytes, now));
    let passed = queues.iter().take_while(|queue| passes(queue)).count();
    (passed < LEAVES).then(|| left(queues[passed..].iter().copied()))
}

/// Returns the leaves of some queues.
#[cold]
fn left<'a>(queues: impl Iterator<Item = Option<&'a QueueLeaf>>) -> [Option<Arc<Leaf>>; LEAVES] {
    let mut left = queues.map(|queue| queue.map(|queue| Arc::clone(&queue.leaf)));
    [(); LEAVES].map(|()| left.next().flatten())
}

/// Returns the source address of a frame as received. Simple queues limit the host behind source NAT.
#[inline]
pub(crate) fn source(frame: &Frame) -> u128 {
    let bytes = frame.bytes();
    match (bytes.get(12..ETHERNET), bytes.get(ETHERNET..)) {
        (Some([0x08, 0x00]), Some(packet)) => packet
            .get(12..16)
            .and_then(|at| at.first_chunk())
            .map_or(0, |source| u32::from_be_bytes(*source).into()),
        (Some([0x86, 0xdd]), Some(packet)) => packet
            .get(8..24)
            .and_then(|at| at.first_chunk())
            .map_or(0, |source| u128::from_be_bytes(*source)),
        _ => 0,
    }
}

/// Returns true if packets with this exit pass queues: packets for this router, and packets that
/// are finished behind postrouting.
#[inline]
pub(crate) const fn meets(exit: Exit) -> bool {
    exit.is_local() || matches!(exit, Exit::Finish { .. })
}

/// Returns the fields that simple queues match.
#[inline]
pub(super) fn seen(frame: &Frame, l3: usize, source: u128) -> Option<PacketFields> {
    let packet = frame.bytes().get(l3..)?;
    let (ipv6, own, destination) = match packet.first()? >> 4 {
        4 => {
            let header = packet.first_chunk::<20>()?;
            let at = |at: usize| {
                u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
            };
            (false, at(12).into(), at(16).into())
        }
        6 => {
            let header = packet.first_chunk::<40>()?;
            let at = |at: usize| {
                header[at..]
                    .first_chunk()
                    .map_or(0, |bytes| u128::from_be_bytes(*bytes))
            };
            (true, at(8), at(24))
        }
        _ => return None,
    };
    Some(PacketFields {
        ipv6,
        source: if source == 0 { own } else { source },
        destination,
        ingress: frame.ingress.0,
        egress: frame.egress.0,
        mark: frame.mark,
    })
}
