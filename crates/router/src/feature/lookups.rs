//! Resolves names for features, such as time servers and watched hosts. Features request a name by
//! `Effect::Resolve` and receive addresses by `Feature::resolved`. A name is resolved as long as a
//! feature wants it.

use core::net::IpAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use machine::{Instant, Machine as _};
use menu::Changes;
use service::resolver::{Action, Ask, Event, Key, Resolver};
use wire::dns::{Kind, Question};

use super::dns::read::watching;
use super::{Effects, Feature, View};
use crate::firewall::hosts::{DNS, heard, question};
use crate::learned::Learned;

/// Maximum number of names.
const NAMES: usize = 1_024;

/// Names that features resolve.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    resolver: Resolver,
    /// Number of requests for each name.
    wanted: BTreeMap<Arc<str>, u32>,
    /// Names whose addresses changed since the last report.
    others: BTreeSet<Arc<str>>,
    /// Queued queries, and open queries by ticket.
    asks: VecDeque<Ask>,
    asked: BTreeMap<u64, Key>,
}

impl Lookups {
    /// Adds or removes a request for a name.
    pub(crate) fn want(&mut self, name: Arc<str>, on: bool, now: Instant) {
        let count = self.wanted.get(&name).copied().unwrap_or(0);
        let kinds = [Kind::A, Kind::Aaaa].into_iter();
        let keys = kinds.filter_map(|kind| Key::new(&name, kind));
        let event: fn(Key) -> Event = match (on, count) {
            (true, 0) if self.wanted.len() < NAMES => Event::Watch,
            (false, 1) => Event::Forget,
            _ => {
                let count = if on {
                    count + 1
                } else {
                    count.saturating_sub(1)
                };
                if let Some(known) = self.wanted.get_mut(&name) {
                    *known = count;
                    self.others.insert(name);
                }
                return;
            }
        };
        for key in keys {
            self.feed(event(key), now);
        }
        match on {
            true => drop(self.wanted.insert(name, 1)),
            false => drop(self.wanted.remove(&name)),
        }
    }

    /// Returns the next name with changed addresses, IPv4 first.
    pub(crate) fn take_other(&mut self) -> Option<(Arc<str>, Vec<IpAddr>)> {
        let name = self.others.pop_first()?;
        let kinds = [Kind::A, Kind::Aaaa].into_iter();
        let keys = kinds.filter_map(|kind| Key::new(&name, kind));
        let known = keys.flat_map(|key| self.resolver.known(&key).collect::<Vec<_>>());
        let addresses = known.map(|(address, _)| address).collect();
        Some((name, addresses))
    }

    /// Repeats queries after a change of DNS servers.
    pub(crate) fn retry(&mut self, now: Instant) {
        self.feed(Event::OtherServers, now);
    }

    /// Returns the next queued query, with its ticket.
    pub(crate) fn take_ask(&mut self) -> Option<(u64, Question)> {
        while let Some(Ask { ticket, key }) = self.asks.pop_front() {
            if let Some(question) = question(&key) {
                self.asked.insert(ticket, key);
                return Some((ticket, question));
            }
        }
        None
    }

    /// Handles the answer to a query.
    pub(crate) fn hear(&mut self, ticket: u64, message: &[u8], now: Instant) {
        if let Some(key) = self.asked.remove(&ticket) {
            let heard = heard(&key, message);
            self.feed(Event::Heard { ticket, heard }, now);
        }
    }

    fn feed(&mut self, event: Event, now: Instant) {
        let mut actions = Vec::new();
        self.resolver.handle(event, now, &mut actions);
        self.carry_out(actions);
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Ask(ask) => self.asks.push_back(ask),
                Action::Add(key, _) | Action::Remove(key, _) => {
                    let of_key =
                        |name: &&Arc<str>| Key::new(name, key.kind()).is_some_and(|own| own == key);
                    let name = key.text();
                    // Most names are spelled like their key.
                    match self.wanted.get_key_value(name) {
                        Some((name, _)) => drop(self.others.insert(Arc::clone(name))),
                        None => self
                            .others
                            .extend(self.wanted.keys().filter(of_key).cloned()),
                    }
                }
            }
        }
    }
}

impl Feature for Lookups {
    fn menus(&self) -> &'static [&'static str] {
        &[DNS]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, _: &mut Effects) {
        let settings = view.store.settings(DNS).map(|item| &**item);
        self.feed(Event::Configure(watching(settings)), view.now);
        self.retry(view.now);
    }

    fn learn(&mut self, _: &Learned, now: Instant, _: &mut Effects) {
        self.retry(now);
    }

    fn tick(&mut self, now: Instant, _: &mut Effects) {
        let mut actions = Vec::new();
        self.resolver.tick(now, &mut actions);
        self.carry_out(actions);
    }

    fn deadline(&self) -> Option<Instant> {
        self.resolver.deadline().map(|(at, ())| at)
    }
}
