//! Tests of several workers: each flow has one home worker.

use frame::Class;
use frame::shortcut::ConnectionTraffic;
use machine::Instant;

use super::firewall::tracked;
use super::{gateway4, ip4};
use crate::drop::DropReason;
use crate::testing::{Rig, SIZES, Udp4};

#[test]
fn a_flow_stays_in_order_on_one_of_several_workers() {
    let mut rig = Rig::with_workers(3);
    gateway4(&mut rig);
    for sequence in 0..40 {
        for flow in 0..25 {
            let udp = Udp4 {
                source_port: flow,
                destination_port: sequence,
                protocol: 17,
                ..Udp4::default()
            };
            let mut packet = udp.packet();
            // The sequence number is in the payload, so all packets belong to one flow.
            packet[22..24].copy_from_slice(&[0, 53]);
            packet[28..30].copy_from_slice(&sequence.to_be_bytes());
            rig.arrive(ip4(&packet));
        }
    }
    rig.settle();

    let sent = rig.sent(1);
    assert_eq!(sent.len(), 1000);
    for flow in 0..25u16 {
        let of_flow = sent.iter().filter(|f| f[34..36] == flow.to_be_bytes());
        let sequence: Vec<_> = of_flow
            .map(|f| u16::from_be_bytes([f[42], f[43]]))
            .collect();
        assert_eq!(sequence, (0..40).collect::<Vec<_>>());
    }
    for counters in &rig.counters {
        assert!(counters.ipv4_fast_path.get().packets > 100);
    }
    // Frames that workers 1 and 2 handed over reached their home.
    for worker in &mut rig.workers {
        worker.pool().collect();
        let free = worker.pool().available(Class::Small);
        assert_eq!(free, SIZES.small as usize);
    }
}

#[test]
fn a_worker_that_stands_still_costs_the_others_their_overflow_only() {
    let mut rig = Rig::with_workers(2);
    gateway4(&mut rig);
    rig.settle();
    let mut expected = 0;
    for port in 0..3000 {
        let udp = Udp4 {
            source_port: port,
            ..Udp4::default()
        };
        let frame = udp.frame();
        expected += u64::from(crate::handover::home(&frame, true, 2) == Some(1));
        rig.arrive(frame);
        rig.workers[0].step(Instant::ZERO);
    }

    assert_eq!(rig.drops(), [(DropReason::HandoverFull, expected - 1024)]);
    assert_eq!(rig.sent(1).len() as u64, 3000 - expected);
    rig.workers[1].close();
}

#[test]
fn a_holder_that_takes_all_it_may_cannot_stop_reception() {
    let mut rig = Rig::new();
    gateway4(&mut rig);
    tracked(&mut rig);
    let unresolved = Udp4 {
        destination: 0x0c04_0001,
        ..Udp4::default()
    };
    let mut held = Vec::new();
    // Control holds each packet with an unresolved neighbour, as long as it may.
    let refused = loop {
        rig.arrive(unresolved.frame());
        rig.settle();
        let mut punt = rig.remotes[0].punts.pop().expect("it is handed to control");
        match rig.pool.hold(&mut punt.frame) {
            true => held.push(punt.frame),
            false => break punt.frame,
        }
    };
    rig.pool.free(refused);
    let (taken, bound) = rig.workers[0].pool().held(Class::Small);
    assert_eq!((taken, held.len()), (bound, bound));

    let fragment = Udp4 {
        fragment: 0x2000,
        payload: 16,
        ..Udp4::default()
    };
    assert_eq!(rig.pass(fragment.frame()), Vec::<Vec<u8>>::new());
    for _ in 0..1000 {
        rig.arrive(Udp4::default().frame());
    }
    rig.settle();

    assert_eq!(rig.sent(1).len(), 1000);
    assert_eq!(rig.drops(), [(DropReason::PoolReserve, 1)]);
    held.drain(..).for_each(|frame| rig.pool.free(frame));
    assert_eq!(rig.workers[0].pool().held(Class::Small).0, 0);
}

#[test]
fn a_connection_ends_with_no_steps_but_those_that_the_worker_asks_for() {
    let mut rig = Rig::new();
    gateway4(&mut rig);
    tracked(&mut rig);
    assert_eq!(rig.workers[0].deadline(), None);

    rig.pass(Udp4::default().frame());
    let mut steps = 0;
    while let Some(due) = rig.workers[0].deadline() {
        assert!(due > rig.now, "what was due is done");
        rig.now = due;
        rig.settle();
        steps += 1;
    }

    assert_eq!(rig.connections.totals(), (0, 0));
    assert!(steps <= 2, "{steps}");
    // `udp-timeout`, and the granularity of the timers.
    let timeout = crate::connection::Settings::default().udp.as_secs();
    assert!((timeout..=timeout + 1).contains(&(rig.now.as_nanos() / 1_000_000_000)));
}

#[test]
fn a_worker_wakes_a_device_until_that_has_sent_everything() {
    let mut rig = Rig::new();
    gateway4(&mut rig);
    rig.ports[1].line().flushes = 3;
    rig.pass(Udp4::default().frame());

    let mut steps = 0;
    while let Some(due) = rig.workers[0].deadline() {
        assert!(due > rig.now, "a device needs time to send");
        rig.now = due;
        rig.settle();
        steps += 1;
    }

    assert!(steps > 0 && rig.ports[1].line().flushes == 0, "{steps}");
}

#[test]
fn the_earliest_of_what_is_due_counts() {
    let mut rig = Rig::new();
    gateway4(&mut rig);
    tracked(&mut rig);
    rig.pass(Udp4::default().frame());
    let connection = rig.workers[0].deadline().expect("a connection");

    rig.ports[0].line().device = Some(9);
    rig.ports[0].line().gathered.push(ConnectionTraffic {
        token: 1,
        packets: 0,
        bytes: 0,
    });
    let gathering = rig.workers[0].deadline().expect("a shortcut");

    assert!(rig.now < gathering && gathering < connection);
}
