//! Rule sets of the firewall's benchmark rows, generated from one description for both families.
//!
//! [`Shapes`] are stateless rules of six shapes in turn, for any table, with a matching packet for
//! each:
//!
//! ```text
//! src /24 (/64)  ·  dst /32 (/128)  ·  tcp dst-port  ·  src /16 (/48) + dst /24 (/64) + udp dst-port
//! dst /32 (/128) + udp  ·  udp dst-port
//! ```
//!
//! [`home`] is RouterOS's default configuration of a home router's forward chain. [`second_uplink_for`] returns
//! routing rules.

use std::sync::Arc;

use frame::InterfaceId;
use machine::Rng;

use super::rig::{CLIENTS4, CLIENTS6, EGRESS, INGRESS, MARKED, class_of};
use super::{Family, traffic};
use dataplane::firewall::{Firewall, Tables, filter, mangle, nat, raw};
use dataplane::nat::{Action as NatAction, Side, Target};
use dataplane::packet::{Tuple, protocol};
use dataplane::routing_rules::{RoutingRule, RoutingRules, RuleAction};
use dataplane::rule::{
    Action, AddressRange, ChainId, ClassSet, Glob, Layer7, LinkMatch, List, MacSet, Match, Matcher,
    NatState, Rule, State, Table,
};
use dataplane::snapshot::Prefix;
use wire::Mac;

/// The rules of a chain, in order.
pub(super) type Rules = Vec<(Vec<Matcher>, Action)>;

/// Rules of six shapes, and for each a flow that no earlier rule matches.
pub(super) struct Shapes {
    pub(super) rules: Vec<Vec<Matcher>>,
    pub(super) hits: Vec<Tuple>,
}

impl Shapes {
    /// Creates `count` rules; equal seeds give equal rules.
    pub(super) fn new(family: Family, count: u32, seed: u64) -> Self {
        let mut rng = Rng::seeded(seed ^ 0x51a9);
        let (rules, hits) = (0..count).map(|rule| shape(family, rule, &mut rng)).unzip();
        Self { rules, hits }
    }
}

impl Shapes {
    /// Returns endless distinct UDP flows: every other one hits a rule, spread over the rules for
    /// UDP.
    pub(super) fn flows(&self, family: Family, rng: &mut Rng) -> impl Iterator<Item = Tuple> {
        let udp = |(hit, rule): (&Tuple, &Vec<Matcher>)| {
            let tcp = |matcher: &Matcher| matches!(matcher.what, Match::Protocol(protocol::TCP));
            let protocol = protocol::UDP;
            (!rule.iter().any(tcp)).then_some(Tuple { protocol, ..*hit })
        };
        let hits = self.hits.iter().zip(&self.rules).filter_map(udp);
        let hits: Vec<Tuple> = hits.collect();
        (0..).map(move |number: usize| {
            let round = number / 2 / hits.len().max(1);
            match hits.get(number / 2 % hits.len().max(1)) {
                Some(hit) if number.is_multiple_of(2) => Tuple {
                    source_port: 1024 + round as u16,
                    ..*hit
                },
                _ => traffic::flow(family, protocol::UDP, rng),
            }
        })
    }
}

/// Returns the source prefixes of the rows' packets, bits and length: clients, and sources that
/// rules match. No flow has such a destination.
pub(super) fn sources(family: Family) -> [(u128, u8); 3] {
    match family {
        Family::Ipv4 => [
            (u128::from(CLIENTS4), 16),
            (network(family, 11, 0, 24).1.first, 8),
            (network(family, 13, 0, 24).1.first, 8),
        ],
        Family::Ipv6 => [
            (CLIENTS6, 64),
            (network(family, 11, 0, 24).1.first, 32),
            (network(family, 13, 0, 24).1.first, 32),
        ],
    }
}

