//! Disciplines: how packets wait in a leaf. Each discipline keeps the packet order of every flow.

mod cake;
mod codel;
mod fifo;
mod flows;
mod fq_codel;
mod pcq;
mod red;
mod sfq;
#[cfg(test)]
mod tests;

use machine::Instant;

use crate::kind::{Kind, Lost};
use crate::packet::{Packet, Payload};
use cake::CakeTinsOf;
use codel::CodelLine;
use fifo::FifoLine;
use fq_codel::FqCodelLines;
use pcq::PcqLines;
use red::RedLine;
use sfq::SfqLines;

/// Callback for dropped packets.
pub(crate) type Losing<'a, T> = &'a mut dyn FnMut(Packet<T>, Lost);

/// Packets that wait in one leaf, in the manner of a [`Kind`].
#[derive(Debug)]
pub enum Discipline<T> {
    /// One queue.
    Fifo(FifoLine<T>),
    /// One queue with early random drops.
    Red(RedLine<T>),
    /// Queues per flow.
    Sfq(Box<SfqLines<T>>),
    /// Queues per stream, with rates.
    Pcq(Box<PcqLines<T>>),
    /// One queue with a controlled delay.
    Codel(Box<CodelLine<T>>),
    /// Queues per flow with a controlled delay.
    FqCodel(Box<FqCodelLines<T>>),
    /// Queues per class, host and flow.
    Cake(Box<CakeTinsOf<T>>),
}

/// Evaluates the same expression for every discipline.
macro_rules! each {
    ($of:expr, $line:ident => $act:expr) => {
        match $of {
            Self::Fifo($line) => $act,
            Self::Red($line) => $act,
            Self::Sfq($line) => $act,
            Self::Pcq($line) => $act,
            Self::Codel($line) => $act,
            Self::FqCodel($line) => $act,
            Self::Cake($line) => $act,
        }
    };
}

impl<T: Payload> Discipline<T> {
    /// Creates an empty discipline, which uses little memory until packets wait.
    pub fn new(kind: &Kind) -> Self {
        match kind {
            Kind::Fifo(settings) => Self::Fifo(FifoLine::new(*settings)),
            Kind::Red(settings) => Self::Red(RedLine::new(*settings)),
            Kind::Sfq(settings) => Self::Sfq(Box::new(SfqLines::new(*settings))),
            Kind::Pcq(settings) => Self::Pcq(Box::new(PcqLines::new(*settings))),
            Kind::Codel(settings) => Self::Codel(Box::new(CodelLine::new(*settings))),
            Kind::FqCodel(settings) => Self::FqCodel(Box::new(FqCodelLines::new(*settings))),
            Kind::Cake(settings) => Self::Cake(Box::new(CakeTinsOf::new(*settings))),
        }
    }

    /// Adds a packet. Packets that exceed a limit go to `lose`: this packet or another waiting packet.
    pub fn enqueue(&mut self, packet: Packet<T>, now: Instant, lose: Losing<'_, T>) {
        match self {
            Self::Fifo(line) => line.enqueue(packet, lose),
            Self::Red(line) => line.enqueue(packet, now, lose),
            Self::Sfq(lines) => lines.enqueue(packet, now, lose),
            Self::Pcq(lines) => lines.enqueue(packet, now, lose),
            Self::Codel(line) => line.enqueue(packet, now, lose),
            Self::FqCodel(lines) => lines.enqueue(packet, now, lose),
            Self::Cake(tins) => tins.enqueue(packet, now, lose),
        }
    }

    /// Returns the next packet if one may be sent now. Packets that the discipline drops go to `lose`.
    pub fn dequeue(&mut self, now: Instant, lose: Losing<'_, T>) -> Option<Packet<T>> {
        match self {
            Self::Fifo(line) => line.dequeue(),
            Self::Red(line) => line.dequeue(now),
            Self::Sfq(lines) => lines.dequeue(),
            Self::Pcq(lines) => lines.dequeue(now),
            Self::Codel(line) => line.dequeue(now, lose),
            Self::FqCodel(lines) => lines.dequeue(now, lose),
            Self::Cake(tins) => tins.dequeue(now, lose),
        }
    }

    /// Removes a packet independently of delay and rate.
    fn pop(&mut self, now: Instant) -> Option<Packet<T>> {
        match self {
            Self::Fifo(line) => line.dequeue(),
            Self::Red(line) => line.dequeue(now),
            Self::Sfq(lines) => lines.dequeue(),
            Self::Pcq(lines) => lines.pop(),
            Self::Codel(line) => line.pop(),
            Self::FqCodel(lines) => lines.pop(),
            Self::Cake(tins) => tins.pop(),
        }
    }

    /// Returns when the next packet may be sent, or `None` if no packet waits. A time up to `now` means at
    /// once.
    pub fn ready(&self, now: Instant) -> Option<Instant> {
        match self {
            Self::Pcq(lines) => lines.ready(now),
            Self::Cake(tins) => tins.ready(now),
            _ => (self.packets() > 0).then_some(now),
        }
    }

    /// Returns the number of waiting packets.
    pub fn packets(&self) -> u32 {
        each!(self, lines => lines.packets())
    }

    /// Returns the number of waiting bytes.
    pub fn bytes(&self) -> u64 {
        each!(self, lines => lines.bytes())
    }

    /// Returns the number of streams of a PCQ, and 0 for other disciplines.
    pub fn streams(&self) -> u32 {
        match self {
            Self::Pcq(lines) => lines.streams(),
            _ => 0,
        }
    }

    /// Changes the discipline. Waiting packets of a flow keep their order.
    pub fn reconfigure(&mut self, kind: &Kind, now: Instant, lose: Losing<'_, T>) {
        let mut old = core::mem::replace(self, Self::new(kind));
        while let Some(packet) = old.pop(now) {
            self.enqueue(packet, now, lose);
        }
    }
}
