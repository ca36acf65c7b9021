//! Withdrawn prefixes and DNS servers. Hosts use them until their lifetimes end, unless an advertisement withdraws
//! them (RFC 9096, 3.5; RFC 8106, 5.1).

use core::net::Ipv6Addr;
use std::collections::BTreeMap;

use machine::{Duration, Instant};

use super::{Config, Prefix, QUICK};

/// Maximum time of advertising a stale prefix: the default valid lifetime of RFC 4861, 6.2.1.
const LONGEST: Duration = Duration::from_secs(2_592_000);
/// Grace period for prefixes from before a restart to be configured again.
const GRACE: Duration = Duration::from_secs(60);
/// Maximum number of stale prefixes and servers; beyond that, those that expire first are forgotten.
const MOST: usize = 32;

/// Prefixes and DNS servers being withdrawn.
#[derive(Debug, Default)]
pub(super) struct Stale {
    /// By network and length: the prefix as advertised, and the end of its withdrawal.
    prefixes: BTreeMap<(Ipv6Addr, u8), (Prefix, Instant)>,
    /// Prefixes from before a restart, within their grace period.
    recalled: Vec<Prefix>,
    /// Time at which the others become stale; set with the first advertisement.
    recalled_until: Option<Instant>,
    /// DNS servers, and number of multicast advertisements left that withdraw them.
    servers: BTreeMap<Ipv6Addr, u8>,
}

impl Stale {
    /// True if no prefix is being withdrawn.
    pub(super) fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// Withdrawn prefixes, as they were advertised.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = &Prefix> {
        self.prefixes.values().map(|(prefix, _)| prefix)
    }

    /// Withdrawn DNS servers.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Ipv6Addr> {
        self.servers.keys()
    }

    /// All prefixes from which hosts may have addresses.
    pub(super) fn known(&self) -> impl Iterator<Item = Prefix> {
        self.prefixes().chain(&self.recalled).copied()
    }

    /// Stores prefixes from before a restart.
    pub(super) fn recall(&mut self, prefixes: Vec<Prefix>) {
        self.recalled = prefixes;
        self.recalled.truncate(MOST);
    }

    /// Starts the grace period with the first advertisement.
    pub(super) fn started(&mut self, now: Instant) {
        if !self.recalled.is_empty() && self.recalled_until.is_none() {
            self.recalled_until = Some(now + GRACE);
        }
    }

    /// Time at which prefixes from before a restart become stale.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.recalled_until
    }

    /// Withdraws prefixes and servers of `old` that `new` lacks. With `told` false, `old` was never advertised.
    pub(super) fn replace(&mut self, old: &Config, new: &Config, told: bool, now: Instant) {
        let is_in = |all: &[Prefix], one: &Prefix| all.iter().any(|other| other.is_of(one));
        if told {
            for prefix in old.prefixes.iter().filter(|old| old.valid_s > 0) {
                self.add(*prefix, now);
            }
            for server in old.dns.iter().filter(|old| !new.dns.contains(old)) {
                if self.servers.len() < MOST {
                    self.servers.insert(*server, QUICK);
                }
            }
        }
        let known = |one: &Prefix| is_in(&self.recalled, one) || is_in(&old.prefixes, one);
        let is_renumbered = !new.prefixes.iter().all(known);
        self.recalled.retain(|old| !is_in(&new.prefixes, old));
        if is_renumbered {
            self.give_up_recalled(now);
        }
        for prefix in &new.prefixes {
            self.prefixes.remove(&prefix.key());
        }
        self.servers.retain(|server, _| !new.dns.contains(server));
        if self.recalled.is_empty() {
            self.recalled_until = None;
        }
    }

    /// Marks prefixes from before a restart as stale.
    pub(super) fn give_up_recalled(&mut self, now: Instant) {
        self.recalled_until = None;
        for prefix in core::mem::take(&mut self.recalled) {
            self.add(prefix, now);
        }
    }

    /// Removes prefixes whose withdrawal ended.
    pub(super) fn expire(&mut self, now: Instant) {
        self.prefixes.retain(|_, (_, until)| *until > now);
    }

    /// Counts a multicast advertisement.
    pub(super) fn count_sent(&mut self) {
        self.servers.retain(|_, left| {
            *left -= 1;
            *left > 0
        });
    }

    fn add(&mut self, prefix: Prefix, now: Instant) {
        let until = now + Duration::from_secs(prefix.valid_s.into()).min(LONGEST);
        self.prefixes.insert(prefix.key(), (prefix, until));
        if self.prefixes.len() > MOST {
            let first = self.prefixes.iter().min_by_key(|(_, (_, until))| *until);
            if let Some(key) = first.map(|(key, _)| *key) {
                self.prefixes.remove(&key);
            }
        }
    }
}
