//! The queues of ports that a worker has attached, in the order in which a step polls them.

use std::os::fd::BorrowedFd;

use frame::shortcut::FlowOffload;
use frame::{Frame, Pool, Port, PortCounters, VECTOR_FRAMES, Vector};

use crate::connection::{Tick, Tracker};
use crate::poll_set::{Membership, PollSet};
use crate::rings::RING;

/// Frames that wait for one transmission: as many as a vector has. The queue takes over the memory
/// of a vector whose frames all go to one port.
pub(super) const QUEUE: usize = VECTOR_FRAMES;
/// Number of quiet ports with frames at a time, for the reserve of the pool.
const QUIET: usize = 8;

/// A port's queue that this worker has attached.
pub(super) struct Attached {
    pub(super) number: u16,
    pub(super) port: Box<dyn Port>,
    pub(super) frames: Vec<Frame>,
    /// The port's counters at the last reading.
    pub(super) counted: PortCounters,
    /// Membership of a quiet port, and whether the lists of due and touched ports contain the port.
    pub(super) member: Option<Membership>,
    pub(super) is_due: bool,
    pub(super) is_touched: bool,
}

/// The attached queues.
#[derive(Default)]
pub(crate) struct Ports {
    pub(super) attached: Vec<Attached>,
    /// Order in which a step polls the ports.
    pub(super) poll_set: PollSet,
    /// Position in `attached` by port number; the first, where this worker has several queues of the
    /// port.
    positions: Vec<Option<u16>>,
    pub(super) transmitted: u32,
    /// A mirror has queued copies since the last transmission.
    pub(crate) mirrored: bool,
}

impl Ports {
    /// Returns the position of a port in the attached queues.
    #[inline(always)]
    pub(super) fn position(&self, port: u16) -> Option<usize> {
        let place = self.positions.get(usize::from(port)).copied().flatten();
        place.map(usize::from)
    }

    /// Closes all ports.
    pub(super) fn close(&mut self, now: Tick, pool: &mut Pool, tracker: &mut Tracker) {
        while let Some(attached) = self.attached.last() {
            self.detach(attached.number, now, pool, tracker);
        }
    }

    /// Attaches a port's queue.
    pub(crate) fn attach(&mut self, number: u16, port: Box<dyn Port>, pool: &mut Pool) {
        let member = self.poll_set.membership(port.crowd());
        let place = self.attached.len();
        self.attached.push(Attached {
            number,
            port,
            frames: Vec::with_capacity(if member.is_some() { 0 } else { QUEUE }),
            counted: PortCounters::default(),
            member,
            is_due: false,
            is_touched: false,
        });
        self.put(place);
        self.reserve(pool);
    }

    /// Reserves the part of the pool that ports and frames in flight need, so that holders leave it
    /// free. Few quiet ports have frames at a time.
    fn reserve(&mut self, pool: &mut Pool) {
        let busy = self
            .poll_set
            .busy()
            .iter()
            .map(|place| &self.attached[usize::from(*place)]);
        let busy = busy.map(|one| one.port.slots() + QUEUE);
        let quiet = self.poll_set.quiet().min(QUIET) * (VECTOR_FRAMES + QUEUE);
        let taken = busy.sum::<usize>() + quiet + RING + VECTOR_FRAMES;
        pool.reserve(taken);
    }

    /// Closes all queues of a port.
    pub(crate) fn detach(
        &mut self,
        number: u16,
        now: Tick,
        pool: &mut Pool,
        tracker: &mut Tracker,
    ) {
        for attached in &mut self.attached {
            if attached.number == number {
                if let Some(offload) = attached.port.offload() {
                    offload.gather(None, &mut |gathered| tracker.gather(&gathered, now));
                }
                let sent = attached.port.transmit(pool, &mut attached.frames);
                self.transmitted += sent.sent;
                attached.port.close(pool);
            }
        }
        self.attached.retain(|attached| attached.number != number);
        self.positions.clear();
        self.poll_set.clear();
        for place in 0..self.attached.len() {
            self.put(place);
        }
        self.reserve(pool);
    }

