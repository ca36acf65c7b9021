//! History of traffic and processor load: five minutes by second, and a day by minute.
//!
//! Control adds a sample after it has sampled the counters, about once a second. A sample that covers several seconds
//! is the average of each. Memory is bounded: at most [`MAX_INTERFACES`] interfaces have a history, chosen from the
//! configured ones; sessions and other dynamic interfaces have none. The minutes are stored, one record each, and
//! survive a restart (`stored.rs`); minutes without a record are zero.

mod answer;
mod stored;

pub use answer::Query;
pub use stored::FILE;
pub(crate) use stored::{MinuteRecord, StoredHistory};

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

    /// Returns a series with the averages of earlier minutes, the oldest first.
    fn of_minutes(minutes: impl Iterator<Item = [u64; W]>) -> Self {
        let minutes = minutes.take(MINUTES).collect();
        Self {
            minutes,
            ..Self::default()
        }
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
    /// Series from before the start by interface name, until the interfaces appear or the first minute ends.
    restored: BTreeMap<String, Series<2>>,
    /// Whether a minute has ended since [`History::take_minute`].
    minute_ended: bool,
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
        if last / SECONDS_PER_MINUTE != now / SECONDS_PER_MINUTE {
            self.minute_ended = true;
            self.restored.clear();
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

    /// Restores the minutes of the last day up to `minute`, in minutes since 1970. A clock that is behind the records
    /// (before it is set) continues where they end.
    pub(crate) fn restore(&mut self, records: &[MinuteRecord], minute: u64) {
        let by_minute: BTreeMap<_, _> = records.iter().map(|own| (own.minute, own)).collect();
        let Some(newest) = by_minute.keys().next_back() else {
            return;
        };
        let end = minute.max(*newest);
        let begin = end.saturating_sub(MINUTES as u64 - 1);
        let Some((first, _)) = by_minute.range(begin..).next() else {
            return;
        };
        let minutes = || (*first..=end).map(|minute| by_minute.get(&minute));
        self.load =
            Series::of_minutes(minutes().map(|record| record.map_or([0; _], |own| own.load)));
        self.packets =
            Series::of_minutes(minutes().map(|record| record.map_or([0; _], |own| own.packets)));
        let recent = by_minute
            .range(begin..)
            .flat_map(|(_, own)| &own.interfaces);
        for (name, _) in recent {
            if self.restored.len() == MAX_INTERFACES || self.restored.contains_key(name) {
                continue;
            }
            let rate = |record: &MinuteRecord| {
                let mut all = record.interfaces.iter();
                all.find(|(own, _)| own == name).map(|(_, rate)| *rate)
            };
            let rates = minutes().map(|record| record.copied().and_then(rate).unwrap_or_default());
            self.restored
                .insert(name.clone(), Series::of_minutes(rates));
        }
    }

    /// Restores the stored series of a new interface, by the interface's name.
    pub(crate) fn adopt(&mut self, id: InterfaceId, name: &str) {
        if let Some(series) = self.restored.remove(name) {
            self.interfaces.entry(id).or_insert(series);
        }
    }

    /// Returns the averages of the minute that has ended since the last call, as a record that ends at `minute` in
    /// minutes since 1970. `name` returns the names of interfaces.
    pub(crate) fn take_minute(
        &mut self,
        minute: u64,
        name: impl Fn(InterfaceId) -> String,
    ) -> Option<MinuteRecord> {
        if !core::mem::take(&mut self.minute_ended) {
            return None;
        }
        let interfaces = self.interfaces.iter();
        let interfaces = interfaces
            .filter_map(|(id, series)| Some((name(*id), *series.minutes.back()?)))
            .collect();
        Some(MinuteRecord {
            minute,
            load: *self.load.minutes.back()?,
            packets: *self.packets.minutes.back()?,
            interfaces,
        })
    }

    /// Returns the number of the last sample of a span. Numbers of minutes begin with [`MINUTES`], so that restored
    /// minutes have smaller ones.
    fn last(&self, span: Span) -> u64 {
        match span {
            Span::Seconds => self.second,
            // The current minute is not complete.
            Span::Minutes => self.second / SECONDS_PER_MINUTE + MINUTES as u64 - 1,
        }
    }

    /// Returns the seconds since the end of the last sample of a span.
    fn age(&self, span: Span) -> u64 {
        match span {
            Span::Seconds => 0,
            Span::Minutes => self.second % SECONDS_PER_MINUTE,
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
        let record = |minute, rate| MinuteRecord {
            minute,
            packets: [rate; 3],
            interfaces: vec![("ether1".into(), [rate, 0])],
            ..MinuteRecord::default()
        };
        let records = [record(100, 1), record(101, 2), record(104, 5)];
        let mut history = History::default();
        // The router was down in minutes 105 and 106.
        history.restore(&records, 106);
        history.adopt(InterfaceId(7), "ether1");
        history.adopt(InterfaceId(8), "ether2");
        history.add(at(1), sample(&[(7, 100), (8, 1)], 0, 0));
        assert!(history.take_minute(107, |_| String::new()).is_none());
        history.add(at(60), sample(&[(7, 100), (8, 1)], 0, 0));
        let series = &history.interfaces[&InterfaceId(7)];
        let rates: Vec<_> = series
            .samples(Span::Minutes)
            .iter()
            .map(|rate| rate[0])
            .collect();
        assert_eq!(rates, [1, 2, 0, 0, 5, 0, 0, 100]);
        assert_eq!(history.packets.samples(Span::Minutes).len(), 8);
        let ended = history.take_minute(107, |id| format!("i{}", id.0));
        let ended = ended.expect("a minute");
        assert_eq!(
            ended.interfaces,
            [("i7".into(), [100, 0]), ("i8".into(), [1, 0])]
        );
        assert!(history.take_minute(107, |_| String::new()).is_none());
    }

    #[test]
    fn a_clock_behind_the_records_continues_them_and_old_records_are_dropped() {
        let record = |minute| MinuteRecord {
            minute,
            ..MinuteRecord::default()
        };
        let mut history = History::default();
        history.restore(&[record(10), record(5_000), record(5_001)], 3);
        assert_eq!(history.load.samples(Span::Minutes).len(), 2);
        let mut late = History::default();
        late.restore(&[record(5_000)], 50_000);
        assert_eq!(late.load.samples(Span::Minutes).len(), 0);
    }
}
