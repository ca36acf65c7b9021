//! Neighbour table of one interface: entries, timers, and the order of eviction.
//!
//! Every operation costs O(log n). [`Table::place`] and [`Table::remove`] alone change the three indices (by address,
//! by deadline, by rank and age).

use core::ops::Bound;
use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant};
use wire::Mac;

use super::{Row, Timer};

/// State of a neighbour (RFC 4861, 7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Solicited this many times without an answer.
    Incomplete { solicits: u8 },
    /// Confirmed within its reachable time.
    Reachable { mac: Mac },
    /// Not confirmed recently. `used` is the time of the last known traffic; `last_call` is set after the last
    /// question to the owner.
    Stale {
        mac: Mac,
        used: Instant,
        last_call: bool,
    },
    /// In use and unconfirmed; an upper layer may still confirm it.
    Delay { mac: Mac },
    /// Probed this many times.
    Probe { mac: Mac, solicits: u8 },
    /// Did not answer.
    Failed,
    /// Configured.
    Permanent { mac: Option<Mac>, published: bool },
}

impl State {
    /// Link-layer address for packets.
    pub(super) fn mac(&self) -> Option<Mac> {
        match *self {
            Self::Incomplete { .. } | Self::Failed => None,
            Self::Reachable { mac }
            | Self::Stale { mac, .. }
            | Self::Delay { mac }
            | Self::Probe { mac, .. } => Some(mac),
            Self::Permanent { mac, .. } => mac,
        }
    }

    pub(super) fn is_permanent(&self) -> bool {
        matches!(self, Self::Permanent { .. })
    }

    fn rank(&self) -> Option<Rank> {
        match self {
            Self::Failed => Some(Rank::Failed),
            Self::Incomplete { .. } => Some(Rank::Incomplete),
            Self::Stale { .. } => Some(Rank::Stale),
            Self::Reachable { .. } | Self::Delay { .. } | Self::Probe { .. } => Some(Rank::Busy),
            Self::Permanent { .. } => None,
        }
    }
}

/// `status` column of `/ip/arp` and `/ipv6/neighbor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// In use and unconfirmed.
    Delay,
    /// Did not answer.
    Failed,
    /// Resolution in progress.
    Incomplete,
    /// Configured.
    Permanent,
    /// Being probed.
    Probe,
    /// Confirmed recently.
    Reachable,
    /// Not confirmed recently.
    Stale,
}

impl Status {
    /// Name in RouterOS.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delay => "delay",
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
            Self::Permanent => "permanent",
            Self::Probe => "probe",
            Self::Reachable => "reachable",
            Self::Stale => "stale",
        }
    }
}

/// Order of eviction, first to last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rank {
    Failed,
    Incomplete,
    Stale,
    Busy,
}

/// Number of ranks.
const RANKS: usize = 4;

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) state: State,
    /// The neighbour is a router.
    pub(super) router: bool,
    /// Time of the last change of the link-layer address.
    pub(super) changed: Instant,
    /// Time of entering the rank; for a stale entry, time of its last use.
    since: Instant,
    due: Option<Instant>,
}

/// Reason for a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Newcomer {
    /// Resolution of an address.
    Sought,
    /// Unsolicited message of a host.
    Seen,
}

/// Result of the search for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room<A> {
    /// There is room.
    Free,
    /// There is room after evicting this entry.
    Evict(A),
    /// The table is full.
    Full,
}

/// Limits of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum number of learnt entries.
    pub(super) entries: usize,
    /// Maximum number of incomplete and failed entries.
    pub(super) unresolved: usize,
    /// Time for which an incomplete entry is protected: until its first solicitation could be answered.
    pub(super) grace: Duration,
}

#[derive(Debug)]
pub(super) struct Table<A> {
    entries: BTreeMap<A, Entry>,
    timers: BTreeSet<(Instant, A)>,
    /// Learnt entries by rank, oldest first.
    ranks: [BTreeSet<(Instant, A)>; RANKS],
}

impl<A> Default for Table<A> {
    fn default() -> Self {
        Self {
            entries: BTreeMap::new(),
            timers: BTreeSet::new(),
            ranks: core::array::from_fn(|_| BTreeSet::new()),
        }
    }
}

impl<A: Copy + Ord> Table<A> {
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn get(&self, address: A) -> Option<&Entry> {
        self.entries.get(&address)
    }

    pub(super) fn state(&self, address: A) -> Option<State> {
        self.entries.get(&address).map(|entry| entry.state)
    }

    pub(super) fn set_router(&mut self, address: A, router: bool) {
        if let Some(entry) = self.entries.get_mut(&address) {
            entry.router = router;
        }
    }

