//! `dst-limit`: a token bucket per flow.

use core::sync::atomic::Ordering;
use core::time::Duration;

use machine::Instant;
use packet::Tuple;

use super::rate::{Price, Rate};
use crate::rule::matcher::FlowKey;
use crate::rule::shared::{Shared, Values};

/// Maximum number of flows per rule; a further flow replaces the one that was idle longest.
const FLOWS: usize = 1 << 16;
/// Index of the time at which the bucket will be full again.
const FULL_TIME: usize = 0;
/// Index of the time of the last packet, in nanoseconds.
const LAST: usize = 1;

/// `dst-limit`: matches while a flow keeps its rate.
///
/// Exact across workers: the workers share one table with one bucket per flow. A flow is dropped when it was
/// idle for `expire`, or when 16 more recent flows have the same hash bucket.
#[derive(Debug)]
pub struct DstLimit {
    price: Price,
    key: FlowKey,
    expire: Duration,
    flows: Shared<2>,
}

impl DstLimit {
    /// Creates an empty table.
    ///
    /// # Errors
    /// Returns the kernel's error if it cannot reserve the address space.
    pub fn new(rate: Rate, key: FlowKey, expire: Duration) -> std::io::Result<Self> {
        Ok(Self {
            price: Price::new(&rate),
            key,
            expire,
            flows: Shared::new(FLOWS)?,
        })
    }

    pub(in crate::rule) fn matches(
        &self,
        tuple: &Tuple,
        len: u32,
        now: Instant,
        commit: bool,
    ) -> bool {
        let (high, low, more) = self.key.pick(tuple);
        let tag = self.flows.tag(high, low, more);
        let last = |values: &Values<2>| Instant::from_nanos(values[LAST].load(Ordering::Relaxed));
        let stale = |values: &Values<2>| now.saturating_since(last(values)) > self.expire;
        if !commit {
            let known = self.flows.find(tag).filter(|values| !stale(values));
            return known.is_none_or(|values| self.price.take(&values[FULL_TIME], len, now, false));
        }
        let begin = |values: &Values<2>| {
            values[FULL_TIME].store(0, Ordering::Relaxed);
            values[LAST].store(now.as_nanos(), Ordering::Relaxed);
        };
        let age = |values: &Values<2>| Some(values[LAST].load(Ordering::Relaxed));
        let Some(entered) = self.flows.enter(tag, stale, age, begin) else {
            // Other workers kept overwriting the slot: under such load the packet does not match.
            return false;
        };
        if stale(entered.values) {
            begin(entered.values);
        }
        entered.values[LAST].fetch_max(now.as_nanos(), Ordering::Relaxed);
        self.price.take(&entered.values[FULL_TIME], len, now, true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate::Unit;
    use super::*;

    #[test]
    fn each_destination_has_its_own_bucket() {
        let rate = Rate {
            count: 1,
            per: Duration::from_secs(1),
            burst: 2,
            unit: Unit::Packets,
        };
        let limit = DstLimit::new(rate, FlowKey::DESTINATION, Duration::from_millis(500))
            .expect("address space");
        let to = |destination| Tuple {
            destination,
            ..Tuple::default()
        };
        let matches = |to: &Tuple, at| limit.matches(to, 60, Instant::from_millis(at), true);

        for destination in 0..1000 {
            let tuple = to(destination);
            assert!(matches(&tuple, 0) && matches(&tuple, 1) && !matches(&tuple, 2));
        }
        assert!(!limit.matches(&to(3), 60, Instant::from_millis(400), false));
        // The flow expired and has a full bucket again.
        assert!(matches(&to(3), 600) && matches(&to(3), 601) && !matches(&to(3), 602));
    }

    #[test]
    fn more_flows_than_the_table_holds_are_harmless() {
        let rate = Rate {
            count: 1,
            per: Duration::from_secs(1),
            burst: 1,
            unit: Unit::Packets,
        };
        let key = FlowKey(FlowKey::SOURCE.0 | FlowKey::DESTINATION_PORT.0);
        let limit = DstLimit::new(rate, key, Duration::from_secs(10)).expect("address space");
        for source in 0..2 * FLOWS as u128 {
            let tuple = Tuple {
                source,
                ..Tuple::default()
            };
            assert!(limit.matches(&tuple, 60, Instant::from_nanos(source as u64), true));
        }
    }
}
