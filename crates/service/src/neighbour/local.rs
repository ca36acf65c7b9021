//! Addresses of the interface: duplicate address detection (RFC 4862, 5.4; RFC 5227, 2.1), announcements (RFC 5227,
//! 2.3; RFC 4861, 7.2.6) and defence (RFC 5227, 2.4).

use core::cmp::Reverse;
use core::net::Ipv6Addr;

use machine::{Duration, Instant, SmallMap, SmallSet};
use wire::Mac;

use super::{Action, DropReason, DuplicateDetection, Family, Link, Neighbours, Prefix};

/// State of a local address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not usable yet; number of probes left to send.
    Tentative { probes: u8 },
    /// In use; number of announcements left to send.
    Valid { announcements: u8 },
    /// Another host uses the address.
    Duplicate,
}

#[derive(Clone, Copy, Debug)]
struct Address {
    state: State,
    prefix_len: u8,
    detect: DuplicateDetection,
    /// Time of the last reported conflict and defence.
    defended: Option<Instant>,
    due: Option<Instant>,
}

/// Purpose of an address timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Send a probe.
    Probe,
    /// Duplicate address detection succeeded.
    Done,
    /// Send an announcement.
    Announce,
}

#[derive(Debug)]
pub(super) struct LocalAddresses<A> {
    addresses: SmallMap<A, Address>,
    timers: SmallSet<(Instant, A)>,
    /// Valid addresses by network, longest prefix first.
    networks: SmallMap<Reverse<u8>, SmallMap<A, SmallSet<A>>>,
    /// Valid link-local addresses.
    link_locals: SmallSet<A>,
    /// Number of addresses per solicited-node group.
    groups: SmallMap<Ipv6Addr, usize>,
    /// Source of solicitations if the interface has no address.
    fallback: Option<A>,
}

impl<A> Default for LocalAddresses<A> {
    fn default() -> Self {
        Self {
            addresses: SmallMap::default(),
            timers: SmallSet::default(),
            networks: SmallMap::default(),
            link_locals: SmallSet::default(),
            groups: SmallMap::default(),
            fallback: None,
        }
    }
}

impl<A: Copy + Ord> LocalAddresses<A> {
    /// True for an address of the interface, unless it is a duplicate.
    pub(super) fn contains(&self, address: A) -> bool {
        self.state(address)
            .is_some_and(|state| state != State::Duplicate)
    }

    pub(super) fn is_tentative(&self, address: A) -> bool {
        matches!(self.state(address), Some(State::Tentative { .. }))
    }

    pub(super) fn is_valid(&self, address: A) -> bool {
        matches!(self.state(address), Some(State::Valid { .. }))
    }

    /// True for the subnet-router anycast address of a network of the interface.
    pub(super) fn is_anycast<F: Family<Address = A>>(&self, address: A) -> bool {
        let of_network = |(&Reverse(len), networks): (&Reverse<u8>, &SmallMap<A, _>)| {
            networks.contains_key(&address) && F::anycast(address, len).is_some()
        };
        self.networks.iter().any(of_network)
    }

    /// True if the address belongs to a network of this interface or is link-local.
    pub(super) fn is_on_link<F: Family<Address = A>>(&self, address: A) -> bool {
        let in_network = |(&Reverse(len), networks): (&Reverse<u8>, &SmallMap<A, _>)| {
            let network = F::mask(address, len);
            networks.contains_key(&network) && F::is_host(address, Prefix { network, len })
        };
        (F::ASKS_FROM_LINK_LOCAL && F::is_link_local(address))
            || self.networks.iter().any(in_network)
    }

    /// Source address of solicitations for `target`, preferably in the target's network.
    pub(super) fn source<F: Family<Address = A>>(&self, target: A) -> Option<A> {
        let in_network = self
            .networks
            .iter()
            .find_map(|(&Reverse(len), networks)| networks.get(&F::mask(target, len))?.first());
        let link_local = self.link_locals.first().filter(|_| F::ASKS_FROM_LINK_LOCAL);
        let any = || self.networks.values().next()?.values().next()?.first();
        link_local
            .or(in_network)
            .copied()
            .or(self.fallback)
            .or_else(|| any().copied())
    }

    pub(super) fn set_fallback(&mut self, address: Option<A>) {
        self.fallback = address;
    }

