//! Neighbour state changes by the owner and by timers (RFC 4861, 7.2.2 and 7.3.3).

use machine::{Duration, Instant};
use wire::Mac;

use super::table::{Limits, Newcomer, Room, State};
use super::{Action, Config, DropReason, Family, Link, Neighbours};

impl<F: Family, P> Neighbours<F, P> {
    /// Resolves a neighbour, optionally for a packet that waits.
    pub(super) fn resolve(
        &mut self,
        address: F::Address,
        packet: Option<P>,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if self.link == Link::Down {
            return drop_packet(packet, DropReason::LinkDown, out);
        }
        let is_shared = self.config.router && self.own.is_anycast::<F>(address);
        if self.own.contains(address) || is_shared || !F::is_unicast(address) {
            return drop_packet(packet, DropReason::NoNeighbour, out);
        }
        match self.table.state(address) {
            Some(State::Incomplete { .. }) => self.wait(address, packet, out),
            Some(State::Permanent { mac: None, .. }) => unreachable(address, packet, out),
            None | Some(State::Failed) if !self.config.mode.learns() => {
                unreachable(address, packet, out);
            }
            None => self.begin(address, packet, now, out),
            Some(State::Failed) => self.ask_first(address, packet, now, out),
            Some(state) => self.pass(address, &state, packet, now, out),
        }
    }

    /// The owner reports traffic to this neighbour (RFC 4861, 7.3.3: first packet to a stale entry).
    pub(super) fn used(&mut self, address: F::Address, now: Instant) {
        if let Some(State::Stale { mac, .. }) = self.table.state(address) {
            let due = now + self.config.delay_first_probe.max(LEAST);
            let delay = State::Delay { mac };
            self.table.place(address, delay, Some(due), now);
        }
    }

    /// An upper layer confirmed reachability (RFC 4861, 7.3.1).
    pub(super) fn confirmed(&mut self, address: F::Address, now: Instant) {
        match self.table.state(address) {
            None | Some(State::Incomplete { .. } | State::Failed | State::Permanent { .. }) => {}
            Some(state) => {
                if let Some(mac) = state.mac() {
                    self.place_reachable(address, mac, now);
                }
            }
        }
    }

    /// Sends a probe at once; the answer is reported as `Answered`.
    pub(super) fn probe(
        &mut self,
        address: F::Address,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if self.probed.len() < self.config.entries_max {
            self.probed.insert(address);
        }
        match self.table.state(address).and_then(|state| state.mac()) {
            Some(mac) => self.ask(address, Some(mac), out),
            None => self.resolve(address, None, now, out),
        }
    }

    /// Handles the expired timer of an entry.
    pub(super) fn entry_due(
        &mut self,
        address: F::Address,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        match self.table.state(address) {
            Some(State::Incomplete { solicits }) => {
                if solicits < self.config.multicast_solicits {
                    let next = State::Incomplete {
                        solicits: solicits + 1,
                    };
                    self.ask_again(address, next, now, out);
                } else {
                    self.give_up(address, now, out);
                }
            }
            Some(State::Reachable { mac }) => {
                let stale = State::Stale {
                    mac,
                    used: now,
                    last_call: false,
                };
                let due = now + self.config.stale_check.min(self.config.stale_timeout);
                self.table.place(address, stale, Some(due), now);
                out.push(Action::InUse { address });
            }
            Some(State::Stale {
                mac,
                used,
                last_call,
            }) => self.stale_due(address, mac, used, last_call, now, out),
            Some(State::Delay { mac }) => {
                let next = State::Probe { mac, solicits: 1 };
                self.ask_again(address, next, now, out);
            }
            Some(State::Probe { mac, solicits }) => {
                if solicits < self.config.unicast_solicits {
                    let solicits = solicits + 1;
                    let next = State::Probe { mac, solicits };
                    self.ask_again(address, next, now, out);
                } else {
                    // The entry becomes failed; the next packet starts a multicast resolution (RFC 4861, 7.3.3).
                    let due = Some(now + self.config.stale_timeout);
                    self.table.place(address, State::Failed, due, now);
                    out.push(Action::Lost { address });
                }
            }
            Some(State::Failed) => {
                self.table.remove(address);
            }
            None | Some(State::Permanent { .. }) => {}
        }
    }

