//! History of traffic and processor load: five minutes by second, and a day by minute.
//!
//! Control adds a sample after it has sampled the counters, about once a second. A sample that covers several seconds
//! is the average of each. Memory is bounded: at most [`MAX_INTERFACES`] interfaces have a history, chosen from the
//! configured ones; sessions and other dynamic interfaces have none. Restarts begin a new history.

mod answer;

pub use answer::Query;

use std::collections::{BTreeMap, VecDeque};

use dataplane::meter::Facility;
use frame::InterfaceId;
use machine::Instant;

/// Number of samples by second.
pub const SECONDS: usize = 300;
/// Number of samples by minute.
pub const MINUTES: usize = 1_440;
/// Maximum number of interfaces with a history.
pub const MAX_INTERFACES: usize = 64;

const SECONDS_PER_MINUTE: u64 = 60;
const FACILITIES: usize = Facility::ALL.len();

/// Received and transmitted bits per second.
pub(crate) type Rate = [u64; 2];
/// Shares of the facilities in thousandths of all clocks, in the order of [`Facility::ALL`].
pub(crate) type Load = [u64; FACILITIES];
/// Packets per second: received by ports, forwarded by FastPath, forwarded by FastTrack.
pub(crate) type Packets = [u64; 3];

/// Time between two samples of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// One second, for five minutes.
    Seconds,
    /// One minute, for a day.
    Minutes,
}

/// Samples of one quantity with `W` values.
#[derive(Debug)]
pub(crate) struct Series<const W: usize> {
    seconds: VecDeque<[u64; W]>,
    minutes: VecDeque<[u64; W]>,
    /// Sum and number of the samples of the current minute.
    sum: [u64; W],
    count: u64,
}

impl<const W: usize> Default for Series<W> {
    fn default() -> Self {
        Self {
            seconds: VecDeque::new(),
            minutes: VecDeque::new(),
            sum: [0; W],
            count: 0,
        }
    }
}

impl<const W: usize> Series<W> {
    /// Adds the samples of the seconds after `last` up to `now`, all with one value.
    fn push(&mut self, last: u64, now: u64, value: [u64; W]) {
        // Older seconds would leave the ring at once; their minutes are lost as well.
        let first = (last + 1).max(now.saturating_sub(SECONDS as u64 - 1));
        for second in first..=now {
            if second.is_multiple_of(SECONDS_PER_MINUTE) {
                self.end_minute();
            }
            append(&mut self.seconds, SECONDS, value);
            for (sum, value) in self.sum.iter_mut().zip(value) {
                *sum = sum.saturating_add(value);
            }
            self.count += 1;
        }
    }

    /// Stores the average of the minute that has ended.
    fn end_minute(&mut self) {
        if self.count == 0 {
            return;
        }
        let average = self.sum.map(|sum| sum / self.count);
        append(&mut self.minutes, MINUTES, average);
        (self.sum, self.count) = ([0; W], 0);
    }

    /// Returns the samples of a span; the last one belongs to the last complete second or minute.
    fn samples(&self, span: Span) -> &VecDeque<[u64; W]> {
        match span {
            Span::Seconds => &self.seconds,
            Span::Minutes => &self.minutes,
        }
    }
}

fn append<const W: usize>(ring: &mut VecDeque<[u64; W]>, most: usize, value: [u64; W]) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(value);
}

/// The history of a router.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Number of the last sampled second of the router's clock.
    second: u64,
    interfaces: BTreeMap<InterfaceId, Series<2>>,
    load: Series<FACILITIES>,
    packets: Series<3>,
    /// Clocks and packets at the last sample.
    clocks: Load,
    counted: Packets,
}

/// The counters of a sample.
pub(crate) struct Sample<I> {
    /// Rates of the interfaces that may have a history, in a stable order.
    pub(crate) interfaces: I,
    /// Clocks of the facilities since the start.
    pub(crate) clocks: Load,
    /// Packets since the start.
    pub(crate) packets: Packets,
}