    /// Announces all valid addresses again.
    pub(super) fn announce_all(&mut self, announcements: u8, now: Instant) {
        let valid = |(_, own): &(&A, &Address)| matches!(own.state, State::Valid { .. });
        let all: Vec<A> = self
            .addresses
            .iter()
            .filter(valid)
            .map(|(&a, _)| a)
            .collect();
        for address in all {
            self.set(address, State::Valid { announcements }, Some(now));
        }
    }

    /// Returns the next address with an expired timer, and its purpose.
    pub(super) fn due(&mut self, now: Instant) -> Option<(A, Step)> {
        let &(due, address) = self.timers.first()?;
        if due > now {
            return None;
        }
        self.timers.pop_first();
        let own = self.addresses.get_mut(&address)?;
        own.due = None;
        let step = match own.state {
            State::Tentative { probes: 0 } => Step::Done,
            State::Tentative { .. } => Step::Probe,
            State::Valid { .. } | State::Duplicate => Step::Announce,
        };
        Some((address, step))
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.timers.first().map(|&(due, _)| due)
    }

    fn state(&self, address: A) -> Option<State> {
        self.addresses.get(&address).map(|own| own.state)
    }

    fn set(&mut self, address: A, state: State, due: Option<Instant>) {
        if let Some(own) = self.addresses.get_mut(&address) {
            if let Some(old) = own.due {
                self.timers.remove(&(old, address));
            }
            own.state = state;
            own.due = due;
            self.timers.extend(due.map(|due| (due, address)));
        }
    }

    /// Adds a valid address to the network index, or removes it.
    fn index<F: Family<Address = A>>(&mut self, address: A, prefix_len: u8, valid: bool) {
        let network = F::mask(address, prefix_len);
        let networks = self.networks.or_default(Reverse(prefix_len));
        let members = networks.or_default(network);
        if valid {
            members.insert(address);
        } else {
            members.remove(&address);
        }
        if members.is_empty() {
            networks.remove(&network);
        }
        if networks.is_empty() {
            self.networks.remove(&Reverse(prefix_len));
        }
        if valid && F::is_link_local(address) {
            self.link_locals.insert(address);
        } else {
            self.link_locals.remove(&address);
        }
    }
}

/// Multicast groups of an address and of its subnet-router anycast address.
fn groups<F: Family>(address: F::Address, prefix_len: u8) -> impl Iterator<Item = Ipv6Addr> {
    let anycast = F::anycast(address, prefix_len).and_then(F::group);
    F::group(address).into_iter().chain(anycast)
}

impl<F: Family, P> Neighbours<F, P> {
    pub(super) fn address_added(
        &mut self,
        address: F::Address,
        prefix_len: u8,
        detect: DuplicateDetection,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        self.address_removed(address, out);
        // A local address cannot be a neighbour.
        self.forget(address, DropReason::NoNeighbour, out);
        let own = Address {
            state: State::Tentative { probes: F::PROBES },
            prefix_len,
            detect,
            defended: None,
            due: None,
        };
        self.own.addresses.insert(address, own);
        for group in groups::<F>(address, prefix_len) {
            let users = self.own.groups.or_default(group);
            *users += 1;
            if *users == 1 {
                out.push(Action::Join { group });
            }
        }
        match detect {
            DuplicateDetection::Skip => self.validated(address, now, out),
            DuplicateDetection::Run => self.start(address, Duration::ZERO, now),
        }
    }

    pub(super) fn address_removed(
        &mut self,
        address: F::Address,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        self.own.set(address, State::Duplicate, None);
        let Some(own) = self.own.addresses.remove(&address) else {
            return;
        };
        self.own.index::<F>(address, own.prefix_len, false);
        for group in groups::<F>(address, own.prefix_len) {
            let Some(users) = self.own.groups.get_mut(&group) else {
                continue;
            };
            *users -= 1;
            if *users == 0 {
                self.own.groups.remove(&group);
                out.push(Action::Leave { group });
            }
        }
    }

    /// The link went up: addresses are probed again (RFC 4862, 5.4) or announced.
    pub(super) fn link_up(&mut self, now: Instant) {
        if self.link == Link::Up {
            return;
        }
        self.link = Link::Up;
        let all: Vec<F::Address> = self.own.addresses.keys().copied().collect();
        for address in all {
            // Random delay, so that hosts that start together do not send together (RFC 4862, 5.4.2).
            let delay = Duration::from_nanos(self.rng.below(FIRST_PROBE_MAX.as_nanos() as u64));
            self.start(address, delay, now);
        }
    }

