//! Tests of the short path: it gives the same results as the decider.

use core::net::Ipv4Addr;
use std::sync::Arc;

use super::{
    MASQUERADE, answer, chains, client, filtered, hits, mangled, table, to_port, translated,
};
use crate::drop::DropReason;
use crate::firewall::{Firewall, filter, mangle, nat, raw};
use crate::packet::protocol;
use crate::rule::{Action, AddressRange, ChainId, Compare, Dscp, Match, Matcher, Mss, Rule, State};
use crate::testing::{ETHER1, ETHER2, MAC, Rig, Udp4, class_of, ethernet, gateway, seal};
use crate::walk::tests::{forwarded4, rig};

/// Adds rules of `mangle` that count packets on arrival, and mark and change those of established
/// connections, and rules of `raw` that count packets or never match. With `whole`, a rule keeps
/// packets off the short path.
fn changed(rig: &mut Rig, whole: bool) {
    let to = |id, address: u32| {
        let to = Match::Destination(AddressRange::prefix(address.into(), 32, 32));
        Rule::new(id, vec![to.into()], Action::Passthrough)
    };
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
    let mut early = vec![to(15, PUBLIC), to(16, 0x0a00_0002)];
    early.extend(whole.then(alone).into_iter().flatten());
    mangle.push((mangle::PREROUTING, early));
    let elsewhere = Match::Destination(AddressRange::prefix(0x7f00_0000, 8, 32));
    let ended = Rule {
        action: Action::Accept,
        ..to(18, PUBLIC)
    };
    let raw = vec![
        Rule::new(13, vec![elsewhere.into()], Action::Notrack),
        to(17, 0x0a00_0002),
        ended,
    ];
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.mangle = chains(mangle::CHAINS, mangle);
    firewall.ipv4.raw = table(raw::CHAINS, raw::PREROUTING, raw);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
}

/// The router's external address.
const PUBLIC: u32 = 0x0a01_0001;

/// Returns a rule that every packet matches only by evaluation, and a rule that might route packets
/// elsewhere: in prerouting both keep packets off the short path.
fn alone() -> [Rule; 2] {
    let lives = Match::Ttl(Compare::Greater(0));
    let elsewhere = Match::Destination(AddressRange::prefix(0x7f00_0000, 8, 32));
    [
        Rule::new(6, vec![lives.into()], Action::Passthrough),
        Rule::new(7, vec![elsewhere.into()], Action::Route(0x0a01_0002)),
    ]
}

/// Runs a connection through masquerade with several packets each way. Returns the frames sent on
/// both sides, and the rule hits. With `changes`, rules mark and change its packets; with `whole`,
/// a rule keeps them off the short path.
fn conversation(changes: bool, whole: bool) -> (Vec<Vec<u8>>, Vec<(u64, u64)>) {
    let mut rig = rig();
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(PUBLIC));
    client(&mut rig);
    translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let client = Match::Destination(AddressRange::prefix(0x0a00_0002, 32, 32));
    let lived = Match::Ttl(Compare::Equal(63));
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
        mangled(&mut rig, mangle::PREROUTING, alone().to_vec());
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
    let rules = [1, 2, 3, 14, 5, 10, 11, 12, 13, 15, 16, 17, 18];
    (left, rules.map(|rule| hits(&rig, rule)).to_vec())
}

