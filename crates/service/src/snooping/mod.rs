//! Snooping of IGMP and MLD in one bridge (RFC 4541): which ports listen to which groups, behind which ports there are
//! multicast routers, and the queries of the bridge's own.
//!
//! ```text
//! report ─▶ a port listens to a group until `membership_interval` has passed
//! leave  ─▶ at once with `fast_leave`; else the port is asked whether somebody is left
//! query  ─▶ the port leads to a multicast router; another querier is there
//! time   ─▶ own queries, as long as no other querier of a lower address asks (RFC 3376, 6.6.2)
//! ```
//!
//! As long as nobody asks in a VLAN, nobody has to report, and all multicast is flooded there: [`Action::Asked`] says
//! when that changes. VLAN 0 is a bridge that does not filter VLANs.

mod message;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine};

use self::message::{Heard, Query};
use crate::Frame;

/// What a bridge's snooping obeys. The names are RouterOS's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `multicast-querier`.
    pub querier: bool,
    /// `igmp-version=3`: queries of IGMPv3.
    pub igmp_v3: bool,
    /// `mld-version=2`: queries of MLDv2.
    pub mld_v2: bool,
    /// What queries of IGMP come from: the bridge's address, or 0.0.0.0.
    pub source4: Ipv4Addr,
    /// What queries of MLD come from: the bridge's link-local address; without one there are none.
    pub source6: Option<Ipv6Addr>,
    /// The VLANs that the bridge asks in.
    pub vlans: Vec<u16>,
    /// `last-member-query-count`.
    pub last_member_query_count: u32,
    /// `last-member-interval`.
    pub last_member_interval: Duration,
    /// `membership-interval`.
    pub membership_interval: Duration,
    /// `querier-interval`.
    pub querier_interval: Duration,
    /// `query-interval`.
    pub query_interval: Duration,
    /// `query-response-interval`.
    pub query_response_interval: Duration,
    /// `startup-query-count`.
    pub startup_query_count: u32,
    /// `startup-query-interval`.
    pub startup_query_interval: Duration,
    /// Members (a port of a group) that are known at most.
    pub members_max: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            querier: false,
            igmp_v3: false,
            mld_v2: false,
            source4: Ipv4Addr::UNSPECIFIED,
            source6: None,
            vlans: vec![0],
            last_member_query_count: 2,
            last_member_interval: Duration::from_secs(1),
            membership_interval: Duration::from_secs(260),
            querier_interval: Duration::from_secs(255),
            query_interval: Duration::from_secs(125),
            query_response_interval: Duration::from_secs(10),
            startup_query_count: 2,
            startup_query_interval: Duration::from_millis(31_250),
            members_max: 16_384,
        }
    }
}

/// `multicast-router` of a port, as far as time has to do with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortConfig {
    /// `fast-leave`.
    pub fast_leave: bool,
    /// `multicast-router=temporary-query`: a query shows that a router is behind it.
    pub learns_routers: bool,
}

/// What happens to a bridge.
#[derive(Debug)]
pub enum Event<'a> {
    /// It is configured anew.
    Configure(Config),
    /// A port comes, or is configured anew.
    Port(u32, PortConfig),
    /// A port goes, or its link does: nothing behind it is known any more.
    PortGone(u32),
    /// The topology of the spanning tree changed: who listens is asked anew (RFC 4541, 2.1.1).
    TopologyChanged,
    /// A packet of IGMP or MLD came in by a port; others are ignored.
    Received {
        /// The port.
        port: u32,
        /// Its VLAN.
        vlan: u16,
        /// The packet, from its IP header on.
        packet: &'a [u8],
    },
}

