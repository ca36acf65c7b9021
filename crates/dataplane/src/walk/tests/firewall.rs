//! Packets past the firewall: which chains they meet, what rules change about them, and how they end.

use core::net::Ipv4Addr;
use std::sync::Arc;

use super::{forwarded4, rig};
use crate::connection::TcpState;
use crate::drop::Drop;
use crate::firewall::{Firewall, filter, mangle, nat, raw};
use crate::nat::{Action as nat_action, Side, Target};
use crate::punt::Why;
use crate::rule::{
    Action, AddressRange, ChainId, ConnectionLimit, Dscp, Match, Reject, Rule, State, Table, Ttl,
};
use crate::snapshot::Own4;
use crate::snapshot::{RoutingRule, RuleAction};
use crate::table::Adjacency;
use crate::testing::{ETHER1, ETHER2, MIRROR, Rig, Udp4, gateway};
use crate::walk::Event;

/// What `masquerade` does.
pub(super) const MASQUERADE: Target = Target {
    side: Side::Source,
    action: nat_action::Own,
    addresses: None,
    ports: None,
    randomise: false,
};

/// A table with the built-in chains of these names, and these rules in one of them.
pub(super) fn table(names: &[&str], chain: ChainId, rules: Vec<Rule>) -> Arc<Table> {
    chains(names, vec![(chain, rules)])
}

/// The same with rules in some of them.
fn chains(names: &[&str], rules: Vec<(ChainId, Vec<Rule>)>) -> Arc<Table> {
    let mut chains: Vec<_> = names
        .iter()
        .map(|name| (Arc::from(*name), Vec::new()))
        .collect();
    for (chain, rules) in rules {
        chains[usize::from(chain.0)].1 = rules.into_iter().map(Arc::new).collect();
    }
    Arc::new(Table::compile(None, chains))
}

pub(super) fn filtered(rig: &mut Rig, chain: ChainId, rules: Vec<Rule>) {
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.filter = table(filter::CHAINS, chain, rules);
    rig.snapshot.firewall = Arc::new(firewall);
    for counters in &rig.counters {
        assert!(counters.rules.make_room(20));
    }
    rig.publish();
}

fn mangled(rig: &mut Rig, chain: ChainId, rules: Vec<Rule>) {
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.mangle = table(mangle::CHAINS, chain, rules);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
}

pub(super) fn hits(rig: &Rig, rule: u32) -> (u64, u64) {
    let (traffic, _) = rig.counters[0].rules.get(rule);
    (traffic.packets, traffic.bytes)
}

fn to_port(port: u16) -> Vec<crate::rule::Matcher> {
    vec![
        Match::Protocol(17).into(),
        Match::DestinationPort([(port, port)].into()).into(),
    ]
}

#[test]
fn forward_drops_what_its_rules_say_and_passes_the_rest() {
    let mut rig = rig();
    let port = Udp4::default().destination_port;
    let rules = vec![
        Rule::new(1, to_port(port), Action::Drop),
        Rule::new(2, Vec::new(), Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    let other = Udp4 {
        destination_port: port + 1,
        ..Udp4::default()
    };

    assert_eq!(rig.pass(Udp4::default().frame()), Vec::<Vec<u8>>::new());
    assert_eq!(rig.pass(other.frame()), [forwarded4(&other.packet())]);

    assert_eq!(rig.drops(), [(Drop::FirewallFilter, 1)]);
    let len = other.packet().len() as u64;
    assert_eq!((hits(&rig, 1), hits(&rig, 2)), ((1, len), (1, len)));
    assert_eq!(rig.traffic(ETHER1).fp_rx.packets, 0);
    assert_eq!(rig.traffic(ETHER2).tx.packets, 1);
}

#[test]
fn forward_knows_both_interfaces_and_input_knows_one() {
    let mut rig = rig();
    let both = vec![
        Match::InInterface(ETHER1).into(),
        Match::OutInterface(ETHER2).into(),
    ];
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(1, both, Action::Drop)],
    );

    rig.pass(Udp4::default().frame());

    assert_eq!(rig.drops(), [(Drop::FirewallFilter, 1)]);
}

