//! Tests of shortcuts: ports learn flows whose packets need no more decisions.

use core::net::Ipv4Addr;
use std::sync::Arc;

use frame::Offload;
use frame::shortcut::{ConnectionTraffic, Handler, Rules, Shortcut};
use machine::Instant;

use super::{
    MASQUERADE, answer, client, filtered, hits, mangled, segment, table, to_port, tracked,
    translated,
};
use crate::connection::Row;
use crate::firewall::{Firewall, filter, mangle, nat, raw};
use crate::rule::{Action, Match, Rule, State};
use crate::testing::{ETHER2, Rig, Udp4};
use crate::walk::tests::rig;

/// The router's external address.
const PUBLIC: u32 = 0x0a01_0001;

/// Returns a router whose ports learn, with masquerade and two rules: established connections, then
/// all others.
fn learning() -> Rig {
    let mut rig = rig();
    for port in 0..2 {
        rig.ports[port].line().device = Some(30 + port as u32);
    }
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(PUBLIC));
    client(&mut rig);
    translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
    let rules = vec![
        established(1, Action::Passthrough),
        established(2, Action::Accept),
        Rule::new(3, Vec::new(), Action::Accept),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    rig
}

fn established(id: u32, action: Action) -> Rule {
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    Rule::new(id, vec![established.into()], action)
}

/// Sends packets in both directions until both ends have confirmed the connection, and one more
/// each way. Returns the learned shortcuts.
fn talk(rig: &mut Rig) -> [Vec<Shortcut>; 2] {
    for _ in 0..3 {
        let sent = rig.pass(Udp4::default().frame());
        rig.arrive_unfinished(1, answer(&sent[0]), Offload::FINISHED);
        rig.settle();
        assert_eq!(rig.sent(0).len(), 1);
    }
    learned(rig)
}

fn learned(rig: &mut Rig) -> [Vec<Shortcut>; 2] {
    [0, 1].map(|port: usize| core::mem::take(&mut rig.ports[port].line().learned))
}

fn row(rig: &Rig) -> Row {
    rig.connections.rows(false).next().expect("a connection")
}

fn rules(numbers: &[u32]) -> Rules {
    let mut rules = Rules::default();
    assert!(numbers.iter().all(|number| rules.push(*number)));
    rules
}

#[test]
fn ports_learn_connections_that_rules_let_pass_by_what_they_are() {
    let mut rig = learning();

    let [there, back] = talk(&mut rig);

    let (there, back) = (there[0], back[0]);
    let row = row(&rig);
    for (shortcut, tuple, device) in [(there, row.original, 31), (back, row.reply, 30)] {
        assert_eq!(shortcut.between, tuple.between());
        assert_eq!(shortcut.lane.device, device);
        assert_eq!(shortcut.lane.handler, Handler::Firewall);
        assert_eq!(shortcut.lane.rules, rules(&[1, 2]));
        let connection = shortcut.connection.expect("a connection's");
        assert_eq!(connection.service, tuple.service());
    }
    let [there, back] = [there, back].map(|shortcut| shortcut.connection.expect("said before"));
    assert_ne!(there.token, back.token);
    let [there, back] = [there, back].map(|connection| connection.rewrite.expect("translated"));
    assert_eq!(there.between.source, PUBLIC.into());
    assert_eq!(there.between.destination, row.original.destination);
    assert_eq!(back.between.destination, row.original.source);
    assert_eq!(back.ports[2..], row.original.source_port.to_be_bytes());
}

#[test]
fn what_went_by_shortcuts_is_counted_and_keeps_connections_alive() {
    let mut rig = learning();
    let [there, back] = talk(&mut rig);
    let tokens = [there, back].map(|learned| learned[0].connection.expect("one").token);
    let before = row(&rig);
    let token = tokens[1];
    let (packets, bytes) = (7, 7_000);

    // An answered UDP connection lives for three minutes.
    for second in 1..=400 {
        rig.now = Instant::from_secs(second);
        let gathered = ConnectionTraffic {
            token,
            packets,
            bytes,
        };
        rig.ports[1].line().gathered.push(gathered);
        rig.settle();
        rig.ports[1].line().gathered.clear();
    }

    let after = row(&rig);
    assert_eq!(after.directions[0], before.directions[0]);
    let [was, is] = [before, after].map(|row| row.directions[1].traffic);
    assert_eq!(is.packets - was.packets, 400 * packets);
    assert_eq!(is.bytes - was.bytes, 400 * bytes);
    let now = crate::connection::Tick::of(rig.now);
    assert_eq!(
        (after.rates_bps(now)[1], after.timeout(now)),
        (7_000 * 8, 180)
    );
}

