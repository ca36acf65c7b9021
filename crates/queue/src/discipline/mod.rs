//! Disciplines: how packets wait within a leaf. Each keeps the order of every flow.

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
use crate::packet::{Carried, Packet};
use cake::CakeTinsOf;
use codel::CodelLine;
use fifo::FifoLine;
use fq_codel::FqCodelLines;
use pcq::PcqLines;
use red::RedLine;
use sfq::SfqLines;

/// Who takes packets that do not go on.
pub(crate) type Losing<'a, T> = &'a mut dyn FnMut(Packet<T>, Lost);

/// Packets that wait, in the manner of a [`Kind`].
#[derive(Debug)]
pub enum Discipline<T> {
    /// One line.
    Fifo(FifoLine<T>),
    /// One line from which packets are dropped early.
    Red(RedLine<T>),
    /// Lines by flow.
    Sfq(Box<SfqLines<T>>),
    /// Lines by stream, with rates.
    Pcq(Box<PcqLines<T>>),
    /// One line with a controlled delay.
    Codel(Box<CodelLine<T>>),
    /// Lines by flow with a controlled delay.
    FqCodel(Box<FqCodelLines<T>>),
    /// Lines by host and flow, by class.
    Cake(Box<CakeTinsOf<T>>),
}

/// The same of whichever discipline it is.
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

impl<T: Carried> Discipline<T> {
    /// Nothing waits yet; little memory is taken before something does.
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

    /// Takes a packet in. What finds no room goes to `lose`, be it this packet or another one that waited.
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

    /// The next packet, if one may go now; what the discipline drops instead goes to `lose`.
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

    /// A packet, whatever the discipline thinks of its delay and its rate.
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

    /// When the next packet may go: a time that is not later than `now` if at once, none where nothing waits.
    pub fn ready(&self, now: Instant) -> Option<Instant> {
        match self {
            Self::Pcq(lines) => lines.ready(now),
            Self::Cake(tins) => tins.ready(now),
            _ => (self.packets() > 0).then_some(now),
        }
    }

    /// How many packets wait.
    pub fn packets(&self) -> u32 {
        each!(self, lines => lines.packets())
    }

    /// How many bytes wait.
    pub fn bytes(&self) -> u64 {
        each!(self, lines => lines.bytes())
    }

    /// How many streams a PCQ has at present; of others 0.
    pub fn streams(&self) -> u32 {
        match self {
            Self::Pcq(lines) => lines.streams(),
            _ => 0,
        }
    }

    /// Packets wait in another manner from now on; those of a flow stay in their order.
    pub fn reconfigure(&mut self, kind: &Kind, now: Instant, lose: Losing<'_, T>) {
        let mut old = core::mem::replace(self, Self::new(kind));
        while let Some(packet) = old.pop(now) {
            self.enqueue(packet, now, lose);
        }
    }
}
