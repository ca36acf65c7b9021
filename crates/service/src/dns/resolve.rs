//! Entry point of queries: answers from static entries or cache, or starts a flight.

use core::net::{Ipv4Addr, Ipv6Addr};
use core::time::Duration;
use std::sync::Arc;

use machine::Instant;

use super::flight::{FAILURE, Flight, Waiter, code, deliver};
use super::message::CHAIN_MAX;
use super::question::{Key, Query};
use super::statics::{A, AAAA, Data, Entry, Lookup};
use super::stored::{Asker, Carrier, Stored, put_record, refuse_unread};
use super::{Action, Dns};

/// Maximum number of waiting clients, in total and per flight.
const WAITING_MAX: usize = 16_384;
const WAITING_FOR_ONE: usize = 1024;
/// Minimum interval between warnings about too many queries.
const WARN_EVERY: Duration = Duration::from_secs(60);
/// TTL of answers for blocked names, in seconds.
const UNWANTED_TTL: u32 = 600;

/// Result of following a query through static entries and cache.
enum Step {
    /// The answer for this key.
    Answer(Key, Stored),
    /// Query the servers of this group for this key.
    Ask(Key, Arc<str>),
}

impl<C: Clone> Dns<C> {
    /// Answers a message from static entries or cache, if no state other than counters and the cache's use bits has
    /// to change. Appends the answer to `reply` and returns true if the message needs no further processing.
    /// Allocates nothing except in `reply`.
    pub fn answer_at_once(
        &mut self,
        message: &[u8],
        carrier: Carrier,
        now: Instant,
        reply: &mut Vec<u8>,
    ) -> bool {
        let query = match Query::read(message) {
            Ok(query) => query,
            Err(unfit) => {
                self.counters.unfit += 1;
                refuse_unread(message, unfit, reply);
                return true;
            }
        };
        let to = Asker::new(&query, carrier);
        let mut is_known = false;
        match self.statics.find(&query.key) {
            Lookup::Answer(stored, None) => {
                self.counters.asked += 1;
                self.counters.configured += 1;
                stored.write(&to, now, reply);
                return true;
            }
            Lookup::Answer(..) | Lookup::Alias(..) | Lookup::Forward(_, Some(_)) => return false,
            Lookup::OtherType => is_known = true,
            Lookup::Forward(_, None) | Lookup::Nothing => {}
        }
        let Some(stored) = self.cache.find(query.key.as_bytes(), now) else {
            return false;
        };
        self.counters.asked += 1;
        self.counters.kept += 1;
        stored.write_as(&to, code(stored, is_known), now, reply);
        true
    }

    /// Handles a query.
    pub(super) fn ask(
        &mut self,
        client: C,
        message: &[u8],
        carrier: Carrier,
        now: Instant,
        out: &mut Vec<Action<C>>,
    ) {
        let query = match Query::read(message) {
            Ok(query) => query,
            Err(unfit) => {
                self.counters.unfit += 1;
                let mut reply = Vec::new();
                refuse_unread(message, unfit, &mut reply);
                if !reply.is_empty() {
                    out.push(Action::Answer {
                        client,
                        message: reply,
                    });
                }
                return;
            }
        };
        self.counters.asked += 1;
        let to = Asker::new(&query, carrier);
        let mut waiter = Waiter {
            client,
            head: to.head.into(),
            options: to.options,
            limit: to.limit,
            aliases: Vec::new(),
            is_known: false,
            lists: Vec::new(),
        };
        match self.step(query.key, &mut waiter, now) {
            Step::Answer(of, stored) => deliver(waiter, &of, &stored, now, out),
            Step::Ask(key, group) => self.wait(waiter, key, group, now, out),
        }
    }

