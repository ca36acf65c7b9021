//! Scripts of events for the machines: bytes that say what happens, and when.

use machine::{Duration, Instant, Machine};

/// Iterates over the events of a script.
pub(crate) fn events(script: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = script;
    core::iter::from_fn(move || {
        let (&what, tail) = rest.split_first()?;
        let (&len, tail) = tail.split_first().unwrap_or((&0, &[]));
        let (data, tail) = tail.split_at_checked(len.into()).unwrap_or((tail, &[]));
        rest = tail;
        Some((what, data))
    })
}

/// Returns the time after an event: mostly none, sometimes a minute.
pub(crate) fn span(data: &[u8]) -> Duration {
    match data.last() {
        Some(&byte) if byte >= 0xf0 => Duration::from_secs(4 * u64::from(byte & 15)),
        Some(&byte) if byte >= 0xe0 => Duration::from_millis(100 * u64::from(byte & 15)),
        _ => Duration::ZERO,
    }
}

/// Checks that no timer is due after a tick.
pub(crate) fn quiet<M: Machine>(machine: &M, now: Instant) {
    assert!(
        machine.deadline().is_none_or(|(due, _)| due > now),
        "a tick leaves nothing undone"
    );
}
