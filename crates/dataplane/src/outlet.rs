//! The outlet of a worker: its ports, rings and memory. Frames leave the worker through the outlet:
//! to ports, to control, to other workers, or back to the pool. Decisions are *committed* through
//! it, except for changes of bytes. `ports.rs` holds the queues of ports, `dispatch.rs` sends frames to
//! their outs, `report.rs` reports to control.

mod dispatch;
mod ports;
mod report;

use std::sync::Arc;

use frame::reassembly::{Config, Reassembly};
use frame::{Class, Frame, InterfaceId, Pool, Port, Vector};

use crate::agenda::Agenda;
use crate::bridge::Bridging;
use crate::connection::{Tick, Tracker};
use crate::counters::Counters;
use crate::drop::DropReason;
use crate::encap::incomplete::Incomplete;
use crate::gate::Limits;
use crate::meter::Meter;
use crate::out::OutId;
use crate::queueing::Queueing;
use crate::rings::{Handed, Rings};
use crate::rule;
use crate::stream::Streams;
use crate::walk::decide::Detoured;
use crate::walk::{Context, Exit, Memory, RuleEvents};
use ports::Ports;

/// Fragments of a family may use this fraction (1/8) of the bytes of a worker's small slots.
const FRAGMENTS_SHARE: usize = 8;

/// The ports, rings and memory of a worker.
pub(crate) struct Outlet {
    index: u16,
    pub(crate) pool: Pool,
    pub(crate) ports: Ports,
    pub(crate) rings: Rings,
    pub(crate) counters: Arc<Counters>,
    /// Fragments and segments of the current frame; empty between two frames.
    pub(crate) pieces: Vec<Frame>,
    /// Whole packets that IPsec is about to protect; empty between two vectors.
    pub(crate) protecting: Vec<Frame>,
    /// Buffer for a batch of packets that this router sends by one out; empty between two batches.
    pub(crate) departing: Vec<Frame>,
    /// Incomplete packets of PPP sessions with multilink framing.
    pub(crate) incomplete: Incomplete,
    /// Incomplete datagrams: of IPv4, of IPv6.
    pub(crate) fragments: [Reassembly<()>; 2],
    /// Maximum number of bytes of the pool for fragments of a family.
    fragment_bytes_max: usize,
    /// The configured settings for IPv4 fragments.
    fragments4: Option<Config>,
    /// Firewall state, and the events of the current packet.
    pub(crate) memory: Memory,
    pub(crate) rule_events: RuleEvents,
    /// Time of the worker by facility.
    pub(crate) meter: Meter,
    /// Frames that enter the walk again after the current vector.
    pub(crate) agenda: Agenda,
    /// Memory of the bridging stage; `None` while frames are bridged.
    pub(crate) bridging: Option<Box<Bridging>>,
    /// Decisions of the IP tables about the frame that is currently bridged.
    pub(crate) detoured: Option<Detoured>,
    /// Queues, and the packets that wait in them on this worker.
    pub(crate) queueing: Queueing,
    /// Rate limits of services.
    pub(crate) limits: Limits,
    /// Packets into and out of byte streams, and the buffer for a batch of received ones; empty between two batches.
    pub(crate) streams: Streams,
    pub(crate) joining: Vec<Frame>,
    /// Number of packets handed to control, and the workers that were handed frames, since the last
    /// step.
    punted: u32,
    handed_to: u64,
}

