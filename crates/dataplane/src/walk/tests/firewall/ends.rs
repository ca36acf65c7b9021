//! Tests of connections that end, and of new connections between the same ports.

use core::net::Ipv4Addr;
use std::sync::Arc;

use super::{MASQUERADE, client, filtered, segment, tracked, translated};
use crate::connection::TcpState;
use crate::firewall::{filter, nat};
use crate::rule::{Action, ConnectionLimit, Match, Matcher, Rule, State};
use crate::testing::{ETHER2, Rig, Udp4};
use crate::walk::tests::rig;

const SYN: u8 = 2;
const ACK: u8 = 0x10;
const FIN: u8 = 0x11;
const RST: u8 = 4;

/// The client's packets from one port, and the server's answers to an address.
fn ends(port: u16, answered: u32) -> [Udp4; 2] {
    let there = Udp4 {
        source_port: port,
        ..Udp4::default()
    };
    let back = Udp4 {
        to: [2, 0, 0, 0, 0, 2],
        source: there.destination,
        destination: answered,
        source_port: there.destination_port,
        destination_port: port,
        ..there
    };
    [there, back]
}

fn comes(rig: &mut Rig, port: u16, frame: Vec<u8>) -> usize {
    rig.arrive_unfinished(port, frame, frame::Offload::FINISHED);
    rig.settle();
    rig.sent(1 - port).len()
}

/// Runs a TCP handshake. Returns the source port of the SYN that left, if it left.
fn opens(rig: &mut Rig, [there, back]: [Udp4; 2], seq: u32) -> Option<u16> {
    let sent = rig.pass(segment(there, SYN, seq, 0));
    let port = sent
        .first()
        .map(|sent| u16::from_be_bytes([sent[34], sent[35]]))?;
    assert_eq!(comes(rig, 1, segment(back, SYN | ACK, 500, seq + 1)), 1);
    rig.pass(segment(there, ACK, seq + 1, 501));
    Some(port)
}

fn limited(count: u32) -> Rule {
    let limit = ConnectionLimit::new(count, 32).expect("address space");
    let new = Match::ConnectionState([State::New].into_iter().collect());
    let limit = Match::ConnectionLimit(Arc::new(limit));
    Rule::new(1, vec![new.into(), limit.into()], Action::Drop)
}

#[test]
fn a_client_that_connects_again_by_its_port_keeps_it() {
    for masquerade in [false, true] {
        let mut rig = rig();
        rig.details(ETHER2).address4 = Some(Ipv4Addr::from_bits(0x0a01_0001));
        client(&mut rig);
        tracked(&mut rig);
        if masquerade {
            translated(&mut rig, nat::SRCNAT, Vec::new(), MASQUERADE);
        }
        let answered = if masquerade {
            0x0a01_0001
        } else {
            Udp4::default().source
        };
        let ends = ends(5_000, answered);
        for round in 0..3 {
            let seq = 1_000_000 * (round + 1);
            assert_eq!(
                opens(&mut rig, ends, seq),
                Some(5_000),
                "masquerade {masquerade}"
            );
            rig.pass(segment(ends[0], RST, seq + 1, 0));
        }
        assert_eq!(rig.connections.totals().0, 1);
    }
}

#[test]
fn a_packet_that_a_limit_drops_leaves_its_connection_counted_until_it_ends() {
    let mut rig = rig();
    tracked(&mut rig);
    let from = |port| Udp4 {
        source_port: port,
        ..Udp4::default()
    };
    filtered(&mut rig, filter::FORWARD, Vec::new());
    for port in 1..=5 {
        rig.pass(from(port).frame());
    }
    let limit = ConnectionLimit::new(2, 32).expect("address space");
    let limit: Vec<Matcher> = vec![Match::ConnectionLimit(Arc::new(limit)).into()];
    filtered(
        &mut rig,
        filter::FORWARD,
        vec![Rule::new(1, limit, Action::Drop)],
    );

    let pass = |rig: &mut Rig, ports: core::ops::Range<u16>| {
        let sent = ports.map(|port| rig.pass(from(port).frame()).len());
        sent.sum::<usize>()
    };
    assert_eq!(pass(&mut rig, 1..6), 2);
    for second in 0..60 {
        rig.now = machine::Instant::from_secs(second);
        rig.settle();
    }
    assert_eq!(rig.connections.totals(), (0, 0));
    assert_eq!(pass(&mut rig, 11..16), 2);
}

#[test]
fn who_resets_and_connects_again_is_counted_once_and_always() {
    let mut rig = rig();
    client(&mut rig);
    tracked(&mut rig);
    filtered(&mut rig, filter::FORWARD, vec![limited(3)]);
    let all = || (1..=8).map(|port| ends(port, Udp4::default().source));
    let open = |rig: &mut Rig, seq| {
        all()
            .filter(|ends| opens(rig, *ends, seq).is_some())
            .count()
    };

    assert_eq!(open(&mut rig, 1_000), 3);
    for ends in all().take(3) {
        // Both arrive in one vector.
        rig.arrive(segment(ends[0], RST, 1_001, 0));
        rig.arrive(segment(ends[0], SYN, 2_000_000, 0));
        rig.settle();
        assert_eq!(rig.sent(1).len(), 2);
    }
    let more = all()
        .skip(3)
        .filter(|ends| opens(&mut rig, *ends, 1_000).is_some());
    assert_eq!(more.count(), 0);
}

#[test]
fn a_fasttracked_conversation_that_is_over_gives_its_count_to_the_next() {
    let mut rig = rig();
    client(&mut rig);
    tracked(&mut rig);
    let established = Match::ConnectionState([State::Established].into_iter().collect());
    let marked = Rule::new(2, vec![established.into()], Action::Fasttrack);
    filtered(&mut rig, filter::FORWARD, vec![limited(3), marked]);
    let all = || (1..=8).map(|port| ends(port, Udp4::default().source));
    for ends in all().take(3) {
        assert!(opens(&mut rig, ends, 1_000).is_some());
        assert!(rig.connections.rows(false).any(|row| row.fasttrack));
        rig.pass(segment(ends[0], FIN, 1_001, 501));
        comes(&mut rig, 1, segment(ends[1], FIN, 501, 1_002));
        // The slow path sees one packet per second: the last of the conversation.
        rig.now = machine::Instant::from_secs(2 * u64::from(ends[0].source_port));
        rig.pass(segment(ends[0], ACK, 1_002, 502));
        let mut rows = rig.connections.rows(false);
        assert!(rows.any(|row| row.tcp_state == TcpState::TimeWait));
        drop(rows);
        assert!(opens(&mut rig, ends, 2_000_000).is_some());
    }

    let more = all()
        .skip(3)
        .filter(|ends| opens(&mut rig, *ends, 1_000).is_some());
    assert_eq!(more.count(), 0);
}