    /// Adds the port queue at this position to the indexes.
    fn put(&mut self, place: usize) {
        let attached = &mut self.attached[place];
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
        busy.filter_map(|place| self.attached[usize::from(*place)].port.wait_fd())
    }

    /// Returns the file descriptors that stand for all quiet ports to wait on.
    pub(crate) fn crowds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.poll_set.crowds()
    }

    /// Receives from a queue that [`Self::call`] found. Returns the port's number.
    pub(crate) fn receive(&mut self, at: usize, into: &mut Vector, pool: &mut Pool) -> u16 {
        let place = self.poll_set.called(at);
        let attached = &mut self.attached[place];
        attached.port.receive(pool, into);
        let number = attached.number;
        self.touch(place);
        number
    }

    /// Records that the counters of a quiet port may have changed.
    pub(super) fn touch(&mut self, place: usize) {
        let attached = &mut self.attached[place];
        if attached.member.is_some() && !attached.is_touched {
            attached.is_touched = true;
            self.poll_set.touched.push(place as u16);
        }
    }

    /// Returns the transmit queue of a port.
    #[inline]
    pub(super) fn queue(&mut self, port: u16) -> Option<&mut Vec<Frame>> {
        let place = self.positions.get(usize::from(port)).copied().flatten()?;
        let attached = self.attached.get_mut(usize::from(place))?;
        if attached.member.is_some() && !attached.is_due {
            attached.is_due = true;
            self.poll_set.due.push(place);
            attached.frames = self.poll_set.take_memory(QUEUE);
        }
        Some(&mut attached.frames)
    }

    /// Returns the place of a port that every step polls.
    pub(super) fn busy(&self, at: usize) -> Option<usize> {
        self.poll_set.busy().get(at).copied().map(usize::from)
    }

    pub(super) fn of(&mut self, port: u16) -> Option<&mut Attached> {
        let place = self.positions.get(usize::from(port)).copied().flatten()?;
        self.attached.get_mut(usize::from(place))
    }

    /// Begins a round in the flow offload of each busy port.
    pub(crate) fn begin(&mut self) {
        for place in self.poll_set.busy().iter().copied().map(usize::from) {
            if let Some(offload) = self.attached[place].port.offload() {
                offload.begin();
            }
        }
    }

    /// Returns the flow offload of a port.
    pub(crate) fn offload(&mut self, port: u16) -> Option<&mut dyn FlowOffload> {
        self.of(port)?.port.offload()
    }

    /// Returns true if connections may have shortcuts.
    pub(crate) fn gathers(&mut self) -> bool {
        let mut busy = self.poll_set.busy().iter().copied().map(usize::from);
        busy.any(|place| {
            { self.attached[place].port.offload() }.is_some_and(|offload| offload.gathers())
        })
    }

    /// Returns true if frames wait in a port for its next flush.
    pub(crate) fn is_sending(&self) -> bool {
        let mut busy = self.poll_set.busy().iter().copied().map(usize::from);
        busy.any(|place| self.attached[place].port.is_sending())
    }

    /// Adds the traffic of shortcuts to the counters of their connections.
    pub(crate) fn gather(&mut self, now: Tick, tracker: &mut Tracker) {
        for place in self.poll_set.busy().iter().copied().map(usize::from) {
            let offload = self.attached[place].port.offload();
            let Some(offload) = offload.filter(|offload| offload.gathers()) else {
                continue;
            };
            offload.gather(Some(now.0), &mut |gathered| tracker.gather(&gathered, now));
        }
    }

    /// Ends the shortcuts of ended connections.
    pub(crate) fn end_shortcuts(&mut self, tracker: &mut Tracker) {
        while let Some(tuple) = tracker.take_ended() {
            let (between, service) = (tuple.between(), tuple.service());
            // All ports install into one table.
            for place in self.poll_set.busy().iter().copied().map(usize::from) {
                if let Some(offload) = self.attached[place].port.offload() {
                    offload.remove(&between, &service);
                    break;
                }
            }
        }
    }
}

impl core::fmt::Debug for Ports {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.attached.len().fmt(f)
    }
}
