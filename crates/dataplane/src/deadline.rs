//! When a worker wants to be stepped though nothing arrives: the earliest time of several sources.

use machine::{Duration, Instant};

use crate::connection::Tick;
use crate::outlet::Outlet;

/// What went by shortcuts is counted several times in the part of a second that a round of gathering takes.
const GATHERING: Duration = Duration::from_millis(60);

/// A device that frames wait for is woken again after a time in which it sends some (100 of 1,500 bytes at 10 Gbit/s).
const SENDING: Duration = Duration::from_micros(100);

/// The earliest time that something is due at, for a worker that was stepped last at `now`; none where nothing is.
///
/// Whatever holds frames for a time, or looks after something by the clock, is a source here, and does what is due
/// in the step at that time: else the worker would be stepped again and again.
pub(crate) fn deadline(outlet: &mut Outlet, now: Instant) -> Option<Instant> {
    let queues = outlet.queueing.deadline(now);
    let agenda = (!outlet.agenda.is_empty()).then_some(now);
    let gathering = outlet.gathers().then(|| now + GATHERING);
    let sending = outlet.is_sending().then(|| now + SENDING);
    let connections = outlet.memory.tracker.due_in(Tick::of(now));
    let connections = connections.map(|ticks| Tick::begins(now, ticks));
    let [fragments4, fragments6] = outlet.fragments.each_ref().map(|held| held.deadline());
    let sources = [
        agenda,
        queues,
        gathering,
        sending,
        connections,
        fragments4,
        fragments6,
    ];
    sources.into_iter().flatten().min()
}