#[test]
fn the_short_way_ends_where_the_whole_one_does() {
    let packets = |hits: &[(u64, u64)]| hits.iter().map(|(packets, _)| *packets).collect();
    let short = conversation(false, false);
    assert_eq!(short, conversation(false, true));
    assert_eq!(short.0.len(), 7);
    let hits: Vec<u64> = packets(&short.1);
    assert_eq!(hits, [3, 7, 6, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);

    let changed = conversation(true, false);
    assert_eq!(changed, conversation(true, true));
    let hits: Vec<u64> = packets(&changed.1);
    // From the first answer on, the connection and its packets are marked. Answers are sent to the
    // router's address.
    assert_eq!(hits, [3, 7, 6, 6, 1, 3, 6, 6, 0, 3, 0, 0, 3]);
}

/// Sends packets of a flow among others, in vectors, past rules that count and mark them in all
/// chains. Returns the frames sent, and the rule hits. With `told`, a rule matches the marks; with
/// `whole`, a rule keeps packets off the short path.
fn marked(told: bool, whole: bool) -> (Vec<Vec<u8>>, Vec<(u64, u64)>) {
    let mut rig = rig();
    client(&mut rig);
    let to = |port| -> Vec<Matcher> { to_port(port) };
    let ending = |id, port| Rule {
        passthrough: false,
        ..Rule::new(id, to(port), Action::MarkPacket(9))
    };
    let count = |id, port| Rule::new(id, to(port), Action::Passthrough);
    let mut early = vec![count(20, 53), count(21, 54)];
    early.extend(whole.then(alone).into_iter().flatten());
    let forward = vec![
        Rule::new(22, to(53), Action::MarkPacket(8)),
        count(23, 53),
        ending(24, 53),
        count(25, 53),
        count(26, 54),
    ];
    let mut late = vec![Rule::new(27, Vec::new(), Action::Passthrough)];
    let read = Match::PacketMark(9).into();
    late.extend(told.then(|| Rule::new(28, vec![read], Action::Passthrough)));
    let mangle = vec![
        (mangle::PREROUTING, early),
        (mangle::FORWARD, forward),
        (mangle::POSTROUTING, late),
    ];
    let filter = vec![
        count(29, 53),
        count(30, 55),
        Rule::new(31, to(55), Action::Drop),
        Rule::new(32, Vec::new(), Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, filter);
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.mangle = chains(mangle::CHAINS, mangle);
    firewall.tracks4 = true;
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    let frame = |destination_port| {
        let packet = Udp4 {
            destination_port,
            ..Udp4::default()
        };
        packet.frame()
    };
    let mut left = Vec::new();
    for round in 0..3_u16 {
        for port in 0..40 {
            rig.arrive(frame(53 + (port + round) % 4));
        }
        rig.settle();
        left.extend(rig.sent(1));
    }
    left.sort();
    (left, (20..=32).map(|rule| hits(&rig, rule)).collect())
}

#[test]
fn marks_that_nobody_asks_for_are_counted_on_the_short_way() {
    for told in [false, true] {
        let short = marked(told, false);
        assert_eq!(short, marked(told, true));
        let hits: Vec<u64> = short.1.iter().map(|(packets, _)| *packets).collect();
        let reads = if told { 30 } else { 0 };
        assert_eq!(hits, [30, 30, 30, 30, 30, 0, 30, 90, reads, 30, 30, 30, 90]);
        assert_eq!(short.0.len(), 90);
    }
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
    assert_eq!(rig.drops(), [(DropReason::FirewallRaw, 1)]);
    assert_eq!([1, 2, 3].map(|rule| hits(&rig, rule).0), [1, 1, 1]);
}

/// Sends packets of connections, in vectors, past a chain that `raw` jumps to. With `whole`, a rule
/// keeps packets off the short path.
fn jumped(whole: bool) -> Ended {
    let mut rig = rig();
    client(&mut rig);
    let more = ChainId(raw::CHAINS.len() as u16);
    let lives = || Match::Ttl(Compare::Greater(0)).into();
    let and_lives = |port| [to_port(port), vec![lives()]].concat();
    let inside = vec![
        Rule::new(1, and_lives(54), Action::Drop),
        Rule::new(2, and_lives(55), Action::Notrack),
        Rule::new(3, and_lives(56), Action::Passthrough),
        Rule::new(4, to_port(57), Action::Return),
    ];
    let elsewhere = Match::Destination(AddressRange::prefix(0x7f00_0000, 8, 32));
    let mut before = vec![Rule::new(
        5,
        vec![Match::Protocol(17).into()],
        Action::Jump(more),
    )];
    before.extend(whole.then(|| Rule::new(6, vec![elsewhere.into()], Action::Log)));
    let untracked = Match::ConnectionState([State::Untracked].into_iter().collect());
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(7, vec![untracked.into()], Action::Passthrough)],
    );
    let names = [raw::CHAINS, &["more"]].concat();
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.raw = chains(&names, vec![(raw::PREROUTING, before), (more, inside)]);
    firewall.tracks4 = true;
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    for _ in 0..4 {
        for number in 0..40 {
            let packet = Udp4 {
                destination_port: 53 + number % 5,
                source_port: number,
                ..Udp4::default()
            };
            rig.arrive(packet.frame());
        }
        rig.settle();
        for sent in rig.sent(1) {
            rig.arrive_unfinished(1, answer(&sent), frame::Offload::FINISHED);
        }
        rig.settle();
    }
    Ended {
        left: rig.sent(0),
        drops: rig.drops(),
        punts: rig.connections.totals().0 as usize,
        hits: [3, 4, 5, 7].map(|rule| hits(&rig, rule).0),
    }
}

