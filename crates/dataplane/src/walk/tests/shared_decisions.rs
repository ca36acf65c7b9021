//! Property tests: packets of a tunnel, under IPsec policies and under routing rules give the same results behind a
//! firewall in vectors as one by one.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use frame::{InterfaceId, Offload};
use machine::Rng;

use super::firewall::{MASQUERADE, chains, client, hits, translated};
use super::rig;
use crate::encap::tests::{add_tunnel, wrapped};
use crate::firewall::{Firewall, filter, mangle, nat, raw};
use crate::ipsec::tests::outbound;
use crate::ipsec::{
    Action as PolicyAction, Ipsec, Leaving, Mode, Policies, Policy, Protocol, Selector,
};
use crate::packet::protocol;
use crate::routing_rules::{RoutingRule, RuleAction};
use crate::rule::{Action, ChainId, Compare, Match, Matcher, Rule, State};
use crate::snapshot::{Prefix, SlowReason};
use crate::table::Kind;
use crate::testing::{ETHER1, ETHER2, Rig, Udp4, gateway};
use crate::{DropReason, PuntReason};

/// The router's address, and that of its tunnel's and association's remote end.
const HERE: u32 = 0x0a00_0001;
const FAR: u32 = 0x0b00_0009;
const CLIENT: u32 = 0x0a00_0002;
/// The router's address on `ether2`, which masquerade uses.
const PUBLIC: u32 = 0x0a01_0001;
const TUNNEL: InterfaceId = InterfaceId(10);
const SLOT: u32 = 3;
/// Destinations: behind the tunnel; under policies that protect, discard, pass, and have no association; without a
/// policy.
const SERVERS: [u32; 6] = [
    0x1400_0005,
    0x0b01_0005,
    0x0b02_0005,
    0x0b03_0005,
    0x0b04_0005,
    0x0b05_0005,
];
const RULES: u32 = 14;

/// The settings of a router.
#[derive(Clone, Copy, Debug)]
struct Settings {
    policies: bool,
    /// The tunnel's packets have a policy, too.
    tunnel_policy: bool,
    /// Rules must be evaluated for each packet.
    evaluates: bool,
    masquerades: bool,
    /// There are routing rules, for some of the servers.
    routes: bool,
}

/// The results for frames.
#[derive(Debug, PartialEq)]
struct Results {
    sent: [Vec<Vec<u8>>; 2],
    drops: Vec<(DropReason, u64)>,
    punts: Vec<(PuntReason, Vec<u8>)>,
    hits: Vec<(u64, u64)>,
    traffic: Vec<[u64; 4]>,
}

fn prefix(bits: u32, len: u8) -> Prefix {
    Prefix {
        ipv6: false,
        bits: bits.into(),
        len,
    }
}

fn policy(source: Prefix, destination: Prefix, action: PolicyAction) -> Policy {
    Policy {
        selector: Selector {
            source,
            destination,
            protocol: 0,
            source_port: 0,
            destination_port: 0,
        },
        action,
    }
}

fn ipsec(tunnel_policy: bool) -> Ipsec {
    let lan = prefix(0x0a00_0000, 24);
    let protect = |slot, required| PolicyAction::Protect { slot, required };
    // With `required: false`, answers may arrive in the clear, so that connections get established.
    let mut policies = vec![
        policy(lan, prefix(0x0b01_0000, 16), protect(SLOT, false)),
        policy(lan, prefix(0x0b02_0000, 16), PolicyAction::Discard),
        policy(lan, prefix(0x0b03_0000, 16), PolicyAction::Pass),
        policy(lan, prefix(0x0b04_0000, 16), protect(SLOT + 1, true)),
    ];
    if tunnel_policy {
        let (here, far) = (prefix(HERE, 32), prefix(FAR, 32));
        policies.push(policy(here, far, protect(SLOT, false)));
    }
    let ipsec = Ipsec {
        policies: Arc::new(Policies::new(policies)),
        associations: Arc::default(),
    };
    let end = |address| SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(address)), 4500);
    let leaving = Leaving {
        protocol: Protocol::Esp,
        sa: Arc::new(outbound(Protocol::Esp)),
        mode: Mode::Tunnel,
        local: end(HERE),
        remote: end(FAR),
        in_udp: false,
        peer_port: None,
    };
    let before = ipsec
        .associations
        .set_leaving(SLOT, Some(Arc::new(leaving)));
    assert!(before.is_none());
    ipsec
}

