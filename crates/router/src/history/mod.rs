//! History of traffic and load: five minutes by second, a day by minute, a year by hour.
//!
//! Control adds a sample after it has sampled the counters, about once a second. A sample that covers several seconds
//! is the average of each. Memory is bounded: at most [`MAX_INTERFACES`] interfaces have a history, chosen from the
//! configured ones; sessions and other dynamic interfaces have none. [`MAX_QUEUES`] simple queues have one if
//! `/tool/graphing` names them. A series has at most 168 KB, after a year; all together 23 MB. Minutes and hours are
//! stored, one record each, and survive a restart (`stored.rs`); times without a record are zero. `pictures.rs`
//! selects what `/graphs` shows.

mod answer;
pub(crate) mod graphing;
pub mod pictures;
mod restored;
mod stored;

pub use answer::Query;
pub use stored::FILE;
pub(crate) use stored::{HistoryRecord, StoredHistory};

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use dataplane::meter::Facility;
use frame::InterfaceId;
use machine::Instant;

use graphing::{GraphKind, Graphing};

/// Number of samples by second.
pub const SECONDS: usize = 300;
/// Number of samples by minute.
pub const MINUTES: usize = 1_440;
/// Number of samples by hour.
pub const HOURS: usize = 8_760;
/// Maximum number of simple queues with a history.
pub const MAX_QUEUES: usize = 64;
/// Maximum number of interfaces with a history.
pub const MAX_INTERFACES: usize = 64;

const SECONDS_PER_MINUTE: u64 = 60;
const MINUTES_PER_HOUR: u64 = 60;
const FACILITIES: usize = Facility::ALL.len();

/// Received and transmitted bits per second.
pub(crate) type Rate = [u64; 2];
/// Shares of the facilities in thousandths of all clocks, in the order of [`Facility::ALL`].
pub(crate) type Load = [u64; FACILITIES];
/// Packets per second: received by ports, forwarded by FastPath, forwarded by FastTrack.
pub(crate) type Packets = [u64; 3];
/// Load of all processors in percent, memory in use and disk in use in bytes.
pub(crate) type Machine = [u64; 3];

/// Time between two samples of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// One second, for five minutes.
    Seconds,
    /// One minute, for a day.
    Minutes,
    /// One hour, for a year.
    Hours,
}

/// Samples of one quantity with `W` values.
#[derive(Debug)]
pub(crate) struct Series<const W: usize> {
    seconds: VecDeque<[u64; W]>,
    minutes: VecDeque<[u64; W]>,
    hours: VecDeque<[u64; W]>,
    /// Sum and number of the samples of the current minute.
    sum: [u64; W],
    count: u64,
    /// Sum and number of the minutes of the current hour.
    hour_sum: [u64; W],
    hour_count: u64,
}

impl<const W: usize> Default for Series<W> {
    fn default() -> Self {
        Self {
            seconds: VecDeque::new(),
            minutes: VecDeque::new(),
            hours: VecDeque::new(),
            sum: [0; W],
            count: 0,
            hour_sum: [0; W],
            hour_count: 0,
        }
    }
}