#[test]
fn input_guards_this_router_and_forward_does_not() {
    let mut rig = rig();
    let local = Udp4 {
        destination: 0x0a00_0001,
        ..Udp4::default()
    };
    filtered(
        &mut rig,
        filter::INPUT,
        vec![Rule::new(1, Vec::new(), Action::Drop)],
    );

    rig.pass(local.frame());
    let sent = rig.pass(Udp4::default().frame());

    assert_eq!(sent.len(), 1);
    assert_eq!(rig.drops(), [(Drop::FirewallFilter, 1)]);
    assert_eq!(rig.sent(MIRROR), Vec::<Vec<u8>>::new());
}

#[test]
fn what_a_rule_rejects_is_told_to_control_as_it_arrived() {
    let mut rig = rig();
    let reject = Action::Reject(Reject::Icmp(13));
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(1, Vec::new(), reject)],
    );

    rig.pass(Udp4::default().frame());

    let punts = rig.punts();
    assert_eq!(
        punts,
        [(Why::Rejected(Reject::Icmp(13)), Udp4::default().frame())]
    );
    assert_eq!(rig.drops(), [(Drop::FirewallReject, 1)]);
}

#[test]
fn a_rule_that_logs_tells_control_and_the_packet_goes_on() {
    let mut rig = rig();
    let mut rule = Rule::new(1, Vec::new(), Action::Accept);
    rule.log = Some("seen".into());
    filtered(&mut rig, filter::FORWARD, vec![rule]);

    let sent = rig.pass(Udp4::default().frame());

    assert_eq!(sent.len(), 1);
    let punts = rig.punts();
    let [(Why::Told(Event::Log(logged)), copy)] = &punts[..] else {
        panic!("{punts:?}");
    };
    assert_eq!((logged.rule, logged.egress), (1, ETHER2));
    assert_eq!(copy[..], Udp4::default().frame()[..copy.len()]);
}

#[test]
fn raw_comes_before_everything() {
    let mut rig = rig();
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(1, Vec::new(), Action::Passthrough)],
    );
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    let source = AddressRange::prefix(Udp4::default().source.into(), 24, 32);
    let rule = Rule::new(2, vec![Match::Source(source).into()], Action::Drop);
    firewall.ipv4.raw = table(raw::CHAINS, raw::PREROUTING, vec![rule]);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();

    rig.pass(Udp4::default().frame());

    assert_eq!(rig.drops(), [(Drop::FirewallRaw, 1)]);
    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), (0, 1));
}

#[test]
fn a_lifetime_that_mangle_sets_is_lowered_by_forward_afterwards() {
    let set = |to| Rule::new(3, Vec::new(), Action::ChangeTtl(Ttl::Set(to)));
    let mut rig = rig();
    mangled(&mut rig, mangle::PREROUTING, vec![set(10)]);
    let before = rig.pass(Udp4::default().frame());
    mangled(&mut rig, mangle::POSTROUTING, vec![set(10)]);
    let after = rig.pass(Udp4::default().frame());

    assert_eq!((before[0][14 + 8], after[0][14 + 8]), (9, 10));
    for frame in before.iter().chain(&after) {
        assert_eq!(crate::testing::sum(&frame[14..34]), 0xffff);
    }
}

#[test]
fn a_routing_mark_leads_to_its_table() {
    let mut rig = rig();
    let hole = rig.hop(crate::table::Kind::Blackhole);
    rig.route4_in(7, 0, 0, hole);
    let port = Udp4::default().destination_port;
    let mark = Rule::new(3, to_port(port), Action::MarkRouting(7));
    mangled(&mut rig, mangle::PREROUTING, vec![mark]);
    let other = Udp4 {
        destination_port: port + 1,
        ..Udp4::default()
    };

    rig.pass(Udp4::default().frame());
    let sent = rig.pass(other.frame());

    assert_eq!(rig.drops(), [(Drop::Blackhole, 1)]);
    assert_eq!(sent.len(), 1);
}

