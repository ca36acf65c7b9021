//! Prefixes and name servers that were advertised and are not any more. Hosts use them until their lifetimes end,
//! unless an advertisement says that they are gone (RFC 9096, 3.5; RFC 8106, 5.1).

use core::net::Ipv6Addr;
use std::collections::BTreeMap;

use machine::{Duration, Instant};

use super::{Config, Prefix, QUICK};

/// For how long a stale prefix is advertised at most: the valid lifetime of RFC 4861, 6.2.1.
const LONGEST: Duration = Duration::from_secs(2_592_000);
/// How long prefixes of before a restart may take to come again.
const GRACE: Duration = Duration::from_secs(60);
/// How many stale prefixes and servers are remembered: of more, those that expire first are forgotten.
const MOST: usize = 32;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Stale {
    /// By network and length: the prefix as it was advertised, and until when hosts are told that it is gone.
    prefixes: BTreeMap<(Ipv6Addr, u8), (Prefix, Instant)>,
    /// Prefixes of before a restart that may come again.
    recalled: Vec<Prefix>,
    /// When those that did not become stale; set with the first advertisement.
    recalled_until: Option<Instant>,
    /// Name servers, and how many more advertisements to all nodes say that they are gone.
    servers: BTreeMap<Ipv6Addr, u8>,
}

impl Stale {
    /// Whether there is no prefix that hosts are told of.
    pub(super) fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// The prefixes that hosts are told of, as they were advertised.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = &Prefix> {
        self.prefixes.values().map(|(prefix, _)| prefix)
    }

    /// The name servers that hosts are told of.
    pub(super) fn servers(&self) -> impl Iterator<Item = &Ipv6Addr> {
        self.servers.keys()
    }

    /// All prefixes that hosts may have addresses of.
    pub(super) fn known(&self) -> impl Iterator<Item = Prefix> {
        self.prefixes().chain(&self.recalled).copied()
    }

    /// Takes prefixes of before a restart.
    pub(super) fn recall(&mut self, prefixes: Vec<Prefix>) {
        self.recalled = prefixes;
        self.recalled.truncate(MOST);
    }

    /// Advertisements begin.
    pub(super) fn started(&mut self, now: Instant) {
        if !self.recalled.is_empty() && self.recalled_until.is_none() {
            self.recalled_until = Some(now + GRACE);
        }
    }

    /// When prefixes of before a restart become stale.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.recalled_until
    }

    /// A configuration takes the place of another one. Without `told` nobody heard of the former.
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

    /// Prefixes of before a restart that did not come again are stale.
    pub(super) fn give_up_recalled(&mut self, now: Instant) {
        self.recalled_until = None;
        for prefix in core::mem::take(&mut self.recalled) {
            self.add(prefix, now);
        }
    }

    /// Forgets the prefixes whose valid lifetime has passed.
    pub(super) fn expire(&mut self, now: Instant) {
        self.prefixes.retain(|_, (_, until)| *until > now);
    }

    /// All nodes were told.
    pub(super) fn told(&mut self) {
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