impl<const W: usize> Series<W> {
    /// Adds the samples of the seconds of a step, all with one value.
    fn push(&mut self, step: Step, value: [u64; W]) {
        let Step { last, now, minutes } = step;
        // Older seconds would leave the ring at once; their minutes are lost as well.
        let first = (last + 1).max(now.saturating_sub(SECONDS as u64 - 1));
        for second in first..=now {
            if second.is_multiple_of(SECONDS_PER_MINUTE) {
                self.end_minute();
                if (second / SECONDS_PER_MINUTE + minutes).is_multiple_of(MINUTES_PER_HOUR) {
                    self.end_hour();
                }
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
        self.add_to_hour(average);
    }

    fn add_to_hour(&mut self, minute: [u64; W]) {
        for (sum, value) in self.hour_sum.iter_mut().zip(minute) {
            *sum = sum.saturating_add(value);
        }
        self.hour_count += 1;
    }

    /// Stores the average of the hour that has ended.
    fn end_hour(&mut self) {
        if self.hour_count > 0 {
            let average = self.hour_sum.map(|sum| sum / self.hour_count);
            append(&mut self.hours, HOURS, average);
            (self.hour_sum, self.hour_count) = ([0; W], 0);
        }
    }

    /// Returns a series with the averages of earlier minutes and hours, the oldest first. The last `pending` minutes
    /// belong to the current hour.
    fn restored(
        minutes: impl Iterator<Item = [u64; W]>,
        hours: impl Iterator<Item = [u64; W]>,
        pending: usize,
    ) -> Self {
        let mut series = Self {
            minutes: minutes.take(MINUTES).collect(),
            hours: hours.take(HOURS).collect(),
            ..Self::default()
        };
        let first = series.minutes.len().saturating_sub(pending);
        for at in first..series.minutes.len() {
            series.add_to_hour(series.minutes[at]);
        }
        series
    }

    /// Returns the samples of a span; the last one belongs to the last complete second or minute.
    fn samples(&self, span: Span) -> &VecDeque<[u64; W]> {
        match span {
            Span::Seconds => &self.seconds,
            Span::Minutes => &self.minutes,
            Span::Hours => &self.hours,
        }
    }
}

fn append<const W: usize>(ring: &mut VecDeque<[u64; W]>, most: usize, value: [u64; W]) {
    if ring.len() == most {
        ring.pop_front();
    }
    ring.push_back(value);
}

/// Time between two samples, in seconds of the router's clock.
#[derive(Clone, Copy, Debug)]
struct Step {
    last: u64,
    now: u64,
    /// Minutes of the current hour that had passed when the clock began.
    minutes: u64,
}

/// A quantity that is counted, with its rates per second.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// The counters at the last sample; `None` before the first one.
    total: Option<[u64; 2]>,
    series: Series<2>,
}

/// The history of a router.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Number of the last sampled second of the router's clock.
    second: u64,
    interfaces: BTreeMap<InterfaceId, Series<2>>,
    load: Series<FACILITIES>,
    packets: Series<3>,
    machine: Series<3>,
    /// Bits per second of simple queues, upload and download, by name.
    queues: BTreeMap<String, Counted>,
    /// Clocks and packets at the last sample.
    clocks: Load,
    counted: Packets,
    /// Series from before the start by interface name, until the interfaces appear or the first minute ends.
    restored: BTreeMap<String, Series<2>>,
    /// Minutes of the current hour that had passed when the clock began.
    minutes_before: u64,
    /// Whether a minute, or an hour, has ended since [`History::take_ended`].
    minute_ended: bool,
    hour_ended: bool,
    /// What `/tool/graphing` names.
    pub(crate) graphing: Arc<Graphing>,
    /// The stored minutes.
    pub(crate) stored: StoredHistory,
}

