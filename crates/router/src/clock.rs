//! The time of day of a router, shared between control and the features that read it.
//!
//! The owner of the router reads the system's clock and passes the time in: first in [`crate::drive::Setup`], then by
//! [`crate::drive::Control::set_clock`]. A [`DayClock`] is created with a time, so that readers see a valid time from
//! the first configuration on. Readers keep a clone of the clock, and never store a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, Ordering};

use menu::Clock;

const SECOND: i64 = 1_000_000_000;

/// The time of day. All clones show the same time.
#[derive(Clone, Debug)]
pub struct DayClock(Arc<Cells>);

/// Control is the only writer; a reader on another thread may see a new time with the previous zone offset.
#[derive(Debug)]
struct Cells {
    unix_nanos: AtomicI64,
    offset_seconds: AtomicI32,
    daylight: AtomicBool,
}

impl DayClock {
    /// Creates a clock that shows this time until control sets another one.
    pub fn new(time: Clock) -> Self {
        Self(Arc::new(Cells {
            unix_nanos: AtomicI64::new(unix_nanos(time)),
            offset_seconds: AtomicI32::new(time.offset_seconds),
            daylight: AtomicBool::new(time.daylight),
        }))
    }

    /// Sets the time of all clones.
    pub(crate) fn set(&self, time: Clock) {
        let Cells {
            unix_nanos: nanos,
            offset_seconds,
            daylight,
        } = &*self.0;
        nanos.store(unix_nanos(time), Ordering::Relaxed);
        offset_seconds.store(time.offset_seconds, Ordering::Relaxed);
        daylight.store(time.daylight, Ordering::Relaxed);
    }

    /// Returns the time that was set last.
    pub fn now(&self) -> Clock {
        let nanos = self.unix_nanos();
        Clock {
            unix_seconds: nanos.div_euclid(SECOND),
            nanos: u32::try_from(nanos.rem_euclid(SECOND)).unwrap_or(0),
            offset_seconds: self.0.offset_seconds.load(Ordering::Relaxed),
            daylight: self.0.daylight.load(Ordering::Relaxed),
        }
    }

    /// Seconds since 1970 UTC.
    pub(crate) fn unix_seconds(&self) -> i64 {
        self.unix_nanos().div_euclid(SECOND)
    }

    /// Nanoseconds since 1970 UTC.
    pub(crate) fn unix_nanos(&self) -> i64 {
        self.0.unix_nanos.load(Ordering::Relaxed)
    }

    /// Seconds since 1970 on the local clock, as if the zone were UTC.
    pub(crate) fn local_seconds(&self) -> i64 {
        let offset = self.0.offset_seconds.load(Ordering::Relaxed);
        self.unix_seconds().saturating_add(offset.into())
    }
}

/// Nanoseconds since 1970 UTC; saturates in the years 1677 and 2262.
pub(crate) fn unix_nanos(time: Clock) -> i64 {
    let seconds = time.unix_seconds.saturating_mul(SECOND);
    seconds.saturating_add(time.nanos.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_clones_show_the_time_that_was_set_last() {
        let begin = Clock {
            unix_seconds: -1,
            nanos: 999_999_999,
            offset_seconds: -12_600,
            daylight: true,
        };
        let clock = DayClock::new(begin);
        let other = clock.clone();
        assert_eq!(other.now(), begin);
        assert_eq!(other.local_seconds(), -12_601);

        clock.set(Clock::utc(1_795_287_477));

        assert_eq!(other.now(), Clock::utc(1_795_287_477));
    }
}
