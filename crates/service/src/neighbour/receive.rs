//! Handles received ARP and neighbour discovery packets (RFC 826; RFC 4861, 7.2.3 to 7.2.5 and appendix C).

use machine::Instant;
use wire::Mac;

use super::table::{Newcomer, State};
use super::{Action, Advert, Contents, Family, Link, Mode, Neighbours, Proxy, Question};

impl<F: Family, P> Neighbours<F, P> {
    /// Handles a received packet of the protocol.
    pub(super) fn receive(
        &mut self,
        packet: &[u8],
        from: Mac,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if self.link == Link::Down || self.config.mode == Mode::Disabled {
            return;
        }
        if from == self.config.mac {
            self.counters.looped += 1;
            return;
        }
        let Ok(heard) = F::parse(packet, self.config.mac) else {
            self.counters.malformed += 1;
            return;
        };
        self.counters.heard += 1;
        match heard {
            Contents::Asks { target, asker, mac } => {
                self.receive_question(target, asker, mac, from, now, out)
            }
            Contents::Says {
                address,
                mac,
                advert,
            } => self.receive_answer(address, mac, advert, from, now, out),
            Contents::Names {
                address,
                mac,
                router,
            } => {
                self.learn(address, mac, Learn::Create, now, out);
                if router {
                    self.table.set_router(address, true);
                }
            }
            Contents::Nothing => {}
        }
    }

    /// Answers a solicitation for a target that the owner confirmed.
    pub(super) fn answer(
        &mut self,
        question: &Question<F::Address>,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if self.config.mode.answers() {
            self.counters.answers += 1;
            let frame = F::answer(self.config.mac, question, self.config.router);
            self.send(Some(frame), out);
        }
    }

    /// Handles a solicitation (ARP request) for an address.
    fn receive_question(
        &mut self,
        target: F::Address,
        asker: Option<F::Address>,
        mac: Option<Mac>,
        from: Mac,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        let asker_mac = mac.unwrap_or(from);
        if asker_mac == self.config.mac {
            self.counters.looped += 1;
            return;
        }
        if let Some(asker) = asker.filter(|&asker| self.own.contains(asker)) {
            return self.conflict(asker, asker_mac, now, out);
        }
        let question = Question {
            target,
            asker,
            asker_mac,
            proxy: self.proxy(asker),
        };
        if self.own.is_tentative(target) {
            // Another host probes the address that this router probes. A solicitation with a source address is
            // ignored, because the target is not assigned yet (RFC 4862, 5.4.3; RFC 5227, 2.1.1).
            if asker.is_none() {
                self.conflict(target, asker_mac, now, out);
            }
        } else if self.own.is_valid(target) || self.is_published(target) {
            self.learn_asker(asker, mac, Learn::Create, now, out);
            self.answer(&question, out);
        } else if let Some(source) = self.shares(target) {
            self.learn_asker(asker, mac, Learn::Create, now, out);
            if self.config.mode.answers() {
                self.counters.answers += 1;
                let (mac, router) = (self.config.mac, self.config.router);
                self.send(Some(F::answer_shared(mac, source, &question, router)), out);
            }
        } else {
            self.learn_asker(asker, mac, Learn::Update, now, out);
            if F::PASSES_QUESTIONS && F::is_unicast(target) {
                out.push(Action::Asked(question));
            }
        }
    }

    /// Source address of the answer for an anycast target; `None` if the target is no anycast address of this
    /// interface or the router does not forward.
    fn shares(&self, target: F::Address) -> Option<F::Address> {
        let is_shared = self.config.router && self.own.is_anycast::<F>(target);
        self.own.source::<F>(target).filter(|_| is_shared)
    }

    fn proxy(&self, asker: Option<F::Address>) -> Proxy {
        match (self.config.mode, asker) {
            // Probes are not answered by proxy; otherwise no host could claim an address that is used elsewhere.
            (_, None) => Proxy::None,
            (Mode::ProxyArp, _) => Proxy::OtherLinks,
            (Mode::LocalProxyArp, _) => Proxy::AllLinks,
            (Mode::Enabled | Mode::ReplyOnly | Mode::Disabled, _) => Proxy::None,
        }
    }

    fn is_published(&self, target: F::Address) -> bool {
        let published = |state| {
            matches!(
                state,
                State::Permanent {
                    published: true,
                    ..
                }
            )
        };
        self.table.state(target).is_some_and(published)
    }

