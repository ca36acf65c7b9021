//! Disciplines: how packets wait within a leaf. Each keeps the order of every flow.

mod fifo;

use machine::Instant;

use crate::kind::{Kind, Lost};
use crate::packet::{Carried, Packet};
use fifo::FifoLine;

/// Who takes packets that do not go on.
pub(crate) type Losing<'a, T> = &'a mut dyn FnMut(Packet<T>, Lost);

/// Packets that wait, in the manner of a [`Kind`].
#[derive(Debug)]
pub enum Discipline<T> {
    /// One line.
    Fifo(FifoLine<T>),
}

impl<T: Carried> Discipline<T> {
    /// Nothing waits yet; no memory is taken before something does.
    pub fn new(kind: &Kind) -> Self {
        match kind {
            Kind::Fifo(fifo) => Self::Fifo(FifoLine::new(*fifo)),
            _ => Self::Fifo(FifoLine::new(crate::kind::Fifo {
                packets: 50,
                bytes: u64::MAX,
            })),
        }
    }

    /// Takes a packet in. What finds no room goes to `lose`, be it this packet or another one that waited.
    pub fn enqueue(&mut self, packet: Packet<T>, _now: Instant, lose: Losing<'_, T>) {
        match self {
            Self::Fifo(line) => line.enqueue(packet, lose),
        }
    }

    /// The next packet, if one may go now; what the discipline drops instead goes to `lose`.
    pub fn dequeue(&mut self, _now: Instant, _lose: Losing<'_, T>) -> Option<Packet<T>> {
        match self {
            Self::Fifo(line) => line.dequeue(),
        }
    }

    /// When the next packet may go: a time that is not later than `now` if at once, none where nothing waits.
    pub fn ready(&self, now: Instant) -> Option<Instant> {
        (self.packets() > 0).then_some(now)
    }

    /// How many packets wait.
    pub fn packets(&self) -> u32 {
        match self {
            Self::Fifo(line) => line.packets(),
        }
    }

    /// How many bytes wait.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Fifo(line) => line.bytes(),
        }
    }

    /// How many streams a PCQ has at present; of others 0.
    pub fn streams(&self) -> u32 {
        0
    }

    /// Packets wait in another manner from now on, in their order.
    pub fn reconfigure(&mut self, kind: &Kind, now: Instant, lose: Losing<'_, T>) {
        let mut old = core::mem::replace(self, Self::new(kind));
        while let Some(packet) = old.dequeue(now, lose) {
            self.enqueue(packet, now, lose);
        }
    }
}
