//! Tests of `endpoint-independent-nat`: a client has one external endpoint for all remote hosts,
//! which may send to it.

use core::net::Ipv4Addr;
use std::sync::Arc;

use super::firewall::{MASQUERADE, answer, client, filtered, hits};
use super::gateway4;
use crate::connection::{NatState, Purge};
use crate::drop::DropReason;
use crate::firewall::{Firewall, filter, nat};
use crate::nat::{Action as Nat, Endpoint, Mappings, Side, Target};
use crate::rings::Command;
use crate::rule::{Action, Match, Rule};
use crate::testing::{ETHER1, ETHER2, Rig, Udp4, class_of};
use crate::trace::{End, Question, trace};

/// Address of `ether2`.
const OUTSIDE: u32 = 0x0a01_0001;
const CLIENT: u32 = 0x0a00_0002;
const STRANGER: u32 = 0x0b00_0009;

/// Returns a packet of a client from this port to this host.
fn sent(source_port: u16, destination: u32) -> Udp4 {
    Udp4 {
        source_port,
        destination,
        ..Udp4::default()
    }
}

/// Returns a packet of an external host to a port of the router's external address.
fn to_outside(source: u32, source_port: u16, destination_port: u16) -> Vec<u8> {
    let udp = Udp4 {
        to: [2, 0, 0, 0, 0, 2],
        source,
        destination: OUTSIDE,
        source_port,
        destination_port,
        ..Udp4::default()
    };
    udp.frame()
}

/// Returns addresses and ports of a frame.
fn ends(frame: &[u8]) -> [(u32, u16); 2] {
    let word = |at: usize| u32::from_be_bytes(*frame[at..].first_chunk().expect("a header"));
    let port = |at: usize| u16::from_be_bytes(*frame[at..].first_chunk().expect("a header"));
    [(word(26), port(34)), (word(30), port(36))]
}

/// Returns a router with the rule in srcnat, and in dstnat if `open`.
fn mapped(workers: usize, open: bool, randomise: bool) -> Rig {
    let mut rig = Rig::with_workers(workers);
    gateway4(&mut rig);
    client(&mut rig);
    rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(OUTSIDE));
    let source = Target {
        action: Nat::EndpointIndependent,
        randomise,
        ..MASQUERADE
    };
    let destination = Target {
        side: Side::Destination,
        ..source
    };
    let out = vec![Match::OutInterface(class_of(ETHER2)).into()];
    let back = vec![
        Match::InInterface(class_of(ETHER2)).into(),
        Match::Mapped.into(),
    ];
    let mut rules = vec![(nat::SRCNAT, Rule::new(1, out, Action::Translate(0)))];
    if open {
        rules.push((nat::DSTNAT, Rule::new(2, back, Action::Translate(1))));
    }
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.tracks4 = true;
    firewall.ipv4.nat = two_chains(rules);
    firewall.targets = Arc::new([source, destination]);
    rig.snapshot.firewall = Arc::new(firewall);
    for counters in &rig.counters {
        assert!(counters.rules.make_room(9));
    }
    let mappings = Mappings::new(7).expect("address space");
    rig.connections.set_mappings(Arc::new(mappings));
    rig.publish();
    rig
}

/// Returns a nat table with a rule in each of these chains.
fn two_chains(rules: Vec<(crate::rule::ChainId, Rule)>) -> Arc<crate::rule::Table> {
    let names = nat::CHAINS
        .iter()
        .map(|name| (Arc::from(*name), Vec::new()));
    let mut chains: Vec<_> = names.collect();
    for (chain, rule) in rules {
        chains[usize::from(chain.0)].1.push(Arc::new(rule));
    }
    Arc::new(crate::rule::Table::compile(None, chains))
}

fn from_outside(rig: &mut Rig, frame: Vec<u8>) -> Vec<Vec<u8>> {
    rig.arrive_unfinished(1, frame, frame::Offload::FINISHED);
    rig.settle();
    rig.sent(0)
}

fn behind(rig: &Rig, port: u16) -> Option<Endpoint> {
    let outside = Endpoint {
        address: OUTSIDE,
        port,
    };
    rig.connections
        .mappings()
        .and_then(|mappings| mappings.inside(outside))
}

