//! Queues: who may send how much, and what waits meanwhile.
//!
//! Everything here is a value: time is passed in, and what a packet carries is the caller's business.

mod discipline;
mod kind;
mod packet;

pub use discipline::Discipline;
pub use kind::{
    Cake, CakeFlows, CakeTins, Classify, Codel, Delay, Fifo, FqCodel, Kind, Line, Lost, Pcq, Red,
    Sfq,
};
pub use packet::{Carried, Packet};