/// Returns rules that count packets in all chains of a tunnel's outer packets and of forwarded packets.
fn rules(settings: Settings) -> Firewall {
    let counts = |id, matchers: Vec<Matcher>| Rule::new(id, matchers, Action::Passthrough);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let accepts = |id| Rule::new(id, vec![established.clone().into()], Action::Accept);
    let ipsec = |inbound| Match::Ipsec {
        inbound,
        protected: true,
    };
    let lives = Match::Ttl(Compare::Greater(2));
    let evaluated = |id| -> Vec<Rule> {
        let rule = counts(id, vec![lives.clone().into()]);
        settings.evaluates.then_some(rule).into_iter().collect()
    };
    let all = |first: Vec<Rule>, then: Vec<Rule>| [first, then].concat();
    let filter: Vec<(ChainId, Vec<Rule>)> = vec![
        (
            filter::INPUT,
            all(evaluated(11), vec![counts(1, vec![]), accepts(2)]),
        ),
        (
            filter::OUTPUT,
            all(evaluated(12), vec![counts(3, vec![]), accepts(5)]),
        ),
        (
            filter::FORWARD,
            all(
                vec![counts(6, vec![ipsec(false).into()])],
                all(evaluated(13), vec![accepts(7), counts(8, vec![])]),
            ),
        ),
    ];
    let late = vec![counts(9, vec![ipsec(false).into()])];
    let mangle = vec![(mangle::POSTROUTING, late)];
    let first = vec![
        (raw::PREROUTING, vec![counts(10, vec![])]),
        (raw::OUTPUT, vec![counts(14, vec![])]),
    ];
    let mut firewall = Firewall {
        tracks4: true,
        ..Firewall::default()
    };
    firewall.ipv4.filter = chains(filter::CHAINS, filter);
    firewall.ipv4.mangle = chains(mangle::CHAINS, mangle);
    firewall.ipv4.raw = chains(raw::CHAINS, first);
    firewall
}

fn router(settings: Settings) -> Rig {
    let mut rig = rig();
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(PUBLIC));
    rig.own(IpAddr::V4(Ipv4Addr::from_bits(PUBLIC)));
    client(&mut rig);
    let public = rig.hop(Kind::Local);
    rig.route4(PUBLIC, 32, public);
    let hop = add_tunnel(&mut rig, TUNNEL, FAR);
    rig.route4(0x1400_0000, 8, hop);
    if settings.policies {
        rig.snapshot.ipsec = ipsec(settings.tunnel_policy);
    }
    if settings.masquerades {
        let last = SERVERS[5];
        let to = Match::Destination(crate::rule::AddressRange::prefix(last.into(), 32, 32));
        translated(&mut rig, nat::SRCNAT, vec![to.into()], MASQUERADE);
    }
    let before = Firewall::clone(&rig.snapshot.firewall);
    let mut firewall = rules(settings);
    (firewall.ipv4.nat, firewall.targets) = (before.ipv4.nat, before.targets);
    rig.snapshot.firewall = Arc::new(firewall);
    if settings.routes {
        route_by_rules(&mut rig);
    }
    for counters in &rig.counters {
        assert!(counters.rules.make_room(20));
    }
    rig.publish();
    rig
}

/// Adds routing rules with every action: for some servers, and for answers.
fn route_by_rules(rig: &mut Rig) {
    let discards = rig.hop(Kind::Blackhole);
    rig.route4_in(7, SERVERS[3], 32, discards);
    let mut other = gateway();
    other.header[5] ^= 1;
    let other = rig.add_hop(&other);
    rig.route4_in(7, SERVERS[5], 32, other);
    let everything = RoutingRule {
        source: Some(prefix(CLIENT, 32)),
        destination: None,
        interface: None,
        mark: None,
        action: RuleAction::Lookup,
        table: 7,
        min_prefix: None,
    };
    let to = |server: usize, action| RoutingRule {
        destination: Some(prefix(SERVERS[server], 32)),
        action,
        ..everything
    };
    let answers = RoutingRule {
        source: None,
        interface: Some(ETHER2),
        ..everything
    };
    let marked = RoutingRule {
        mark: Some(9),
        action: RuleAction::Drop,
        ..everything
    };
    let rules = [
        marked,
        to(1, RuleAction::LookupOnly),
        everything,
        to(2, RuleAction::Unreachable),
        to(4, RuleAction::Drop),
        answers,
    ];
    rig.snapshot.rules = rules.into_iter().collect();
    rig.slow4(&[SlowReason::RoutingRules, SlowReason::FirewallRules]);
}

