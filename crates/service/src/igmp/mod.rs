//! IGMP host side of one interface: reports joined groups (version 3: RFC 3376, 5; older queriers: RFC 3376, 7, RFC
//! 2236).
//!
//! Snooping switches and routers only forward groups that a host reported. This implementation has no source filters.
//!
//! ```text
//! Join, Leave ─▶ change: reported at once, and once more within a second
//! Query       ─▶ answer: after a random part of the querier's response time
//! ```
//!
//! While a querier of an older version is present, reports use its version.

mod message;

#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine, Rng};

use crate::Frame;
use message::{Query, Record, Version};

/// IGMP host of one interface. The link is down initially.
#[derive(Debug)]
pub struct Host {
    is_up: bool,
    /// Source address; reports are also sent without one.
    source: Option<Ipv4Addr>,
    groups: BTreeSet<Ipv4Addr>,
    /// Changes to report, with the number of reports left.
    changes: BTreeMap<Ipv4Addr, (Record, u8)>,
    /// Time of the next report of changes.
    changes_at: Option<Instant>,
    /// Time of the pending answer, and its groups; `None` for all groups.
    answer: Option<(Instant, Option<BTreeSet<Ipv4Addr>>)>,
    /// Version of an older querier, and the time until which it counts as present.
    older: Option<(Version, Instant)>,
    rng: Rng,
}

/// Events of a [`Host`].
#[derive(Debug)]
pub enum Event<'a> {
    /// Join a group.
    Join {
        /// Group address.
        group: Ipv4Addr,
    },
    /// Leave a group.
    Leave {
        /// Group address.
        group: Ipv4Addr,
    },
    /// The interface's address changed.
    Source {
        /// New address.
        address: Option<Ipv4Addr>,
    },
    /// The link went up; all groups are reported.
    LinkUp,
    /// The link went down.
    LinkDown,
    /// An IGMP packet arrived; only queries are handled.
    Received {
        /// Packet, from the IPv4 header on.
        packet: &'a [u8],
    },
}

/// Actions that the owner of a [`Host`] carries out.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a frame from the interface's MAC address.
    Send(Frame),
}

/// Timers of a [`Host`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Next report of changes.
    Changes,
    /// Answer to a query.
    Answer,
}