    fn learn_asker(
        &mut self,
        asker: Option<F::Address>,
        mac: Option<Mac>,
        how: Learn,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if let (Some(asker), Some(mac)) = (asker, mac) {
            self.learn(asker, mac, how, now, out);
        }
    }

    /// Handles a link-layer address in an unsolicited message, which does not prove reachability.
    fn learn(
        &mut self,
        address: F::Address,
        mac: Mac,
        how: Learn,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if !self.config.mode.learns() || self.own.contains(address) {
            return;
        }
        match self.table.get(address) {
            Some(entry) if entry.state.is_permanent() || entry.state.mac() == Some(mac) => {}
            Some(entry) if entry.state.mac().is_some() && now - entry.changed < F::LOCK_TIME => {}
            Some(_) => self.place_stale(address, mac, now, out),
            // Off-link senders get no entry (RFC 5942, 4, rule 1).
            None => {
                let wanted = how == Learn::Create && self.own.is_on_link::<F>(address);
                if wanted && self.make_room(Newcomer::Seen, now, out) {
                    self.place_stale(address, mac, now, out);
                }
            }
        }
    }

    /// Handles an advertisement (ARP reply).
    fn receive_answer(
        &mut self,
        address: F::Address,
        mac: Option<Mac>,
        advert: Advert,
        from: Mac,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if self.own.contains(address) {
            let mac = mac.unwrap_or(from);
            if mac != self.config.mac {
                self.conflict(address, mac, now, out);
            }
            return;
        }
        if advert.solicited && self.probed.remove(&address) {
            out.push(Action::Answered { address });
        }
        // Unsolicited advertisements create no entry (RFC 4861, 7.2.5).
        let Some(entry) = self.table.get(address).copied() else {
            return;
        };
        let router = advert.router.unwrap_or(entry.router);
        match (entry.state, mac) {
            (State::Permanent { .. }, _) => return,
            // An advertisement without link-layer address does not resolve the entry.
            (State::Incomplete { .. } | State::Failed, None) => return,
            (State::Incomplete { .. } | State::Failed, Some(mac)) => {
                self.first_answer(address, mac, advert, now, out);
            }
            (state, mac) => {
                let Some(known) = state.mac() else { return };
                let mac = mac.unwrap_or(known);
                let locked = now - entry.changed < F::LOCK_TIME && !advert.gratuitous;
                if mac != known && (locked || !advert.overrides) {
                    self.doubt(address, state, now);
                    return;
                }
                self.next_answer(address, known, mac, advert, now, out);
            }
        }
        self.table.set_router(address, router);
    }

    /// Handles an advertisement for an entry without link-layer address (RFC 4861, 7.2.5).
    fn first_answer(
        &mut self,
        address: F::Address,
        mac: Mac,
        advert: Advert,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if advert.solicited {
            self.place_reachable(address, mac, now);
            self.resolved(address, mac, out);
        } else {
            self.place_stale(address, mac, now, out);
        }
    }

    /// Handles an advertisement for an entry with a link-layer address: confirms or replaces it.
    fn next_answer(
        &mut self,
        address: F::Address,
        known: Mac,
        mac: Mac,
        advert: Advert,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if advert.solicited {
            self.place_reachable(address, mac, now);
            if mac != known {
                self.resolved(address, mac, out);
            }
        } else if mac != known {
            self.place_stale(address, mac, now, out);
        }
    }

    /// Another host claims the neighbour's address without override: the entry becomes stale and is checked (RFC
    /// 4861, 7.2.5, point I a).
    fn doubt(&mut self, address: F::Address, state: State, now: Instant) {
        if let State::Reachable { mac } = state {
            let due = now + self.config.delay_first_probe.max(self.config.retransmit);
            let stale = stale(mac, now);
            self.table.place(address, stale, Some(due), now);
        }
    }

    /// Stores an unconfirmed link-layer address and sends waiting packets, after which the entry is in use.
    fn place_stale(
        &mut self,
        address: F::Address,
        mac: Mac,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        // The owner is asked for traffic earlier than for confirmed entries.
        let due = now + self.config.delay_first_probe.max(self.config.retransmit);
        let state = match self.waiting.is_awaited(address) {
            true => State::Delay { mac },
            false => stale(mac, now),
        };
        self.table.place(address, state, Some(due), now);
        self.resolved(address, mac, out);
    }
}

/// Whether an unsolicited message may create an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Learn {
    Create,
    Update,
}

fn stale(mac: Mac, now: Instant) -> State {
    State::Stale {
        mac,
        used: now,
        last_call: false,
    }
}
