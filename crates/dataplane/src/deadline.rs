//! The next wake-up time of a worker: the earliest deadline of several sources.

use machine::{Duration, Instant};

use crate::connection::Tick;
use crate::outlet::Outlet;

/// Interval at which shortcut counters are gathered: a full round takes several calls, within a
/// second.
const GATHERING: Duration = Duration::from_millis(60);

/// Wake-up interval for a device with frames in its queue: about the time to send 100 frames of
/// 1,500 bytes at 10 Gbit/s.
const SENDING: Duration = Duration::from_micros(100);

/// Returns the earliest deadline of a worker whose last step was at `now`; `None` without one.
///
/// Each component that delays frames or has timers is a source here. A component must complete its
/// due work in the step at its deadline; otherwise the worker would spin.
pub(crate) fn deadline(outlet: &mut Outlet, now: Instant) -> Option<Instant> {
    let queues = outlet.queueing.deadline(now);
    let agenda = (!outlet.agenda.is_empty()).then_some(now);
    let gathering = outlet.ports.gathers().then(|| now + GATHERING);
    let sending = outlet.ports.is_sending().then(|| now + SENDING);
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