    /// Sets the state of an address until `due`, which is later than `now`; returns its former link-layer address.
    pub(super) fn place(
        &mut self,
        address: A,
        state: State,
        due: Option<Instant>,
        now: Instant,
    ) -> Option<Mac> {
        debug_assert!(
            due.is_none_or(|due| due > now),
            "a timer that is due at once would spin"
        );
        let old = self.unindex(address);
        let old_mac = old.and_then(|old| old.state.mac());
        let same_rank = old.is_some_and(|old| old.state.rank() == state.rank());
        let since = match (state, old) {
            (State::Stale { used, .. }, _) => used,
            (_, Some(old)) if same_rank => old.since,
            _ => now,
        };
        let changed = match old {
            Some(old) if old_mac == state.mac() => old.changed,
            _ => now,
        };
        let entry = Entry {
            state,
            router: old.is_some_and(|old| old.router),
            changed,
            since,
            due,
        };
        if let Some(due) = due {
            self.timers.insert((due, address));
        }
        if let Some(rank) = state.rank() {
            self.ranks[rank as usize].insert((since, address));
        }
        self.entries.insert(address, entry);
        old_mac
    }

    /// Removes an entry and returns its last state.
    pub(super) fn remove(&mut self, address: A) -> Option<State> {
        let old = self.unindex(address)?;
        self.entries.remove(&address);
        Some(old.state)
    }

    /// Returns the next entry with an expired timer and clears the timer.
    pub(super) fn due(&mut self, now: Instant) -> Option<A> {
        let &(due, address) = self.timers.first()?;
        if due > now {
            return None;
        }
        self.timers.pop_first();
        if let Some(entry) = self.entries.get_mut(&address) {
            entry.due = None;
        }
        Some(address)
    }

    pub(super) fn deadline(&self) -> Option<(Instant, Timer)> {
        let (due, address) = self.timers.first()?;
        let entry = self.entries.get(address)?;
        Some((*due, Timer::from(&entry.state)))
    }

    /// Finds room for a new entry, possibly by eviction: failed before incomplete before stale, oldest first.
    /// Configured, confirmed and probed entries are never evicted.
    pub(super) fn room(&self, newcomer: Newcomer, limits: Limits, now: Instant) -> Room<A> {
        let unresolved = self.rank(Rank::Failed).len() + self.rank(Rank::Incomplete).len();
        let share_full = newcomer == Newcomer::Sought && unresolved >= limits.unresolved;
        if self.learnt() < limits.entries && !share_full {
            return Room::Free;
        }
        let oldest = |rank| self.rank(rank).first();
        let patient = |&&(since, _): &&(Instant, A)| now - since >= limits.grace;
        let stale = oldest(Rank::Stale).filter(|_| !share_full);
        oldest(Rank::Failed)
            .or_else(|| oldest(Rank::Incomplete).filter(patient))
            .or(stale)
            .map_or(Room::Full, |&(_, address)| Room::Evict(address))
    }

    /// Next entry to evict if there are more than `max` learnt entries.
    pub(super) fn surplus(&self, max: usize) -> Option<A> {
        if self.learnt() <= max {
            return None;
        }
        let first = self.ranks.iter().find_map(BTreeSet::first)?;
        Some(first.1)
    }

    /// Addresses of all learnt entries.
    pub(super) fn learnt_addresses(&self) -> Vec<A> {
        let addresses = self.ranks.iter().flatten();
        addresses.map(|&(_, address)| address).collect()
    }

    pub(super) fn row(&self, address: A) -> Option<Row<A>> {
        self.entries.get(&address).map(|entry| entry.row(address))
    }

    pub(super) fn rows(&self, after: Option<A>) -> impl Iterator<Item = Row<A>> + '_ {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let range = self.entries.range((from, Bound::Unbounded));
        range.map(|(&address, entry)| entry.row(address))
    }

    fn learnt(&self) -> usize {
        self.ranks.iter().map(BTreeSet::len).sum()
    }

    fn rank(&self, rank: Rank) -> &BTreeSet<(Instant, A)> {
        &self.ranks[rank as usize]
    }

    fn unindex(&mut self, address: A) -> Option<Entry> {
        let entry = *self.entries.get(&address)?;
        if let Some(due) = entry.due {
            self.timers.remove(&(due, address));
        }
        if let Some(rank) = entry.state.rank() {
            self.ranks[rank as usize].remove(&(entry.since, address));
        }
        Some(entry)
    }
}

impl Entry {
    fn row<A>(&self, address: A) -> Row<A> {
        let published = matches!(
            self.state,
            State::Permanent {
                published: true,
                ..
            }
        );
        Row {
            address,
            mac: self.state.mac(),
            status: self.status(),
            dynamic: !self.state.is_permanent(),
            published,
            router: self.router,
        }
    }

    fn status(&self) -> Option<Status> {
        Some(match self.state {
            State::Incomplete { .. } => Status::Incomplete,
            State::Reachable { .. } => Status::Reachable,
            State::Stale { .. } => Status::Stale,
            State::Delay { .. } => Status::Delay,
            State::Probe { .. } => Status::Probe,
            State::Failed => Status::Failed,
            State::Permanent { mac: Some(_), .. } => Status::Permanent,
            State::Permanent { mac: None, .. } => return None,
        })
    }
}
