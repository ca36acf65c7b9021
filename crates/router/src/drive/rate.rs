//! Rates of interfaces: traffic between two samples, a second or more apart.
//!
//! RouterOS: a monitor shows the last second at once. So counters are sampled whenever control runs, whether or not
//! anybody watches, at most once a second.

use core::time::Duration;
use std::collections::BTreeMap;

use dataplane::counters::{InterfaceTraffic, Traffic};
use frame::InterfaceId;
use machine::Instant;

use crate::history::History;

/// Minimum time between two samples.
const APART: Duration = Duration::from_secs(1);

/// The last two samples.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    before: Look,
    last: Look,
    /// History of traffic and load.
    pub(crate) history: History,
}

#[derive(Debug, Default)]
struct Look {
    at: Instant,
    counted: BTreeMap<InterfaceId, InterfaceTraffic>,
}

impl Rates {
    /// Whether the next sample is due.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        now.saturating_since(self.last.at) >= APART
    }

    /// Takes a sample of the interface counters.
    pub(crate) fn look(
        &mut self,
        counted: impl Iterator<Item = (InterfaceId, InterfaceTraffic)>,
        now: Instant,
    ) {
        core::mem::swap(&mut self.before, &mut self.last);
        self.last.at = now;
        self.last.counted.clear();
        self.last.counted.extend(counted);
    }

    /// Returns the traffic of an interface up to the last sample.
    pub(crate) fn total(&self, id: InterfaceId) -> InterfaceTraffic {
        self.last.counted.get(&id).copied().unwrap_or_default()
    }

    /// Returns the traffic of an interface per second; zero for a new interface.
    pub(crate) fn of(&self, id: InterfaceId) -> InterfaceTraffic {
        let looks = (self.before.counted.get(&id), self.last.counted.get(&id));
        let (Some(before), Some(last)) = looks else {
            return InterfaceTraffic::default();
        };
        let nanos = self.last.at.saturating_since(self.before.at).as_nanos();
        let rate = |before: u64, last: u64| {
            let grown = u128::from(last.saturating_sub(before));
            let rate = (grown * 1_000_000_000).checked_div(nanos).unwrap_or(0);
            u64::try_from(rate).unwrap_or(u64::MAX)
        };
        let both = |before: Traffic, last: Traffic| Traffic {
            packets: rate(before.packets, last.packets),
            bytes: rate(before.bytes, last.bytes),
        };
        InterfaceTraffic {
            rx: both(before.rx, last.rx),
            tx: both(before.tx, last.tx),
            fp_rx: both(before.fp_rx, last.fp_rx),
            fp_tx: both(before.fp_tx, last.fp_tx),
            rx_drop: rate(before.rx_drop, last.rx_drop),
            tx_drop: rate(before.tx_drop, last.tx_drop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_the_difference_of_two_counts_by_the_time_between_them() {
        let id = InterfaceId(1);
        let counted = |packets, bytes| InterfaceTraffic {
            rx: Traffic { packets, bytes },
            ..InterfaceTraffic::default()
        };
        let at = |millis| Instant::ZERO + Duration::from_millis(millis);
        let mut rates = Rates::default();
        rates.look([(id, counted(10, 1_000))].into_iter(), at(1_000));
        assert_eq!(rates.of(id), InterfaceTraffic::default());
        assert!(!rates.is_due(at(1_999)) && rates.is_due(at(2_000)));

        rates.look([(id, counted(40, 7_000))].into_iter(), at(3_000));
        assert_eq!(rates.of(id).rx, counted(15, 3_000).rx);

        rates.look([(id, counted(0, 0))].into_iter(), at(4_000));
        assert_eq!(rates.of(id).rx, Traffic::default(), "it counts anew");
    }
}