/// What a bridge wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A port listens to a group from now on, or no more.
    Member {
        /// The VLAN.
        vlan: u16,
        /// The group.
        group: IpAddr,
        /// The port.
        port: u32,
        /// Whether it listens.
        listens: bool,
    },
    /// A multicast router of a family is behind a port from now on, or no more.
    Router {
        /// The VLAN.
        vlan: u16,
        /// The family.
        ipv6: bool,
        /// The port.
        port: u32,
        /// Whether it is there.
        is_there: bool,
    },
    /// Somebody asks who listens from now on, so that reports tell; or nobody any more.
    Asked {
        /// The VLAN.
        vlan: u16,
        /// The family.
        ipv6: bool,
        /// Whether somebody asks.
        asked: bool,
    },
    /// Send a query, from the bridge's link address.
    Query {
        /// The port; none: all.
        port: Option<u32>,
        /// The VLAN.
        vlan: u16,
        /// It.
        frame: Frame,
    },
}

/// What is due at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A member is forgotten.
    Member(u16, IpAddr, u32),
    /// Listeners of a group behind a port are asked for, as one has left.
    LastMember(u16, IpAddr, u32),
    /// A multicast router of a family (true: IPv6) is forgotten.
    Router(u16, bool, u32),
    /// The bridge asks.
    Query(u16, bool),
    /// Another querier is forgotten.
    OtherQuerier(u16, bool),
}

/// Who asks in a VLAN, for one family.
#[derive(Clone, Copy, Debug, Default)]
struct Querier {
    /// The other one, as long as there is one.
    other: Option<IpAddr>,
    /// The bridge asks.
    own: bool,
    /// Queries of the beginning that are left.
    startup: u32,
}

impl Querier {
    const fn asks(&self) -> bool {
        self.own || self.other.is_some()
    }
}

/// What was heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Valid queries.
    pub queries: u64,
    /// Valid reports and leaves.
    pub reports: u64,
    /// What broke a rule.
    pub invalid: u64,
    /// Members that there was no room for.
    pub full: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Snooping {
    config: Config,
    ports: BTreeMap<u32, PortConfig>,
    /// Ports that listen, by VLAN and group, and how many queries of a leave are still to be sent to each.
    members: BTreeMap<(u16, IpAddr, u32), u32>,
    routers: BTreeSet<(u16, bool, u32)>,
    queriers: BTreeMap<(u16, bool), Querier>,
    /// When each timer is due, and the timers in their order.
    due: BTreeMap<Timer, Instant>,
    timers: BTreeSet<(Instant, Timer)>,
    counters: Counters,
}