#[test]
fn everybody_sees_a_client_at_one_endpoint_and_another_client_elsewhere() {
    for randomise in [false, true] {
        let mut rig = mapped(1, false, randomise);

        let mut seen = Vec::new();
        for (destination, port) in [(0x0b00_0002, 2000), (0x0b00_0003, 2000), (0x0b00_0002, 9)] {
            let udp = Udp4 {
                destination_port: port,
                ..sent(1000, destination)
            };
            seen.extend(rig.pass(udp.frame()).iter().map(|frame| ends(frame)[0]));
        }
        let other = Udp4 {
            source: CLIENT + 1,
            ..sent(1000, 0x0b00_0002)
        };
        let other = rig.pass(other.frame());

        assert_eq!(seen.len(), 3);
        assert!(seen.iter().all(|end| *end == seen[0]), "{seen:?}");
        assert_eq!(seen[0].0, OUTSIDE);
        assert_eq!(seen[0].1 == 1000, !randomise);
        assert_eq!(ends(&other[0])[0].0, OUTSIDE);
        assert_ne!(ends(&other[0])[0], seen[0]);
        assert_eq!(rig.drops(), []);
    }
}

#[test]
fn a_stranger_may_write_to_the_endpoint_where_dstnat_says_so() {
    for open in [true, false] {
        let mut rig = mapped(1, open, false);
        rig.pass(sent(1000, 0x0b00_0002).frame());

        let came = from_outside(&mut rig, to_outside(STRANGER, 77, 1000));
        let nobody = from_outside(&mut rig, to_outside(STRANGER, 77, 1001));

        assert_eq!(nobody, [[0; 0]; 0], "nobody is behind that port");
        if !open {
            assert_eq!(came, [[0; 0]; 0]);
            assert_eq!(rig.drops(), [(DropReason::NoRoute, 2)]);
            continue;
        }
        assert_eq!(ends(&came[0]), [(STRANGER, 77), (CLIENT, 1000)]);
        assert_eq!(crate::testing::sum(&came[0][14..34]), 0xffff);
        assert_eq!(hits(&rig, 2).0, 1, "the rule leaves others alone");
        // The client's answer belongs to that connection.
        let back = Udp4 {
            destination_port: 77,
            ..sent(1000, STRANGER)
        };
        let back = rig.pass(back.frame());
        assert_eq!(ends(&back[0]), [(OUTSIDE, 1000), (STRANGER, 77)]);
        assert_eq!(rig.connections.totals(), (2, 0));
        assert_eq!(rig.drops(), [(DropReason::NoRoute, 1)]);
    }
}

#[test]
fn rules_and_rows_say_how_such_a_connection_is_translated() {
    let mut rig = mapped(1, true, false);
    let state = |nat| Match::ConnectionNatState(nat).into();
    let rules = vec![
        Rule::new(3, vec![state(NatState::EIN_SNAT)], Action::Passthrough),
        Rule::new(4, vec![state(NatState::EIN_DNAT)], Action::Passthrough),
        Rule::new(5, vec![state(NatState::DSTNAT)], Action::Passthrough),
    ];
    filtered(&mut rig, filter::FORWARD, rules);

    let left = rig.pass(sent(1000, 0x0b00_0002).frame());
    // Forward precedes srcnat: it sees the translation only from the answer on.
    assert_eq!(hits(&rig, 3).0, 0);
    assert_eq!(from_outside(&mut rig, answer(&left[0])).len(), 1);
    assert_eq!((hits(&rig, 3).0, hits(&rig, 4).0), (1, 0));
    from_outside(&mut rig, to_outside(STRANGER, 77, 1000));

    assert_eq!([4, 5].map(|rule| hits(&rig, rule).0), [1, 1]);
    let mut nat: Vec<_> = rig.connections.rows(false).map(|row| row.nat).collect();
    nat.sort_by_key(|nat| nat.0);
    let expected = [
        NatState::SRCNAT.with(NatState::EIN_SNAT),
        NatState::DSTNAT.with(NatState::EIN_DNAT),
    ];
    assert_eq!(nat, expected);
}

