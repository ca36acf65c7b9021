//! Addresses of names that features want to know, such as of time servers and of hosts that are watched: they say so by
//! `Effect::Resolve`, and hear of them by `Feature::resolved`. A name is asked for as long as somebody wants it.

use core::net::{IpAddr, SocketAddr};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use machine::{Instant, Machine as _};
use menu::{Changes, Store};
use service::resolver::{Action, Ask, Event, Heard, Key, Resolver, UNDER_WAY};
use wire::dns::Kind;

use super::{Effects, Feature, View};
use crate::firewall::hosts::{DNS, settings};

/// Most names.
const NAMES: usize = 1_024;
/// Questions that wait for the owner; the oldest goes if he does not come.
const WAITING: usize = 2 * UNDER_WAY;
/// What tells the tickets of these questions from those of names in address lists.
const MARK: u64 = 1 << 63;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    resolver: Resolver,
    /// How often each name is wanted.
    wanted: BTreeMap<Arc<str>, u32>,
    /// Names whose addresses are others than were told.
    others: BTreeSet<Arc<str>>,
    asks: VecDeque<Ask>,
    machine: Vec<SocketAddr>,
}

impl Lookups {
    /// A name is wanted once more, or once less.
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

    /// A name whose addresses are to be told, with them: those of IPv4 first.
    pub(crate) fn take_other(&mut self) -> Option<(Arc<str>, Vec<IpAddr>)> {
        let name = self.others.pop_first()?;
        let kinds = [Kind::A, Kind::Aaaa].into_iter();
        let keys = kinds.filter_map(|kind| Key::new(&name, kind));
        let known = keys.flat_map(|key| self.resolver.known(&key).collect::<Vec<_>>());
        let addresses = known.map(|(address, _)| address).collect();
        Some((name, addresses))
    }

    /// Tells which servers the machine underneath asks.
    pub(crate) fn set_machine(&mut self, (store, servers): (&Store, &[SocketAddr]), now: Instant) {
        if servers != self.machine {
            self.machine = servers.to_vec();
            self.feed(Event::Configure(settings(store, &self.machine)), now);
        }
    }

    /// The questions that are to be put, each once.
    pub(crate) fn take_asks(&mut self) -> impl Iterator<Item = Ask> {
        let asks = self.asks.drain(..);
        asks.map(|ask| Ask {
            ticket: ask.ticket | MARK,
            ..ask
        })
    }

    /// Whether a question is one of these.
    pub(crate) const fn is_its(ticket: u64) -> bool {
        ticket & MARK != 0
    }

    /// Hears what came of a question.
    pub(crate) fn hear(&mut self, ticket: u64, heard: Heard, now: Instant) {
        let ticket = ticket & !MARK;
        self.feed(Event::Heard { ticket, heard }, now);
    }

    fn feed(&mut self, event: Event, now: Instant) {
        let mut actions = Vec::new();
        self.resolver.handle(event, now, &mut actions);
        self.carry_out(actions);
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Ask(ask) => {
                    if self.asks.len() >= WAITING {
                        self.asks.pop_front();
                    }
                    self.asks.push_back(ask);
                }
                Action::Add(key, _) | Action::Remove(key, _) => {
                    let of_key =
                        |name: &&Arc<str>| Key::new(name, key.kind()).is_some_and(|own| own == key);
                    let name = key.text();
                    // Most are written as the key has them.
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
        let config = settings(view.store, &self.machine);
        self.feed(Event::Configure(config), view.now);
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