impl History {
    /// Adds a sample. Interfaces that the sample lacks lose their history.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        sample: Sample<impl Iterator<Item = (InterfaceId, Rate)>>,
    ) {
        let now = now.saturating_since(Instant::ZERO).as_secs();
        let last = core::mem::replace(&mut self.second, now);
        let seconds = now.saturating_sub(last);
        if seconds == 0 {
            return;
        }
        let mut before = core::mem::take(&mut self.interfaces);
        for (id, rate) in sample.interfaces.take(MAX_INTERFACES) {
            let mut series = before.remove(&id).unwrap_or_default();
            series.push(last, now, rate);
            self.interfaces.insert(id, series);
        }
        let clocks = core::mem::replace(&mut self.clocks, sample.clocks);
        let spent: Load = core::array::from_fn(|at| sample.clocks[at].saturating_sub(clocks[at]));
        let all = spent.iter().sum::<u64>().max(1);
        let share = |spent: u64| u128::from(spent) * 1_000 / u128::from(all);
        self.load
            .push(last, now, spent.map(|spent| share(spent) as u64));
        let counted = core::mem::replace(&mut self.counted, sample.packets);
        let packets =
            core::array::from_fn(|at| sample.packets[at].saturating_sub(counted[at]) / seconds);
        self.packets.push(last, now, packets);
    }

    /// Returns the number of the last sample of a span.
    fn last(&self, span: Span) -> u64 {
        match span {
            Span::Seconds => self.second,
            // The current minute is not complete.
            Span::Minutes => (self.second / SECONDS_PER_MINUTE).saturating_sub(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    fn sample(
        rates: &[(u32, u64)],
        idle: u64,
        busy: u64,
    ) -> Sample<impl Iterator<Item = (InterfaceId, Rate)>> {
        let mut clocks = [0; FACILITIES];
        (clocks[0], clocks[1]) = (idle, busy);
        Sample {
            interfaces: rates
                .iter()
                .map(|(id, rate)| (InterfaceId(*id), [*rate, 0])),
            clocks,
            packets: [0; 3],
        }
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_late_sample_counts_for_each_second_and_minutes_are_averages() {
        let mut history = History::default();
        for second in 1..=59 {
            history.add(at(second), sample(&[(7, 100)], 0, 0));
        }
        // This sample covers ten seconds, all of the next minute.
        history.add(at(69), sample(&[(7, 400)], 0, 0));
        let series = &history.interfaces[&InterfaceId(7)];
        assert_eq!(series.samples(Span::Seconds).len(), 69);
        assert_eq!(series.samples(Span::Minutes), &[[100, 0]]);
        history.add(at(120), sample(&[(7, 0)], 0, 0));
        let series = &history.interfaces[&InterfaceId(7)];
        assert_eq!(
            series.samples(Span::Minutes).back(),
            Some(&[400 * 10 / 60, 0])
        );
        assert_eq!(history.last(Span::Minutes), 1);
    }

    #[test]
    fn memory_is_bounded_and_removed_interfaces_are_forgotten() {
        let mut history = History::default();
        let many: Vec<_> = (0..200).map(|id| (id, 1)).collect();
        history.add(at(1), sample(&many, 0, 0));
        assert_eq!(history.interfaces.len(), MAX_INTERFACES);
        history.add(at(1_000_000), sample(&[(3, 9)], 0, 0));
        assert_eq!(history.interfaces.len(), 1);
        let series = &history.interfaces[&InterfaceId(3)];
        assert_eq!(series.samples(Span::Seconds).len(), SECONDS);
        for minute in 0..2_000 {
            history.add(at(1_000_000 + 60 * minute), sample(&[(3, 9)], 0, 0));
        }
        let series = &history.interfaces[&InterfaceId(3)];
        assert_eq!(series.samples(Span::Minutes).len(), MINUTES);
    }

    #[test]
    fn load_is_the_share_of_the_clocks_between_two_samples() {
        let mut history = History::default();
        history.add(at(1), sample(&[], 1_000, 1_000));
        history.add(at(2), sample(&[], 1_900, 1_100));
        let load = history
            .load
            .samples(Span::Seconds)
            .back()
            .expect("a sample");
        assert_eq!((load[0], load[1]), (900, 100));
        history.add(at(2), sample(&[], 5_000, 5_000));
        assert_eq!(
            history.load.samples(Span::Seconds).len(),
            2,
            "one sample per second"
        );
    }
}
