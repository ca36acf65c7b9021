//! IGMP and MLD snooping of one bridge (RFC 4541): group members and multicast routers per port, and the bridge's own
//! querier.
//!
//! ```text
//! report ─▶ the port is a member until `membership_interval` has passed
//! leave  ─▶ removed at once with `fast_leave`; otherwise the port is queried for further members
//! query  ─▶ the port leads to a multicast router; another querier is present
//! time   ─▶ own queries, as long as no querier with a lower address is present (RFC 3376, 6.6.2)
//! ```
//!
//! Without a querier in a VLAN no host has to report, so all multicast is flooded there: [`Action::Asked`] reports
//! changes of this state. VLAN 0 stands for a bridge without VLAN filtering.

mod message;
#[cfg(test)]
mod tests;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine};

use self::message::{MulticastMessage, Query};
use crate::Frame;

/// Settings of a bridge; names are those of RouterOS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// `multicast-querier`.
    pub querier: bool,
    /// `igmp-version=3`: queries of IGMPv3.
    pub igmp_v3: bool,
    /// `mld-version=2`: queries of MLDv2.
    pub mld_v2: bool,
    /// Source of IGMP queries: the bridge's address, or 0.0.0.0.
    pub source4: Ipv4Addr,
    /// Source of MLD queries: the bridge's link-local address; without one no MLD queries are sent.
    pub source6: Option<Ipv6Addr>,
    /// VLANs to query in.
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
    /// Maximum number of members (port of a group).
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

/// Settings of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortConfig {
    /// `fast-leave`.
    pub fast_leave: bool,
    /// `multicast-router=temporary-query`: a query marks the port as leading to a multicast router.
    pub learns_routers: bool,
}

/// Events of a bridge.
#[derive(Debug)]
pub enum Event<'a> {
    /// The configuration changed.
    Configure(Config),
    /// A port was added or its settings changed.
    Port(u32, PortConfig),
    /// A port was removed or its link went down; its members and routers are removed.
    PortGone(u32),
    /// The spanning tree topology changed; members are queried again (RFC 4541, 2.1.1).
    TopologyChanged,
    /// A packet arrived; only IGMP and MLD are handled.
    Received {
        /// Ingress port.
        port: u32,
        /// VLAN.
        vlan: u16,
        /// Packet, from the IP header on.
        packet: &'a [u8],
    },
}

/// Actions that the owner of the machine carries out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A port became a member of a group, or is no longer one.
    Member {
        /// VLAN.
        vlan: u16,
        /// Group.
        group: IpAddr,
        /// Port.
        port: u32,
        /// True if the port is a member.
        listens: bool,
    },
    /// A multicast router appeared behind a port, or disappeared.
    Router {
        /// VLAN.
        vlan: u16,
        /// Address family.
        ipv6: bool,
        /// Port.
        port: u32,
        /// True if there is a router.
        is_there: bool,
    },
    /// A querier appeared in a VLAN, so that reports are complete, or the last one disappeared.
    Asked {
        /// VLAN.
        vlan: u16,
        /// Address family.
        ipv6: bool,
        /// True if there is a querier.
        asked: bool,
    },
    /// Send a query from the bridge's MAC address.
    Query {
        /// Port; `None` for all ports.
        port: Option<u32>,
        /// VLAN.
        vlan: u16,
        /// Frame.
        frame: Frame,
    },
}

/// Timers of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A member expires.
    Member(u16, IpAddr, u32),
    /// Last-member query to a port after a leave.
    LastMember(u16, IpAddr, u32),
    /// A multicast router expires (`true`: IPv6).
    Router(u16, bool, u32),
    /// General query of the bridge.
    Query(u16, bool),
    /// Another querier expires.
    OtherQuerier(u16, bool),
}

/// Querier state of a VLAN and address family.
#[derive(Clone, Copy, Debug, Default)]
struct Querier {
    /// Address of another querier, while it is present.
    other: Option<IpAddr>,
    /// The bridge is querier.
    own: bool,
    /// Startup queries left to send.
    startup: u32,
}

impl Querier {
    const fn asks(&self) -> bool {
        self.own || self.other.is_some()
    }
}

/// Counters of received messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Valid queries.
    pub queries: u64,
    /// Valid reports and leaves.
    pub reports: u64,
    /// Invalid messages.
    pub invalid: u64,
    /// Members rejected because the table was full.
    pub full: u64,
}