/// The operations by which stages pass frames on. Stages name this trait in place of the stages
/// that follow; `outlet/dispatch.rs` implements the trait on top of all stages.
pub(crate) trait Dispatch {
    /// Passes a whole vector to an out. Returns false and changes nothing if frames already wait in
    /// the out's port, if the agenda has no room for all, or if the out takes single frames only.
    fn dispatch_vector(&mut self, cx: &Context<'_>, vector: &mut Vector, out: OutId) -> bool;

    /// Passes a whole vector to the IPsec policies of its outs, one per frame. Returns false if an out is no policy, or
    /// the agenda has no room for all frames.
    fn protect_vector(&mut self, vector: &mut Vector, outs: &[OutId]) -> bool;

    /// Passes a whole vector to the tunnels of its outs, one per frame. Returns false if an out is no tunnel, or the
    /// agenda has no room for all frames.
    fn encapsulate_vector(&mut self, vector: &mut Vector, outs: &[OutId]) -> bool;

    /// Passes the next `count` frames to an out.
    fn dispatch_run(
        &mut self,
        cx: &Context<'_>,
        frames: &mut impl Iterator<Item = Frame>,
        count: usize,
        out: OutId,
    );

    /// Passes a frame to its out: the only way out of a walk.
    fn dispatch(&mut self, cx: &Context<'_>, frame: Frame, out: OutId);

    /// Acts on the exit of a frame's walk: discards, punts, delivers, decapsulates or finishes the frame.
    fn settle(&mut self, cx: &Context<'_>, frame: Frame, exit: Exit);

    /// Routes and sends a packet of the router's own, which begins at `frame.l3`.
    fn route_own(&mut self, cx: &Context<'_>, frame: Frame);

    /// Routes and sends consecutive packets of the router's own.
    fn route_own_all(&mut self, cx: &Context<'_>, frames: impl Iterator<Item = Frame>);
}

impl Outlet {
    pub(crate) fn new(
        index: u16,
        mut pool: Pool,
        rings: Rings,
        counters: Arc<Counters>,
        tracker: Tracker,
    ) -> Self {
        let memory = Memory {
            rules: rule::Worker::new(Arc::clone(&counters.rules), u64::from(index)),
            tracker,
        };
        let small = pool.available(Class::Small) * Class::Small.slot_bytes();
        Self {
            memory,
            rule_events: RuleEvents::new(),
            meter: Meter::new(),
            agenda: Agenda::new(),
            bridging: Some(Bridging::new()),
            detoured: None,
            queueing: Queueing::default(),
            limits: Limits::new(),
            index,
            pool,
            fragments: [Config::V4, Config::V6].map(Reassembly::new),
            incomplete: Incomplete::default(),
            fragment_bytes_max: small / FRAGMENTS_SHARE,
            fragments4: None,
            ports: Ports::default(),
            streams: Streams::new(Arc::clone(&rings.streams)),
            joining: Vec::new(),
            rings,
            counters,
            pieces: Vec::with_capacity(frame::SEGMENTS_MAX),
            protecting: Vec::new(),
            departing: Vec::new(),
            punted: 0,
            handed_to: 0,
        }
    }

    /// Configures reassembly. The IPv4 settings apply to all workers together.
    pub(crate) fn configure_fragments(&mut self, ipv4: Config) {
        if self.fragments4.replace(ipv4) == Some(ipv4) {
            return;
        }
        let workers = self.rings.to.len().max(1);
        for (held, config) in self.fragments.iter_mut().zip([ipv4, Config::V6]) {
            let share = config.memory_max_bytes / workers;
            held.configure(Config {
                memory_max_bytes: share.min(self.fragment_bytes_max),
                ..config
            });
        }
        self.discard_lost_fragments();
    }

    /// Drops the fragments of incomplete datagrams, for the reason that reassembly gives.
    pub(crate) fn discard_lost_fragments(&mut self) {
        for family in 0..self.fragments.len() {
            while let Some((frame, (), lost)) = self.fragments[family].take_lost() {
                self.discard(frame, DropReason::of_fragment(lost));
            }
        }
    }

    /// Returns the number of packets handed to control, and a bit for each worker that was handed
    /// frames, since the last call. These threads must be woken.
    pub(crate) fn take_wakes(&mut self) -> (u32, u64) {
        (
            core::mem::take(&mut self.punted),
            core::mem::take(&mut self.handed_to),
        )
    }

    /// Ends a step. `did_nothing`: the step had no work.
    pub(crate) fn end_step(&mut self, did_nothing: bool) {
        let layer7 = self.memory.rules.take_stream_clocks();
        self.meter.end(did_nothing, layer7, &self.counters);
    }

    /// Ends a span of a profile, whose packets share its clocks. `is_sampled`: what its begin returned.
    #[inline(always)]
    pub(crate) fn end_span(&mut self, is_sampled: bool) {
        if is_sampled {
            self.meter.end_span(&self.counters);
        }
    }

    /// Adds each frame of a vector to the current span of a profile, under the interface slot that `slot` returns.
    #[cold]
    pub(crate) fn hit_each(&mut self, vector: &Vector, slot: impl Fn(&Frame) -> u32) {
        for frame in vector.frames() {
            self.meter.hit(u64::from(slot(frame)), 1);
        }
    }

    /// Ends a span of rules over `frames` frames, which share its clocks. Frames that no rule counted, as those of
    /// FastTrack, are charged to no rule.
    #[cold]
    pub(crate) fn end_rule_span(&mut self, frames: u32) {
        let (rules, meter) = (&mut self.memory.rules, &mut self.meter);
        let mut hits = 0_u32;
        rules.end_sample(|rule, packets| {
            hits = hits.saturating_add(packets);
            meter.hit(u64::from(rule), packets);
        });
        meter.miss(frames.saturating_sub(hits));
        meter.end_span(&self.counters);
    }

    /// Attaches a port's queue.
    pub(crate) fn attach(&mut self, number: u16, port: Box<dyn Port>) {
        self.ports.attach(number, port, &mut self.pool);
    }

    /// Closes all queues of a port.
    pub(crate) fn detach(&mut self, number: u16, now: Tick) {
        let tracker = &mut self.memory.tracker;
        self.ports.detach(number, now, &mut self.pool, tracker);
    }

    /// Receives from a queue that [`Ports::call`] found. Returns the port's number.
    pub(crate) fn receive(&mut self, at: usize, into: &mut Vector) -> u16 {
        self.ports.receive(at, into, &mut self.pool)
    }

    /// Drops a frame that its egress interface cannot send.
    pub(crate) fn lose(&mut self, frame: Frame, reason: DropReason) {
        self.counters.interface(frame.egress).tx_drop.add(1);
        self.discard(frame, reason);
    }

    /// Returns the worker by which all packets of a session pass; `None` if it is this worker.
    pub(crate) fn home_of(&self, session: InterfaceId) -> Option<u16> {
        let (worker, workers) = self.place_among();
        let home = (session.slot() % workers.max(1)) as u16;
        (home != worker).then_some(home)
    }

    /// Returns the index of this worker, and the number of workers.
    pub(crate) fn place_among(&self) -> (u16, usize) {
        (self.index, self.rings.to.len())
    }

    /// Hands a frame to another worker. Returns the frame and the reason if the ring is full.
    pub(crate) fn hand(&mut self, worker: u16, handed: Handed) -> Option<(Frame, DropReason)> {
        let ring = self.rings.to.get_mut(usize::from(worker));
        let (handed, reason) = match ring.and_then(Option::as_mut) {
            Some(ring) => match ring.push(handed) {
                Ok(()) => {
                    self.handed_to |= 1 << (worker & 63);
                    return None;
                }
                Err(rtrb::PushError::Full(handed)) => (handed, DropReason::HandoverFull),
            },
            None => (handed, DropReason::EgressDown),
        };
        Some((handed.into_frame(), reason))
    }

    /// Drops a packet.
    pub(crate) fn discard(&mut self, frame: Frame, reason: DropReason) {
        self.counters.dropped(reason);
        if frame.ingress != InterfaceId::NONE {
            self.counters.interface(frame.ingress).rx_drop.add(1);
        }
        self.pool.free(frame);
    }

    /// Frees all memory and ports before the worker ends.
    pub(crate) fn close(&mut self, now: Tick) {
        for held in &mut self.fragments {
            held.clear();
            while let Some((frame, ..)) = held.take_lost() {
                self.pool.free(frame);
            }
        }
        let Self { queueing, pool, .. } = self;
        queueing.clear(&mut |frame| pool.free(frame));
        let mut waiting = Vector::new();
        while self.agenda.take(&mut waiting).is_some() {
            waiting.drain().for_each(|frame| self.pool.free(frame));
        }
        self.ports
            .close(now, &mut self.pool, &mut self.memory.tracker);
    }
}

impl core::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Outlet")
            .field("index", &self.index)
            .field("ports", &self.ports)
            .finish_non_exhaustive()
    }
}
