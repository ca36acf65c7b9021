//! The worker: receive, walk, transmit.
//!
//! A worker is a value. The program gives each a thread and calls [`Worker::step`] in a loop; a simulation steps
//! several in turn. A step takes no lock, allocates nothing, and makes no system call except those of its ports,
//! once per vector.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use arc_swap::{ArcSwap, Cache};
use frame::{Frame, Pool, VECTOR_FRAMES, Vector};
use machine::Instant;

use crate::agenda::Item;
use crate::bridge;
use crate::connection::{Tick, Tracker};
use crate::counters::Counters;
use crate::deadline;
use crate::drop::DropReason;
use crate::encap;
use crate::firewall::Firewall;
use crate::generator::Generation;
use crate::handover;
use crate::interface::{Above, InterfaceTable};
use crate::ipsec;
use crate::meter::Facility;
use crate::outlet::Outlet;
use crate::profile::Subject;
use crate::queueing;
use crate::rings::{Command, Handed, Rings};
use crate::rule::{Clock, StreamState};
use crate::snapshot::{Role, Snapshot};
use crate::table::Fib;
use crate::table::grace::Reader;
use crate::walk::{self, Context, Entry, Scratch};
use crate::zone;

/// Maximum number of commands, and of handed-over frames, per step, so that the ports are not starved.
const PER_STEP: usize = 256;
/// Frames of the agenda that are walked per vector of a port: full vectors for more than the nesting depth of tunnels.
/// Frames of different tunnels share no vector, so that a vector may hold one frame.
const PER_AGENDA: usize = 32 * VECTOR_FRAMES;
/// Maximum number of connections whose timeout is checked per 64th of a second: 65,536 a second.
const PER_TICK: usize = 1024;

/// The parts that a worker is built from.
#[derive(Debug)]
pub struct Parts {
    /// Number of the worker, from 0.
    pub index: u16,
    /// The worker's pool. All pools of a router belong to one group.
    pub pool: Pool,
    /// The current snapshot, published by control.
    pub snapshot: Arc<ArcSwap<Snapshot>>,
    /// Interfaces.
    pub interfaces: Arc<InterfaceTable>,
    /// Routes and next hops.
    pub fib: Arc<Fib>,
    /// Registration in the grace period of the tables (`fib.grace.reader()`).
    pub reader: Reader,
    /// The worker's ends of the rings.
    pub rings: Rings,
    /// The worker's counters.
    pub counters: Arc<Counters>,
    /// The worker's connections.
    pub tracker: Tracker,
    /// Time of day in milliseconds since 1970 UTC, until [`Worker::set_unix_ms`] sets it again.
    pub unix_ms: u64,
}

/// The work of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Frames received from ports.
    pub received: u32,
    /// Frames taken from other workers.
    pub handed: u32,
    /// Commands executed.
    pub commands: u32,
    /// Frames that ports took.
    pub transmitted: u32,
    /// Packets handed to control, which may be asleep.
    pub punted: u32,
    /// Batches passed to the tasks of byte streams, which may be asleep.
    pub streamed: u32,
    /// Packets taken from byte streams.
    pub unstreamed: u32,
    /// Frames are queued for the walk in the next step.
    pub waiting: bool,
    /// Workers that were handed frames, one bit each by index. They may be asleep.
    pub handed_to: u64,
}

impl Step {
    /// Returns true if the step had no work. After several such steps in a row the caller may sleep
    /// (`Worker::sleep`, then wait on `Worker::waits` and `Worker::crowds`).
    pub fn is_idle(&self) -> bool {
        *self == Self::default()
    }
}

/// A worker: its ports, memory and connections.
pub struct Worker {
    index: u16,
    snapshot: Cache<Arc<ArcSwap<Snapshot>>, Arc<Snapshot>>,
    interfaces: Arc<InterfaceTable>,
    fib: Arc<Fib>,
    reader: Reader,
    outlet: Outlet,
    /// The running test of the traffic generator.
    generation: Option<Box<Generation>>,
    scratch: Box<Scratch>,
    vector: Vector,
    /// Frames of a steered port that stay on this worker, and handed-over frames, grouped by port.
    kept: Vector,
    /// Time of day in milliseconds since 1970 UTC.
    unix_ms: u64,
    /// Times of the last step, and of the last check for expired connections.
    now: Instant,
    tick: Tick,
    /// The firewall whose settings the connections use.
    firewall: Arc<Firewall>,
}

