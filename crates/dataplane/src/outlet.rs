//! The outlet of a worker: its ports, rings and memory. Frames leave the worker through the outlet:
//! to ports, to control, to other workers, or back to the pool. Decisions are *committed* through
//! it, except for changes of bytes. `dispatch.rs` sends frames to their outs, `report.rs` reports
//! to control.

mod dispatch;
mod report;

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use frame::reassembly::{Config, Reassembly};
use frame::shortcut::FlowOffload;
use frame::{Class, Frame, InterfaceId, Pool, Port, PortCounters, VECTOR_FRAMES, Vector};

use crate::agenda::Agenda;
use crate::bridge::Bridging;
use crate::connection::{Tick, Tracker};
use crate::counters::Counters;
use crate::drop::DropReason;
use crate::encap::incomplete::Incomplete;
use crate::gate::Limits;
use crate::meter::Meter;
use crate::out::OutId;
use crate::poll_set::{Membership, PollSet};
use crate::queueing::Queueing;
use crate::rings::{Handed, RING, Rings};
use crate::rule;
use crate::stream::Streams;
use crate::walk::decide::Detoured;
use crate::walk::{Context, Exit, Memory, RuleEvents};

/// Frames that wait for one transmission: as many as a vector has. The queue takes over the memory
/// of a vector whose frames all go to one port.
const QUEUE: usize = VECTOR_FRAMES;
/// Number of quiet ports with frames at a time, for the reserve of the pool.
const QUIET: usize = 8;

/// Fragments of a family may use this fraction (1/8) of the bytes of a worker's small slots.
const FRAGMENTS_SHARE: usize = 8;

/// A port's queue that this worker has attached.
struct Attached {
    number: u16,
    port: Box<dyn Port>,
    frames: Vec<Frame>,
    /// The port's counters at the last reading.
    counted: PortCounters,
    /// Membership of a quiet port, and whether the lists of due and touched ports contain the port.
    member: Option<Membership>,
    is_due: bool,
    is_touched: bool,
}

/// The ports, rings and memory of a worker.
pub(crate) struct Outlet {
    index: u16,
    pub(crate) pool: Pool,
    ports: Vec<Attached>,
    /// Order in which a step polls the ports.
    poll_set: PollSet,
    /// Position in `ports` by port number; the first, where this worker has several queues of the
    /// port.
    positions: Vec<Option<u16>>,
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
    transmitted: u32,
    /// A mirror has queued copies since the last transmission.
    pub(crate) mirrored: bool,
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
            ports: Vec::new(),
            poll_set: PollSet::default(),
            positions: Vec::new(),
            streams: Streams::new(Arc::clone(&rings.streams)),
            joining: Vec::new(),
            rings,
            counters,
            pieces: Vec::with_capacity(frame::SEGMENTS_MAX),
            protecting: Vec::new(),
            departing: Vec::new(),
            transmitted: 0,
            mirrored: false,
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

    /// Attaches a port's queue.
    pub(crate) fn attach(&mut self, number: u16, port: Box<dyn Port>) {
        let member = self.poll_set.membership(port.crowd());
        let place = self.ports.len();
        self.ports.push(Attached {
            number,
            port,
            frames: Vec::with_capacity(if member.is_some() { 0 } else { QUEUE }),
            counted: PortCounters::default(),
            member,
            is_due: false,
            is_touched: false,
        });
        self.put(place);
        self.reserve();
    }

    /// Reserves the part of the pool that ports and frames in flight need, so that holders leave it
    /// free. Few quiet ports have frames at a time.
    fn reserve(&mut self) {
        let busy = self
            .poll_set
            .busy()
            .iter()
            .map(|place| &self.ports[usize::from(*place)]);
        let busy = busy.map(|one| one.port.slots() + QUEUE);
        let quiet = self.poll_set.quiet().min(QUIET) * (VECTOR_FRAMES + QUEUE);
        let taken = busy.sum::<usize>() + quiet + RING + VECTOR_FRAMES;
        self.pool.reserve(taken);
    }

    /// Closes all queues of a port.
    pub(crate) fn detach(&mut self, number: u16, now: Tick) {
        let tracker = &mut self.memory.tracker;
        for attached in &mut self.ports {
            if attached.number == number {
                if let Some(offload) = attached.port.offload() {
                    offload.gather(None, &mut |gathered| tracker.gather(&gathered, now));
                }
                let sent = attached.port.transmit(&mut self.pool, &mut attached.frames);
                self.transmitted += sent.sent;
                attached.port.close(&mut self.pool);
            }
        }
        self.ports.retain(|attached| attached.number != number);
        self.positions.clear();
        self.poll_set.clear();
        for place in 0..self.ports.len() {
            self.put(place);
        }
        self.reserve();
    }

    /// Adds the port queue at this position to the indexes.
    fn put(&mut self, place: usize) {
        let attached = &mut self.ports[place];
        let number = usize::from(attached.number);
        if self.positions.len() <= number {
            self.positions.resize(number + 1, None);
        }
        self.positions[number].get_or_insert(place as u16);
        self.poll_set.put(place as u16, attached.member);
        attached.is_touched = false;
        if core::mem::take(&mut attached.is_due) {
            attached.is_due = true;
            self.poll_set.due.push(place as u16);
        }
    }

    /// Finds the queues to receive from. Returns their number.
    pub(crate) fn call(&mut self) -> usize {
        self.poll_set.call()
    }

    /// Returns the file descriptors of busy ports to wait on.
    pub(crate) fn waits(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let busy = self.poll_set.busy().iter();
        busy.filter_map(|place| self.ports[usize::from(*place)].port.wait_fd())
    }

