//! Tests of bridge rules: results for single frames and for whole vectors.

use std::sync::Arc;

use frame::{Frame, InterfaceId};
use proptest::collection::vec;
use proptest::prelude::*;
use wire::Mac;

use super::firewall::hits;
use crate::bridge::Rules;
use crate::bridge::frame_columns::{CHUNK, FrameColumns, PortPair};
use crate::drop::DropReason;
use crate::firewall::{Firewall, bridge_nat, filter};
use crate::interface::Interface;
use crate::packet::link::ethertype;
use crate::rule::{
    Action, AddressRange, ArpMatch, Carries, ChainId, LinkMatch, MacSet, Match, Matcher, Priority,
    Readdress, Rule, Table,
};
use crate::testing::{ETHER1, ETHER2, Rig, Udp4, class_of, ethernet};
use crate::walk::Context;
use crate::walk::decide::bridged::{FrameVerdict, FrameVerdicts, Hook, HookInput};

const BRIDGE: InterfaceId = InterfaceId(9);
const BRIDGE_MAC: Mac = Mac([2, 0, 0, 0, 0, 9]);
const THROUGH: PortPair = PortPair {
    ingress: ETHER1,
    egress: ETHER2,
};

/// Returns a router with a bridge and these rules.
fn rig(nat: Vec<(ChainId, Vec<Rule>)>, filters: Vec<(ChainId, Vec<Rule>)>) -> Rig {
    let mut rig = Rig::new();
    let line = Interface {
        running: true,
        ethernet: true,
        mac: BRIDGE_MAC,
        ..Interface::default()
    };
    rig.interfaces.set(BRIDGE, &line);
    rig.interfaces.set_class(BRIDGE, class_of(BRIDGE), 0);
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    let table = |names: &[&str], rules: Vec<(ChainId, Vec<Rule>)>| {
        let mut chains: Vec<(Arc<str>, Vec<Arc<Rule>>)> = Vec::new();
        for name in names.iter().chain(&["mine"]) {
            chains.push((Arc::from(*name), Vec::new()));
        }
        for (chain, rules) in rules {
            chains[usize::from(chain.0)].1 = rules.into_iter().map(Arc::new).collect();
        }
        Arc::new(Table::compile(None, chains))
    };
    firewall.bridge.nat = table(bridge_nat::CHAINS, nat);
    firewall.bridge.filter = table(filter::CHAINS, filters);
    rig.snapshot.firewall = Arc::new(firewall);
    assert!(rig.counters[0].rules.make_room(200));
    rig.publish();
    rig
}

fn filtered(chain: ChainId, rules: Vec<Rule>) -> Rig {
    rig(Vec::new(), vec![(chain, rules)])
}

fn translated(chain: ChainId, rules: Vec<Rule>) -> Rig {
    rig(vec![(chain, rules)], Vec::new())
}

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

fn only(last: u8) -> MacSet {
    MacSet::new(mac(last), Mac::BROADCAST)
}

fn link(what: LinkMatch) -> Vec<Matcher> {
    vec![Match::Link(what).into()]
}

fn from_mac(last: u8) -> Vec<Matcher> {
    link(LinkMatch::Source(only(last)))
}

/// Returns a UDP frame from 02:…:FROM to 02:…:TO.
fn udp(from: u8, to: u8) -> Vec<u8> {
    let mut frame = Udp4::default().frame();
    frame[..6].copy_from_slice(&mac(to).0);
    frame[6..12].copy_from_slice(&mac(from).0);
    frame
}

/// Returns the ARP request of 10.0.0.1 at 02:…:01 for 10.0.0.7.
fn question() -> Vec<u8> {
    let mut body = vec![0, 1, 8, 0, 6, 4, 0, 1];
    body.extend([2, 0, 0, 0, 0, 1, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 7]);
    let mut frame = ethernet([0xff; 6], ethertype::ARP, &body);
    frame[6..12].copy_from_slice(&mac(1).0);
    frame
}

/// Evaluates the rules for frames, together or one by one. Returns the results and the frames.
fn evaluate(
    rig: &mut Rig,
    hook: Hook,
    frames: &[Vec<u8>],
    together: bool,
) -> (FrameVerdicts, Vec<Vec<u8>>) {
    let ports = vec![THROUGH; frames.len()];
    evaluate_on(rig, hook, frames, &ports, together)
}