    /// Removes a learnt entry and drops its packets with this reason.
    pub(super) fn forget(
        &mut self,
        address: F::Address,
        why: DropReason,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if self
            .table
            .state(address)
            .is_none_or(|state| state.is_permanent())
        {
            return;
        }
        let state = self.table.remove(address);
        self.probed.remove(&address);
        if state.is_some_and(|state| state.mac().is_some()) {
            out.push(Action::Lost { address });
        }
        for packet in self.waiting.take(address) {
            out.push(Action::Dropped { packet, why });
        }
    }

    /// Adds a configured entry, which replaces any entry of the address.
    pub(super) fn static_added(
        &mut self,
        address: F::Address,
        mac: Option<Mac>,
        published: bool,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        let permanent = State::Permanent { mac, published };
        let old = self.table.place(address, permanent, None, now);
        match mac {
            Some(mac) => self.resolved(address, mac, out),
            None => {
                if old.is_some() {
                    out.push(Action::Lost { address });
                }
                for packet in self.waiting.take(address) {
                    out.push(Action::Unreachable { packet, address });
                }
            }
        }
    }

    pub(super) fn static_removed(
        &mut self,
        address: F::Address,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if let Some(State::Permanent { mac, .. }) = self.table.state(address) {
            self.table.remove(address);
            if mac.is_some() {
                out.push(Action::Lost { address });
            }
        }
    }

    /// Applies changed settings and removes entries that they no longer allow.
    pub(super) fn configure(
        &mut self,
        config: Config,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        let moved = config.mac != self.config.mac;
        self.config = config.clamped();
        if !self.config.mode.learns() {
            self.forget_all(DropReason::Forgotten, out);
        }
        while let Some(address) = self.table.surplus(self.config.entries_max) {
            self.counters.evicted += 1;
            self.forget(address, DropReason::TableFull, out);
        }
        if moved && self.link == Link::Up {
            self.own.announce_all(F::ANNOUNCEMENTS, now);
        }
    }

    /// Removes all learnt entries.
    pub(super) fn forget_all(&mut self, why: DropReason, out: &mut Vec<Action<F::Address, P>>) {
        for address in self.table.learnt_addresses() {
            self.forget(address, why, out);
        }
    }

    /// Makes room for a new entry; returns false if the table is full.
    pub(super) fn make_room(
        &mut self,
        newcomer: Newcomer,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) -> bool {
        let limits = Limits {
            entries: self.config.entries_max,
            unresolved: self.config.unresolved_max(),
            grace: self.config.retransmit,
        };
        match self.table.room(newcomer, limits, now) {
            Room::Free => true,
            Room::Evict(victim) => {
                self.counters.evicted += 1;
                self.forget(victim, DropReason::TableFull, out);
                true
            }
            Room::Full => {
                self.counters.table_full += 1;
                false
            }
        }
    }

    /// Marks a neighbour as reachable; returns its former link-layer address.
    pub(super) fn place_reachable(
        &mut self,
        address: F::Address,
        mac: Mac,
        now: Instant,
    ) -> Option<Mac> {
        let due = now + self.reachable_time();
        self.table
            .place(address, State::Reachable { mac }, Some(due), now)
    }

    /// Reports a link-layer address to the owner and sends waiting packets.
    pub(super) fn resolved(
        &mut self,
        address: F::Address,
        mac: Mac,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        out.push(Action::Resolved { address, mac });
        let packets = self.waiting.take(address);
        out.extend(packets.map(|packet| Action::Release { packet, mac }));
    }

    /// Starts the resolution of an address without entry.
    fn begin(
        &mut self,
        address: F::Address,
        packet: Option<P>,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if self.make_room(Newcomer::Sought, now, out) {
            self.ask_first(address, packet, now, out);
        } else {
            drop_packet(packet, DropReason::TableFull, out);
        }
    }

    fn ask_first(
        &mut self,
        address: F::Address,
        packet: Option<P>,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        self.wait(address, packet, out);
        self.ask_again(address, State::Incomplete { solicits: 1 }, now, out);
    }