/// Returns a network by number that no random flow touches: 11/8 to 13/8, or their IPv6
/// counterparts.
fn network(family: Family, first: u8, number: u32, len4: u8) -> (u128, AddressRange) {
    let (bits, len, width) = match family {
        Family::Ipv4 => (u128::from(u32::from(first) << 24 | number << 8), len4, 32),
        Family::Ipv6 => {
            let high = 0x2400_0000 | u128::from(first);
            // A /24 becomes a /64, a /16 a /48, a /32 an address.
            let len = [48, 64, 128][usize::from(len4 / 8 - 2)];
            (high << 96 | u128::from(number) << 72, len, 128)
        }
    };
    (bits | 1, AddressRange::prefix(bits | 1, len, width))
}

/// Returns a rule and a flow that it matches. Fields that the rule does not match are random.
fn shape(family: Family, rule: u32, rng: &mut Rng) -> (Vec<Matcher>, Tuple) {
    // A permutation of 16 bits: neighbouring rules do not match neighbouring values.
    let number = rule.wrapping_mul(40_503) & 0xffff;
    let port = (number as u16) << 1;
    let either = [protocol::TCP, protocol::UDP][rng.below(2) as usize];
    let mut flow = traffic::flow(family, either, rng);
    let to_port = |number, flow: &mut Tuple| {
        (flow.protocol, flow.destination_port) = (number, port);
        [
            Match::Protocol(number).into(),
            Match::DestinationPort([(port, port)].into()).into(),
        ]
    };
    let mut matchers: Vec<Matcher> = Vec::new();
    match rule % 6 {
        0 => {
            let (address, range) = network(family, 11, number, 24);
            flow.source = address;
            matchers.push(Match::Source(range).into());
        }
        kind @ (1 | 4) => {
            let (address, range) = network(family, 12, number, 32);
            flow.destination = address;
            matchers.push(Match::Destination(range).into());
            if kind == 4 {
                flow.protocol = protocol::UDP;
                matchers.push(Match::Protocol(protocol::UDP).into());
            }
        }
        2 => matchers.extend(to_port(protocol::TCP, &mut flow)),
        3 => {
            let (from, sources) = network(family, 13, number, 16);
            let (to, destinations) = network(family, 12, number, 24);
            (flow.source, flow.destination) = (from, to);
            matchers.push(Match::Source(sources).into());
            matchers.push(Match::Destination(destinations).into());
            matchers.extend(to_port(protocol::UDP, &mut flow));
        }
        _ => matchers.extend(to_port(protocol::UDP, &mut flow)),
    }
    (matchers, flow)
}

/// Builder of a row's firewall, which numbers the rules.
pub(super) struct Build {
    family: Family,
    next: u32,
    firewall: Firewall,
}

impl Build {
    /// Creates a builder without rules and connection tracking.
    pub(super) fn new(family: Family) -> Self {
        Self {
            family,
            next: 1,
            firewall: Firewall::default(),
        }
    }

    /// Enables connection tracking with at most this many entries.
    pub(super) fn tracked(mut self, entries_max: u32) -> Self {
        self.firewall.tracks4 = self.family == Family::Ipv4;
        self.firewall.tracks6 = self.family == Family::Ipv6;
        self.firewall.settings.entries_max = entries_max;
        self
    }

    /// `/ip/firewall/filter`, forward.
    pub(super) fn filter(self, rules: Rules) -> Self {
        self.table(filter::CHAINS, filter::FORWARD, rules, |tables| {
            &mut tables.filter
        })
    }

    /// `/ip/firewall/mangle`, forward.
    pub(super) fn mangle(self, rules: Rules) -> Self {
        self.table(mangle::CHAINS, mangle::FORWARD, rules, |tables| {
            &mut tables.mangle
        })
    }

    /// `/ip/firewall/mangle`, prerouting.
    pub(super) fn prerouting(self, rules: Rules) -> Self {
        self.table(mangle::CHAINS, mangle::PREROUTING, rules, |tables| {
            &mut tables.mangle
        })
    }