#[test]
fn a_routing_rule_asks_for_a_mark_before_the_marks_own_table_is_asked() {
    let mut rig = rig();
    let port = Udp4::default().destination_port;
    let mark = Rule::new(3, to_port(port), Action::MarkRouting(7));
    mangled(&mut rig, mangle::PREROUTING, vec![mark]);
    rig.snapshot.rules = vec![RoutingRule {
        source: None,
        destination: None,
        interface: None,
        mark: Some(7),
        action: RuleAction::Drop,
        table: 0,
        min_prefix: None,
    }];
    rig.publish();
    let other = Udp4 {
        destination_port: port + 1,
        ..Udp4::default()
    };

    rig.pass(Udp4::default().frame());
    let sent = rig.pass(other.frame());

    assert_eq!(rig.drops(), [(Drop::Blackhole, 1)]);
    assert_eq!(sent.len(), 1);
}

/// The client's address is resolved.
pub(super) fn client(rig: &mut Rig) {
    let hop = rig.add_hop(&Adjacency {
        egress: ETHER1,
        port: 0,
        ..gateway()
    });
    rig.route4(0x0a00_0002, 32, hop);
}

pub(super) fn tracked(rig: &mut Rig) {
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.tracks4 = true;
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
}

pub(super) fn translated(
    rig: &mut Rig,
    chain: ChainId,
    matchers: Vec<crate::rule::Matcher>,
    target: Target,
) {
    tracked(rig);
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    let rule = Rule::new(4, matchers, Action::Translate(0));
    firewall.ipv4.nat = table(nat::CHAINS, chain, vec![rule]);
    firewall.targets = Arc::new([target]);
    rig.snapshot.firewall = Arc::new(firewall);
    for counters in &rig.counters {
        assert!(counters.rules.make_room(20));
    }
    rig.publish();
}

/// The answer to a UDP packet as the gateway sends it, from what left the router.
pub(super) fn answer(sent: &[u8]) -> Vec<u8> {
    let word = |at: usize| u32::from_be_bytes([sent[at], sent[at + 1], sent[at + 2], sent[at + 3]]);
    let port = |at: usize| u16::from_be_bytes([sent[at], sent[at + 1]]);
    Udp4 {
        to: [2, 0, 0, 0, 0, 2],
        source: word(30),
        destination: word(26),
        source_port: port(36),
        destination_port: port(34),
        ..Udp4::default()
    }
    .frame()
}

#[test]
fn a_connection_is_new_until_it_is_answered_and_established_then() {
    let mut rig = rig();
    tracked(&mut rig);
    let state = |state| Match::ConnectionState([state].into_iter().collect()).into();
    let rules = vec![
        Rule::new(1, vec![state(State::New)], Action::Passthrough),
        Rule::new(2, vec![state(State::Established)], Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);

    let first = rig.pass(Udp4::default().frame());
    let second = rig.pass(Udp4::default().frame());
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), (2, 0));

    client(&mut rig);
    rig.arrive_unfinished(1, answer(&first[0]), frame::Offload::FINISHED);
    rig.settle();
    rig.pass(Udp4::default().frame());

    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), (2, 2));
    assert_eq!(rig.connections.totals(), (1, 0));
    assert_eq!(rig.drops(), []);
}

#[test]
fn packets_that_follow_the_first_in_one_vector_are_of_its_connection() {
    let mut rig = rig();
    tracked(&mut rig);
    for _ in 0..200 {
        rig.arrive(Udp4::default().frame());
    }
    rig.settle();

    assert_eq!(rig.connections.totals(), (1, 0));
    let rows: Vec<_> = rig.connections.rows(false).collect();
    assert_eq!(rows[0].directions[0].traffic.packets, 200);
    assert_eq!(rig.sent(1).len(), 200);
}