fn evaluate_on(
    rig: &mut Rig,
    hook: Hook,
    frames: &[Vec<u8>],
    ports: &[PortPair],
    together: bool,
) -> (FrameVerdicts, Vec<Vec<u8>>) {
    let cx = Context {
        snapshot: &rig.snapshot,
        interfaces: &rig.interfaces,
        fib: rig.writer.fib(),
        now: rig.now,
        midnight_ms: 0,
    };
    let outlet = rig.workers[0].outlet();
    let rules = Rules::of(&cx, BRIDGE).expect("rules");
    let frame = |bytes: &Vec<u8>| rig.pool.alloc_from(bytes).expect("room");
    let mut frames: Vec<Frame> = frames.iter().map(frame).collect();
    let mut verdicts = FrameVerdicts::default();
    if together {
        let mut input = HookInput {
            frames: &mut frames,
            ports,
            which: u64::MAX,
        };
        verdicts = rules.evaluate_chunk(&cx, hook, &mut input, &mut FrameColumns::new(), outlet);
    } else {
        for (at, (frame, pair)) in frames.iter_mut().zip(ports).enumerate() {
            match rules.evaluate_one(&cx, hook, frame, *pair, outlet) {
                FrameVerdict::GoesOn => {}
                FrameVerdict::Drop(DropReason::ArpMalformed) => verdicts.malformed |= 1 << at,
                FrameVerdict::Drop(_) => verdicts.dropped |= 1 << at,
                FrameVerdict::Answers => verdicts.answers |= 1 << at,
            }
        }
    }
    let after = frames.iter().map(|frame| frame.bytes().to_vec()).collect();
    frames.into_iter().for_each(|frame| rig.pool.free(frame));
    (verdicts, after)
}

#[test]
fn a_chain_looks_at_the_frames_of_its_hook_alone() {
    let rule = |id| Rule::new(id, from_mac(1), Action::Drop);
    for (hook, chain) in [
        (Hook::Input, filter::INPUT),
        (Hook::Forward, filter::FORWARD),
        (Hook::Output, filter::OUTPUT),
    ] {
        let mut rig = filtered(chain, vec![rule(3)]);
        for other in [Hook::Input, Hook::Forward, Hook::Output, Hook::Srcnat] {
            let (verdicts, _) = evaluate(&mut rig, other, &[udp(1, 2), udp(2, 1)], true);
            assert_eq!(
                verdicts.dropped,
                u64::from(other == hook),
                "{hook:?} {other:?}"
            );
        }
        assert_eq!(hits(&rig, 3), (1, u64::from(udp(1, 2).len() as u32) - 14));
    }
}

#[test]
fn rules_pass_jump_return_and_count() {
    let jump = Rule::new(1, from_mac(1), Action::Jump(ChainId(3)));
    let count = Rule::new(2, Vec::new(), Action::Passthrough);
    let last = Rule::new(3, link(LinkMatch::Destination(only(3))), Action::Drop);
    let mine = vec![
        Rule::new(4, link(LinkMatch::Destination(only(2))), Action::Return),
        Rule::new(5, Vec::new(), Action::Drop),
    ];
    let rules = vec![
        (filter::FORWARD, vec![jump, count, last]),
        (ChainId(3), mine),
    ];
    let mut rig = rig(Vec::new(), rules);
    let frames = [udp(1, 2), udp(1, 3), udp(2, 3), udp(2, 4)];

    let (verdicts, after) = evaluate(&mut rig, Hook::Forward, &frames, true);

    assert_eq!((verdicts.dropped, verdicts.ended()), (0b0110, 0b0110));
    assert_eq!(after, frames);
    let packets = [1, 2, 3, 4, 5].map(|rule| hits(&rig, rule).0);
    assert_eq!(packets, [2, 3, 1, 1, 1]);
}