/// Snooping state of one bridge.
#[derive(Debug, Default)]
pub struct Snooping {
    config: Config,
    ports: BTreeMap<u32, PortConfig>,
    /// Members by VLAN, group and port, with the number of last-member queries left to send.
    members: BTreeMap<(u16, IpAddr, u32), u32>,
    routers: BTreeSet<(u16, bool, u32)>,
    queriers: BTreeMap<(u16, bool), Querier>,
    /// Deadline of each timer, and the timers ordered by deadline.
    due: BTreeMap<Timer, Instant>,
    timers: BTreeSet<(Instant, Timer)>,
    counters: Counters,
}

impl Snooping {
    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// All members: VLAN, group, port, in order.
    pub fn members(&self) -> impl Iterator<Item = (u16, IpAddr, u32)> + '_ {
        self.members.keys().copied()
    }

    /// Ports with multicast routers: VLAN, address family, port.
    pub fn routers(&self) -> impl Iterator<Item = (u16, bool, u32)> + '_ {
        self.routers.iter().copied()
    }

    /// True if the VLAN has a querier.
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

    /// Address of another querier in a VLAN and address family (`true`: IPv6), while it is present.
    pub fn other_querier(&self, place: (u16, bool)) -> Option<IpAddr> {
        self.queriers.get(&place).and_then(|querier| querier.other)
    }

    /// Source address of the bridge's queries; `None` if the bridge does not query in this VLAN.
    fn source(&self, vlan: u16, ipv6: bool) -> Option<IpAddr> {
        let asks = self.config.querier && self.config.vlans.contains(&vlan);
        let source = match ipv6 {
            true => self.config.source6.map(IpAddr::from),
            false => Some(self.config.source4.into()),
        };
        source.filter(|_| asks)
    }

    /// Elects the querier: the lowest address wins; a bridge without address yields to any querier.
    fn elect(
        &mut self,
        place: (u16, bool),
        other: Option<IpAddr>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let source = self.source(place.0, place.1);
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

    /// Stores the querier state and reports whether a querier is present, if that changed.
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

    /// Removes all members and routers of a port.
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
        port: u32,
        vlan: u16,
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
            Ok(Some(MulticastMessage::Query { querier, group })) => {
                self.counters.queries += 1;
                self.query(port, vlan, querier, group, now, out);
            }
            Ok(Some(MulticastMessage::Records(records))) => {
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
        port: u32,
        vlan: u16,
        querier: IpAddr,
        group: Option<IpAddr>,
        now: Instant,
        out: &mut Vec<Action>,
    ) {
        let ipv6 = querier.is_ipv6();
        let learns = self
            .ports
            .get(&port)
            .is_some_and(|port| port.learns_routers);
        // A query without source address comes from a switch, not from a router (RFC 4541, 2.1.1).
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
        self.receive_querier((vlan, ipv6), querier, now, out);
        // Members that do not answer a group-specific query expire (RFC 2236, 3; RFC 3376, 6.6.1).
        if let Some(group) = group {
            let from = (vlan, group, u32::MIN);
            let to = (vlan, group, u32::MAX);
            let asked: Vec<_> = self.members.range(from..=to).map(|(at, _)| *at).collect();
            for at in asked.into_iter().filter(|at| at.2 != port) {
                self.lower(at, now);
            }
        }
    }

    fn receive_querier(
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

    /// True if the table has room: members, routers and queriers share one limit.
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
        // If another bridge is querier, its last-member query lowers the timer.
        let place = (vlan, group.is_ipv6());
        if self.queriers.get(&place).is_some_and(|is| is.own) {
            self.lower(at, now);
            self.members.insert(at, self.config.last_member_query_count);
            self.set_timer(Timer::LastMember(vlan, group, port), Some(now));
        }
    }

    /// Shortens the timer of a member; a report extends it again.
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

    /// Sends a general query.
    fn ask(&mut self, place: (u16, bool), now: Instant, out: &mut Vec<Action>) {
        let (Some(source), Some(querier)) =
            (self.source(place.0, place.1), self.queriers.get_mut(&place))
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

    /// Sends a last-member query to a port.
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
        if let Some(source) = self.source(vlan, group.is_ipv6()) {
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

    /// Sends general queries wherever the bridge is querier.
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
                self.received(port, vlan, packet, now, out);
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

/// True for groups that are always flooded, with or without reports (RFC 4541, 2.1.2 and 3).
pub fn is_always_flooded(group: IpAddr) -> bool {
    match group {
        IpAddr::V4(group) => matches!(group.octets(), [224, 0, 0, _]),
        IpAddr::V6(group) => group == crate::outbound::ALL_NODES,
    }
}

/// Minimum interval between queries, whatever is configured.
const LEAST: Duration = Duration::from_millis(100);