    /// `/ip/firewall/raw`, prerouting.
    pub(super) fn raw(self, rules: Rules) -> Self {
        self.table(raw::CHAINS, raw::PREROUTING, rules, |tables| {
            &mut tables.raw
        })
    }

    /// Exempts all packets from tracking, by a rule in `raw`.
    pub(super) fn notrack(self) -> Self {
        self.raw(vec![(Vec::new(), Action::Notrack)])
    }

    /// `/ip/firewall/nat`: `action=masquerade out-interface-list=WAN`.
    pub(super) fn masquerade(self) -> Self {
        self.masquerade_if(vec![Match::OutInterfaceList(wan()).into()])
    }

    /// Sets RouterOS's default configuration for IPv4: the filter chains `input` and `forward`, and
    /// `action=masquerade ipsec-policy=out,none out-interface-list=WAN`. The matchers in `tunnel`
    /// accept outer packets of a tunnel.
    pub(super) fn home_router(self, lists: &Lists, fasttrack: bool, tunnel: Vec<Matcher>) -> Self {
        let Lists { lan, wan } = lists;
        let chains = vec![
            (filter::INPUT, home_input(lan, tunnel)),
            (filter::FORWARD, home4(fasttrack, wan)),
        ];
        let (inbound, protected) = (false, false);
        self.tables(filter::CHAINS, chains, |tables| &mut tables.filter)
            .masquerade_if(vec![
                Match::Ipsec { inbound, protected }.into(),
                Match::OutInterfaceList(Arc::clone(wan)).into(),
            ])
    }

    fn masquerade_if(mut self, matchers: Vec<Matcher>) -> Self {
        self.firewall.targets = Arc::new([Target {
            side: Side::Source,
            action: NatAction::Own,
            addresses: None,
            ports: None,
            randomise: false,
        }]);
        let rules = vec![(matchers, Action::Translate(0))];
        self.table(nat::CHAINS, nat::SRCNAT, rules, |tables| &mut tables.nat)
    }

    /// `/interface/bridge/filter`, forward.
    pub(super) fn bridge_filter(mut self, rules: Rules) -> Self {
        let table = self.compile(filter::CHAINS, vec![(filter::FORWARD, rules)]);
        self.firewall.bridge.filter = table;
        self
    }

    pub(super) fn done(mut self) -> Firewall {
        self.firewall.seek(&Firewall::default());
        self.firewall
    }

    fn table(
        self,
        names: &[&str],
        chain: ChainId,
        rules: Rules,
        place: fn(&mut Tables) -> &mut Arc<Table>,
    ) -> Self {
        self.tables(names, vec![(chain, rules)], place)
    }

    fn tables(
        mut self,
        names: &[&str],
        chains: Vec<(ChainId, Rules)>,
        place: fn(&mut Tables) -> &mut Arc<Table>,
    ) -> Self {
        let table = self.compile(names, chains);
        let tables = match self.family {
            Family::Ipv4 => &mut self.firewall.ipv4,
            Family::Ipv6 => &mut self.firewall.ipv6,
        };
        *place(tables) = table;
        self
    }

    /// Compiles a table with chains of these names; `filled` has the rules of some of them.
    fn compile(&mut self, names: &[&str], filled: Vec<(ChainId, Rules)>) -> Arc<Table> {
        let mut chains: Vec<(Arc<str>, Vec<Arc<Rule>>)> = names
            .iter()
            .map(|name| ((*name).into(), Vec::new()))
            .collect();
        for (chain, rules) in filled {
            for (matchers, action) in rules {
                let rule = Rule::new(self.next, matchers, action);
                self.next += 1;
                chains[usize::from(chain.0)].1.push(Arc::new(rule));
            }
        }
        Arc::new(Table::compile(None, chains))
    }
}