    /// Returns the file descriptors that stand for all quiet ports to wait on.
    pub(crate) fn crowds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.poll_set.crowds()
    }

    /// Receives from a queue that [`Self::call`] found. Returns the port's number.
    pub(crate) fn receive(&mut self, at: usize, into: &mut Vector) -> u16 {
        let place = self.poll_set.called(at);
        let attached = &mut self.ports[place];
        attached.port.receive(&mut self.pool, into);
        let number = attached.number;
        self.touch(place);
        number
    }

    /// Records that the counters of a quiet port may have changed.
    fn touch(&mut self, place: usize) {
        let attached = &mut self.ports[place];
        if attached.member.is_some() && !attached.is_touched {
            attached.is_touched = true;
            self.poll_set.touched.push(place as u16);
        }
    }

    /// Returns the transmit queue of a port.
    #[inline]
    fn queue(&mut self, port: u16) -> Option<&mut Vec<Frame>> {
        let place = self.positions.get(usize::from(port)).copied().flatten()?;
        let attached = self.ports.get_mut(usize::from(place))?;
        if attached.member.is_some() && !attached.is_due {
            attached.is_due = true;
            self.poll_set.due.push(place);
            attached.frames = self.poll_set.take_memory(QUEUE);
        }
        Some(&mut attached.frames)
    }

    /// Returns the place of a port that every step polls.
    fn busy(&self, at: usize) -> Option<usize> {
        self.poll_set.busy().get(at).copied().map(usize::from)
    }

    fn attached(&mut self, port: u16) -> Option<&mut Attached> {
        let place = self.positions.get(usize::from(port)).copied().flatten()?;
        self.ports.get_mut(usize::from(place))
    }

    /// Begins a round in the flow offload of each busy port.
    pub(crate) fn begin(&mut self) {
        for place in self.poll_set.busy().iter().copied().map(usize::from) {
            if let Some(offload) = self.ports[place].port.offload() {
                offload.begin();
            }
        }
    }

    /// Returns the flow offload of a port.
    pub(crate) fn offload(&mut self, port: u16) -> Option<&mut dyn FlowOffload> {
        self.attached(port)?.port.offload()
    }

    /// Returns true if connections may have shortcuts.
    pub(crate) fn gathers(&mut self) -> bool {
        let mut busy = self.poll_set.busy().iter().copied().map(usize::from);
        busy.any(|place| {
            { self.ports[place].port.offload() }.is_some_and(|offload| offload.gathers())
        })
    }

    /// Returns true if frames wait in a port for its next flush.
    pub(crate) fn is_sending(&self) -> bool {
        let mut busy = self.poll_set.busy().iter().copied().map(usize::from);
        busy.any(|place| self.ports[place].port.is_sending())
    }

    /// Adds the traffic of shortcuts to the counters of their connections.
    pub(crate) fn gather(&mut self, now: Tick) {
        let tracker = &mut self.memory.tracker;
        for place in self.poll_set.busy().iter().copied().map(usize::from) {
            let offload = self.ports[place].port.offload();
            let Some(offload) = offload.filter(|offload| offload.gathers()) else {
                continue;
            };
            offload.gather(Some(now.0), &mut |gathered| tracker.gather(&gathered, now));
        }
    }

    /// Ends the shortcuts of ended connections.
    pub(crate) fn end_shortcuts(&mut self) {
        while let Some(tuple) = self.memory.tracker.take_ended() {
            let (between, service) = (tuple.between(), tuple.service());
            // All ports install into one table.
            for place in self.poll_set.busy().iter().copied().map(usize::from) {
                if let Some(offload) = self.ports[place].port.offload() {
                    offload.remove(&between, &service);
                    break;
                }
            }
        }
    }

    /// Drops a frame that its egress interface cannot send.
    pub(crate) fn lose(&mut self, frame: Frame, reason: DropReason) {
        self.counters.interface(frame.egress).tx_drop.add(1);
        self.discard(frame, reason);
    }

    /// Returns the index of this worker, and the number of workers.
    /// Returns the worker by which all packets of a session pass; `None` if it is this worker.
    pub(crate) fn home_of(&self, session: InterfaceId) -> Option<u16> {
        let (worker, workers) = self.place_among();
        let home = (session.slot() % workers.max(1)) as u16;
        (home != worker).then_some(home)
    }

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

    /// Counts packets that ports have lost since the last call, before the worker received them.
    pub(crate) fn count_losses(&mut self, cx: &Context<'_>) {
        let mut at = 0;
        while let Some(place) = self.busy(at) {
            self.count_losses_of(cx, place);
            at += 1;
        }
        while let Some(place) = self.poll_set.touched.pop() {
            self.ports[usize::from(place)].is_touched = false;
            self.count_losses_of(cx, place.into());
        }
    }

    fn count_losses_of(&mut self, cx: &Context<'_>, place: usize) {
        let attached = &mut self.ports[place];
        let now = attached.port.counters();
        let before = core::mem::replace(&mut attached.counted, now);
        if now == before {
            return;
        }
        let since = |now: u64, before: u64| now.saturating_sub(before);
        let overrun = since(now.receive_dropped, before.receive_dropped);
        let damaged = since(now.receive_errors, before.receive_errors);
        self.counters.dropped_many(DropReason::PortOverrun, overrun);
        self.counters.dropped_many(DropReason::PortDamaged, damaged);
        if let Some(binding) = cx.snapshot.port(attached.number) {
            let counters = self.counters.interface(binding.interface);
            counters.rx_drop.add(overrun + damaged);
        }
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
        while let Some(attached) = self.ports.last() {
            self.detach(attached.number, now);
        }
    }
}

impl core::fmt::Debug for Outlet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Outlet")
            .field("index", &self.index)
            .field("ports", &self.ports.len())
            .finish_non_exhaustive()
    }
}
