//! What every protocol of the router is made of: a state machine without I/O, a point in time that
//! is passed in, and a random source that starts from a seed.
//!
//! A machine owns no socket, no thread and no clock. The router runs it on real time, `sim` runs
//! the same machine on virtual time, and a fuzzer runs it on made-up events; the same events at the
//! same times always give the same actions.

#![no_std]
#![forbid(unsafe_code)]

mod instant;
mod rng;

pub use core::time::Duration;
pub use instant::Instant;
pub use rng::Rng;

extern crate alloc;
use alloc::vec::Vec;

/// A protocol as a value: no socket, no thread, no clock, no global.
///
/// Whoever owns it feeds it events, carries out the actions it appends to `out` in that order, and
/// comes back at `deadline`.
pub trait Machine {
    /// What can happen to it: a frame, a change of configuration, a decision of its owner.
    type Event<'a>;
    /// What it wants done: send these bytes, bring this session up, log this.
    type Action;
    /// Its timers, by name.
    type Timer: core::fmt::Debug;

    /// Takes one event. Bytes from the wire never make it fail: they are counted and forgotten.
    fn handle(&mut self, event: Self::Event<'_>, now: Instant, out: &mut Vec<Self::Action>);

    /// Does what is due at `now`. A call too early does nothing, so an owner may always call.
    fn tick(&mut self, now: Instant, out: &mut Vec<Self::Action>);

    /// When `tick` is next worth calling, and what for.
    fn deadline(&self) -> Option<(Instant, Self::Timer)>;
}
