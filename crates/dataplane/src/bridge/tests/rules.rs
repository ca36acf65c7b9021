//! Tests of bridge rules, and of the IP tables for bridged frames.

use std::sync::Arc;

use super::*;
use crate::bridge::{Member, VlanTable};
use crate::firewall::{Firewall, bridge_nat, filter, mangle, nat};
use crate::nat::{Action as How, Addresses, Side, Target};
use crate::packet::Fields;
use crate::rule::{
    Action, ChainId, LinkMatch, MacSet, Match, Matcher, Readdress, Rule, State, States, Table,
};
use crate::testing::{Udp4, class_of, ethernet};
use crate::trace::{End, trace_packet};
use crate::walk::Exit;
use wire::Mac;

/// Returns a table with chains of these names, and rules in one of them.
fn table(names: &[&str], chain: ChainId, rules: Vec<Rule>) -> Arc<Table> {
    let mut chains: Vec<(Arc<str>, Vec<Arc<Rule>>)> = Vec::new();
    for name in names {
        chains.push((Arc::from(*name), Vec::new()));
    }
    chains[usize::from(chain.0)].1 = rules.into_iter().map(Arc::new).collect();
    Arc::new(Table::compile(None, chains))
}

impl Switch {
    fn firewall(&mut self, change: impl FnOnce(&mut Firewall)) {
        let mut firewall = Firewall::clone(&self.rig.snapshot.firewall);
        change(&mut firewall);
        self.rig.snapshot.firewall = Arc::new(firewall);
        for counters in &self.rig.counters {
            assert!(counters.rules.make_room(200));
        }
        let ports = (0..3).map(Self::port);
        for id in ports.chain([BRIDGE]) {
            self.rig.interfaces.set_class(id, class_of(id), 0);
        }
        self.rig.publish();
    }

    fn filter(&mut self, chain: ChainId, rules: Vec<Rule>) {
        self.firewall(|all| all.bridge.filter = table(filter::CHAINS, chain, rules));
    }

    fn nat(&mut self, chain: ChainId, rules: Vec<Rule>) {
        self.firewall(|all| all.bridge.nat = table(bridge_nat::CHAINS, chain, rules));
    }

    fn hits(&self, rule: u32) -> u64 {
        self.rig.counters[0].rules.get(rule).0.packets
    }
}

fn only(mac: [u8; 6]) -> MacSet {
    MacSet::new(Mac(mac), Mac::BROADCAST)
}

fn from(mac: [u8; 6]) -> Vec<Matcher> {
    vec![Match::Link(LinkMatch::Source(only(mac))).into()]
}

/// Returns a switch that knows A behind port 0 and B behind port 1.
fn switch() -> Switch {
    let mut switch = Switch::new(3);
    switch.knows(A, 0);
    switch.knows(B, 1);
    switch
}

const PLAIN: [u8; 2] = [0x88, 0xb5];

#[test]
fn forward_sees_each_port_that_a_frame_leaves_by() {
    let mut switch = switch();
    let out = Match::OutInterface(class_of(Switch::port(2))).into();
    switch.filter(filter::FORWARD, vec![Rule::new(1, vec![out], Action::Drop)]);

    let one = frame(B, A, &PLAIN);
    assert_eq!(switch.pass(0, &one), [(1, one)]);
    let all = frame(ALL, A, &PLAIN);
    assert_eq!(switch.pass(0, &all), [(1, all)]);

    assert_eq!(switch.hits(1), 1);
    assert_eq!(switch.drops(), [(DropReason::BridgeFilter, 1)]);
    // Frames under rules do not take the fast path.
    assert_eq!(switch.rig.counters[0].bridge_fast_path.get().packets, 0);
    let sent = switch.rig.traffic(Switch::port(2)).tx;
    assert_eq!(sent.packets, 0);
    assert_eq!(switch.rig.traffic(Switch::port(1)).tx.packets, 2);
}