impl Host {
    /// Creates a host without groups. Its jitter derives from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            is_up: false,
            source: None,
            groups: BTreeSet::new(),
            changes: BTreeMap::new(),
            changes_at: None,
            answer: None,
            older: None,
            rng: Rng::seeded(seed),
        }
    }

    /// Joined groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = Ipv4Addr> + '_ {
        self.groups.iter().copied()
    }

    fn leave(&mut self, group: Ipv4Addr, now: Instant) {
        if self.groups.remove(&group) {
            if let Some((_, Some(asked))) = &mut self.answer {
                asked.remove(&group);
            }
            self.change(group, Record::Left, now);
        }
    }

    /// Schedules the immediate report of a change (RFC 3376, 5.1).
    fn change(&mut self, group: Ipv4Addr, record: Record, now: Instant) {
        if self.is_up && message::is_reported(group) {
            self.changes.insert(group, (record, ROBUSTNESS));
            self.changes_at = Some(now);
        }
    }

    fn link_up(&mut self, now: Instant) {
        if !core::mem::replace(&mut self.is_up, true) {
            let groups: Vec<_> = self.groups().collect();
            for group in groups {
                self.change(group, Record::Joined, now);
            }
        }
    }

    fn link_down(&mut self) {
        self.is_up = false;
        self.changes.clear();
        (self.changes_at, self.answer, self.older) = (None, None, None);
    }

    fn received(&mut self, packet: &[u8], now: Instant) {
        let Some(query) = message::query(packet).filter(|_| self.is_up) else {
            return;
        };
        if query.version < Version::Three {
            self.older = Some((query.version, now + OLDER_QUERIER));
        }
        let bound = u64::try_from(query.response_time.as_nanos()).unwrap_or(u64::MAX);
        let at = now + Duration::from_nanos(self.rng.below(bound.max(1)));
        self.plan(&query, at);
    }

    /// Schedules the answer to a query (RFC 3376, 5.2, without sources).
    fn plan(&mut self, query: &Query, at: Instant) {
        let old = self.answer.take();
        let sooner = |old: Instant| old.min(at);
        self.answer = match (query.group, old) {
            (None, Some((old, None))) => Some((sooner(old), None)),
            (None, _) => Some((at, None)),
            (Some(group), old) if !self.groups.contains(&group) => old,
            (Some(_), Some((old, None))) => Some((sooner(old), None)),
            (Some(group), Some((old, Some(mut asked)))) => {
                asked.insert(group);
                Some((sooner(old), Some(asked)))
            }
            (Some(group), None) => Some((at, Some(BTreeSet::from([group])))),
        };
    }

    fn report_changes(&mut self, now: Instant, out: &mut Vec<Action>) {
        let records: Vec<_> = { self.changes.iter() }
            .map(|(group, (record, _))| (*group, *record))
            .collect();
        self.changes.retain(|_, (_, left)| {
            *left = left.saturating_sub(1);
            *left > 0
        });
        let wait = Duration::from_nanos(self.rng.below(REPORT_INTERVAL_MAX.as_nanos() as u64));
        self.changes_at = (!self.changes.is_empty()).then(|| now + wait.max(LEAST));
        self.send(&records, now, out);
    }

    fn give_answer(&mut self, now: Instant, out: &mut Vec<Action>) {
        let Some((_, asked)) = self.answer.take() else {
            return;
        };
        let groups = match asked {
            None => self.groups.clone(),
            Some(groups) => groups,
        };
        let reported = groups
            .into_iter()
            .filter(|group| message::is_reported(*group));
        let records: Vec<_> = reported.map(|group| (group, Record::Present)).collect();
        self.send(&records, now, out);
    }

    fn send(&mut self, records: &[(Ipv4Addr, Record)], now: Instant, out: &mut Vec<Action>) {
        let source = self.source.unwrap_or(Ipv4Addr::UNSPECIFIED);
        match self.older.filter(|(_, until)| now < *until) {
            Some((version, _)) => {
                let frames = records
                    .iter()
                    .filter_map(|(group, record)| message::older(version, source, *group, *record));
                out.extend(frames.map(Action::Send));
            }
            None => {
                let packets = records.chunks(message::RECORDS_MAX);
                let frames = packets.map(|records| message::version_3(source, records));
                out.extend(frames.map(Action::Send));
            }
        }
    }
}

impl Machine for Host {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, _: &mut Vec<Action>) {
        match event {
            Event::Join { group } => {
                if self.groups.insert(group) {
                    self.change(group, Record::Joined, now);
                }
            }
            Event::Leave { group } => self.leave(group, now),
            Event::Source { address } => self.source = address,
            Event::LinkUp => self.link_up(now),
            Event::LinkDown => self.link_down(),
            Event::Received { packet } => self.received(packet, now),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        if self.changes_at.is_some_and(|at| at <= now) {
            self.report_changes(now, out);
        }
        if self.answer.as_ref().is_some_and(|(at, _)| *at <= now) {
            self.give_answer(now, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let changes = self.changes_at.map(|at| (at, Timer::Changes));
        let answer = self.answer.as_ref().map(|(at, _)| (*at, Timer::Answer));
        let all = [changes, answer].into_iter().flatten();
        all.min_by_key(|(at, _)| *at)
    }
}

/// Number of reports per change (RFC 3376, 8.1).
const ROBUSTNESS: u8 = 2;
/// Maximum interval between these reports (RFC 3376, 8.11).
const REPORT_INTERVAL_MAX: Duration = Duration::from_secs(1);
/// Minimum interval between these reports.
const LEAST: Duration = Duration::from_millis(1);
/// Time for which an older querier counts as present: robustness times query interval plus response time (RFC 3376,
/// 8.12).
const OLDER_QUERIER: Duration = Duration::from_secs(2 * 125 + 10);