#[test]
fn shortcuts_end_with_their_connection() {
    let mut rig = learning();
    let [there, back] = talk(&mut rig);
    let shortcuts = [there[0], back[0]];
    let token = shortcuts[0].connection.expect("one").token;

    rig.now = Instant::from_secs(1_000);
    rig.settle();

    assert_eq!(rig.connections.rows(false).count(), 0);
    let mut forgotten = rig.ports[0].line().forgotten.clone();
    forgotten.sort_by_key(|(between, _)| between.source);
    let mut expected = shortcuts.map(|one| (one.between, one.connection.expect("one").service));
    expected.sort_by_key(|(between, _)| between.source);
    assert_eq!(forgotten, expected);
    // Traffic that a shortcut reports late belongs to no connection, in particular not to the next
    // one in its slot.
    let late = ConnectionTraffic {
        token,
        packets: 1,
        bytes: 60,
    };
    rig.pass(Udp4::default().frame());
    rig.ports[0].line().gathered.push(late);
    rig.now = Instant::from_secs(1_001);
    rig.settle();
    assert!(rig.ports[0].line().gathered.is_empty());
    assert_eq!(row(&rig).directions[0].traffic.packets, 1);
}

#[test]
fn ports_learn_what_is_fasttracked_of_tcp_too() {
    let mut rig = learning();
    let rules = vec![
        established(1, Action::Fasttrack),
        established(2, Action::Accept),
    ];
    filtered(&mut rig, filter::FORWARD, rules);
    let there = Udp4::default();
    let first = rig.pass(segment(there, 0x02, 99, 0));
    let back = Udp4 {
        to: [2, 0, 0, 0, 0, 2],
        source: there.destination,
        destination: PUBLIC,
        source_port: there.destination_port,
        destination_port: u16::from_be_bytes([first[0][34], first[0][35]]),
        ..there
    };
    rig.arrive_unfinished(1, segment(back, 0x12, 499, 100), Offload::FINISHED);
    rig.settle();
    rig.pass(segment(there, 0x10, 100, 500));
    assert_eq!(learned(&mut rig), [vec![], vec![]]);

    rig.pass(segment(there, 0x10, 100, 500));
    rig.arrive_unfinished(1, segment(back, 0x10, 500, 100), Offload::FINISHED);
    rig.settle();

    assert_eq!(hits(&rig, 2).0, 2);
    for learned in learned(&mut rig) {
        assert_eq!(learned[0].lane.handler, Handler::FastTrack);
        assert_eq!(learned[0].lane.rules, Rules::default());
        assert_eq!(learned[0].connection.expect("one").service.protocol, 6);
    }
}

/// The reason, and the change that causes it.
type Case<'a> = (&'static str, &'a dyn Fn(&mut Rig));

#[test]
fn ports_learn_nothing_where_packets_may_fare_unlike_each_other() {
    let counts = |id| Rule::new(id, Vec::new(), Action::Passthrough);
    let cases: [Case<'_>; 6] = [
        ("a rule asks for more than the connection", &|rig| {
            let lives = Match::Ttl(crate::rule::Compare::Greater(3));
            let rule = Rule::new(1, vec![lives.into()], Action::Passthrough);
            filtered(rig, filter::FORWARD, vec![rule]);
        }),
        ("more rules count it than a lane has", &|rig| {
            filtered(rig, filter::FORWARD, (1..=9).map(counts).collect());
        }),
        ("rules mark connections", &|rig| {
            let rule = Rule::new(5, to_port(99), Action::MarkConnection(7));
            mangled(rig, mangle::FORWARD, vec![rule]);
        }),
        ("rules read what connections have counted", &|rig| {
            let few = Match::ConnectionBytes {
                first: 1 << 40,
                last: 0,
            };
            mangled(
                rig,
                mangle::POSTROUTING,
                vec![Rule::new(5, vec![few.into()], Action::Passthrough)],
            );
        }),
        ("raw counts packets before they have a connection", &|rig| {
            let mut firewall = Firewall::clone(&rig.snapshot.firewall);
            firewall.ipv4.raw = table(raw::CHAINS, raw::PREROUTING, vec![counts(5)]);
            rig.snapshot.firewall = Arc::new(firewall);
            rig.publish();
        }),
        ("it may end before anything is heard of it", &|rig| {
            let mut firewall = Firewall::clone(&rig.snapshot.firewall);
            firewall.settings.udp_stream = machine::Duration::from_secs(4);
            rig.snapshot.firewall = Arc::new(firewall);
            rig.publish();
        }),
    ];
    for (why, change) in cases {
        let mut rig = learning();
        change(&mut rig);
        assert_eq!(talk(&mut rig), [vec![], vec![]], "{why}");
    }
}

#[test]
fn segments_whose_numbers_are_followed_are_not_learned() {
    let mut rig = learning();
    tracked(&mut rig);
    let there = Udp4::default();
    let first = rig.pass(segment(there, 0x02, 99, 0));
    let back = Udp4 {
        to: [2, 0, 0, 0, 0, 2],
        source: there.destination,
        destination: PUBLIC,
        source_port: there.destination_port,
        destination_port: u16::from_be_bytes([first[0][34], first[0][35]]),
        ..there
    };
    rig.arrive_unfinished(1, segment(back, 0x12, 499, 100), Offload::FINISHED);
    rig.settle();
    for _ in 0..4 {
        assert_eq!(rig.pass(segment(there, 0x10, 100, 500)).len(), 1);
    }

    assert_eq!(learned(&mut rig), [vec![], vec![]]);
}