    /// The link went down: learnt entries are removed, because they may be wrong when it returns.
    pub(super) fn link_down(&mut self, out: &mut Vec<Action<F::Address, P>>) {
        self.link = Link::Down;
        self.forget_all(DropReason::LinkDown, out);
        let all: Vec<F::Address> = self.own.addresses.keys().copied().collect();
        for address in all {
            if let Some(state) = self.own.state(address) {
                self.own.set(address, state, None);
            }
        }
    }

    /// Starts to probe or announce an address.
    fn start(&mut self, address: F::Address, delay: Duration, now: Instant) {
        let Some(own) = self.own.addresses.get(&address).copied() else {
            return;
        };
        let due = (self.link == Link::Up).then(|| now + delay);
        match own.detect {
            DuplicateDetection::Run => {
                self.own.index::<F>(address, own.prefix_len, false);
                let probes = F::PROBES;
                self.own.set(address, State::Tentative { probes }, due);
            }
            DuplicateDetection::Skip => {
                let announcements = F::ANNOUNCEMENTS;
                self.own.set(address, State::Valid { announcements }, due);
            }
        }
    }

    /// Handles the expired timer of an address.
    pub(super) fn own_due(
        &mut self,
        address: F::Address,
        step: Step,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        match (step, self.own.state(address)) {
            (Step::Probe, Some(State::Tentative { probes })) => {
                let probes = probes.saturating_sub(1);
                let wait = match probes {
                    0 => F::PROBE_WAIT,
                    _ => self.probe_gap(),
                };
                let state = State::Tentative { probes };
                self.own.set(address, state, Some(now + wait));
                self.send(Some(F::probe(self.config.mac, address)), out);
            }
            (Step::Done, Some(State::Tentative { .. })) => self.validated(address, now, out),
            (Step::Announce, Some(State::Valid { announcements })) => {
                let announcements = announcements.saturating_sub(1);
                let due = (announcements > 0).then(|| now + F::ANNOUNCE_GAP);
                self.own.set(address, State::Valid { announcements }, due);
                self.announce(address, out);
            }
            _ => {}
        }
    }

    /// Another host claims a local address.
    pub(super) fn conflict(
        &mut self,
        address: F::Address,
        mac: Mac,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        self.counters.conflicts += 1;
        let Some(own) = self.own.addresses.get_mut(&address) else {
            return;
        };
        match own.state {
            State::Tentative { .. } => {
                self.own.set(address, State::Duplicate, None);
                out.push(Action::DadFailed { address, mac });
            }
            State::Valid { .. } => {
                // At most one defence per interval; otherwise two hosts would defend forever (RFC 5227, 2.4 (c)).
                if own.defended.is_some_and(|at| now - at < DEFEND_INTERVAL) {
                    return;
                }
                own.defended = Some(now);
                out.push(Action::Conflict { address, mac });
                if F::DEFENDS {
                    self.announce(address, out);
                }
            }
            State::Duplicate => {}
        }
    }

    /// Duplicate address detection succeeded: the address is valid.
    fn validated(
        &mut self,
        address: F::Address,
        now: Instant,
        out: &mut Vec<Action<F::Address, P>>,
    ) {
        let Some(own) = self.own.addresses.get(&address).copied() else {
            return;
        };
        let announcements = F::ANNOUNCEMENTS;
        let due = (self.link == Link::Up).then_some(now);
        let could_ask = self.own.source::<F>(address).is_some();
        self.own.set(address, State::Valid { announcements }, due);
        self.own.index::<F>(address, own.prefix_len, true);
        out.push(Action::DadDone { address });
        if !could_ask {
            self.ask_for_awaited(now, out);
        }
    }

    fn announce(&mut self, address: F::Address, out: &mut Vec<Action<F::Address, P>>) {
        if self.config.mode.answers() {
            let frame = F::announce(self.config.mac, address, self.config.router);
            self.send(Some(frame), out);
        }
    }

    fn probe_gap(&mut self) -> Duration {
        let spread = F::PROBE_GAP_MAX.saturating_sub(F::PROBE_GAP_MIN);
        let nanos = u64::try_from(spread.as_nanos()).unwrap_or(0);
        F::PROBE_GAP_MIN + Duration::from_nanos(self.rng.below(nanos + 1))
    }
}

/// Maximum delay before the first probe (PROBE_WAIT, RFC 5227, 1.1; MAX_RTR_SOLICITATION_DELAY, RFC 4861, 10).
const FIRST_PROBE_MAX: Duration = Duration::from_secs(1);
/// Minimum interval between two defences of an address (RFC 5227, 1.1).
const DEFEND_INTERVAL: Duration = Duration::from_secs(10);