#[test]
fn link_addresses_are_changed_before_and_behind_the_decision() {
    let to = |how| vec![Rule::new(1, from_mac(1), Action::Readdress(how))];
    let mut dst = translated(bridge_nat::DSTNAT, to(Readdress::Destination(mac(7))));
    let mut redirect = translated(bridge_nat::DSTNAT, to(Readdress::Redirect));
    let mut src = translated(bridge_nat::SRCNAT, to(Readdress::Source(mac(8))));

    let (_, after) = evaluate(&mut dst, Hook::Dstnat, &[udp(1, 2), udp(3, 2)], true);
    assert_eq!(after, [udp(1, 7), udp(3, 2)]);
    let (_, after) = evaluate(&mut redirect, Hook::Dstnat, &[udp(1, 2)], true);
    assert_eq!(after, [udp(1, 9)]);
    let (_, after) = evaluate(&mut src, Hook::Srcnat, &[udp(1, 2)], true);
    assert_eq!(after, [udp(8, 2)]);
}

#[test]
fn questions_for_an_address_are_answered_in_the_place_of_who_has_it() {
    let asks = [ArpMatch::Opcode(1), ArpMatch::Hardware(1)];
    let asks = asks.map(|what| Match::Link(LinkMatch::Arp(what)).into());
    let reply = Action::Readdress(Readdress::ArpReply(mac(0x77)));
    let mut rig = translated(bridge_nat::DSTNAT, vec![Rule::new(1, asks.to_vec(), reply)]);
    let mut cut = question();
    cut.truncate(30);

    let (verdicts, after) = evaluate(&mut rig, Hook::Dstnat, &[question(), udp(1, 2), cut], true);

    assert_eq!(
        (verdicts.answers, verdicts.malformed, verdicts.dropped),
        (1, 4, 0)
    );
    let mut body = vec![0, 1, 8, 0, 6, 4, 0, 2];
    body.extend([
        2, 0, 0, 0, 0, 0x77, 10, 0, 0, 7, 2, 0, 0, 0, 0, 1, 10, 0, 0, 1,
    ]);
    let mut expected = ethernet(mac(1).0, ethertype::ARP, &body);
    expected[6..12].copy_from_slice(&mac(0x77).0);
    assert_eq!(after[0], expected);
}

#[test]
fn marks_and_priorities_travel_with_the_frame() {
    let mut tagged = udp(1, 2);
    tagged.splice(12..12, [0x81, 0, 0, 10]);
    let rules = vec![
        Rule::new(1, from_mac(1), Action::SetPriority(Priority::Set(5))),
        Rule::new(2, Vec::new(), Action::MarkPacket(6)),
        Rule::new(3, vec![Match::PacketMark(6).into()], Action::Drop),
    ];
    let mut rig = filtered(filter::FORWARD, rules);

    let (verdicts, after) = evaluate(&mut rig, Hook::Forward, &[tagged.clone()], true);

    assert_eq!(verdicts.dropped, 1);
    tagged[14] = 5 << 5;
    assert_eq!(after, [tagged]);
}

#[test]
fn no_rule_keeps_messages_of_the_spanning_tree_from_it() {
    let mut bpdu = vec![1, 0x80, 0xc2, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0, 38];
    bpdu.extend([0x42, 0x42, 3, 0, 0, 0, 0]);
    bpdu.resize(60, 0);
    let mut rig = filtered(filter::INPUT, vec![Rule::new(1, Vec::new(), Action::Drop)]);

    let (verdicts, _) = evaluate(&mut rig, Hook::Input, &[bpdu, udp(1, 9)], true);

    assert_eq!(verdicts.dropped, 0b10);
    assert_eq!(hits(&rig, 1).0, 2);
}