/// Returns a packet from the client, or an answer to one as it arrives.
fn frame(settings: Settings, rng: &mut Rng, answers: bool) -> Vec<u8> {
    let which = rng.below(SERVERS.len() as u64 + 1) as usize;
    let server = SERVERS.get(which).copied().unwrap_or(SERVERS[0]);
    let (port, payload) = (1 + rng.below(5) as u16, 10 + rng.below(60) as usize);
    let there = Udp4 {
        destination: server,
        source_port: port,
        destination_port: 53,
        payload,
        ..Udp4::default()
    };
    if !answers {
        return there.frame();
    }
    let is_masqueraded = settings.masquerades && server == SERVERS[5];
    let back = Udp4 {
        to: [2, 0, 0, 0, 0, 2],
        source: server,
        destination: if is_masqueraded { PUBLIC } else { CLIENT },
        source_port: 53,
        destination_port: port,
        ..there
    };
    match (which, rng.below(12)) {
        // A packet for the router itself, among those of the tunnel.
        (_, 0) => Udp4 {
            destination: PUBLIC,
            ..back
        }
        .frame(),
        (0 | 6, _) => {
            let ttl = 1 + rng.below(5) as u8;
            let outer = wrapped((FAR, HERE), ttl, &back.packet());
            let mut frame = back.frame()[..14].to_vec();
            frame.extend(outer);
            frame
        }
        _ => back.frame(),
    }
}

/// Passes vectors in both directions, each frame `alone` or all frames of a vector together.
fn pass(seed: u64, settings: Settings, alone: bool) -> Results {
    let mut rng = Rng::seeded(seed);
    let mut rig = router(settings);
    for round in 0..8 {
        let answers = round % 2 == 1;
        for _ in 0..rng.below(150) {
            let frame = frame(settings, &mut rng, answers);
            rig.arrive_unfinished(answers.into(), frame, Offload::FINISHED);
            if alone {
                rig.settle();
            }
        }
        rig.settle();
    }
    // Protected packets leave behind the others of their vector, with other sequence numbers. The identification of
    // their outer headers is random, and its checksum with it.
    let sent = [0, 1].map(|port| {
        let mut sent = rig.sent(port);
        for frame in &mut sent {
            frame[18..20].fill(0);
            frame[24..26].fill(0);
            if frame[23] == protocol::ESP {
                frame[34..].fill(0);
            }
        }
        sent.sort_unstable();
        sent
    });
    Results {
        sent,
        drops: rig.drops(),
        punts: rig.punts(),
        hits: (1..=RULES).map(|rule| hits(&rig, rule)).collect(),
        traffic: [ETHER1, ETHER2, TUNNEL]
            .map(|id| rig.traffic(id))
            .map(|all| [all.rx.packets, all.rx.bytes, all.tx.packets, all.tx.bytes])
            .to_vec(),
    }
}

#[test]
fn packets_of_tunnels_policies_and_routing_rules_end_in_vectors_as_they_do_one_by_one() {
    for number in 0..32 {
        let is = |bit: u64| number >> bit & 1 == 1;
        let settings = Settings {
            policies: is(0),
            tunnel_policy: is(1),
            evaluates: is(2),
            masquerades: is(3),
            routes: is(4),
        };
        for seed in 0..12 {
            let together = pass(seed, settings, false);
            let alone = pass(seed, settings, true);
            let case = format!("{settings:?}, seed {seed}");
            assert_eq!(together.hits, alone.hits, "{case}");
            assert_eq!(together.traffic, alone.traffic, "{case}");
            assert_eq!(together.drops, alone.drops, "{case}");
            assert!(together == alone, "{case}: sent or punted frames differ");
            assert!(together.sent[1].len() > 10 || seed > 0);
        }
    }
}