#[test]
fn a_vector_keeps_its_order_where_some_of_it_is_dropped() {
    let mut switch = switch();
    let kind = Match::Link(LinkMatch::Kind(0x1000, 0x1000)).into();
    switch.filter(
        filter::FORWARD,
        vec![Rule::new(1, vec![kind], Action::Drop)],
    );
    let frames: Vec<_> = (0..200_u8)
        .map(|at| match at % 3 {
            0 => frame(B, A, &[0x10, 0, at]),
            1 => frame(B, A, &[0x20, 0, at]),
            _ => frame(ALL, A, &[0x20, 0, at]),
        })
        .collect();

    frames.iter().for_each(|frame| switch.arrive(0, frame));
    switch.rig.settle();

    let sent = switch.sent().into_iter();
    let by_port: Vec<_> = sent
        .filter(|(port, _)| *port == 1)
        .map(|(_, frame)| frame)
        .collect();
    let left: Vec<_> = frames
        .into_iter()
        .filter(|frame| frame[12] != 0x10)
        .collect();
    // Flooded frames leave on another path than unicast.
    for kind in [B, ALL] {
        let of = |frames: &[Vec<u8>]| -> Vec<Vec<u8>> {
            let frames = frames.iter().filter(|frame| frame[..6] == kind);
            frames.cloned().collect()
        };
        assert_eq!(of(&by_port), of(&left));
    }
    assert_eq!(switch.hits(1), 67);
}

#[test]
fn input_and_output_see_what_is_of_the_router() {
    let mut switch = switch();
    switch.filter(filter::INPUT, vec![Rule::new(1, from(A), Action::Drop)]);
    let mut up = switch.to_gateway();
    up[6..12].copy_from_slice(&A);
    assert_eq!(switch.pass(0, &up), []);
    up[6..12].copy_from_slice(&B);
    assert_eq!(switch.pass(1, &up).len(), 1);
    // Copies of a broadcast go to the other ports.
    let all = frame(ALL, A, &[8, 6]);
    assert_eq!(switch.pass(0, &all), [(1, all.clone()), (2, all)]);
    assert_eq!(switch.hits(1), 2);
    assert_eq!(switch.rig.punts(), []);

    switch.filter(filter::OUTPUT, vec![Rule::new(2, from(OWN), Action::Drop)]);
    switch.send(&from_router(A));
    assert_eq!((switch.sent(), switch.hits(2)), (vec![], 1));
}

#[test]
fn addresses_are_changed_before_and_behind_the_decision() {
    let mut switch = switch();
    let to = |how| vec![Rule::new(1, from(A), Action::Readdress(how))];
    switch.nat(bridge_nat::DSTNAT, to(Readdress::Destination(Mac(B))));
    let elsewhere = frame([2, 9, 9, 9, 9, 9], A, &PLAIN);
    assert_eq!(switch.pass(0, &elsewhere), [(1, frame(B, A, &PLAIN))]);

    switch.nat(
        bridge_nat::SRCNAT,
        to(Readdress::Source(Mac([2, 8, 8, 8, 8, 8]))),
    );
    let changed = frame(B, [2, 8, 8, 8, 8, 8], &PLAIN);
    assert_eq!(switch.pass(0, &frame(B, A, &PLAIN)), [(1, changed)]);

    switch.nat(bridge_nat::DSTNAT, to(Readdress::Redirect));
    let mut packet = switch.to_gateway();
    packet[..6].copy_from_slice(&B);
    packet[6..12].copy_from_slice(&A);
    let sent = switch.pass(0, &packet);
    assert_eq!(
        sent.iter().map(|(port, _)| *port).collect::<Vec<_>>(),
        [rig::WIRE]
    );
}

#[test]
fn questions_are_answered_where_they_came_from() {
    let mut switch = switch();
    let there = Mac([2, 7, 7, 7, 7, 7]);
    let kind = Match::Link(LinkMatch::Kind(0x0806, 0x0806)).into();
    let reply = Action::Readdress(Readdress::ArpReply(there));
    switch.nat(bridge_nat::DSTNAT, vec![Rule::new(1, vec![kind], reply)]);
    let mut body = vec![0, 1, 8, 0, 6, 4, 0, 1];
    body.extend(A);
    body.extend([10, 0, 0, 5, 0, 0, 0, 0, 0, 0, 10, 0, 0, 6]);
    let mut question = ethernet(ALL, 0x0806, &body);
    question[6..12].copy_from_slice(&A);

    let sent = switch.pass(0, &question);

    let [(0, answer)] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!((&answer[..6], &answer[6..12]), (&A[..], &there.0[..]));
    assert_eq!(answer[20..22], [0, 2]);
    assert_eq!(switch.rig.punts(), []);
}

