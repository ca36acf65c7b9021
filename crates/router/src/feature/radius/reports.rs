//! Reports of ended sessions until a server acknowledges them, also over a restart.
//!
//! ```text
//! end of a session ─▶ client ─▶ acknowledged: the record is removed
//!          │             │ ▲
//!          │             ▼ │ no server answers
//!          │           backlog ◀─ restart
//!          └─ after a second without an answer ─▶ record in the state folder
//! ```
//! Records are written together once in a second: a burst of ended sessions costs one write, and a report that a
//! server acknowledges at once costs none.

use std::collections::{BTreeMap, BTreeSet};

use dataplane::DropReason;
use machine::{Duration, Instant};
use service::radius::{Backlog, Query};

use crate::feature::{Effect, Effects};
use crate::records::{Key, Kind, Recalled};

/// Time that a report waits for an answer before it is written.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// Reports that no server has acknowledged, by number. Numbers increase with each report, over restarts too.
#[derive(Debug, Default)]
pub(super) struct Reports {
    backlog: Backlog,
    /// Number of the last report.
    last: u64,
    /// Reports that the client sends.
    in_flight: BTreeSet<u64>,
    /// Reports of the backlog's burst, whose results the backlog waits for.
    repeated: BTreeSet<u64>,
    /// Content of reports without a record.
    unwritten: BTreeMap<u64, Vec<u8>>,
    /// Reports with a record.
    written: BTreeSet<u64>,
    /// Records to remove.
    obsolete: Vec<u64>,
    /// Time of the next write.
    write_at: Option<Instant>,
}

impl Reports {
    /// Returns the number of a new report, which the client sends.
    pub(super) fn begin(&mut self, report: &Query, now: Instant) -> u64 {
        self.last += 1;
        if let Some(bytes) = report.to_bytes(now) {
            self.unwritten.insert(self.last, bytes);
            self.write_at.get_or_insert(now + WRITE_INTERVAL);
        }
        self.in_flight.insert(self.last);
        self.last
    }

    /// Keeps a report that no server answered, to be sent again.
    pub(super) fn keep(
        &mut self,
        number: u64,
        report: Box<Query>,
        now: Instant,
        out: &mut Effects,
    ) {
        if self.backlog.is_empty() {
            let message = "no server answers: reports of ended sessions wait";
            out.log("radius,warning", message.to_owned());
        }
        self.in_flight.remove(&number);
        if let Some(oldest) = self.backlog.push(number, report, now) {
            self.forget(oldest, now);
            out.push(Effect::Lost(DropReason::RadiusAccounting, 1));
        }
    }

    /// Notes the result of a report. One without an answer was [kept](Self::keep) before.
    pub(super) fn answered(
        &mut self,
        number: u64,
        is_answered: bool,
        now: Instant,
        out: &mut Effects,
    ) {
        self.in_flight.remove(&number);
        if is_answered {
            self.forget(number, now);
        }
        if self.repeated.remove(&number) {
            self.backlog.answered(is_answered, now);
            if self.backlog.is_empty() {
                let message = "all reports of ended sessions were answered";
                out.log("radius,info", message.to_owned());
            }
        }
    }

    /// Removes the record of a report.
    fn forget(&mut self, number: u64, now: Instant) {
        self.unwritten.remove(&number);
        if self.written.remove(&number) {
            self.obsolete.push(number);
            self.write_at.get_or_insert(now + WRITE_INTERVAL);
        }
    }

    /// Returns when [`Self::due`] or [`Self::write_due`] has work next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let times = [self.backlog.deadline(), self.write_at];
        times.into_iter().flatten().min()
    }

    /// Removes and returns the reports to send again.
    pub(super) fn due(&mut self, now: Instant) -> Vec<(u64, Box<Query>)> {
        let due = self.backlog.due(now);
        for (number, _) in &due {
            self.in_flight.insert(*number);
            self.repeated.insert(*number);
        }
        due
    }

    /// True if the client sends a report.
    pub(super) fn has_in_flight(&self) -> bool {
        !self.in_flight.is_empty()
    }

    /// Writes and removes records, if the time has come.
    pub(super) fn write_due(&mut self, now: Instant, out: &mut Effects) {
        if self.write_at.is_some_and(|at| at <= now) {
            self.write(out);
        }
    }

    /// Writes and removes records.
    pub(super) fn write(&mut self, out: &mut Effects) {
        self.write_at = None;
        for number in self.obsolete.drain(..) {
            out.push(Effect::Keep(key(number), None));
        }
        for (number, bytes) in core::mem::take(&mut self.unwritten) {
            self.written.insert(number);
            out.push(Effect::Keep(key(number), Some(bytes)));
        }
    }

    /// Restores a report from before a restart. Returns false if it is unreadable.
    pub(super) fn recall(&mut self, recalled: &Recalled<'_>, now: Instant) -> bool {
        let number = recalled.key.item;
        let Some(report) = Query::read(recalled.bytes, recalled.age, now) else {
            return false;
        };
        self.last = self.last.max(number);
        self.written.insert(number);
        if let Some(oldest) = self.backlog.push(number, Box::new(report), now) {
            self.forget(oldest, now);
        }
        true
    }
}

