//! The outlet of a worker: its ports, rings and memory. Frames leave the worker through the outlet: to ports, to
//! control, to other workers, or back to the pool. Everything that a decision *commits*, other than bytes, goes through
//! here. `dispatch.rs` leads frames to their outs, `report.rs` has what control is told.

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
use crate::gate::Limits;
use crate::meter::Meter;
use crate::out::OutId;
use crate::queueing::Queueing;
use crate::quiet::{Membership, Places};
use crate::rings::{Handed, RING, Rings};
use crate::rule;
use crate::walk::guarded::Detoured;
use crate::walk::{Context, Exit, Memory, Told};

/// Frames that wait for one transmission. As many as a vector has, whose memory a queue takes over
/// when all its frames go to one port.
const QUEUE: usize = VECTOR_FRAMES;
/// Quiet ports that have something at a time, as far as the pool is concerned.
const QUIET: usize = 8;

/// Fragments of a family may hold one in so many bytes of a worker's small slots.
const FRAGMENTS_SHARE: usize = 8;

/// A port's queue in the hands of this worker.
struct Attached {
    number: u16,
    port: Box<dyn Port>,
    frames: Vec<Frame>,
    /// What the port's counters showed when they were last looked at.
    counted: PortCounters,
    /// Of a quiet port: its membership, and whether the lists of due and of touched ports have it.
    member: Option<Membership>,
    is_due: bool,
    is_touched: bool,
}

/// The ports, rings and memory of a worker.
pub(crate) struct Outlet {
    index: u16,
    pub(crate) pool: Pool,
    ports: Vec<Attached>,
    /// How a step looks at them.
    ways: Places,
    /// By port number: its place in `ports`; the first, where this worker has several queues.
    places: Vec<Option<u16>>,
    pub(crate) rings: Rings,
    pub(crate) counters: Arc<Counters>,
    /// Fragments and segments of the frame at hand; empty between two frames.
    pub(crate) pieces: Vec<Frame>,
    /// Whole packets that IPsec is about to protect; empty between two vectors.
    pub(crate) protecting: Vec<Frame>,
    /// Fragments of datagrams that are not whole yet: of IPv4, of IPv6.
    pub(crate) fragments: [Reassembly<()>; 2],
    /// The most bytes of the pool for the fragments of a family.
    fragment_bytes_max: usize,
    /// The settings for IPv4 fragments, as configured.
    fragments4: Option<Config>,
    /// What the firewall remembers, and what it tells about the packet at hand.
    pub(crate) memory: Memory,
    pub(crate) told: Told,
    /// What the worker's time is charged to.
    pub(crate) meter: Meter,
    /// Frames to be walked after the vector at hand.
    pub(crate) agenda: Agenda,
    /// Memory for bridging; none while frames are bridged.
    pub(crate) bridging: Option<Box<Bridging>>,
    /// What the tables of IP have made of the frame that is bridged at present.
    pub(crate) detoured: Option<Detoured>,
    /// Queues, and what waits in them here.
    pub(crate) queueing: Queueing,
    /// What services may still hand to control.
    pub(crate) limits: Limits,
    transmitted: u32,
    /// Copies of frames were queued by a mirror since all was transmitted.
    pub(crate) mirrored: bool,
    /// Packets handed to control, and the workers that were handed frames, since the last step.
    punted: u32,
    handed_to: u64,
}