/// Returns a bridged packet from A to B.
fn packet(udp: Udp4) -> Vec<u8> {
    let mut frame = ethernet(B, 0x0800, &udp.packet());
    frame[6..12].copy_from_slice(&A);
    frame
}

fn talk() -> Udp4 {
    Udp4 {
        source: 0x0a00_0002,
        destination: 0x0a00_0003,
        source_port: 5000,
        destination_port: 53,
        ..Udp4::default()
    }
}

/// Returns a switch with `use-ip-firewall=yes` and connection tracking.
fn detoured() -> Switch {
    let mut switch = switch();
    switch.firewall(|all| {
        all.bridge.detour.plain = true;
        all.tracks4 = true;
    });
    switch
}

#[test]
fn bridged_packets_pass_the_tables_of_ip_and_keep_their_lifetime() {
    let mut switch = detoured();
    let port = |place| class_of(Switch::port(place));
    let ends = vec![
        Match::InInterface(class_of(BRIDGE)).into(),
        Match::OutInterface(class_of(BRIDGE)).into(),
        Match::InBridgePort(port(0)).into(),
        Match::OutBridgePort(port(1)).into(),
        Match::ConnectionState(States::default().with(State::New)).into(),
    ];
    let count = vec![Rule::new(1, ends, Action::Passthrough)];
    switch.firewall(|all| all.ipv4.filter = table(filter::CHAINS, filter::FORWARD, count));
    let sent = packet(talk());

    assert_eq!(switch.pass(0, &sent), [(1, sent.clone())]);
    // After the answer the connection is no longer new.
    let talked = talk();
    let mut answer = ethernet(
        A,
        0x0800,
        &Udp4 {
            source: talked.destination,
            destination: talked.source,
            source_port: talked.destination_port,
            destination_port: talked.source_port,
            ..talked
        }
        .packet(),
    );
    answer[6..12].copy_from_slice(&B);
    assert_eq!(switch.pass(1, &answer), [(0, answer)]);
    assert_eq!(switch.pass(0, &sent), [(1, sent.clone())]);
    assert_eq!(switch.hits(1), 1);
    let tracker = switch.rig.workers[0].tracker();
    assert!(tracker.lookup(&Fields::of(&sent[14..]).tuple).is_some());

    let drop = vec![Rule::new(2, Vec::new(), Action::Drop)];
    switch.firewall(|all| all.ipv4.mangle = table(mangle::CHAINS, mangle::PREROUTING, drop));
    assert_eq!(switch.pass(0, &sent), []);
    // A broadcast packet passes the tables once, and a frame without a packet does not pass them.
    let all = frame(ALL, A, &PLAIN);
    assert_eq!(switch.pass(0, &all).len(), 2);
    assert_eq!(switch.hits(2), 1);
}

#[test]
fn tags_and_sessions_are_looked_into_where_that_is_asked_for() {
    let inner = talk().packet();
    let mut tagged = frame(B, A, &[0x81, 0, 0, 10, 8, 0]);
    tagged.truncate(18);
    tagged.extend(&inner);
    let mut session = frame(B, A, &[0x88, 0x64, 0x11, 0, 0, 1]);
    session.truncate(18);
    session.extend((inner.len() as u16 + 2).to_be_bytes());
    session.extend([0, 0x21]);
    session.extend(&inner);
    let mut switch = detoured();
    let drop = vec![Rule::new(1, Vec::new(), Action::Drop)];
    switch.firewall(|all| all.ipv4.filter = table(filter::CHAINS, filter::FORWARD, drop));

    assert_eq!(switch.pass(0, &tagged).len(), 1);
    assert_eq!(switch.pass(0, &session).len(), 1);
    switch.firewall(|all| all.bridge.detour.vlan = true);
    assert_eq!(switch.pass(0, &tagged), []);
    assert_eq!(switch.pass(0, &session).len(), 1);
    switch.firewall(|all| all.bridge.detour.pppoe = true);
    assert_eq!(switch.pass(0, &session), []);
}

