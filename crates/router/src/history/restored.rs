//! Restores the history of minutes and hours from stored records.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Counted, HOURS, History, HistoryRecord, MAX_INTERFACES, MAX_QUEUES, MINUTES, MINUTES_PER_HOUR,
    Rate, Series, Span,
};

/// Records of a time span, one entry per minute or hour; `None` without a record.
struct Timeline<'a>(Vec<Option<&'a HistoryRecord>>);

impl<'a> Timeline<'a> {
    /// Creates the timeline of the last `length` times up to `now`, or up to the newest record: a clock that is behind
    /// the records (before it is set) continues where they end. `time` returns the number of a record's time.
    fn new(
        records: impl Iterator<Item = &'a HistoryRecord>,
        time: impl Fn(&HistoryRecord) -> u64,
        now: u64,
        length: usize,
    ) -> Self {
        let by_time: BTreeMap<_, _> = records.map(|own| (time(own), own)).collect();
        let Some(newest) = by_time.keys().next_back() else {
            return Self(Vec::new());
        };
        let end = now.max(*newest);
        let begin = end.saturating_sub(length as u64 - 1);
        let Some((first, _)) = by_time.range(begin..).next() else {
            return Self(Vec::new());
        };
        Self(
            (*first..=end)
                .map(|time| by_time.get(&time).copied())
                .collect(),
        )
    }

    /// Returns the names of a list of all records, the newest first, at most `most`.
    fn names(
        &self,
        list: impl Fn(&'a HistoryRecord) -> &'a [(String, Rate)],
        most: usize,
    ) -> BTreeSet<&'a str> {
        let mut names = BTreeSet::new();
        for record in self.0.iter().rev().flatten() {
            let fresh = list(record).iter().map(|(name, _)| name.as_str());
            names.extend(fresh.take(most - names.len()));
        }
        names
    }
}

/// Returns the rates of a name in a list.
fn rates(list: &[(String, Rate)], name: &str) -> Option<Rate> {
    let found = list.iter().find(|(own, _)| own == name);
    found.map(|(_, rates)| *rates)
}

/// Returns the interfaces of a record.
fn interfaces(record: &HistoryRecord) -> &[(String, Rate)] {
    &record.interfaces
}

/// Returns the queues of a record.
fn queues(record: &HistoryRecord) -> &[(String, Rate)] {
    &record.queues
}

impl History {
    /// Restores the minutes of the last day and the hours of the last year up to `minute`, in minutes since 1970.
    pub(crate) fn restore(&mut self, records: &[HistoryRecord], minute: u64) {
        let of = |span: Span| records.iter().filter(move |record| record.span == span);
        let minutes = Timeline::new(of(Span::Minutes), |own| own.minute, minute, MINUTES);
        let hour = |own: &HistoryRecord| own.minute / MINUTES_PER_HOUR;
        let hours = Timeline::new(of(Span::Hours), hour, minute / MINUTES_PER_HOUR, HOURS);
        let newest = of(Span::Minutes).map(|own| own.minute).max().unwrap_or(0);
        let pending = newest.max(minute) % MINUTES_PER_HOUR;
        self.minutes_before = pending;
        let pending = pending as usize;
        let series = |list: fn(&HistoryRecord) -> &[(String, Rate)], name: &str| {
            let [minutes, hours] = [&minutes, &hours].map(|timeline| {
                let records = timeline.0.iter();
                records.map(|own| {
                    own.and_then(|own| rates(list(own), name))
                        .unwrap_or_default()
                })
            });
            Series::restored(minutes, hours, pending)
        };
        self.load = restored([&minutes, &hours], |own| own.load, pending);
        self.packets = restored([&minutes, &hours], |own| own.packets, pending);
        self.machine = restored([&minutes, &hours], |own| own.machine, pending);
        for name in known([&minutes, &hours], interfaces, MAX_INTERFACES) {
            self.restored
                .insert(name.to_owned(), series(interfaces, name));
        }
        for name in known([&minutes, &hours], queues, MAX_QUEUES) {
            let queue = Counted {
                total: None,
                series: series(queues, name),
            };
            self.queues.insert(name.to_owned(), queue);
        }
    }
}

/// Returns the series of a value that all records have.
fn restored<const W: usize>(
    timelines: [&Timeline<'_>; 2],
    value: impl Fn(&HistoryRecord) -> [u64; W],
    pending: usize,
) -> Series<W> {
    let [minutes, hours] = timelines.map(|timeline| {
        let records = timeline.0.iter();
        records.map(|own| own.map_or([0; W], &value))
    });
    Series::restored(minutes, hours, pending)
}

/// Returns at most `most` names of a list in both timelines; names of the last day come first.
fn known<'a>(
    timelines: [&Timeline<'a>; 2],
    list: impl Fn(&'a HistoryRecord) -> &'a [(String, Rate)],
    most: usize,
) -> BTreeSet<&'a str> {
    let [minutes, hours] = timelines;
    let mut names = minutes.names(&list, most);
    let others = hours.names(&list, most);
    let others = others.into_iter().take(most - names.len());
    names.extend(others);
    names
}