#[test]
fn masquerade_gives_the_egress_address_and_answers_find_back() {
    let mut rig = rig();
    rig.interface(ETHER2).address4 = Some(Ipv4Addr::from_bits(0x0a01_0001));
    let matchers = vec![Match::OutInterface(ETHER2).into()];
    translated(&mut rig, nat::SRCNAT, matchers, MASQUERADE);

    let sent = rig.pass(Udp4::default().frame());

    let expected = Udp4 {
        source: 0x0a01_0001,
        ..Udp4::default()
    };
    assert_eq!(sent, [forwarded4(&expected.packet())]);
    assert_eq!(hits(&rig, 4).0, 1);

    client(&mut rig);
    rig.arrive_unfinished(1, answer(&sent[0]), frame::Offload::FINISHED);
    rig.settle();

    let back = rig.sent(0);
    assert_eq!(back.len(), 1);
    assert_eq!(back[0][30..34], 0x0a00_0002u32.to_be_bytes());
    assert_eq!(crate::testing::sum(&back[0][14..34]), 0xffff);
    assert_eq!(hits(&rig, 4).0, 1, "answers do not meet nat's rules");
    // A second packet of the connection neither.
    assert_eq!(
        rig.pass(Udp4::default().frame()),
        [forwarded4(&expected.packet())]
    );
    assert_eq!(hits(&rig, 4).0, 1);
}

#[test]
fn masquerade_takes_the_address_whose_network_the_next_hop_is_in() {
    let own = |address: u32| Own4 {
        address: Ipv4Addr::from_bits(address),
        network: (
            Ipv4Addr::from_bits(address & 0xffff_ff00),
            Ipv4Addr::from_bits(address | 0xff),
        ),
    };
    let (first, second) = (0x0a01_0001, 0xc000_0201);
    let to = Udp4::default().destination;
    let near = to & 0xffff_ff00 | 0xfe;
    for (gateway, addresses, expected) in [
        (Some(0xc000_0209), [first, second], second),
        (Some(0x0a01_0009), [first, second], first),
        // Who is in none of its networks gets the first, which need not be the lowest.
        (Some(0x0808_0808), [second, first], second),
        // Without a gateway the destination is the neighbour.
        (None, [first, near], near),
        (None, [first, second], first),
    ] {
        let mut rig = rig();
        rig.interface(ETHER2).addresses4 = addresses.map(own).to_vec();
        let gateway = gateway.map(Ipv4Addr::from_bits);
        rig.writer.set_gateway(rig.gateway, gateway);
        translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);

        let sent = rig.pass(Udp4::default().frame());

        let expected = Udp4 {
            source: expected,
            ..Udp4::default()
        };
        assert_eq!(sent, [forwarded4(&expected.packet())], "{gateway:?}");
    }
}