    /// Follows the aliases of a name through static entries and cache.
    fn step(&mut self, mut key: Key, waiter: &mut Waiter<C>, now: Instant) -> Step {
        let mut group = Arc::from("");
        let mut may_be_unwanted = true;
        for _ in 0..CHAIN_MAX {
            let list = match self.statics.find(&key) {
                Lookup::Answer(stored, list) => {
                    self.counters.configured += 1;
                    waiter.lists.extend(list.cloned());
                    return Step::Answer(key, stored.clone());
                }
                Lookup::Alias(to, ttl, list) => {
                    waiter.lists.extend(list.cloned());
                    let Some(to) = key.of(to) else { break };
                    waiter.aliases.push((to, ttl));
                    key = to;
                    continue;
                }
                Lookup::Forward(to, list) => {
                    may_be_unwanted = false;
                    group = to.cloned().unwrap_or(group);
                    list.cloned()
                }
                Lookup::OtherType => {
                    waiter.is_known = waiter.aliases.is_empty();
                    None
                }
                Lookup::Nothing => None,
            };
            waiter.lists.extend(list);
            if let Some(stored) = self.cache.find(key.as_bytes(), now) {
                self.counters.kept += 1;
                return Step::Answer(key, stored.clone());
            }
            if may_be_unwanted && self.unwanted.has(key.name()) {
                self.counters.unwanted += 1;
                return Step::Answer(key, nothing(&key));
            }
            return Step::Ask(key, group);
        }
        // Alias loop.
        Step::Answer(key, Stored::empty(FAILURE))
    }

    /// Adds a client to the flight of its query; starts the flight if there is none.
    fn wait(
        &mut self,
        waiter: Waiter<C>,
        key: Key,
        group: Arc<str>,
        now: Instant,
        out: &mut Vec<Action<C>>,
    ) {
        let question: Box<[u8]> = [key.as_bytes(), group.as_bytes()].concat().into();
        if let Some(flight) =
            { self.by_question.get(&question) }.and_then(|id| self.flights.get_mut(id))
        {
            if flight.waiters.len() < WAITING_FOR_ONE && self.waiting < WAITING_MAX {
                self.waiting += 1;
                flight.waiters.push(waiter);
                return;
            }
            self.counters.refused += 1;
            return deliver(waiter, &key, &Stored::empty(FAILURE), now, out);
        }
        if self.flights.len() >= self.config.questions_max
            || self.secure >= self.config.secure_max
            || self.waiting >= WAITING_MAX
        {
            self.counters.refused += 1;
            if self.warned.is_none_or(|at| now >= at + WARN_EVERY) {
                self.warned = Some(now);
                let message = "max concurrent queries reached: a query is refused";
                out.push(Action::Warn(message.to_owned()));
            }
            return deliver(waiter, &key, &Stored::empty(FAILURE), now, out);
        }
        self.counters.forwarded += 1;
        let flight = Flight::new(key, group, question, waiter, now);
        self.begin(flight, now, out);
    }

    /// Adds, replaces or removes a static entry.
    pub(super) fn put_static(&mut self, id: u64, entry: Option<Entry>, out: &mut Vec<Action<C>>) {
        let forwards = |entry: Option<&Entry>| {
            entry.is_some_and(|entry| matches!(entry.data, Data::Forward(_)))
        };
        let old = self.statics.entry(id);
        // The cached answers came from other servers.
        if forwards(old) || forwards(entry.as_ref()) {
            self.cache.clear();
        }
        if let Err(error) = self.statics.put(id, entry) {
            out.push(Action::Warn(format!("static entry: {error}")));
        }
    }
}

/// Answer for a blocked name: the unspecified address.
fn nothing(key: &Key) -> Stored {
    let mut body = Vec::new();
    match key.kind() {
        A => put_record(A, UNWANTED_TTL, &Ipv4Addr::UNSPECIFIED.octets(), &mut body),
        AAAA => put_record(
            AAAA,
            UNWANTED_TTL,
            &Ipv6Addr::UNSPECIFIED.octets(),
            &mut body,
        ),
        _ => {}
    }
    let count = u16::from(!body.is_empty());
    Stored::new(key, 0, (count, 0), &body).unwrap_or_else(|| Stored::empty(0))
}