const fn key(number: u64) -> Key {
    Key {
        kind: Kind::AccountingReport,
        item: number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use service::radius::{Accounting, Port, Question, Request, Service, Status, SubscriberLine};

    fn report() -> Query {
        Query {
            request: Request {
                service: Service::Ppp,
                question: Question::Accounting(Accounting::new(Status::Stop, 60, None)),
                user: String::from("anna"),
                calling: String::new(),
                called: String::new(),
                router: String::from("bras"),
                port: Port::of_service("ether1"),
                session: String::from("8100000f"),
                subscriber_line: SubscriberLine::default(),
                classes: Vec::new(),
                timestamp: None,
            },
            server: None,
            since: Some(Instant::ZERO),
            age: Duration::ZERO,
        }
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    /// Returns the records that are written and removed at a time.
    fn writes(reports: &mut Reports, now: Instant) -> Vec<(u64, Option<Vec<u8>>)> {
        let mut out = Effects::default();
        reports.write_due(now, &mut out);
        let keeps = out.into_iter().filter_map(|effect| match effect {
            Effect::Keep(key, record) => Some((key.item, record)),
            _ => None,
        });
        keeps.collect()
    }

    #[test]
    fn reports_that_are_acknowledged_at_once_are_not_written_and_the_others_together() {
        let (mut reports, mut out) = (Reports::default(), Effects::default());
        let numbers: Vec<u64> = (0..30_000)
            .map(|_| reports.begin(&report(), at(1)))
            .collect();
        for number in &numbers[3..] {
            reports.answered(*number, true, at(1), &mut out);
        }
        assert_eq!(reports.deadline(), Some(at(2)));
        assert_eq!(writes(&mut reports, at(1)), []);
        let written = writes(&mut reports, at(2));
        let written: Vec<_> = { written.iter() }
            .map(|(id, of)| (*id, of.is_some()))
            .collect();
        assert_eq!(written, [(1, true), (2, true), (3, true)]);
        assert_eq!(reports.deadline(), None);

        reports.answered(2, true, at(3), &mut out);
        assert_eq!(writes(&mut reports, at(4)), [(2, None)]);
        assert!(reports.has_in_flight());
    }

    #[test]
    fn a_report_is_sent_again_after_a_restart_with_its_age_and_a_new_report_has_a_new_number() {
        let (mut reports, mut out) = (Reports::default(), Effects::default());
        let number = reports.begin(&report(), at(1));
        reports.keep(number, Box::new(report()), at(4), &mut out);
        reports.answered(number, false, at(4), &mut out);
        let records = writes(&mut reports, at(4));
        let [(1, Some(bytes))] = &records[..] else {
            panic!("{records:?}");
        };

        let mut restarted = Reports::default();
        let recalled = Recalled {
            key: key(number),
            bytes,
            age: Duration::from_secs(100),
        };
        assert!(restarted.recall(&recalled, at(0)));
        let malformed = Recalled {
            key: key(9),
            bytes: &bytes[1..],
            age: Duration::ZERO,
        };
        assert!(!restarted.recall(&malformed, at(0)));
        assert_eq!(restarted.begin(&report(), at(0)), 2);
        let due = restarted.due(at(10));
        assert_eq!(due.len(), 1);
        assert_eq!(due[0].1.age, Duration::from_secs(101));
        restarted.answered(due[0].0, true, at(11), &mut out);
        let removed = writes(&mut restarted, at(12));
        assert!(removed.contains(&(1, None)), "{removed:?}");
    }

    #[test]
    fn the_oldest_report_beyond_the_limit_is_counted_and_its_record_is_removed() {
        let (mut reports, mut out) = (Reports::default(), Effects::default());
        for _ in 0..=service::radius::backlog::MAX_REPORTS {
            let number = reports.begin(&report(), at(1));
            reports.keep(number, Box::new(report()), at(1), &mut out);
        }
        let lost = |effect: &Effect| *effect == Effect::Lost(DropReason::RadiusAccounting, 1);
        assert_eq!(out.into_iter().filter(lost).count(), 1);
        let written = writes(&mut reports, at(2));
        assert_eq!(written.len(), service::radius::backlog::MAX_REPORTS);
        assert_eq!(written[0].0, 2);
    }
}