/// A UDP connection through masquerade that a rule FastTracks, answered once.
fn fasttracked() -> Rig {
    let mut rig = rig();
    rig.interface(ETHER2).address4 = Some(Ipv4Addr::from_bits(0x0a01_0001));
    client(&mut rig);
    translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let rules = vec![
        Rule::new(1, vec![established.into()], Action::Fasttrack),
        Rule::new(2, Vec::new(), Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    let first = rig.pass(Udp4::default().frame());
    rig.arrive_unfinished(1, answer(&first[0]), frame::Offload::FINISHED);
    rig.settle();
    assert_eq!(rig.sent(0).len(), 1);
    rig.pass(Udp4::default().frame());
    rig
}

#[test]
fn fasttracked_packets_meet_no_rule_and_leave_as_slow_ones_do() {
    let mut rig = fasttracked();
    let before = (hits(&rig, 1).0, hits(&rig, 2).0);
    let expected = Udp4 {
        source: 0x0a01_0001,
        ..Udp4::default()
    };

    let fast = rig.pass(Udp4::default().frame());
    rig.arrive_unfinished(1, answer(&fast[0]), frame::Offload::FINISHED);
    rig.settle();

    assert_eq!(fast, [forwarded4(&expected.packet())]);
    assert_eq!((hits(&rig, 1).0, hits(&rig, 2).0), before);
    let counted = rig.counters[0].ipv4_fasttrack.get();
    let len = expected.packet().len() as u64;
    // The answer was the packet that the rule marked: all behind it went the fast way.
    assert_eq!((counted.packets, counted.bytes), (3, 3 * len));
    assert_eq!(rig.counters[0].ipv4_fast_path.get().packets, 0);
    let row = rig.connections.rows(false).next().expect("a connection");
    assert_eq!(row.directions[0].fasttrack.packets, 2);
    assert_eq!(row.directions[0].traffic.packets, 3);
}

/// The frame as a TCP segment without data.
fn segment(udp: Udp4, flags: u8, seq: u32, ack: u32) -> Vec<u8> {
    let tcp = Udp4 {
        protocol: 6,
        payload: 12,
        ..udp
    };
    let mut frame = tcp.frame();
    frame[38..42].copy_from_slice(&seq.to_be_bytes());
    frame[42..46].copy_from_slice(&ack.to_be_bytes());
    frame[46..52].copy_from_slice(&[5 << 4, flags, 0x20, 0, 0, 0]);
    frame
}

#[test]
fn a_fasttracked_handshake_is_followed_to_its_end() {
    let mut rig = rig();
    client(&mut rig);
    tracked(&mut rig);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let rules = vec![
        Rule::new(1, vec![established.into()], Action::Fasttrack),
        Rule::new(2, Vec::new(), Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    let there = Udp4::default();
    let back = Udp4 {
        to: [2, 0, 0, 0, 0, 2],
        source: there.destination,
        destination: there.source,
        source_port: there.destination_port,
        destination_port: there.source_port,
        ..there
    };

    rig.pass(segment(there, 0x02, 99, 0));
    rig.arrive_unfinished(1, segment(back, 0x12, 499, 100), frame::Offload::FINISHED);
    rig.settle();
    rig.pass(segment(there, 0x10, 100, 500));

    let row = rig.connections.rows(false).next().expect("a connection");
    assert_eq!(row.tcp_state, TcpState::Established);
    assert_eq!((row.fasttrack, hits(&rig, 2).0), (true, 3));
    rig.pass(segment(there, 0x10, 100, 500));
    assert_eq!(hits(&rig, 2).0, 3);
}

#[test]
fn one_packet_a_second_of_a_fasttracked_connection_meets_the_rules() {
    let mut rig = fasttracked();
    let before = hits(&rig, 2).0;

    for millis in [1_500, 1_600, 1_900, 2_100, 2_200] {
        rig.now = machine::Instant::from_millis(millis);
        assert_eq!(rig.pass(Udp4::default().frame()).len(), 1);
    }

    assert_eq!(hits(&rig, 2).0 - before, 2);
}

#[test]
fn a_fasttracked_connection_follows_a_changed_route() {
    let mut rig = fasttracked();
    rig.pass(Udp4::default().frame());
    let hole = rig.hop(crate::table::Kind::Blackhole);
    rig.route4(Udp4::default().destination, 32, hole);
    rig.writer.prepare();

    assert_eq!(rig.pass(Udp4::default().frame()), Vec::<Vec<u8>>::new());
    assert_eq!(rig.drops(), [(Drop::Blackhole, 1)]);
}

#[test]
fn a_fasttracked_connection_stays_so_when_its_rule_goes() {
    let mut rig = fasttracked();
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(3, Vec::new(), Action::Drop)],
    );

    assert_eq!(rig.pass(Udp4::default().frame()).len(), 1);
    assert_eq!(hits(&rig, 3).0, 0);
}

#[test]
fn answers_to_translated_connections_find_their_worker() {
    let mut rig = Rig::with_workers(3);
    super::gateway4(&mut rig);
    rig.interface(ETHER2).address4 = Some(Ipv4Addr::from_bits(0x0a01_0001));
    client(&mut rig);
    let matchers = vec![Match::OutInterface(ETHER2).into()];
    translated(&mut rig, nat::SRCNAT, matchers, MASQUERADE);
    let mut sent = Vec::new();
    for port in 0..60 {
        let udp = Udp4 {
            source_port: 4000 + port,
            ..Udp4::default()
        };
        sent.extend(rig.pass(udp.frame()));
    }
    assert_eq!(sent.len(), 60);

    for frame in &sent {
        rig.arrive_unfinished(1, answer(frame), frame::Offload::FINISHED);
    }
    rig.settle();

    let back = rig.sent(0);
    assert_eq!(back.len(), 60);
    assert!(
        back.iter()
            .all(|frame| frame[30..34] == 0x0a00_0002u32.to_be_bytes())
    );
    assert_eq!(rig.connections.totals(), (60, 0));
    assert_eq!(rig.traffic(ETHER2).rx.packets, 60, "each is counted once");
    assert_eq!(rig.drops(), []);
}

#[test]
fn a_connection_limit_counts_connections_until_they_end() {
    let mut rig = rig();
    tracked(&mut rig);
    let limit = ConnectionLimit::new(2, 32).expect("address space");
    let rule = Rule::new(
        1,
        vec![Match::ConnectionLimit(Arc::new(limit)).into()],
        Action::Drop,
    );
    filtered(&mut rig, filter::FORWARD, vec![rule]);
    let from = |port| Udp4 {
        source_port: port,
        ..Udp4::default()
    };

    let first: usize = (1..=5).map(|port| rig.pass(from(port).frame()).len()).sum();
    assert_eq!((first, rig.connections.totals().0), (2, 2));
    // Ones that are there go on; UDP without an answer is forgotten after 30 seconds.
    assert_eq!(rig.pass(from(1).frame()).len(), 1);
    for second in 0..40 {
        rig.now = machine::Instant::from_secs(second);
        rig.settle();
    }
    assert_eq!(rig.connections.totals(), (0, 0));

    let second: usize = (1..=5).map(|port| rig.pass(from(port).frame()).len()).sum();
    assert_eq!(second, 2);
}

/// Rules of `mangle` that mark and change packets in the midst of a connection, and of `raw` that have
/// nothing to say about it. Where `whole`, one keeps packets from the short way.
fn changed(rig: &mut Rig, whole: bool) {
    let replies = Match::SourcePort([(53, 53)].into()).into();
    let marked = Match::ConnectionMark(7).into();
    let late = Match::PacketMark(8).into();
    let mut mangle = vec![
        (
            mangle::FORWARD,
            vec![
                Rule::new(10, vec![replies], Action::MarkConnection(7)),
                Rule::new(11, vec![marked], Action::MarkPacket(8)),
            ],
        ),
        (
            mangle::POSTROUTING,
            vec![Rule::new(12, vec![late], Action::ChangeDscp(Dscp::Set(10)))],
        ),
    ];
    if whole {
        let rule = Rule::new(6, Vec::new(), Action::Passthrough);
        mangle.push((mangle::PREROUTING, vec![rule]));
    }
    let elsewhere = Match::Destination(AddressRange::prefix(0x7f00_0000, 8, 32));
    let raw = vec![Rule::new(13, vec![elsewhere.into()], Action::Notrack)];
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.mangle = chains(mangle::CHAINS, mangle);
    firewall.ipv4.raw = table(raw::CHAINS, raw::PREROUTING, raw);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
}

/// A connection through masquerade, answered and gone on with: what left on both sides, and how
/// often each rule was hit. Where `changes`, rules mark and change its packets; where `whole`, one
/// keeps them from the short way.
fn conversation(changes: bool, whole: bool) -> (Vec<Vec<u8>>, Vec<(u64, u64)>) {
    let mut rig = rig();
    rig.interface(ETHER2).address4 = Some(Ipv4Addr::from_bits(0x0a01_0001));
    client(&mut rig);
    translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let client = Match::Destination(AddressRange::prefix(0x0a00_0002, 32, 32));
    let lived = Match::Ttl(crate::rule::Compare::Equal(63));
    let rules = vec![
        Rule::new(1, vec![client.into()], Action::Passthrough),
        Rule::new(2, vec![lived.into()], Action::Passthrough),
        Rule::new(14, vec![Match::PacketMark(8).into()], Action::Passthrough),
        Rule::new(3, vec![established.into()], Action::Accept),
        Rule::new(5, Vec::new(), Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    if changes {
        changed(&mut rig, whole);
    } else if whole {
        let rule = Rule::new(6, Vec::new(), Action::Passthrough);
        mangled(&mut rig, mangle::PREROUTING, vec![rule]);
    }
    let question = Udp4 {
        destination_port: 53,
        ..Udp4::default()
    };
    let mut left = rig.pass(question.frame());
    let answer = answer(&left[0]);
    for _ in 0..3 {
        rig.arrive_unfinished(1, answer.clone(), frame::Offload::FINISHED);
        rig.settle();
        left.extend(rig.sent(0));
        left.extend(rig.pass(question.frame()));
    }
    assert_eq!(rig.drops(), []);
    let rules = [1, 2, 3, 14, 5, 10, 11, 12, 13];
    (left, rules.map(|rule| hits(&rig, rule)).to_vec())
}

#[test]
fn the_short_way_ends_where_the_whole_one_does() {
    let packets = |hits: &[(u64, u64)]| hits.iter().map(|(packets, _)| *packets).collect();
    let short = conversation(false, false);
    assert_eq!(short, conversation(false, true));
    assert_eq!(short.0.len(), 7);
    let hits: Vec<u64> = packets(&short.1);
    assert_eq!(hits, [3, 7, 6, 0, 1, 0, 0, 0, 0]);

    let changed = conversation(true, false);
    assert_eq!(changed, conversation(true, true));
    let hits: Vec<u64> = packets(&changed.1);
    // From the first answer on, the connection is marked, and its packets are.
    assert_eq!(hits, [3, 7, 6, 6, 1, 3, 6, 6, 0]);
}

#[test]
fn what_raw_lets_go_untracked_or_discards_does_so_on_the_short_way() {
    let mut rig = rig();
    client(&mut rig);
    let raw = vec![
        Rule::new(1, to_port(53), Action::Notrack),
        Rule::new(2, to_port(54), Action::Drop),
    ];
    let untracked = Match::ConnectionState([State::Untracked].into_iter().collect());
    let rules = vec![Rule::new(3, vec![untracked.into()], Action::Accept)];
    filtered(&mut rig, filter::FORWARD, rules);
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.raw = table(raw::CHAINS, raw::PREROUTING, raw);
    firewall.tracks4 = true;
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    let to = |destination_port| Udp4 {
        destination_port,
        ..Udp4::default()
    };

    assert_eq!(rig.pass(to(53).frame()), [forwarded4(&to(53).packet())]);
    assert_eq!(rig.pass(to(54).frame()), Vec::<Vec<u8>>::new());
    assert_eq!(rig.connections.totals(), (0, 0));
    assert_eq!(rig.drops(), [(Drop::FirewallRaw, 1)]);
    assert_eq!([1, 2, 3].map(|rule| hits(&rig, rule).0), [1, 1, 1]);
}

#[test]
fn a_firewall_of_one_family_leaves_the_other_its_fast_path() {
    let mut rig = rig();
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x86, 0xdd]);
    let hop = rig.add_hop(&adjacency);
    rig.route6(0x2001_0db8_0000_000b << 64, 64, hop);
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(1, Vec::new(), Action::Passthrough)],
    );

    let sent = [
        rig.pass(Udp4::default().frame()).len(),
        rig.pass(crate::testing::Udp6::default().frame()).len(),
    ];

    assert_eq!(sent, [1, 1]);
    let counters = &rig.counters[0];
    assert_eq!(counters.ipv4_fast_path.get().packets, 0);
    assert_eq!(counters.ipv6_fast_path.get().packets, 1);
    assert_eq!(rig.traffic(ETHER1).fp_rx.packets, 1);
}