/// Returns typical bridge rules that frames of the row pass: drops by MAC address and EtherType,
/// and accepts of IP packets in six shapes.
pub(super) fn of_bridges(count: u32, seed: u64) -> Rules {
    let station = |number: u32| {
        let [a, b, c, d] = number.to_be_bytes();
        MacSet::new(Mac([0x02, 0xff, a, b, c, d]), Mac::BROADCAST)
    };
    let drop = |what| (vec![Match::Link(what).into()], Action::Drop);
    let shapes = Shapes::new(Family::Ipv4, count, seed);
    let numbered = (0..).zip(shapes.rules);
    let rules = numbered.map(|(number, shape)| {
        let kind = 0x8863 + number as u16;
        match number % 4 {
            0 => drop(LinkMatch::Source(station(number))),
            1 => drop(LinkMatch::Destination(station(number))),
            2 => drop(LinkMatch::Kind(kind, kind)),
            _ => (shape, Action::Accept),
        }
    });
    rules.collect()
}

/// The interface lists of the default configuration.
pub(super) struct Lists {
    pub(super) lan: Arc<ClassSet>,
    pub(super) wan: Arc<ClassSet>,
}

impl Lists {
    /// Creates lists with one interface each.
    pub(super) fn new(lan: InterfaceId, wan: InterfaceId) -> Self {
        let [lan, wan] = [lan, wan].map(|id| Arc::new([class_of(id)].into_iter().collect()));
        Self { lan, wan }
    }
}

fn wan() -> Arc<ClassSet> {
    Arc::new([class_of(EGRESS)].into_iter().collect())
}

fn lan() -> Arc<ClassSet> {
    Arc::new([class_of(INGRESS)].into_iter().collect())
}

fn states(states: &[State]) -> Matcher {
    Match::ConnectionState(states.iter().copied().collect()).into()
}

/// Returns the forward chain of RouterOS's default configuration, with or without its FastTrack
/// rule.
pub(super) fn home(family: Family, fasttrack: bool) -> Rules {
    match family {
        Family::Ipv4 => home4(fasttrack, &wan()),
        Family::Ipv6 => {
            let mut rules = fasttrack_rule(fasttrack);
            rules.extend(known_and_invalid());
            rules.extend(home6());
            rules
        }
    }
}

/// Returns the IPv4 forward chain.
fn home4(fasttrack: bool, wan: &Arc<ClassSet>) -> Rules {
    let protected = true;
    let mut rules = Vec::new();
    for inbound in [true, false] {
        let matcher = Match::Ipsec { inbound, protected };
        rules.push((vec![matcher.into()], Action::Accept));
    }
    rules.extend(fasttrack_rule(fasttrack));
    rules.extend(known_and_invalid());
    let from_outside = vec![
        states(&[State::New]),
        !Matcher::from(Match::ConnectionNatState(NatState::DSTNAT)),
        Match::InInterfaceList(Arc::clone(wan)).into(),
    ];
    rules.push((from_outside, Action::Drop));
    rules
}

/// Returns the IPv4 input chain, with a rule before the last that accepts packets of a tunnel.
fn home_input(lan: &Arc<ClassSet>, tunnel: Vec<Matcher>) -> Rules {
    let loopback = AddressRange::prefix(0x7f00_0001, 32, 32);
    let mut rules = known_and_invalid().to_vec();
    rules.push((vec![Match::Protocol(protocol::ICMP).into()], Action::Accept));
    rules.push((vec![Match::Destination(loopback).into()], Action::Accept));
    if !tunnel.is_empty() {
        rules.push((tunnel, Action::Accept));
    }
    let outside = !Matcher::from(Match::InInterfaceList(Arc::clone(lan)));
    rules.push((vec![outside], Action::Drop));
    rules
}

/// Returns `action=fasttrack-connection connection-state=established,related`, or nothing.
fn fasttrack_rule(wanted: bool) -> Rules {
    let matchers = vec![states(&[State::Established, State::Related])];
    let rule = wanted.then_some((matchers, Action::Fasttrack));
    rule.into_iter().collect()
}

