//! Implements [`Dispatch`] on top of all stages: sends frames to their outs, and transmits the
//! queues of ports.

use frame::{Frame, Vector};

use super::ports::QUEUE;
use super::{Dispatch, Outlet};
use crate::agenda::Item;
use crate::bond;
use crate::bridge;
use crate::drop::DropReason;
use crate::out::{Out, OutId};
use crate::queueing;
use crate::rings::Handed;
use crate::tap;
use crate::walk::{self, Context, Exit};

impl Dispatch for Outlet {
    #[inline]
    fn dispatch_vector(&mut self, cx: &Context<'_>, vector: &mut Vector, out: OutId) -> bool {
        match out.out() {
            Out::Port(port) => self
                .ports
                .queue(port)
                .is_some_and(|queue| vector.move_to(queue)),
            Out::Tunnel(slot) => self.agenda.put_vector(Item::Leaving(slot), vector),
            Out::Protect(slot) => {
                for frame in vector.frames_mut() {
                    frame.wait_for(slot);
                }
                self.agenda.put_vector(Item::Protecting, vector)
            }
            Out::Bond(slot) => {
                bond::leave(cx, vector.drain(), slot, self);
                true
            }
            Out::Bridge(slot) => {
                bridge::send_all(cx, slot, vector, self);
                true
            }
            Out::Queue(slot) => {
                for frame in vector.drain() {
                    queueing::leave(cx, frame, slot, self);
                }
                true
            }
            Out::Station(_) | Out::None => false,
        }
    }

    fn protect_vector(&mut self, vector: &mut Vector, outs: &[OutId]) -> bool {
        let slot = |out: Out| match out {
            Out::Protect(slot) => Some(slot),
            _ => None,
        };
        self.put_by_slots(Item::Protecting, vector, outs, slot)
    }

    fn encapsulate_vector(&mut self, vector: &mut Vector, outs: &[OutId]) -> bool {
        let slot = |out: Out| match out {
            Out::Tunnel(slot) => Some(slot),
            _ => None,
        };
        self.put_by_slots(Item::LeavingByMany, vector, outs, slot)
    }

    #[inline]
    fn dispatch_run(
        &mut self,
        cx: &Context<'_>,
        frames: &mut impl Iterator<Item = Frame>,
        count: usize,
        out: OutId,
    ) {
        if let Out::Bridge(slot) = out.out() {
            return bridge::send_some(cx, slot, frames, count, self);
        }
        if let Out::Bond(slot) = out.out() {
            return bond::leave(cx, frames.take(count), slot, self);
        }
        match out.as_port().and_then(|port| self.ports.queue(port)) {
            Some(queue) if queue.len() + count <= QUEUE => {
                queue.extend(frames.take(count));
            }
            _ => {
                for frame in frames.take(count) {
                    self.dispatch(cx, frame, out);
                }
            }
        }
    }

    fn dispatch(&mut self, cx: &Context<'_>, frame: Frame, out: OutId) {
        match out.out() {
            Out::Port(port) => self.send(cx, frame, port),
            Out::Tunnel(slot) => self.leave(Item::Leaving(slot), frame),
            Out::Protect(slot) => {
                let mut frame = frame;
                frame.wait_for(slot);
                self.leave(Item::Protecting, frame);
            }
            Out::Bond(slot) => bond::leave(cx, core::iter::once(frame), slot, self),
            Out::Station(slot) => walk::leave_station(cx, frame, slot, self),
            Out::Queue(slot) => queueing::leave(cx, frame, slot, self),
            Out::Bridge(slot) => {
                let mut frame = core::iter::once(frame);
                bridge::send_some(cx, slot, &mut frame, 1, self);
            }
            Out::None => self.lose(frame, DropReason::EgressDown),
        }
    }

    #[cold]
    fn settle(&mut self, cx: &Context<'_>, frame: Frame, exit: Exit) {
        walk::settle(cx, frame, exit, self);
    }

    fn route_own(&mut self, cx: &Context<'_>, frame: Frame) {
        walk::own(cx, frame, None, self);
    }

    fn route_own_all(&mut self, cx: &Context<'_>, frames: impl Iterator<Item = Frame>) {
        walk::own_all(cx, frames, self);
    }
}