#[test]
fn under_vlan_filtering_no_packet_passes_the_tables_of_ip_unless_those_of_vlans_do() {
    let mut switch = detoured();
    switch.change(|bridge| {
        let ports = bridge.ports().len();
        let mut vlans = VlanTable::new(ports);
        for port in 0..=ports {
            vlans.set(1, port, Member::Untagged);
        }
        bridge.vlans = Some(Arc::new(vlans));
    });
    let drop = vec![Rule::new(1, Vec::new(), Action::Drop)];
    switch.firewall(|all| all.ipv4.filter = table(filter::CHAINS, filter::FORWARD, drop));

    // RouterOS: an untagged frame is in the VLAN of its port, where the destination is unknown.
    let sent = packet(talk());
    let flooded = [(1, sent.clone()), (2, sent.clone())];
    assert_eq!(switch.pass(0, &sent), flooded);
    switch.firewall(|all| all.bridge.detour.vlan = true);
    assert_eq!(switch.pass(0, &sent), []);
}

#[test]
fn the_source_of_bridged_packets_is_translated_and_what_is_translated_elsewhere_is_routed() {
    let target = |side| Target {
        side,
        action: How::Translate,
        addresses: Addresses::new(0x0a00_0009, 0x0a00_0009),
        ports: None,
        randomise: false,
    };
    let translate = |id| vec![Rule::new(id, Vec::new(), Action::Translate(0))];
    let mut switch = detoured();
    switch.firewall(|all| {
        all.ipv4.nat = table(nat::CHAINS, nat::SRCNAT, translate(1));
        all.targets = Arc::new([target(Side::Source)]);
    });
    let translated = packet(Udp4 {
        source: 0x0a00_0009,
        ..talk()
    });
    assert_eq!(switch.pass(0, &packet(talk())), [(1, translated)]);

    let mut switch = detoured();
    let gateway = Target {
        addresses: Addresses::new(0x0b00_0001, 0x0b00_0001),
        ..target(Side::Destination)
    };
    switch.firewall(|all| {
        all.ipv4.nat = table(nat::CHAINS, nat::DSTNAT, translate(1));
        all.targets = Arc::new([gateway]);
    });
    let sent = switch.pass(0, &packet(talk()));
    let [(rig::WIRE, routed)] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!(routed[30..34], [11, 0, 0, 1]);
}

#[test]
fn a_trace_tells_of_the_rules_that_a_frame_meets() {
    let mut switch = switch();
    switch.filter(filter::FORWARD, vec![Rule::new(1, from(A), Action::Drop)]);
    let said = |switch: &Switch, bytes: &[u8]| {
        let walked = trace_packet(switch.rig.tables(), bytes, Switch::port(0));
        let rules = walked.lines.iter().filter_map(|line| line.rule.clone());
        let rules: Vec<_> = rules.map(|rule| (rule.number, rule.failed)).collect();
        (rules, walked.end)
    };

    let (rules, end) = said(&switch, &frame(B, A, &PLAIN));
    let dropped = |reason| End::Exit(Exit::Drop(reason));
    assert_eq!(
        (rules, end),
        (vec![(1, None)], dropped(DropReason::BridgeFilter))
    );
    let (rules, end) = said(&switch, &frame(B, [2, 9, 9, 9, 9, 9], &PLAIN));
    assert_eq!(rules, [(1, Some("src-mac-address"))]);
    assert_eq!(end, End::Sent(Switch::port(1)));
    // Nothing was counted.
    assert_eq!(switch.hits(1), 0);

    let to = Action::Readdress(Readdress::Destination(Mac(B)));
    switch.nat(bridge_nat::DSTNAT, vec![Rule::new(2, Vec::new(), to)]);
    let (rules, end) = said(
        &switch,
        &frame([2, 9, 9, 9, 9, 9], [2, 8, 8, 8, 8, 8], &PLAIN),
    );
    assert_eq!((rules.len(), end), (2, End::Sent(Switch::port(1))));
}

#[test]
fn without_leave_bridges_take_no_fast_path() {
    let mut switch = switch();
    let one = frame(B, A, &PLAIN);
    let fast = |switch: &Switch| switch.rig.counters[0].bridge_fast_path.get().packets;
    switch.pass(0, &one);
    assert_eq!(fast(&switch), 1);
    switch.firewall(|all| all.bridge.slow = true);
    assert_eq!(switch.pass(0, &one), [(1, one)]);
    assert_eq!(fast(&switch), 1);
}