/// Returns the rules about connection states at the beginning of both chains.
fn known_and_invalid() -> [(Vec<Matcher>, Action); 2] {
    use State::{Established, Invalid, Related, Untracked};
    let known = vec![states(&[Established, Related, Untracked])];
    let invalid = vec![states(&[Invalid])];
    [(known, Action::Accept), (invalid, Action::Drop)]
}

/// Returns the default rules about new IPv6 connections.
fn home6() -> Rules {
    let udp = |first, last| {
        vec![
            Match::Protocol(protocol::UDP).into(),
            Match::DestinationPort([(first, last)].into()).into(),
        ]
    };
    let number = |number| vec![Match::Protocol(number).into()];
    let mut rules = Vec::new();
    // Without address space for the list, the row omits `bad_ipv6`.
    if let Ok(bad) = List::new(1) {
        bad.set_fixed(vec![AddressRange::prefix(0, 127, 128)]);
        let bad = Arc::new(bad);
        rules.push((
            vec![Match::SourceList(Arc::clone(&bad)).into()],
            Action::Drop,
        ));
        rules.push((vec![Match::DestinationList(bad).into()], Action::Drop));
    }
    let dying = vec![
        Match::Protocol(protocol::ICMPV6).into(),
        Match::Ttl(dataplane::rule::Compare::Equal(1)).into(),
    ];
    let ipsec = Match::Ipsec {
        inbound: true,
        protected: true,
    };
    let outside = !Matcher::from(Match::InInterfaceList(lan()));
    rules.extend([
        (dying, Action::Drop),
        (number(protocol::ICMPV6), Action::Accept),
        (number(139), Action::Accept),
        (udp(500, 500), Action::Accept),
        (udp(4500, 4500), Action::Accept),
        (number(51), Action::Accept),
        (number(50), Action::Accept),
        (vec![ipsec.into()], Action::Accept),
        (vec![outside], Action::Drop),
    ]);
    rules
}

/// Marks connections from inside, and routes their packets by the table of a second uplink.
pub(super) fn second_uplink() -> Rules {
    let inside = |mark| {
        vec![
            Match::InInterfaceList(lan()).into(),
            Match::ConnectionMark(mark).into(),
        ]
    };
    vec![
        (inside(0), Action::MarkConnection(1)),
        (inside(1), Action::MarkRouting(MARKED)),
    ]
}

/// Returns rules with this many TLS server names, as globs.
pub(super) fn tls_hosts(count: u32) -> Rules {
    let name = |number| format!("*.site{number}.example");
    let rule = |number: u32| {
        let matchers = vec![
            Match::Protocol(protocol::TCP).into(),
            Match::TlsHost(Glob::new(&name(number))).into(),
        ];
        (matchers, Action::Drop)
    };
    (0..count).map(rule).collect()
}

/// Returns rules with this many layer 7 patterns.
pub(super) fn layer7(count: u32) -> Rules {
    let pattern = |number: u32| {
        let regexp = format!("^(get|post|hello) .*service{number}[0-9]*\\.example");
        Layer7::new(&format!("service{number}"), &regexp).ok()
    };
    let patterns = (0..count).filter_map(pattern);
    patterns
        .map(|pattern| (vec![Match::Layer7(pattern).into()], Action::Drop))
        .collect()
}

/// Returns `count` routing rules, each of which routes the clients of a network by the second uplink.
pub(super) fn second_uplink_for(family: Family, count: u32) -> RoutingRules {
    let network = |number: u32| match family {
        Family::Ipv4 => Prefix {
            ipv6: false,
            bits: (CLIENTS4 | number << 8).into(),
            len: 24,
        },
        Family::Ipv6 => Prefix {
            ipv6: true,
            bits: CLIENTS6 | u128::from(number) << 64,
            len: 64,
        },
    };
    let rules = (0..count).map(|number| RoutingRule {
        source: Some(network(number)),
        destination: None,
        interface: None,
        mark: None,
        action: RuleAction::Lookup,
        table: MARKED as u16,
        min_prefix: None,
    });
    rules.collect()
}