impl Outlet {
    /// Queues a vector whose frames wait for the slots of their outs. Returns false if an out has no slot, or the
    /// agenda has no room for all frames.
    #[inline(always)]
    fn put_by_slots(
        &mut self,
        item: Item,
        vector: &mut Vector,
        outs: &[OutId],
        slot: impl Fn(Out) -> Option<u32>,
    ) -> bool {
        let is_of_item = |out: &OutId| slot(out.out()).is_some();
        if vector.len() != outs.len() || !outs.iter().all(is_of_item) {
            return false;
        }
        for (frame, out) in vector.frames_mut().iter_mut().zip(outs) {
            frame.wait_for(slot(out.out()).unwrap_or_default());
        }
        self.agenda.put_vector(item, vector)
    }

    /// Queues a frame for a port of this worker, or hands the frame to a worker with that port.
    fn send(&mut self, cx: &Context<'_>, frame: Frame, port: u16) {
        if let Some(place) = self.ports.position(port) {
            if self.ports.attached[place].frames.len() >= QUEUE {
                self.transmit(cx, place);
            }
            if let Some(queue) = self.ports.queue(port) {
                queue.push(frame);
            }
            return;
        }
        let workers = cx.snapshot.port(port).map_or(&[][..], |port| &port.workers);
        let lost = if workers.is_empty() {
            Some((frame, DropReason::EgressDown))
        } else {
            let owner = workers[usize::from(self.index) % workers.len()];
            self.hand(owner, Handed::Leaving(frame, port))
        };
        if let Some((frame, reason)) = lost {
            self.lose(frame, reason);
        }
    }

    /// Queues a frame on the agenda for a tunnel or for IPsec.
    #[cold]
    fn leave(&mut self, item: Item, frame: Frame) {
        if let Err(frame) = self.agenda.put(item, frame) {
            self.lose(frame, DropReason::AgendaFull);
        }
    }

    /// Queues a frame that another worker handed over for a port of this worker. Drops the frame if
    /// the port is gone.
    pub(crate) fn send_own(&mut self, cx: &Context<'_>, frame: Frame, port: u16) {
        if self.ports.of(port).is_some() {
            self.send(cx, frame, port);
        } else {
            self.discard(frame, DropReason::EgressDown);
        }
    }

    /// Transmits all queued frames. Returns the number of frames that ports took since the last
    /// call.
    pub(crate) fn transmit_all(&mut self, cx: &Context<'_>) -> u32 {
        self.transmit_queued(cx);
        if core::mem::take(&mut self.ports.mirrored) {
            // Mirror copies may be for a port that was already transmitted.
            self.transmit_queued(cx);
        }
        core::mem::take(&mut self.ports.transmitted)
    }

    fn transmit_queued(&mut self, cx: &Context<'_>) {
        let mut at = 0;
        while let Some(place) = self.ports.busy(at) {
            self.transmit(cx, place);
            at += 1;
        }
        while let Some(place) = self.ports.poll_set.due.pop() {
            let place = usize::from(place);
            self.transmit(cx, place);
            self.ports.touch(place);
            let attached = &mut self.ports.attached[place];
            attached.is_due = false;
            self.ports
                .poll_set
                .give_memory(core::mem::take(&mut attached.frames));
        }
    }

    fn transmit(&mut self, cx: &Context<'_>, place: usize) {
        let attached = &mut self.ports.attached[place];
        if attached.frames.is_empty() {
            attached.port.flush(&mut self.pool);
            return;
        }
        if cx.interfaces.taps().any() {
            let number = attached.number;
            let frames = core::mem::take(&mut attached.frames);
            tap::transmitted(cx, number, &frames, self);
            self.ports.attached[place].frames = frames;
        }
        let attached = &mut self.ports.attached[place];
        let result = attached.port.transmit(&mut self.pool, &mut attached.frames);
        self.ports.transmitted += result.sent;
        if result.dropped > 0 {
            let number = attached.number;
            self.counters
                .dropped_many(DropReason::PortFull, u64::from(result.dropped));
            if let Some(binding) = cx.snapshot.port(number) {
                let counters = self.counters.interface(binding.interface);
                counters.tx_drop.add(u64::from(result.dropped));
            }
        }
    }

    /// Counts packets that ports have lost since the last call, before the worker received them.
    pub(crate) fn count_losses(&mut self, cx: &Context<'_>) {
        let mut at = 0;
        while let Some(place) = self.ports.busy(at) {
            self.count_losses_of(cx, place);
            at += 1;
        }
        while let Some(place) = self.ports.poll_set.touched.pop() {
            self.ports.attached[usize::from(place)].is_touched = false;
            self.count_losses_of(cx, place.into());
        }
    }

    fn count_losses_of(&mut self, cx: &Context<'_>, place: usize) {
        let attached = &mut self.ports.attached[place];
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
}