impl Snooping {
    /// What was heard.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// The ports that listen to groups: VLAN, group, port, in order.
    pub fn members(&self) -> impl Iterator<Item = (u16, IpAddr, u32)> + '_ {
        self.members.keys().copied()
    }

    /// The ports behind which multicast routers were heard: VLAN, family, port.
    pub fn routers(&self) -> impl Iterator<Item = (u16, bool, u32)> + '_ {
        self.routers.iter().copied()
    }

    /// Whether somebody asks in a VLAN who listens.
    pub fn is_asked(&self, vlan: u16, ipv6: bool) -> bool {
        self.queriers.get(&(vlan, ipv6)).is_some_and(Querier::asks)
    }

    fn set_timer(&mut self, timer: Timer, at: Option<Instant>) {
        if let Some(before) = self.due.remove(&timer) {
            self.timers.remove(&(before, timer));
        }
        if let Some(at) = at {
            self.due.insert(timer, at);
            self.timers.insert((at, timer));
        }
    }

    fn configure(&mut self, config: Config, now: Instant, out: &mut Vec<Action>) {
        self.config = config;
        let known = self.queriers.keys().copied();
        let named = self.config.vlans.iter();
        let named = named.flat_map(|vlan| [(*vlan, false), (*vlan, true)]);
        for (vlan, ipv6) in known.chain(named).collect::<BTreeSet<_>>() {
            let other = self.other_querier((vlan, ipv6));
            self.elect((vlan, ipv6), other, now, out);
        }
    }

    /// The other querier of a VLAN and a family (true: IPv6), as long as it is heard.
    pub fn other_querier(&self, place: (u16, bool)) -> Option<IpAddr> {
        self.queriers.get(&place).and_then(|querier| querier.other)
    }

    /// What the bridge's queries of a family come from, if it asks in this VLAN.
    fn source(&self, (vlan, ipv6): (u16, bool)) -> Option<IpAddr> {
        let asks = self.config.querier && self.config.vlans.contains(&vlan);
        let source = match ipv6 {
            true => self.config.source6.map(IpAddr::from),
            false => Some(self.config.source4.into()),
        };
        source.filter(|_| asks)
    }

    /// Decides whether the bridge asks: the lowest address does; one that has none gives way to everybody.
    fn elect(
        &mut self,
        place: (u16, bool),
        other: Option<IpAddr>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let source = self.source(place);
        let was = self.queriers.get(&place).copied().unwrap_or_default();
        let mut querier = Querier { other, ..was };
        querier.own = match (source, other) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(source), Some(other)) => {
                !source.is_unspecified() && (other.is_unspecified() || source < other)
            }
        };
        if querier.own && !was.own {
            querier.startup = self.config.startup_query_count;
            self.set_timer(Timer::Query(place.0, place.1), Some(now));
        } else if !querier.own {
            self.set_timer(Timer::Query(place.0, place.1), None);
        }
        self.note_querier(place, querier, out);
    }

    /// Keeps who asks, and tells when it becomes somebody or nobody.
    fn note_querier(&mut self, place: (u16, bool), querier: Querier, out: &mut Vec<Action>) {
        let was = self.queriers.get(&place).is_some_and(Querier::asks);
        match querier.asks() {
            true => _ = self.queriers.insert(place, querier),
            false => _ = self.queriers.remove(&place),
        }
        if was != querier.asks() {
            out.push(Action::Asked {
                vlan: place.0,
                ipv6: place.1,
                asked: querier.asks(),
            });
        }
    }

    /// Nothing behind a port is known any more.
    fn forget_port(&mut self, port: u32, out: &mut Vec<Action>) {
        let of_port = |at: &&(u16, IpAddr, u32)| at.2 == port;
        let members: Vec<_> = self.members.keys().filter(of_port).copied().collect();
        for (vlan, group, port) in members {
            self.end_member((vlan, group, port), out);
        }
        let routers: Vec<_> = self.routers.iter().filter(|at| at.2 == port).collect();
        for (vlan, ipv6, port) in routers.into_iter().copied().collect::<Vec<_>>() {
            self.end_router((vlan, ipv6, port), out);
        }
    }

    fn end_member(&mut self, at: (u16, IpAddr, u32), out: &mut Vec<Action>) {
        let (vlan, group, port) = at;
        self.set_timer(Timer::Member(vlan, group, port), None);
        self.set_timer(Timer::LastMember(vlan, group, port), None);
        if self.members.remove(&at).is_some() {
            out.push(Action::Member {
                vlan,
                group,
                port,
                listens: false,
            });
        }
    }

    fn end_router(&mut self, at: (u16, bool, u32), out: &mut Vec<Action>) {
        let (vlan, ipv6, port) = at;
        self.set_timer(Timer::Router(vlan, ipv6, port), None);
        if self.routers.remove(&at) {
            out.push(Action::Router {
                vlan,
                ipv6,
                port,
                is_there: false,
            });
        }
    }

    fn received(
        &mut self,
        (port, vlan): (u32, u16),
        packet: &[u8],
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if !self.ports.contains_key(&port) {
            return;
        }
        match message::read(packet) {
            Ok(None) => {}
            Err(message::Invalid) => self.counters.invalid += 1,
            Ok(Some(Heard::Query { querier, group })) => {
                self.counters.queries += 1;
                self.query((port, vlan), (querier, group), now, out);
            }
            Ok(Some(Heard::Records(records))) => {
                self.counters.reports += 1;
                for (group, listens) in records {
                    match listens {
                        true => self.joined((vlan, group, port), now, out),
                        false => self.left((vlan, group, port), now, out),
                    }
                }
            }
        }
    }

    fn query(
        &mut self,
        (port, vlan): (u32, u16),
        (querier, group): (IpAddr, Option<IpAddr>),
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let ipv6 = querier.is_ipv6();
        let learns = self
            .ports
            .get(&port)
            .is_some_and(|port| port.learns_routers);
        // One that has no address is a switch that asks, not a router (RFC 4541, 2.1.1).
        if learns && !querier.is_unspecified() && self.has_room() {
            let until = now + self.config.querier_interval;
            self.set_timer(Timer::Router(vlan, ipv6, port), Some(until));
            if self.routers.insert((vlan, ipv6, port)) {
                out.push(Action::Router {
                    vlan,
                    ipv6,
                    port,
                    is_there: true,
                });
            }
        }
        self.heard_querier((vlan, ipv6), querier, now, out);
        // Who answers nothing to a question about one group is not there (RFC 2236, 3; RFC 3376, 6.6.1).
        if let Some(group) = group {
            let from = (vlan, group, u32::MIN);
            let to = (vlan, group, u32::MAX);
            let asked: Vec<_> = self.members.range(from..=to).map(|(at, _)| *at).collect();
            for at in asked.into_iter().filter(|at| at.2 != port) {
                self.lower(at, now);
            }
        }
    }

    fn heard_querier(
        &mut self,
        place: (u16, bool),
        querier: IpAddr,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        if !self.queriers.contains_key(&place) && !self.has_room() {
            return;
        }
        let until = now + self.config.querier_interval;
        self.set_timer(Timer::OtherQuerier(place.0, place.1), Some(until));
        self.elect(place, Some(querier), now, out);
    }

    /// Whether more may be remembered: members, routers and queriers have one bound.
    fn has_room(&mut self) -> bool {
        let known = self.members.len() + self.routers.len() + self.queriers.len();
        let has = known < self.config.members_max;
        self.counters.full += u64::from(!has);
        has
    }

    fn joined(&mut self, at: (u16, IpAddr, u32), now: Instant, out: &mut Vec<Action>) {
        let (vlan, group, port) = at;
        if is_always_flooded(group) {
            return;
        }
        let is_new = !self.members.contains_key(&at);
        if is_new && !self.has_room() {
            return;
        }
        self.members.insert(at, 0);
        self.set_timer(Timer::LastMember(vlan, group, port), None);
        let until = now + self.config.membership_interval;
        self.set_timer(Timer::Member(vlan, group, port), Some(until));
        if is_new {
            out.push(Action::Member {
                vlan,
                group,
                port,
                listens: true,
            });
        }
    }

    fn left(&mut self, at: (u16, IpAddr, u32), now: Instant, out: &mut Vec<Action>) {
        let (vlan, group, port) = at;
        if !self.members.contains_key(&at) {
            return;
        }
        if self.ports.get(&port).is_some_and(|port| port.fast_leave) {
            return self.end_member(at, out);
        }
        // Another querier asks by itself, and its question lowers the timer.
        let place = (vlan, group.is_ipv6());
        if self.queriers.get(&place).is_some_and(|is| is.own) {
            self.lower(at, now);
            self.members.insert(at, self.config.last_member_query_count);
            self.set_timer(Timer::LastMember(vlan, group, port), Some(now));
        }
    }

    /// A member is forgotten soon unless it reports.
    fn lower(&mut self, at: (u16, IpAddr, u32), now: Instant) {
        let (vlan, group, port) = at;
        let timer = Timer::Member(vlan, group, port);
        let soon = now + self.config.last_member_interval * self.config.last_member_query_count;
        let at = self.due.get(&timer).map_or(soon, |at| soon.min(*at));
        self.set_timer(timer, Some(at));
    }

    fn fire(&mut self, timer: Timer, now: Instant, out: &mut Vec<Action>) {
        self.set_timer(timer, None);
        match timer {
            Timer::Member(vlan, group, port) => self.end_member((vlan, group, port), out),
            Timer::Router(vlan, ipv6, port) => self.end_router((vlan, ipv6, port), out),
            Timer::LastMember(vlan, group, port) => self.ask_last((vlan, group, port), now, out),
            Timer::Query(vlan, ipv6) => self.ask((vlan, ipv6), now, out),
            Timer::OtherQuerier(vlan, ipv6) => self.elect((vlan, ipv6), None, now, out),
        }
    }

    /// Asks about all groups.
    fn ask(&mut self, place: (u16, bool), now: Instant, out: &mut Vec<Action>) {
        let (Some(source), Some(querier)) = (self.source(place), self.queriers.get_mut(&place))
        else {
            return;
        };
        querier.startup = querier.startup.saturating_sub(1);
        let wait = match querier.startup {
            0 => self.config.query_interval,
            _ => self.config.startup_query_interval,
        };
        self.set_timer(Timer::Query(place.0, place.1), Some(now + wait.max(LEAST)));
        let query = self.query_of(source, None, self.config.query_response_interval);
        out.push(Action::Query {
            port: None,
            vlan: place.0,
            frame: query.frame(),
        });
    }

    /// Asks whether a port still listens to a group that one behind it has left.
    fn ask_last(&mut self, at: (u16, IpAddr, u32), now: Instant, out: &mut Vec<Action>) {
        let (vlan, group, port) = at;
        let Some(left) = self.members.get_mut(&at).filter(|left| **left > 0) else {
            return;
        };
        *left -= 1;
        if *left > 0 {
            let next = now + self.config.last_member_interval.max(LEAST);
            self.set_timer(Timer::LastMember(vlan, group, port), Some(next));
        }
        if let Some(source) = self.source((vlan, group.is_ipv6())) {
            let query = self.query_of(source, Some(group), self.config.last_member_interval);
            out.push(Action::Query {
                port: Some(port),
                vlan,
                frame: query.frame(),
            });
        }
    }

    fn query_of(&self, source: IpAddr, group: Option<IpAddr>, response: Duration) -> Query {
        Query {
            source,
            group,
            response,
            newest: match source {
                IpAddr::V4(_) => self.config.igmp_v3,
                IpAddr::V6(_) => self.config.mld_v2,
            },
            interval: self.config.query_interval,
        }
    }

    /// Asks anew wherever the bridge asks.
    fn ask_anew(&mut self, now: Instant) {
        let asks = self.queriers.iter().filter(|(_, is)| is.own);
        let places: Vec<_> = asks.map(|(place, _)| *place).collect();
        for (vlan, ipv6) in places {
            self.set_timer(Timer::Query(vlan, ipv6), Some(now));
        }
    }
}

