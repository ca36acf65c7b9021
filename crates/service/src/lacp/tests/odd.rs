//! Partners that are silent, send garbage, or are this bond itself.

use machine::{Duration, Instant, Machine, Rng};
use wire::lacp::{Information, LEN, Marker, Pdu, State};

use super::net::{Net, UP, system};
use crate::lacp::{Action, Config, Event, Lacp, Mux, Receive, Selected};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn without_a_partner_one_port_carries_all_frames() {
    let mut net = Net::of(1, |_, _| ());
    for port in 1..=2 {
        net.feed(0, Event::Port(port));
        net.feed(0, Event::Link(port, UP));
    }
    net.run(SECOND * 2);
    assert_eq!(net.carries(0), [] as [u16; 0]);
    net.run(SECOND * 5);
    assert_eq!(net.carries(0), [1]);
    assert_eq!(net.port(0, 1).receive, Receive::Defaulted);
    assert_eq!(net.bonds[0].aggregate().expect("one").partner, None);
    assert_eq!(net.port(0, 2).selected, Selected::Standby);

    net.feed(0, Event::PortGone(1));
    net.run(SECOND);
    assert_eq!(net.carries(0), [1, 2], "the port that is gone is not told");
}

#[test]
fn ports_with_a_partner_are_preferred() {
    let mut net = Net::of(2, |_, _| ());
    net.feed(0, Event::Port(1));
    net.feed(0, Event::Link(1, UP));
    net.run(SECOND * 10);
    assert_eq!(net.carries(0), [1]);
    net.join((0, 2), (1, 1));
    net.run(SECOND * 5);
    assert_eq!(net.carries(0), [2]);
}

#[test]
fn a_port_that_receives_its_own_lacpdus_carries_nothing() {
    let mut net = Net::of(2, |_, _| ());
    net.join((0, 1), (0, 2));
    net.join((0, 3), (1, 1));
    net.run(SECOND * 10);
    assert_eq!(net.carries(0), [3]);
    assert!(net.port(0, 1).looped && net.port(0, 2).looped);
    net.looped.sort_unstable();
    assert_eq!(net.looped, [(0, 1), (0, 2)], "told once");
}

#[test]
fn a_partner_with_wrong_partner_information_gets_no_frames() {
    let mut lacp = Lacp::new(Config::new(system(0)));
    let (mut out, mut now) = (Vec::new(), Instant::from_secs(1));
    lacp.handle(Event::Port(1), now, &mut out);
    lacp.handle(Event::Link(1, UP), now, &mut out);
    let actor = Information {
        system: system(7),
        port: 3,
        state: State::ACTIVITY
            .and(State::AGGREGATION)
            .and(State::SYNCHRONIZATION)
            .and(State::COLLECTING),
        ..Information::default()
    };
    for partner in [system(3), system(0)] {
        let own = lacp.port(1).expect("a port").actor;
        let pdu = Pdu::Lacp {
            actor,
            partner: Information {
                system: partner,
                ..own
            },
            collector_delay: 0,
        };
        for _ in 0..5 {
            lacp.handle(Event::Received(1, &pdu.to_bytes()), now, &mut out);
            now += SECOND;
            lacp.tick(now, &mut out);
        }
        let wanted = match partner == system(0) {
            true => Mux::Distributing,
            false => Mux::Attached,
        };
        assert_eq!(lacp.port(1).expect("a port").mux, wanted);
    }
}

#[test]
fn a_port_sends_at_most_three_lacpdus_per_second() {
    let mut lacp = Lacp::new(Config::new(system(0)));
    let (mut out, mut now) = (Vec::new(), Instant::from_secs(1));
    lacp.handle(Event::Port(1), now, &mut out);
    lacp.handle(Event::Link(1, UP), now, &mut out);
    for round in 0..1_000u16 {
        let pdu = Pdu::Lacp {
            actor: Information {
                system: system(7),
                port: round,
                state: State::ACTIVITY.and(State::SHORT_TIMEOUT),
                ..Information::default()
            },
            partner: Information::default(),
            collector_delay: 0,
        };
        lacp.handle(Event::Received(1, &pdu.to_bytes()), now, &mut out);
        now += Duration::from_millis(10);
        lacp.tick(now, &mut out);
    }
    let sends = |action: &&Action| matches!(action, Action::Send { .. });
    let sent = out.iter().filter(sends).count();
    assert!((10..=33).contains(&sent), "{sent} in ten seconds");
}

#[test]
fn markers_are_answered_and_answers_are_limited() {
    let mut lacp = Lacp::new(Config::new(system(0)));
    let (mut out, now) = (Vec::new(), Instant::from_secs(1));
    lacp.handle(Event::Port(1), now, &mut out);
    lacp.handle(Event::Link(1, UP), now, &mut out);
    out.clear();
    let marker = Marker {
        port: 9,
        system: system(7),
        transaction: 77,
    };
    let asked = Pdu::Marker {
        response: false,
        marker,
    };
    for _ in 0..100 {
        lacp.handle(Event::Received(1, &asked.to_bytes()), now, &mut out);
    }
    let answer = Action::Send {
        port: 1,
        pdu: Box::new(
            Pdu::Marker {
                response: true,
                marker,
            }
            .to_bytes(),
        ),
    };
    assert_eq!(out, vec![answer; 5]);
    assert_eq!(lacp.port(1).expect("a port").counters.markers, 100);
}

#[test]
fn malformed_frames_only_increment_a_counter() {
    let mut net = Net::of(2, |_, _| ());
    net.join((0, 1), (1, 1));
    net.run(SECOND * 5);
    let mut rng = Rng::seeded(5);
    let mut heard = 0;
    for _ in 0..10_000 {
        let mut bytes = vec![0; rng.below(LEN as u64 + 20) as usize];
        rng.fill(&mut bytes);
        heard += u64::from(Pdu::parse(&bytes).is_ok());
        net.feed(0, Event::Received(1, &bytes));
    }
    assert_eq!(heard, 0, "random bytes are no PDU");
    assert_eq!(net.port(0, 1).counters.unknown, 10_000);
    assert_eq!(net.carries(0), [1]);
}
