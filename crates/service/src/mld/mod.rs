//! MLD listener side of one interface: reports joined groups (MLDv2: RFC 3810, 6; MLDv1 queriers: RFC 3810, 8.2, RFC
//! 2710).
//!
//! The router joins groups itself, mainly the solicited-node groups of its addresses. Snooping switches only forward
//! groups that a listener reported. This implementation has no source filters.
//!
//! ```text
//! Join, Leave ─▶ change: reported at once, and once more within a second
//! Query       ─▶ answer: after a random part of the querier's response time
//! ```
//!
//! While an MLDv1 querier is present, reports and answers use MLDv1.

mod message;

#[cfg(test)]
mod tests;

use core::net::Ipv6Addr;
use std::collections::BTreeSet;

use machine::{Duration, Instant, Machine, Rng, SmallMap, SmallSet};

use crate::Frame;
use message::{Query, Record};

/// MLD listener of one interface. The link is down initially.
#[derive(Debug)]
pub struct Listener {
    link: Link,
    /// Link-local source address. Reports are also sent without one (RFC 3810, 5.2.13), because duplicate address
    /// detection of the first address needs its group.
    source: Option<Ipv6Addr>,
    groups: SmallSet<Ipv6Addr>,
    /// Changes to report.
    changes: SmallMap<Ipv6Addr, Change>,
    /// Time of the next report of changes.
    changes_at: Option<Instant>,
    answer: Option<Answer>,
    /// Time until which an MLDv1 querier counts as present.
    version_1_until: Option<Instant>,
    counters: Counters,
    rng: Rng,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Down,
    Up,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    kind: Record,
    left: u8,
}

/// Pending answer to a query.
#[derive(Debug)]
struct Answer {
    at: Instant,
    about: About,
}

#[derive(Debug)]
enum About {
    /// All groups.
    All,
    /// The queried groups, all of them joined.
    Some(BTreeSet<Ipv6Addr>),
}

/// Events of a [`Listener`].
#[derive(Debug)]
pub enum Event<'a> {
    /// Join a group.
    Join {
        /// Group address.
        group: Ipv6Addr,
    },
    /// Leave a group.
    Leave {
        /// Group address.
        group: Ipv6Addr,
    },
    /// The link-local address of the interface changed.
    Source {
        /// New address; `None` if there is none.
        address: Option<Ipv6Addr>,
    },
    /// The link went up; all groups are reported.
    LinkUp,
    /// The link went down.
    LinkDown,
    /// An ICMPv6 packet arrived; only queries are handled.
    Received {
        /// Packet, from the IPv6 header on.
        packet: &'a [u8],
    },
}

/// Actions that the owner of a [`Listener`] carries out.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a frame from the interface's MAC address.
    Send(Frame),
}

/// Timers of a [`Listener`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Next report of changes.
    Changes,
    /// Answer to a query.
    Answer,
}

/// Counters of a listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Valid queries.
    pub queries: u64,
    /// Invalid queries (RFC 3810, 6.2).
    pub invalid: u64,
    /// Sent reports.
    pub reports: u64,
}