/// The ways by which stages pass frames on. Stages name this trait in place of the stages that follow;
/// `outlet/dispatch.rs` implements it on top of all of them.
pub(crate) trait Dispatch {
    /// Passes a whole vector to an out. Returns false, with nothing changed, if frames wait in the out's port already,
    /// if the agenda has no room for all, or if only single frames can take the out.
    fn dispatch_vector(&mut self, cx: &Context<'_>, vector: &mut Vector, out: OutId) -> bool;

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
            told: Told::new(),
            meter: Meter::new(),
            agenda: Agenda::new(),
            bridging: Some(Bridging::new()),
            detoured: None,
            queueing: Queueing::default(),
            limits: Limits::new(),
            index,
            pool,
            fragments: [Config::V4, Config::V6].map(Reassembly::new),
            fragment_bytes_max: small / FRAGMENTS_SHARE,
            fragments4: None,
            ports: Vec::new(),
            ways: Places::default(),
            places: Vec::new(),
            rings,
            counters,
            pieces: Vec::with_capacity(frame::SEGMENTS_MAX),
            protecting: Vec::new(),
            transmitted: 0,
            mirrored: false,
            punted: 0,
            handed_to: 0,
        }
    }

    /// Gives fragments their settings: those of IPv4 as they are configured, for all workers together.
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

    /// Discards the fragments of datagrams that stay incomplete, under the reason that reassembly gives.
    pub(crate) fn discard_lost_fragments(&mut self) {
        for family in 0..self.fragments.len() {
            while let Some((frame, (), lost)) = self.fragments[family].take_lost() {
                self.discard(frame, DropReason::of_fragment(lost));
            }
        }
    }

    /// Who is to be woken: how many packets control was handed, and a bit for each worker that was
    /// handed frames, since the last call.
    pub(crate) fn take_wakes(&mut self) -> (u32, u64) {
        (
            core::mem::take(&mut self.punted),
            core::mem::take(&mut self.handed_to),
        )
    }

    /// A step ends, which did nothing or something.
    pub(crate) fn end_step(&mut self, did_nothing: bool) {
        let layer7 = self.memory.rules.take_stream_clocks();
        self.meter.end(did_nothing, layer7, &self.counters);
    }

    /// Takes a port's queue in.
    pub(crate) fn attach(&mut self, number: u16, port: Box<dyn Port>) {
        let member = self.ways.membership(port.crowd());
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

    /// Says how much of the pool ports and frames on their way take, so that holders leave that alone. Of quiet ports
    /// few have something at a time.
    fn reserve(&mut self) {
        let busy = self
            .ways
            .busy()
            .iter()
            .map(|place| &self.ports[usize::from(*place)]);
        let busy = busy.map(|one| one.port.slots() + QUEUE);
        let quiet = self.ways.quiet().min(QUIET) * (VECTOR_FRAMES + QUEUE);
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
        self.places.clear();
        self.ways.clear();
        for place in 0..self.ports.len() {
            self.put(place);
        }
        self.reserve();
    }

    /// Enters the port queue at this place, the last one, into the indexes.
    fn put(&mut self, place: usize) {
        let attached = &mut self.ports[place];
        let number = usize::from(attached.number);
        if self.places.len() <= number {
            self.places.resize(number + 1, None);
        }
        self.places[number].get_or_insert(place as u16);
        self.ways.put(place as u16, attached.member);
        attached.is_touched = false;
        if core::mem::take(&mut attached.is_due) {
            attached.is_due = true;
            self.ways.due.push(place as u16);
        }
    }

    /// Finds out which queues to receive from; gives how many there are.
    pub(crate) fn call(&mut self) -> usize {
        self.ways.call()
    }

    /// What to wait on: for each busy port.
    pub(crate) fn waits(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let busy = self.ways.busy().iter();
        busy.filter_map(|place| self.ports[usize::from(*place)].port.wait_fd())
    }

    /// The same for all quiet ones.
    pub(crate) fn crowds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ways.crowds()
    }

    /// Receives from a queue that [`Self::call`] has found. Returns the port's number.
    pub(crate) fn receive(&mut self, at: usize, into: &mut Vector) -> u16 {
        let place = self.ways.called(at);
        let attached = &mut self.ports[place];
        attached.port.receive(&mut self.pool, into);
        let number = attached.number;
        self.touch(place);
        number
    }

    /// The counters of a quiet port may have changed.
    fn touch(&mut self, place: usize) {
        let attached = &mut self.ports[place];
        if attached.member.is_some() && !attached.is_touched {
            attached.is_touched = true;
            self.ways.touched.push(place as u16);
        }
    }

    /// A port's queue, to put something into it.
    #[inline]
    fn queue(&mut self, port: u16) -> Option<&mut Vec<Frame>> {
        let place = self.places.get(usize::from(port)).copied().flatten()?;
        let attached = self.ports.get_mut(usize::from(place))?;
        if attached.member.is_some() && !attached.is_due {
            attached.is_due = true;
            self.ways.due.push(place);
            attached.frames = self.ways.take_memory(QUEUE);
        }
        Some(&mut attached.frames)
    }

    /// Returns the place of a port that every step polls.
    fn busy(&self, at: usize) -> Option<usize> {
        self.ways.busy().get(at).copied().map(usize::from)
    }

    fn attached(&mut self, port: u16) -> Option<&mut Attached> {
        let place = self.places.get(usize::from(port)).copied().flatten()?;
        self.ports.get_mut(usize::from(place))
    }

    /// A round begins.
    pub(crate) fn begin(&mut self) {
        for place in self.ways.busy().iter().copied().map(usize::from) {
            if let Some(offload) = self.ports[place].port.offload() {
                offload.begin();
            }
        }
    }

    /// What forwards flows of a port by itself.
    pub(crate) fn offload(&mut self, port: u16) -> Option<&mut dyn FlowOffload> {
        self.attached(port)?.port.offload()
    }

    /// Whether packets of connections may go by shortcuts.
    pub(crate) fn gathers(&mut self) -> bool {
        let mut busy = self.ways.busy().iter().copied().map(usize::from);
        busy.any(|place| {
            { self.ports[place].port.offload() }.is_some_and(|offload| offload.gathers())
        })
    }

    /// Whether frames wait in a port for its next flush.
    pub(crate) fn is_sending(&self) -> bool {
        let mut busy = self.ways.busy().iter().copied().map(usize::from);
        busy.any(|place| self.ports[place].port.is_sending())
    }

    /// Counts for connections what went by their shortcuts.
    pub(crate) fn gather(&mut self, now: Tick) {
        let tracker = &mut self.memory.tracker;
        for place in self.ways.busy().iter().copied().map(usize::from) {
            let offload = self.ports[place].port.offload();
            let Some(offload) = offload.filter(|offload| offload.gathers()) else {
                continue;
            };
            offload.gather(Some(now.0), &mut |gathered| tracker.gather(&gathered, now));
        }
    }

    /// Ends the shortcuts of connections that ended.
    pub(crate) fn end_shortcuts(&mut self) {
        while let Some(tuple) = self.memory.tracker.take_ended() {
            let (between, service) = (tuple.between(), tuple.service());
            // All ports install into the same table.
            for place in self.ways.busy().iter().copied().map(usize::from) {
                if let Some(offload) = self.ports[place].port.offload() {
                    offload.remove(&between, &service);
                    break;
                }
            }
        }
    }

    /// Discards a frame that its egress interface cannot send.
    pub(crate) fn lose(&mut self, frame: Frame, reason: DropReason) {
        self.counters.interface(frame.egress).tx_drop.add(1);
        self.discard(frame, reason);
    }

    /// Which of how many workers this is.
    pub(crate) fn place_among(&self) -> (u16, usize) {
        (self.index, self.rings.to.len())
    }

    /// Hands a frame to another worker. Returns the frame and the reason if the ring takes no frame.
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

    /// Counts what ports lost since the last call, before it reached us.
    pub(crate) fn count_losses(&mut self, cx: &Context<'_>) {
        let mut at = 0;
        while let Some(place) = self.busy(at) {
            self.count_losses_of(cx, place);
            at += 1;
        }
        while let Some(place) = self.ways.touched.pop() {
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

    /// Discards a packet.
    pub(crate) fn discard(&mut self, frame: Frame, reason: DropReason) {
        self.counters.dropped(reason);
        if frame.ingress != InterfaceId::NONE {
            self.counters.interface(frame.ingress).rx_drop.add(1);
        }
        self.pool.free(frame);
    }

    /// Gives everything back before the worker goes.
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