#[test]
fn what_raw_has_to_look_at_goes_the_short_way_behind_it() {
    let short = jumped(false);
    assert_eq!(short, jumped(true));
    // Answers take the jump, too; answers to untracked packets begin separate connections.
    assert_eq!(short.hits, [32, 32, 160 + 128, 32]);
    assert_eq!(short.drops, [(DropReason::FirewallRaw, 32)]);
    assert_eq!(short.left.len(), 128);
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

/// The results of a vector.
#[derive(Debug, PartialEq)]
struct Ended {
    left: Vec<Vec<u8>>,
    drops: Vec<(DropReason, u64)>,
    punts: usize,
    /// Hits of each rule.
    hits: [u64; 4],
}

/// Sends untracked packets of many flows in one vector, past rules that distinguish them. With
/// `more`, a rule needs evaluation; with `whole`, a rule keeps packets off the short path; with
/// `odd`, one of the packets is not plain.
fn untracked(more: bool, whole: bool, odd: bool) -> Ended {
    let mut rig = rig();
    let near = Match::Source(AddressRange::prefix(0x0a00_0000, 25, 32));
    let to = |port| Match::DestinationPort([(port, port)].into());
    let mut rules = vec![
        Rule::new(1, vec![near.into(), to(53).into()], Action::Accept),
        Rule::new(2, vec![to(54).into()], Action::Drop),
        Rule::new(
            3,
            vec![Match::InInterface(class_of(ETHER1)).into()],
            Action::Accept,
        ),
    ];
    if more {
        let lived = Match::Ttl(Compare::Equal(63));
        rules.insert(
            1,
            Rule::new(4, vec![to(55).into(), lived.into()], Action::Drop),
        );
    }
    filtered(&mut rig, filter::FORWARD, rules);
    if whole {
        mangled(&mut rig, mangle::PREROUTING, alone().to_vec());
    }
    for number in 0..150_u16 {
        let packet = Udp4 {
            source: 0x0a00_0002 + u32::from(number),
            destination_port: 52 + number % 5,
            source_port: number,
            ttl: if odd && number == 70 { 1 } else { 64 },
            ..Udp4::default()
        };
        rig.arrive(packet.frame());
    }
    rig.settle();
    Ended {
        left: rig.sent(1),
        drops: rig.drops(),
        punts: rig.punts().len(),
        hits: [1, 2, 3, 4].map(|rule| hits(&rig, rule).0),
    }
}

#[test]
fn untracked_packets_of_one_vector_end_as_they_do_one_by_one() {
    for (asked, hits) in [(false, [25, 30, 95, 0]), (true, [25, 30, 65, 30])] {
        let short = untracked(asked, false, false);
        assert_eq!(short, untracked(asked, true, false));
        assert_eq!(short.hits, hits);
        assert_eq!(short.left.len() as u64, hits[0] + hits[2]);

        let odd = untracked(asked, false, true);
        assert_eq!(odd, untracked(asked, true, true));
        assert_eq!(odd.punts, 1);
    }
}

/// Sends untracked segments of all connection phases in one vector, past rules that match flags and
/// change the segment size. With `whole`, a rule keeps the segments off the short path.
fn segments(whole: bool) -> Ended {
    let mut rig = rig();
    let flags = |set| Match::TcpFlags { set, clear: 0 }.into();
    let rules = vec![
        Rule::new(1, vec![flags(FIN)], Action::Drop),
        Rule::new(
            2,
            vec![Match::InInterface(class_of(ETHER1)).into()],
            Action::Accept,
        ),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    let clamped = Rule::new(3, vec![flags(SYN)], Action::ChangeMss(Mss::Bytes(1_000)));
    let counted = Rule::new(4, vec![flags(ACK)], Action::Passthrough);
    let mut mangle = vec![(mangle::FORWARD, vec![clamped, counted])];
    mangle.extend(whole.then(|| (mangle::PREROUTING, alone().to_vec())));
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.ipv4.mangle = chains(mangle::CHAINS, mangle);
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    for number in 0..150_u16 {
        let flags = [SYN, ACK, ACK, FIN | ACK, SYN | ACK][usize::from(number % 5)];
        let mut upper = [number.to_be_bytes(), 80_u16.to_be_bytes()].concat();
        upper.extend([
            0,
            0,
            0,
            number as u8,
            0,
            0,
            0,
            0,
            6 << 4,
            flags,
            0x20,
            0,
            0,
            0,
            0,
            0,
        ]);
        // A maximum segment size of 1,460.
        upper.extend([2, 4, 0x05, 0xb4]);
        let mut packet = Udp4::default().packet();
        packet.truncate(20);
        packet.extend(&upper);
        let total = packet.len() as u16;
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet[9] = protocol::TCP;
        seal(&mut packet);
        rig.arrive(ethernet(MAC, 0x0800, &packet));
    }
    rig.settle();
    Ended {
        left: rig.sent(1),
        drops: rig.drops(),
        punts: rig.punts().len(),
        hits: [1, 2, 3, 4].map(|rule| hits(&rig, rule).0),
    }
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const ACK: u8 = 16;

#[test]
fn untracked_segments_of_one_vector_end_as_they_do_one_by_one() {
    let short = segments(false);

    assert_eq!(short, segments(true));
    assert_eq!(short.hits, [30, 120, 60, 120]);
    let announced = |frame: &&Vec<u8>| frame[54..58] == [2, 4, 0x03, 0xe8];
    assert_eq!(short.left.iter().filter(announced).count(), 60);
    assert_eq!(short.left.len(), 120);
}

#[test]
fn untracked_packets_meet_their_rule_in_chains_of_any_length_however_few_they_are() {
    // One word of rules, several words, and two blocks.
    for rules in [40, 200, 1100] {
        let mut rig = rig();
        let from = |source: u32| Match::Source(AddressRange::prefix(source.into(), 32, 32));
        let listed = (0..rules).map(|number| {
            let source = from(0x0a00_1000 + number * 2);
            Rule::new(1, vec![source.into()], Action::Drop)
        });
        let rules: Vec<_> = listed.collect();
        filtered(&mut rig, filter::FORWARD, rules.clone());
        for (number, sent) in [(0, 0), (1, 1), (14, 0), (15, 1), (37, 1)] {
            let source = 0x0a00_1000 + number;
            let udp = Udp4 {
                source,
                ..Udp4::default()
            };
            assert_eq!(rig.pass(udp.frame()).len(), sent, "{source:#x}");
        }
        let last = Udp4 {
            source: 0x0a00_1000 + (rules.len() as u32 - 1) * 2,
            ..Udp4::default()
        };
        let other = Udp4::default();
        assert_eq!(rig.pass(last.frame()).len(), 0);
        assert_eq!(rig.pass(other.frame()).len(), 1);
        assert_eq!(hits(&rig, 1).0, 3);
    }
}
