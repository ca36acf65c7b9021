//! The basis of all protocols: state machines without I/O, time passed as an argument, and a seedable random
//! source.
//!
//! A machine owns no socket, no thread and no clock. The router runs it in real time, the crate `sim` in
//! virtual time, and fuzzers with generated events. Equal events at equal times always give equal actions.

#![no_std]
#![forbid(unsafe_code)]

mod half_open;
mod instant;
mod rng;
mod small_map;

pub use core::time::Duration;
pub use half_open::HalfOpen;
pub use instant::Instant;
pub use rng::Rng;
pub use small_map::{SmallMap, SmallSet};

extern crate alloc;
use alloc::vec::Vec;

/// A protocol as a state machine: no socket, no thread, no clock, no global state.
///
/// The owner passes events, executes the actions that the machine appends to `out` in order, and calls `tick`
/// at `deadline`.
pub trait Machine {
    /// An input: a frame, a change of configuration, a decision of the owner.
    type Event<'a>;
    /// An output for the owner to execute: send bytes, bring a session up, write a log entry.
    type Action;
    /// The names of the machine's timers.
    type Timer: core::fmt::Debug;

    /// Handles one event. Invalid bytes from the wire never cause a failure: they are counted and dropped.
    fn handle(&mut self, event: Self::Event<'_>, now: Instant, out: &mut Vec<Self::Action>);

    /// Handles expired timers. Does nothing if no timer has expired, so the owner may call it at any time.
    fn tick(&mut self, now: Instant, out: &mut Vec<Self::Action>);

    /// Returns the time of the next `tick`, and the timer that expires then.
    fn deadline(&self) -> Option<(Instant, Self::Timer)>;
}