impl Worker {
    /// Creates a worker without ports; commands attach them.
    pub fn new(parts: Parts) -> Self {
        Self {
            index: parts.index,
            snapshot: Cache::new(parts.snapshot),
            interfaces: parts.interfaces,
            fib: parts.fib,
            reader: parts.reader,
            outlet: Outlet::new(
                parts.index,
                parts.pool,
                parts.rings,
                parts.counters,
                parts.tracker,
            ),
            generation: None,
            scratch: Scratch::new(),
            vector: Vector::new(),
            kept: Vector::new(),
            unix_ms: parts.unix_ms,
            now: Instant::ZERO,
            tick: Tick::default(),
            firewall: Arc::default(),
        }
    }

    /// Returns the worker's number.
    pub fn index(&self) -> u16 {
        self.index
    }

    /// Returns the worker's counters.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.outlet.counters
    }

    /// Returns the worker's outlet.
    #[cfg(test)]
    pub(crate) fn outlet(&mut self) -> &mut Outlet {
        &mut self.outlet
    }

    /// Returns the worker's connections.
    #[cfg(test)]
    pub(crate) fn tracker(&self) -> &Tracker {
        &self.outlet.memory.tracker
    }

    /// Returns the counter value up to which time is charged.
    #[cfg(test)]
    pub(crate) fn charged_until(&self) -> u64 {
        self.outlet.meter.charged_until()
    }

    /// Returns the file descriptors of busy ports to wait on.
    pub fn waits(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.outlet.ports.waits()
    }

    /// Returns the file descriptors that stand for all quiet ports to wait on ([`frame::Crowd`]). A
    /// descriptor stays the same while any of its ports exists.
    pub fn crowds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.outlet.ports.crowds()
    }

    /// Returns the worker's pool.
    pub fn pool(&mut self) -> &mut Pool {
        &mut self.outlet.pool
    }

    /// Sets the time of day in milliseconds since 1970 UTC, for rules and timestamp options. The
    /// caller sets it at least 16 times a second (RFC 1812, 4.3.3.8).
    pub fn set_unix_ms(&mut self, unix_ms: u64) {
        self.unix_ms = unix_ms;
    }

    /// Returns the milliseconds since midnight UTC.
    fn midnight_ms(&self) -> u32 {
        const DAY_MS: u64 = 86_400_000;
        (self.unix_ms % DAY_MS) as u32
    }

    /// Returns the time for rules.
    fn clock(&self, now: Instant, zone_seconds: i32) -> Clock {
        let unix_seconds = (self.unix_ms / 1_000) as i64;
        Clock::at(now, unix_seconds + i64::from(zone_seconds))
    }

    /// Runs one round at `now`: commands, frames from other workers, a vector of each port; then
    /// transmits all queued frames. All workers and control read one clock.
    pub fn step(&mut self, now: Instant) -> Step {
        self.now = now;
        self.outlet.meter.begin(&self.outlet.counters);
        self.outlet.ports.begin();
        self.reader.pass();
        let snapshot = Arc::clone(self.snapshot.load());
        let (interfaces, fib) = (Arc::clone(&self.interfaces), Arc::clone(&self.fib));
        self.outlet.memory.rules.clock = self.clock(now, snapshot.zone_seconds);
        let memory = &mut self.outlet.memory;
        if !Arc::ptr_eq(&self.firewall, &snapshot.firewall) {
            self.firewall = Arc::clone(&snapshot.firewall);
            memory.tracker.configure(&self.firewall.settings);
            let services = &self.firewall.services;
            let enabled = |helper| services.is_enabled(helper);
            memory.tracker.expect_only(enabled);
        }
        self.outlet.configure_fragments(snapshot.fragments4);
        let cx = Context {
            snapshot: &snapshot,
            interfaces: &interfaces,
            fib: &fib,
            now,
            midnight_ms: self.midnight_ms(),
        };
        queueing::learn(&cx, &mut self.outlet);
        let mut step = Step {
            commands: self.obey(&cx),
            handed: self.take_over(&cx),
            unstreamed: encap::stream::receive(&cx, &mut self.outlet),
            ..Step::default()
        };
        self.walk_agenda(&cx);
        for at in 0..self.outlet.ports.call() {
            let is_sampled = self.outlet.meter.begin_span(Subject::Interface);
            let number = self.outlet.receive(at, &mut self.vector);
            step.received += self.vector.len() as u32;
            self.measure(&cx, number);
            self.received(&cx, number);
            self.outlet.end_span(is_sampled);
            self.walk_agenda(&cx);
        }
        step.waiting = self.generate(&cx);
        step.waiting |= self.drain_queues(&cx) || !self.outlet.agenda.is_empty();
        self.look_after(&cx);
        step.transmitted = self.outlet.transmit_all(&cx);
        step.streamed = self.outlet.streams.take_passed();
        (step.punted, step.handed_to) = self.outlet.take_wakes();
        self.outlet.end_step(step.is_idle());
        step
    }

    /// Sends due frames of the traffic generator. Returns true if more are due at once.
    fn generate(&mut self, cx: &Context<'_>) -> bool {
        let Some(generation) = &mut self.generation else {
            return false;
        };
        let before = self.outlet.meter.turn(Facility::Networking);
        let is_due = generation.send(cx, &mut self.outlet);
        self.outlet.meter.turn(before);
        is_due
    }

    /// Takes the frames of the traffic generator's test out of a received vector.
    fn measure(&mut self, cx: &Context<'_>, port: u16) {
        let Some(generation) = &mut self.generation else {
            return;
        };
        let Some(binding) = cx.snapshot.port(port) else {
            return;
        };
        if binding.role != Role::Wire {
            return;
        }
        let Outlet { pool, counters, .. } = &mut self.outlet;
        let (frames, bytes) = generation.receive(&mut self.vector, pool, cx.now);
        counters.interface(binding.interface).rx.add(frames, bytes);
    }

    /// Sends packets that may leave their queues. Returns true if more may leave at once.
    fn drain_queues(&mut self, cx: &Context<'_>) -> bool {
        if self.outlet.queueing.is_empty() {
            return false;
        }
        let before = self.outlet.meter.turn(Facility::Queuing);
        queueing::drain(cx, &mut self.outlet);
        self.outlet.meter.turn(before);
        let next = self.outlet.queueing.deadline(cx.now);
        next.is_some_and(|next| next <= cx.now)
    }

    /// Runs timers, and the consequences of ended connections.
    fn look_after(&mut self, cx: &Context<'_>) {
        let tick = Tick::of(cx.now);
        if tick != self.tick {
            self.tick = tick;
            let before = self.outlet.meter.turn(Facility::Management);
            self.outlet.memory.tracker.tick(tick, PER_TICK);
            self.outlet.count_losses(cx);
            let Outlet { ports, memory, .. } = &mut self.outlet;
            ports.gather(tick, &mut memory.tracker);
            self.outlet.meter.turn(before);
        }
        walk::expire(cx.now, &mut self.outlet);
        while let Some(original) = self.outlet.memory.tracker.take_counted() {
            let tables = cx.snapshot.firewall.tables(original.ipv6);
            tables.leave(&original);
        }
        while let Some(kept) = self.outlet.memory.tracker.take_attached() {
            self.outlet.memory.rules.forget(StreamState(kept));
        }
        let Outlet { ports, memory, .. } = &mut self.outlet;
        ports.end_shortcuts(&mut memory.tracker);
    }

    /// Returns the time of the next step without new frames; `None` if nothing is due. A time in
    /// the past means now.
    pub fn deadline(&mut self) -> Option<Instant> {
        let outlet = deadline::deadline(&mut self.outlet, self.now);
        let generation = self.generation.as_ref().and_then(|test| test.deadline());
        outlet.into_iter().chain(generation).min()
    }

    /// Releases the shared tables until the next step, so that their writer need not wait. The
    /// caller calls it before sleeping.
    pub fn sleep(&mut self) {
        self.reader.sleep();
    }

    /// Closes all ports, and frees the frames in the rings.
    pub fn close(&mut self) {
        self.outlet.close(self.tick);
        while let Ok(command) = self.outlet.rings.commands.pop() {
            match command {
                Command::Transmit(frame)
                | Command::OnLink(frame)
                | Command::Output(frame)
                | Command::Probe(frame, _)
                | Command::Resume(frame, _) => self.outlet.pool.free(frame),
                Command::Attach { mut port, .. } => port.close(&mut self.outlet.pool),
                Command::Detach { .. }
                | Command::Forget(_)
                | Command::Purge(_)
                | Command::Generate(_) => {}
            }
        }
        let outlet = &mut self.outlet;
        for ring in outlet.rings.from.iter_mut().flatten() {
            while let Ok(handed) = ring.pop() {
                outlet.pool.free(handed.into_frame());
            }
        }
    }

    /// Executes commands of control. Returns their number.
    fn obey(&mut self, cx: &Context<'_>) -> u32 {
        if self.outlet.rings.commands.is_empty() {
            return 0;
        }
        let before = self.outlet.meter.turn(Facility::Management);
        let mut count = 0;
        while count < PER_STEP as u32
            && let Ok(command) = self.outlet.rings.commands.pop()
        {
            count += 1;
            match command {
                Command::Attach { number, port } => self.outlet.attach(number, port),
                Command::Detach { number } => self.outlet.detach(number, Tick::of(cx.now)),
                Command::Transmit(frame) => walk::transmit(cx, frame, &mut self.outlet),
                Command::OnLink(frame) => walk::on_link(cx, frame, &mut self.outlet),
                Command::Output(frame) => walk::own(cx, frame, None, &mut self.outlet),
                Command::Probe(frame, hop) => walk::own(cx, frame, Some(hop), &mut self.outlet),
                Command::Resume(frame, hop) => walk::resume(cx, frame, hop, &mut self.outlet),
                Command::Forget(id) => {
                    self.outlet.memory.tracker.remove(id);
                }
                Command::Purge(purge) => self.outlet.memory.tracker.purge(purge),
                Command::Generate(test) => self.generation = test,
            }
        }
        self.outlet.meter.turn(before);
        count
    }

    /// Receives the frames that other workers handed over. Returns their number.
    fn take_over(&mut self, cx: &Context<'_>) -> u32 {
        let mut count = 0;
        for worker in 0..self.outlet.rings.from.len() {
            let mut entry = Entry::Wire(0);
            for _ in 0..PER_STEP {
                let ring = self.outlet.rings.from[worker].as_mut();
                let Some(Ok(handed)) = ring.map(|ring| ring.pop()) else {
                    break;
                };
                count += 1;
                match handed {
                    Handed::Leaving(frame, port) => self.outlet.send_own(cx, frame, port),
                    Handed::Tunnelled(frame, slot) => {
                        if let Err(frame) = self.outlet.agenda.put(Item::Leaving(slot), frame) {
                            self.outlet.lose(frame, DropReason::AgendaFull);
                        }
                    }
                    Handed::Joining(frame, id) => {
                        encap::arrive(cx, core::iter::once(frame), 1, id, &mut self.outlet);
                    }
                    Handed::Own(frame, by) => walk::own_handed(cx, frame, by, &mut self.outlet),
                    Handed::Queued(packet, leaf) => {
                        queueing::queued(cx, packet, &leaf, &mut self.outlet);
                    }
                    Handed::Wire(frame, port) => {
                        self.keep(cx, frame, &mut entry, Entry::Wire(port));
                    }
                    Handed::Risen(frame) => {
                        let by = Entry::Risen(frame.ingress);
                        self.keep(cx, frame, &mut entry, by);
                    }
                    Handed::Arrived(frame) => {
                        let by = Entry::Arrived(frame.ingress);
                        self.keep(cx, frame, &mut entry, by);
                    }
                }
            }
            self.walk_kept(cx, entry);
        }
        count
    }

    /// Walks queued frames of the agenda, up to the limit of a step.
    fn walk_agenda(&mut self, cx: &Context<'_>) {
        let mut walked = 0;
        while walked < PER_AGENDA {
            let (vector, outlet) = (&mut self.vector, &mut self.outlet);
            let is_arrival = outlet.meter.begin_span(Subject::Interface);
            let item = outlet.agenda.take(vector);
            walked += vector.len();
            match item {
                Some(Item::Leaving(slot)) => {
                    let before = outlet.meter.turn(Facility::Networking);
                    let is_sampled = outlet.meter.begin_span(Subject::Tunnel);
                    if is_sampled {
                        outlet.meter.hit(u64::from(slot), vector.len() as u32);
                    }
                    let Scratch { nexts, targets, .. } = &mut *self.scratch;
                    encap::leave(cx, slot, vector, nexts, targets, outlet);
                    outlet.end_span(is_sampled);
                    outlet.meter.turn(before);
                }
                Some(Item::LeavingByMany) => {
                    let before = outlet.meter.turn(Facility::Networking);
                    let is_sampled = outlet.meter.begin_span(Subject::Tunnel);
                    if is_sampled {
                        outlet.hit_each(vector, |frame| frame.waits_for());
                    }
                    let Scratch { nexts, targets, .. } = &mut *self.scratch;
                    encap::leave_by_many(cx, vector, nexts, targets, outlet);
                    outlet.end_span(is_sampled);
                    outlet.meter.turn(before);
                }
                Some(Item::Protecting) => {
                    let before = outlet.meter.turn(Facility::Encrypting);
                    ipsec::protect(cx, vector, &mut self.scratch.nexts, outlet);
                    outlet.meter.turn(before);
                }
                Some(Item::Bridging(slot)) => {
                    let before = outlet.meter.turn(Facility::Bridging);
                    bridge::send_all(cx, slot, vector, outlet);
                    outlet.meter.turn(before);
                }
                Some(Item::Own) => {
                    for frame in vector.drain() {
                        walk::own(cx, frame, None, outlet);
                    }
                }
                Some(Item::Arrived(id)) => {
                    let entry = Entry::Arrived(id);
                    walk::vector(cx, entry, vector, &mut self.scratch, outlet);
                }
                Some(Item::Session(id, _)) => {
                    let entry = Entry::Arrived(id);
                    walk::vector(cx, entry, vector, &mut self.scratch, outlet);
                }
                Some(Item::Sessions(_)) => {
                    walk::vector(cx, Entry::Sessions, vector, &mut self.scratch, outlet);
                }
                Some(Item::Framed(id)) => {
                    let entry = Entry::Framed(id);
                    walk::vector(cx, entry, vector, &mut self.scratch, outlet);
                }
                None => break,
            }
            self.outlet.end_span(is_arrival);
        }
    }

    /// Collects a frame for a vector with one entry, after walking the collected frames of another
    /// entry.
    fn keep(&mut self, cx: &Context<'_>, frame: Frame, entry: &mut Entry, by: Entry) {
        if by != *entry || self.kept.is_full() {
            self.walk_kept(cx, *entry);
            *entry = by;
        }
        if let Err(frame) = self.kept.push(frame) {
            self.outlet.discard(frame, DropReason::HandoverFull);
        }
    }

    fn walk_kept(&mut self, cx: &Context<'_>, entry: Entry) {
        if !self.kept.is_empty() {
            walk::vector(
                cx,
                entry,
                &mut self.kept,
                &mut self.scratch,
                &mut self.outlet,
            );
        }
    }

    /// Processes the frames that a port received: packets of the host stack, frames to be spread
    /// over workers, or frames to be walked here.
    fn received(&mut self, cx: &Context<'_>, port: u16) {
        if self.vector.is_empty() {
            return;
        }
        let binding = cx.snapshot.port(port);
        match binding {
            Some(binding) if binding.role == Role::Mirror => {
                let before = self.outlet.meter.turn(Facility::Networking);
                for mut frame in self.vector.drain() {
                    frame.l3 = 0;
                    frame.egress = binding.interface;
                    walk::own(cx, frame, None, &mut self.outlet);
                }
                self.outlet.meter.turn(before);
            }
            Some(binding) if binding.role == Role::Shared => {
                let before = self.outlet.meter.turn(Facility::Networking);
                for mut frame in self.vector.drain() {
                    frame.l3 = 0;
                    let own = |id| cx.interfaces.details(id, zone::own_of).flatten();
                    frame.egress = zone::leave(&mut frame, own);
                    walk::own(cx, frame, None, &mut self.outlet);
                }
                self.outlet.meter.turn(before);
            }
            // Frames of a bridge port are bridged here; those for the router are spread afterwards.
            Some(binding)
                if binding.steer
                    && self.outlet.rings.to.len() > 1
                    && !is_port(cx, binding.interface) =>
            {
                self.steer(cx, port, binding.interface);
            }
            _ => {
                let (scratch, outlet) = (&mut self.scratch, &mut self.outlet);
                walk::vector(cx, Entry::Wire(port), &mut self.vector, scratch, outlet);
            }
        }
    }

    /// Hands frames to the workers of their flows.
    fn steer(&mut self, cx: &Context<'_>, port: u16, interface: frame::InterfaceId) {
        let ethernet = cx
            .interfaces
            .get(interface)
            .is_none_or(|interface| interface.ethernet);
        let workers = self.outlet.rings.to.len();
        for mut frame in self.vector.drain() {
            frame.ingress = interface;
            let flow = handover::hash(frame.bytes(), ethernet);
            frame.flow = flow.unwrap_or(0);
            let home = flow.map_or(self.index, |flow| handover::place(flow, workers));
            let lost = if home == self.index {
                let full = self.kept.push(frame).err();
                full.map(|frame| (frame, DropReason::HandoverFull))
            } else {
                self.outlet.hand(home, Handed::Wire(frame, port))
            };
            if let Some((frame, reason)) = lost {
                self.outlet.discard(frame, reason);
            }
        }
        self.walk_kept(cx, Entry::Wire(port));
    }
}

/// Returns true if an interface is a bridge port.
fn is_port(cx: &Context<'_>, interface: frame::InterfaceId) -> bool {
    let line = cx.interfaces.get(interface);
    line.is_some_and(|line| line.above == Above::Bridge)
}

impl core::fmt::Debug for Worker {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Worker")
            .field("index", &self.index)
            .field("outlet", &self.outlet)
            .finish_non_exhaustive()
    }
}