impl Machine for Snooping {
    type Event<'a> = Event<'a>;
    type Action = Action;
    type Timer = Timer;

    fn handle(&mut self, event: Event<'_>, now: Instant, out: &mut Vec<Action>) {
        match event {
            Event::Configure(config) => self.configure(config, now, out),
            Event::Port(port, config) => {
                self.ports.insert(port, config);
                if !config.learns_routers {
                    let of_port = self.routers.iter().filter(|at| at.2 == port);
                    for at in of_port.copied().collect::<Vec<_>>() {
                        self.end_router(at, out);
                    }
                }
            }
            Event::PortGone(port) => {
                self.ports.remove(&port);
                self.forget_port(port, out);
            }
            Event::TopologyChanged => self.ask_anew(now),
            Event::Received { port, vlan, packet } => {
                self.received((port, vlan), packet, now, out);
            }
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action>) {
        while let Some((_, timer)) = self.timers.first().copied().filter(|(at, _)| *at <= now) {
            self.fire(timer, now, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        self.timers.first().copied()
    }
}

/// Whether a group is for all of a link, whoever reports it (RFC 4541, 2.1.2 and 3).
pub fn is_always_flooded(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(group) => matches!(group.octets(), [224, 0, 0, _]),
        IpAddr::V6(group) => group == crate::outbound::ALL_NODES,
    }
}

/// How far apart queries are at least, whatever is configured.
const LEAST: Duration = Duration::from_millis(100);