#[test]
fn an_endpoint_is_free_when_the_last_connection_that_holds_it_ends() {
    type End = fn(&mut Rig);
    let ways: [End; 3] = [
        // Unanswered UDP connections expire after 30 seconds.
        |rig| rig.now = machine::Instant::from_secs(40),
        |rig| {
            let ids: Vec<_> = rig.connections.rows(false).map(|row| row.id).collect();
            ids.into_iter()
                .for_each(|id| rig.command(Command::Forget(id)));
        },
        // The external address is removed.
        |rig| {
            let gone = Purge::Masquerade(ETHER2, Some(OUTSIDE.into()));
            rig.command(Command::Purge(gone));
            rig.now = machine::Instant::from_secs(1);
        },
    ];
    for end in ways {
        let mut rig = mapped(1, true, false);
        rig.pass(sent(1000, 0x0b00_0002).frame());
        rig.pass(sent(1000, 0x0b00_0003).frame());
        assert_eq!(
            behind(&rig, 1000).map(|inside| inside.address),
            Some(CLIENT)
        );

        end(&mut rig);
        for _ in 0..2 {
            rig.settle();
        }

        assert_eq!(rig.connections.totals(), (0, 0));
        assert_eq!(behind(&rig, 1000), None);
        let came = from_outside(&mut rig, to_outside(STRANGER, 77, 1000));
        assert_eq!(came, [[0; 0]; 0]);
    }
}

#[test]
fn strangers_are_translated_right_on_whichever_worker_they_come_to() {
    let mut rig = mapped(3, true, false);
    assert_eq!(rig.pass(sent(1000, 0x0b00_0002).frame()).len(), 1);

    for port in 0..60 {
        let came = from_outside(&mut rig, to_outside(STRANGER, 4000 + port, 1000));
        assert_eq!(ends(&came[0])[1], (CLIENT, 1000), "{port}");
        let back = Udp4 {
            destination_port: 4000 + port,
            ..sent(1000, STRANGER)
        };
        let back = rig.pass(back.frame());
        assert_eq!(ends(&back[0])[0], (OUTSIDE, 1000), "{port}");
    }

    assert_eq!(rig.connections.totals(), (61, 0));
    let workers: std::collections::BTreeSet<_> = rig
        .connections
        .rows(false)
        .map(|row| row.id.slot.worker())
        .collect();
    assert_eq!(workers.len(), 3, "they come to all of them");
    assert_eq!(rig.drops(), []);
    rig.now = machine::Instant::from_secs(600);
    for _ in 0..2 {
        rig.settle();
    }
    assert_eq!(
        (rig.connections.totals(), behind(&rig, 1000)),
        ((0, 0), None)
    );
}

#[test]
fn a_trace_shows_who_is_behind_an_endpoint_and_holds_nothing() {
    let mut rig = mapped(1, true, false);
    rig.pass(sent(1000, 0x0b00_0002).frame());
    let frame = to_outside(STRANGER, 77, 1000);
    let question = Question {
        mappings: rig.connections.mappings(),
        ..Question::new(&frame, ETHER2)
    };

    let walked = trace(rig.tables(), &question);

    assert_eq!(walked.end, End::Sent(ETHER1));
    let translated = |line: &crate::trace::Line| line.decision.ends_with("->10.0.0.2:1000");
    assert!(walked.lines.iter().any(translated), "{:?}", walked.lines);
    let id = rig.connections.rows(false).next().expect("one").id;
    rig.command(Command::Forget(id));
    rig.settle();
    assert_eq!(behind(&rig, 1000), None);
}

#[test]
fn what_is_not_udp_is_masqueraded_by_the_rule() {
    let mut rig = mapped(1, true, false);
    let icmp = Udp4 {
        protocol: 47,
        ..Udp4::default()
    };

    let left = rig.pass(icmp.frame());

    assert_eq!(ends(&left[0])[0].0, OUTSIDE);
    let row = rig.connections.rows(false).next().expect("a connection");
    assert_eq!((row.nat, row.masquerade), (NatState::SRCNAT, true));
}