    /// Solicits all addresses that packets wait for, after the interface got its first source address.
    pub(super) fn ask_for_awaited(&mut self, now: Instant, out: &mut Vec<Action<F::Address, P>>) {
        for address in self.waiting.awaited() {
            self.ask_again(address, State::Incomplete { solicits: 1 }, now, out);
        }
    }

    /// Queues a packet for an incomplete entry.
    fn wait(
        &mut self,
        address: F::Address,
        packet: Option<P>,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        let Some(packet) = packet else { return };
        let (queue_max, total_max) = (self.config.queue_max, self.config.queue_total_max);
        let gone = self.waiting.push(address, packet, queue_max, total_max);
        self.counters.queue_full += u64::from(gone.is_some());
        drop_packet(gone, DropReason::QueueFull, out);
    }

    /// Sends a packet to a resolved neighbour. Also reports the link-layer address, because the owner seems to lack
    /// it.
    fn pass(
        &mut self,
        address: F::Address,
        state: &State,
        packet: Option<P>,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        let Some(mac) = state.mac() else { return };
        out.push(Action::Resolved { address, mac });
        if let Some(packet) = packet {
            out.push(Action::Release { packet, mac });
            self.used(address, now);
        }
    }

    /// Enters a state that starts with a solicitation, and sends it.
    fn ask_again(
        &mut self,
        address: F::Address,
        state: State,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        let due = now + self.config.retransmit;
        self.table.place(address, state, Some(due), now);
        self.ask(address, state.mac(), out);
    }

    fn ask(&mut self, address: F::Address, to: Option<Mac>, out: &mut Vec<Action<F::Address, P>>) {
        let source = self.own.source::<F>(address);
        let frame = F::solicit(self.config.mac, source, address, to);
        self.counters.solicits += u64::from(frame.is_some());
        self.send(frame, out);
    }

    /// Resolution failed (RFC 4861, 7.2.2: every waiting packet is answered by an ICMP error).
    fn give_up(&mut self, address: F::Address, now: Instant, out: &mut Vec<Action<F::Address, P>>) {
        self.counters.failed += 1;
        self.probed.remove(&address);
        let due = Some(now + self.config.stale_timeout);
        self.table.place(address, State::Failed, due, now);
        out.push(Action::Failed { address });
        for packet in self.waiting.take(address) {
            out.push(Action::Unreachable { packet, address });
        }
    }

    /// Asks the owner whether a stale neighbour is in use, or removes the entry after the last question.
    fn stale_due(
        &mut self,
        address: F::Address,
        mac: Mac,
        used: Instant,
        last_call: bool,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        if last_call {
            return self.forget(address, DropReason::Forgotten, out);
        }
        let end = used + self.config.stale_timeout;
        let last_call = now >= end;
        let due = match last_call {
            true => now + LAST_CALL,
            false => end.min(now + self.config.stale_check),
        };
        let stale = State::Stale {
            mac,
            used,
            last_call,
        };
        self.table.place(address, stale, Some(due), now);
        out.push(Action::InUse { address });
    }

    /// Random reachable time (RFC 4861, 6.3.2: 0.5 to 1.5 times the base).
    fn reachable_time(&mut self) -> Duration {
        let base = u64::try_from(self.config.reachable_time.as_nanos()).unwrap_or(u64::MAX / 2);
        Duration::from_nanos(base / 2 + self.rng.below(base))
    }
}

fn drop_packet<A, P>(packet: Option<P>, why: DropReason, out: &mut Vec<Action<A, P>>) {
    out.extend(packet.map(|packet| Action::Dropped { packet, why }));
}

fn unreachable<A, P>(address: A, packet: Option<P>, out: &mut Vec<Action<A, P>>) {
    out.extend(packet.map(|packet| Action::Unreachable { packet, address }));
}

/// Time in which the owner must answer the last question about a stale neighbour.
const LAST_CALL: Duration = Duration::from_secs(1);
/// Minimum duration of a timer.
const LEAST: Duration = Duration::from_millis(1);