/// The counters of a sample.
pub(crate) struct Sample<I> {
    /// Rates of the interfaces that may have a history, in a stable order.
    pub(crate) interfaces: I,
    /// Clocks of the facilities since the start.
    pub(crate) clocks: Load,
    /// Packets since the start.
    pub(crate) packets: Packets,
    /// Resources in use.
    pub(crate) machine: Machine,
    /// Bytes of simple queues since the start, upload and download, by name.
    pub(crate) queues: Vec<(String, [u64; 2])>,
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
        let minute = |second: u64| second / SECONDS_PER_MINUTE + self.minutes_before;
        if minute(last) != minute(now) {
            self.minute_ended = true;
            self.hour_ended |= minute(last) / MINUTES_PER_HOUR != minute(now) / MINUTES_PER_HOUR;
            self.restored.clear();
        }
        let step = Step {
            last,
            now,
            minutes: self.minutes_before,
        };
        let mut before = core::mem::take(&mut self.interfaces);
        for (id, rate) in sample.interfaces.take(MAX_INTERFACES) {
            let mut series = before.remove(&id).unwrap_or_default();
            series.push(step, rate);
            self.interfaces.insert(id, series);
        }
        let mut before = core::mem::take(&mut self.queues);
        for (name, total) in sample.queues.into_iter().take(MAX_QUEUES) {
            let mut queue = before.remove(&name).unwrap_or_default();
            let then = queue.total.replace(total).unwrap_or(total);
            let bits = |at: usize| total[at].saturating_sub(then[at]).saturating_mul(8) / seconds;
            queue.series.push(step, [bits(0), bits(1)]);
            self.queues.insert(name, queue);
        }
        self.machine.push(step, sample.machine);
        let clocks = core::mem::replace(&mut self.clocks, sample.clocks);
        let spent: Load = core::array::from_fn(|at| sample.clocks[at].saturating_sub(clocks[at]));
        let all = spent.iter().sum::<u64>().max(1);
        let share = |spent: u64| u128::from(spent) * 1_000 / u128::from(all);
        self.load.push(step, spent.map(|spent| share(spent) as u64));
        let counted = core::mem::replace(&mut self.counted, sample.packets);
        let packets =
            core::array::from_fn(|at| sample.packets[at].saturating_sub(counted[at]) / seconds);
        self.packets.push(step, packets);
    }

    /// Restores the stored series of a new interface, by the interface's name.
    pub(crate) fn adopt(&mut self, id: InterfaceId, name: &str) {
        if let Some(series) = self.restored.remove(name) {
            self.interfaces.entry(id).or_insert(series);
        }
    }

    /// Returns the averages of the minute, and of the hour, that have ended since the last call, as records that end at
    /// `minute` in minutes since 1970. `name` returns the names of interfaces.
    pub(crate) fn take_ended(
        &mut self,
        minute: u64,
        name: impl Fn(InterfaceId) -> String,
    ) -> Vec<HistoryRecord> {
        let minutes = core::mem::take(&mut self.minute_ended).then_some(Span::Minutes);
        let hours = core::mem::take(&mut self.hour_ended).then_some(Span::Hours);
        let spans = minutes.into_iter().chain(hours);
        spans
            .filter_map(|span| self.record(span, minute, &name))
            .collect()
    }

    fn record(
        &self,
        span: Span,
        minute: u64,
        name: &impl Fn(InterfaceId) -> String,
    ) -> Option<HistoryRecord> {
        let last = |series: &Series<2>| series.samples(span).back().copied();
        let graphing = &self.graphing;
        let interfaces = self.interfaces.iter().filter_map(|(id, series)| {
            let name = name(*id);
            let stores = graphing.stores(GraphKind::Interface, &name);
            stores.then(|| Some((name, last(series)?))).flatten()
        });
        let queues = self.queues.iter().filter_map(|(name, queue)| {
            let stores = graphing.stores(GraphKind::Queue, name);
            stores
                .then(|| Some((name.clone(), last(&queue.series)?)))
                .flatten()
        });
        let machine = match graphing.stores(GraphKind::Processor, "") {
            true => *self.machine.samples(span).back()?,
            false => [0; 3],
        };
        Some(HistoryRecord {
            span,
            minute,
            load: *self.load.samples(span).back()?,
            packets: *self.packets.samples(span).back()?,
            machine,
            interfaces: interfaces.collect(),
            queues: queues.collect(),
        })
    }

    /// Returns the number of the last sample of a span. Numbers of minutes begin with [`MINUTES`], so that restored
    /// minutes have smaller ones.
    fn last(&self, span: Span) -> u64 {
        match span {
            Span::Seconds => self.second,
            // The current minute is not complete.
            Span::Minutes => self.second / SECONDS_PER_MINUTE + MINUTES as u64 - 1,
            Span::Hours => {
                let minutes = self.second / SECONDS_PER_MINUTE + self.minutes_before;
                minutes / MINUTES_PER_HOUR + HOURS as u64 - 1
            }
        }
    }

    /// Returns the seconds since the end of the last sample of a span.
    fn age(&self, span: Span) -> u64 {
        match span {
            Span::Seconds => 0,
            Span::Minutes => self.second % SECONDS_PER_MINUTE,
            Span::Hours => {
                let before = self.minutes_before * SECONDS_PER_MINUTE;
                (self.second + before) % (SECONDS_PER_MINUTE * MINUTES_PER_HOUR)
            }
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
            machine: [0; 3],
            queues: Vec::new(),
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
        assert_eq!(history.last(Span::Minutes), 1 + MINUTES as u64);
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

    #[test]
    fn minutes_of_before_the_start_stand_at_their_time() {
        let record = |minute, rate| HistoryRecord {
            minute,
            packets: [rate; 3],
            interfaces: vec![("ether1".into(), [rate, 0])],
            ..HistoryRecord::default()
        };
        let records = [record(100, 1), record(101, 2), record(104, 5)];
        let mut history = History::default();
        // The router was down in minutes 105 and 106.
        history.restore(&records, 106);
        history.adopt(InterfaceId(7), "ether1");
        history.adopt(InterfaceId(8), "ether2");
        history.add(at(1), sample(&[(7, 100), (8, 1)], 0, 0));
        assert!(history.take_ended(107, |_| String::new()).is_empty());
        history.add(at(60), sample(&[(7, 100), (8, 1)], 0, 0));
        let series = &history.interfaces[&InterfaceId(7)];
        let rates: Vec<_> = series
            .samples(Span::Minutes)
            .iter()
            .map(|rate| rate[0])
            .collect();
        assert_eq!(rates, [1, 2, 0, 0, 5, 0, 0, 100]);
        assert_eq!(history.packets.samples(Span::Minutes).len(), 8);
        let mut ended = history.take_ended(107, |id| format!("i{}", id.0));
        let ended = ended.pop().expect("a minute");
        assert_eq!(ended.span, Span::Minutes);
        assert_eq!(
            ended.interfaces,
            [("i7".into(), [100, 0]), ("i8".into(), [1, 0])]
        );
        assert!(history.take_ended(107, |_| String::new()).is_empty());
    }

    #[test]
    fn a_clock_behind_the_records_continues_them_and_old_records_are_dropped() {
        let record = |minute| HistoryRecord {
            minute,
            ..HistoryRecord::default()
        };
        let mut history = History::default();
        history.restore(&[record(10), record(5_000), record(5_001)], 3);
        assert_eq!(history.load.samples(Span::Minutes).len(), 2);
        let mut late = History::default();
        late.restore(&[record(5_000)], 50_000);
        assert_eq!(late.load.samples(Span::Minutes).len(), 0);
    }

    #[test]
    fn hours_are_averages_of_minutes_and_continue_after_a_restart() {
        let record = |minute, rate| HistoryRecord {
            minute,
            interfaces: vec![("ether1".into(), [rate, 0])],
            ..HistoryRecord::default()
        };
        let hour = HistoryRecord {
            span: Span::Hours,
            ..record(6_000, 7)
        };
        let minutes = (5_990..=6_030).map(|minute| record(minute, 60));
        let records: Vec<_> = minutes.chain([hour]).collect();
        let mut history = History::default();
        history.restore(&records, 6_030);
        history.adopt(InterfaceId(7), "ether1");
        for minute in 1..=30 {
            history.add(at(60 * minute - 1), sample(&[(7, 0)], 0, 0));
            history.add(at(60 * minute), sample(&[(7, 0)], 0, 0));
        }
        let series = &history.interfaces[&InterfaceId(7)];
        assert_eq!(series.samples(Span::Hours), &[[7, 0], [30, 0]]);
        let ended = history.take_ended(6_060, |_| "ether1".into());
        let spans: Vec<_> = ended.iter().map(|record| record.span).collect();
        assert_eq!(spans, [Span::Minutes, Span::Hours]);
        assert_eq!(ended[1].interfaces, [("ether1".into(), [30, 0])]);
        assert_eq!(history.last(Span::Hours), 1 + HOURS as u64 - 1);
    }

    #[test]
    fn queues_have_rates_while_they_are_sampled_and_are_bounded() {
        let mut history = History::default();
        let mut add = |second, queues: Vec<(String, [u64; 2])>| {
            let sample = Sample {
                queues,
                ..sample(&[], 0, 0)
            };
            history.add(at(second), sample);
            history.queues.len()
        };
        assert_eq!(add(1, vec![("q".into(), [1_000, 0])]), 1);
        assert_eq!(add(3, vec![("q".into(), [1_500, 10])]), 1);
        let many = (0..200).map(|number| (format!("{number}"), [0; 2]));
        assert_eq!(add(4, many.collect()), MAX_QUEUES);
        assert_eq!(add(5, Vec::new()), 0);
        assert_eq!(add(6, vec![("q".into(), [9_000, 0])]), 1);
        let series = &history.queues["q"].series;
        assert_eq!(series.samples(Span::Seconds), &[[0, 0]]);
    }
}