impl Listener {
    /// Creates a listener without groups. Its jitter derives from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            link: Link::Down,
            source: None,
            groups: SmallSet::default(),
            changes: SmallMap::default(),
            changes_at: None,
            answer: None,
            version_1_until: None,
            counters: Counters::default(),
            rng: Rng::seeded(seed),
        }
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Joined groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = Ipv6Addr> + '_ {
        self.groups.iter().copied()
    }

    fn join(&mut self, group: Ipv6Addr, now: Instant) {
        if self.groups.insert(group) {
            self.change(group, Record::Joined, now);
        }
    }

    fn leave(&mut self, group: Ipv6Addr, now: Instant) {
        if self.groups.remove(&group) {
            if let Some(Answer {
                about: About::Some(asked),
                ..
            }) = &mut self.answer
            {
                asked.remove(&group);
            }
            self.change(group, Record::Left, now);
        }
    }

    /// Schedules the immediate report of a change (RFC 3810, 6.1).
    fn change(&mut self, group: Ipv6Addr, kind: Record, now: Instant) {
        // All-nodes and interface-local groups are never reported (RFC 3810, 6).
        if self.link == Link::Down || !message::is_reported(group) {
            return;
        }
        let left = ROBUSTNESS;
        self.changes.insert(group, Change { kind, left });
        self.changes_at = Some(now);
    }

    fn link_up(&mut self, now: Instant) {
        if self.link == Link::Up {
            return;
        }
        self.link = Link::Up;
        let groups: Vec<Ipv6Addr> = self.groups().collect();
        for group in groups {
            self.change(group, Record::Joined, now);
        }
    }

    fn link_down(&mut self) {
        self.link = Link::Down;
        self.changes.clear();
        self.changes_at = None;
        self.answer = None;
        self.version_1_until = None;
    }

    fn received(&mut self, packet: &[u8], now: Instant) {
        if self.link == Link::Down {
            return;
        }
        let query = match message::query(packet) {
            Ok(Some(query)) => query,
            Ok(None) => return,
            Err(message::Invalid) => {
                self.counters.invalid += 1;
                return;
            }
        };
        self.counters.queries += 1;
        if query.version_1 {
            self.version_1_until = Some(now + OLDER_QUERIER);
        }
        let bound = u64::try_from(query.response_time.as_nanos()).unwrap_or(u64::MAX);
        let at = now + Duration::from_nanos(self.rng.below(bound));
        self.answer = self.planned(&query, at);
    }

    /// Computes the pending answer after a query (RFC 3810, 6.2, rules 1 to 5, without sources).
    fn planned(&mut self, query: &Query, at: Instant) -> Option<Answer> {
        let old = self.answer.take();
        let Some(group) = query.group else {
            let at = match &old {
                Some(old) if matches!(old.about, About::All) => old.at.min(at),
                _ => at,
            };
            let about = About::All;
            return Some(Answer { at, about });
        };
        let is_ours = self.groups.contains(&group) && message::is_reported(group);
        match old {
            old if !is_ours => old,
            Some(mut old) => {
                old.at = old.at.min(at);
                if let About::Some(asked) = &mut old.about {
                    asked.insert(group);
                }
                Some(old)
            }
            None => {
                let about = About::Some(BTreeSet::from([group]));
                Some(Answer { at, about })
            }
        }
    }

    fn report_changes(&mut self, now: Instant, out: &mut Vec<Action>) {
        let records: Vec<_> = self
            .changes
            .iter()
            .map(|(&group, change)| (group, change.kind))
            .collect();
        self.changes.retain(|_, change| {
            change.left = change.left.saturating_sub(1);
            change.left > 0
        });
        let wait = Duration::from_nanos(self.rng.below(REPORT_INTERVAL_MAX.as_nanos() as u64));
        self.changes_at = (!self.changes.is_empty()).then(|| now + wait.max(LEAST));
        self.send(&records, now, out);
    }

    fn give_answer(&mut self, now: Instant, out: &mut Vec<Action>) {
        let Some(answer) = self.answer.take() else {
            return;
        };
        let groups: Vec<_> = match answer.about {
            About::All => self.groups().filter(|&g| message::is_reported(g)).collect(),
            About::Some(groups) => groups.into_iter().collect(),
        };
        let record = |group| (group, Record::Present);
        let records: Vec<_> = groups.into_iter().map(record).collect();
        self.send(&records, now, out);
    }

    fn send(&mut self, records: &[(Ipv6Addr, Record)], now: Instant, out: &mut Vec<Action>) {
        let source = self.source.unwrap_or(Ipv6Addr::UNSPECIFIED);
        let before = out.len();
        match self.version_1_until.filter(|&until| now < until) {
            Some(_) => {
                let frames = records
                    .iter()
                    .map(|&(group, record)| message::version_1(source, group, record));
                out.extend(frames.map(Action::Send));
            }
            None => {
                let packets = records.chunks(message::RECORDS_MAX);
                let frames = packets.map(|records| message::version_2(source, records));
                out.extend(frames.map(Action::Send));
            }
        }
        self.counters.reports += (out.len() - before) as u64;
    }
}

impl Machine for Listener {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, _out: &mut Vec<Action>) {
        match event {
            Event::Join { group } => self.join(group, now),
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
        if self.answer.as_ref().is_some_and(|answer| answer.at <= now) {
            self.give_answer(now, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let changes = self.changes_at.map(|at| (at, Timer::Changes));
        let answer = self
            .answer
            .as_ref()
            .map(|answer| (answer.at, Timer::Answer));
        [changes, answer]
            .into_iter()
            .flatten()
            .min_by_key(|next| next.0)
    }
}

/// Number of reports per change (RFC 3810, 9.1).
const ROBUSTNESS: u8 = 2;
/// Maximum interval between these reports (RFC 3810, 9.11).
const REPORT_INTERVAL_MAX: Duration = Duration::from_secs(1);
/// Minimum interval between these reports.
const LEAST: Duration = Duration::from_millis(1);
/// Time for which an MLDv1 querier counts as present: robustness times query interval plus response delay (RFC 3810,
/// 9.12).
const OLDER_QUERIER: Duration = Duration::from_secs(2 * 125 + 10);