fn what() -> impl Strategy<Value = Matcher> {
    let kind = prop::sample::select(vec![0x0800_u16, 0x0806, 0x8100, 0x86dd]);
    let what = prop_oneof![
        3 => (0_u8..5).prop_map(|last| Match::Link(LinkMatch::Source(only(last)))),
        3 => (0_u8..5).prop_map(|last| Match::Link(LinkMatch::Destination(only(last)))),
        2 => kind.prop_map(|kind| Match::Link(LinkMatch::Kind(kind, kind))),
        1 => Just(Match::Link(LinkMatch::Carries(Carries::Ip))),
        1 => (0_u16..3).prop_map(|vlan| Match::Link(LinkMatch::VlanId(vlan, 2))),
        1 => Just(Match::Link(LinkMatch::Arp(ArpMatch::Opcode(1)))),
        1 => (0_u16..12).prop_map(|class| Match::Link(LinkMatch::InBridge(class_of(
            InterfaceId(class.into()))))),
        2 => (1_u32..3).prop_map(|port| Match::InInterface(class_of(InterfaceId(port)))),
        2 => (1_u32..3).prop_map(|port| Match::OutInterface(class_of(InterfaceId(port)))),
        1 => (0_u128..4).prop_map(|host| Match::Source(AddressRange::prefix(host, 127, 128))),
        2 => prop::sample::select(vec![6_u8, 17]).prop_map(Match::Protocol),
        2 => (0_u16..3).prop_map(|port| Match::DestinationPort([(port, port)].into())),
        1 => (0_u16..3).prop_map(|port| Match::SourcePort([(port, port + 1)].into())),
        1 => (0_u32..3).prop_map(Match::PacketMark),
    ];
    (what, prop::bool::weighted(0.2)).prop_map(|(what, negated)| Matcher { negated, what })
}

fn deed() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => Just(Action::Drop),
        3 => Just(Action::Accept),
        2 => Just(Action::Passthrough),
        1 => Just(Action::Return),
        1 => Just(Action::Jump(ChainId(3))),
        1 => (0_u32..3).prop_map(Action::MarkPacket),
        1 => (0_u8..8).prop_map(|to| Action::SetPriority(Priority::Set(to))),
        1 => (0_u8..5).prop_map(|to| Action::Readdress(Readdress::Source(mac(to)))),
        1 => (0_u8..5).prop_map(|to| Action::Readdress(Readdress::ArpReply(mac(to)))),
    ]
}

fn rules(most: usize, from: u32) -> impl Strategy<Value = Vec<Rule>> {
    let rules = vec((vec(what(), 0..4), deed(), any::<bool>()), 0..most);
    rules.prop_map(move |rules| {
        let rules = rules.into_iter().zip(from..);
        rules
            .map(|((matchers, action, passthrough), id)| Rule {
                passthrough,
                ..Rule::new(id, matchers, action)
            })
            .collect()
    })
}

fn drawn() -> impl Strategy<Value = (Vec<u8>, PortPair)> {
    let ends = (0_u8..5, 0_u8..5, 0_u8..7, 0_u32..3, 0_u32..3);
    let ip = (0_u32..4, 0_u16..3, 0_u16..4, 0_usize..70);
    (ends, ip).prop_map(|((from, to, kind, ingress, egress), ip)| {
        let mut frame = Udp4 {
            source: ip.0,
            source_port: ip.2,
            destination_port: ip.1,
            protocol: if kind % 2 == 0 { 6 } else { 17 },
            payload: 20,
            ..Udp4::default()
        }
        .frame();
        frame[..6].copy_from_slice(&mac(to).0);
        frame[6..12].copy_from_slice(&mac(from).0);
        match kind {
            0 => {
                frame.truncate(12);
                frame.extend(&question()[12..]);
            }
            1 => _ = frame.splice(12..12, [0x81, 0, 0, to]),
            2 => frame[12] = 0x86,
            3 => frame.truncate(14 + ip.3.min(frame.len() - 14)),
            _ => {}
        }
        let pair = PortPair {
            ingress: InterfaceId(ingress),
            egress: InterfaceId(egress),
        };
        (frame, pair)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn frames_together_come_to_what_each_comes_to_by_itself(
        first in rules(80, 1),
        second in rules(5, 100),
        drawn in vec(drawn(), 1..=CHUNK),
    ) {
        let (frames, ports): (Vec<_>, Vec<_>) = drawn.into_iter().unzip();
        let ask = |together| {
            let rules = vec![
                // At least one rule exists.
                (filter::INPUT, vec![Rule::new(190, Vec::new(), Action::Drop)]),
                (filter::FORWARD, first.clone()),
                (ChainId(3), second.clone()),
            ];
            let mut rig = rig(Vec::new(), rules);
            let input = evaluate_on(&mut rig, Hook::Forward, &frames, &ports, together);
            let hits: Vec<_> = (1..200).map(|rule| hits(&rig, rule)).collect();
            (input, hits)
        };

        prop_assert_eq!(ask(true), ask(false));
    }
}
