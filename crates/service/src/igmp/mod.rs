//! Reports of IPv4 multicast groups on one interface: the host's side of IGMP (version 3: RFC 3376, 5; older queriers:
//! RFC 3376, 7, RFC 2236).
//!
//! Switches that snoop, and routers, do not pass on what nobody reported. Reduced to what this router needs: groups
//! are received from every source or not at all.
//!
//! ```text
//! Join, Leave ─▶ change: reported at once, and once more within a second
//! Query       ─▶ answer: after a random part of the querier's response time
//! ```
//!
//! While an older querier was heard lately, reports are in its version.

mod message;

#[cfg(test)]
mod tests;

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine, Rng};

use crate::Frame;
use message::{Query, Record, Version};

/// The host's side of IGMP on one interface, as a machine. Its link is down at first.
#[derive(Debug)]
pub struct Host {
    is_up: bool,
    /// Our address; reports go out without one as well.
    source: Option<Ipv4Addr>,
    groups: BTreeSet<Ipv4Addr>,
    /// Changes that are still to be reported, and how often.
    changes: BTreeMap<Ipv4Addr, (Record, u8)>,
    /// When they are.
    changes_at: Option<Instant>,
    /// When a query is answered, and about which groups; none is about all.
    answer: Option<(Instant, Option<BTreeSet<Ipv4Addr>>)>,
    /// An older querier, and until when it is taken to be present.
    older: Option<(Version, Instant)>,
    rng: Rng,
}

/// What happens to a [`Host`].
#[derive(Debug)]
pub enum Event<'a> {
    /// Receive this group.
    Join {
        /// The group.
        group: Ipv4Addr,
    },
    /// Receive it no more.
    Leave {
        /// The group.
        group: Ipv4Addr,
    },
    /// Our address is this one now, or none.
    Source {
        /// The address.
        address: Option<Ipv4Addr>,
    },
    /// Frames pass: all groups are reported.
    LinkUp,
    /// No frame passes.
    LinkDown,
    /// A packet of IGMP arrived; all but queries are ignored.
    Received {
        /// The packet, from its IPv4 header on.
        packet: &'a [u8],
    },
}

/// What a [`Host`] wants done.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Transmit a frame on this interface, from its link address.
    Send(Frame),
}

/// The timers of a [`Host`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Changes are reported.
    Changes,
    /// A query is answered.
    Answer,
}

impl Host {
    /// A host that receives no group; all of its jitter follows from `seed`.
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

    /// The groups that are received, in order.
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

    /// Notes a change and has it reported at once (RFC 3376, 5.1).
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

    /// What is to be answered, and when, after this query (RFC 3376, 5.2, without sources).
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

/// How often a change is reported (RFC 3376, 8.1).
const ROBUSTNESS: u8 = 2;
/// How far apart such reports are at most (RFC 3376, 8.11).
const REPORT_INTERVAL_MAX: Duration = Duration::from_secs(1);
/// How far apart they are at least.
const LEAST: Duration = Duration::from_millis(1);
/// For how long an older querier is taken to be present: robustness times query interval, and a response time
/// (RFC 3376, 8.12).
const OLDER_QUERIER: Duration = Duration::from_secs(2 * 125 + 10);
