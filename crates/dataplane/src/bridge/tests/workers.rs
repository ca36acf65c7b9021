//! Tests of bridges with several workers.

use frame::Class;

use super::rig::{BRIDGE, Switch, WIRE, frame};
use crate::testing::{SIZES, Udp4};

const A: [u8; 6] = [2, 0xa, 0, 0, 0, 1];
const B: [u8; 6] = [2, 0xb, 0, 0, 0, 1];

/// Returns a switch whose ports' frames are spread over the workers.
fn switch(workers: usize) -> Switch {
    let mut switch = Switch::with_workers(2, workers);
    for port in &mut switch.rig.snapshot.ports[3..] {
        port.steer = true;
    }
    switch.rig.publish();
    switch
}

#[test]
fn a_bridged_flow_stays_with_the_worker_that_receives_it() {
    let mut switch = switch(3);
    switch.knows(B, 1);
    for flow in 0..200 {
        let udp = Udp4 {
            source_port: flow,
            to: B,
            ..Udp4::default()
        };
        switch.arrive(0, &udp.frame());
    }
    switch.rig.settle();
    assert_eq!(switch.sent().len(), 200);
    let bridged = |place: usize| switch.rig.counters[place].bridge_fast_path.get().packets;
    assert_eq!([bridged(0), bridged(1), bridged(2)], [200, 0, 0]);
}

#[test]
fn what_goes_up_is_spread_by_flow_and_stays_in_order() {
    let mut switch = switch(3);
    for sequence in 0..40u16 {
        for flow in 0..25 {
            let udp = Udp4 {
                source_port: flow,
                to: super::rig::OWN,
                payload: 10,
                ..Udp4::default()
            };
            let mut packet = udp.frame();
            let last = packet.len() - 2;
            packet[last..].copy_from_slice(&sequence.to_be_bytes());
            switch.arrive(0, &packet);
            // Frames between two bridge ports.
            switch.arrive(0, &frame(B, A, &[0x88, 0xb5]));
        }
    }
    switch.rig.settle();
    let all = switch.sent();
    let routed: Vec<_> = all.iter().filter(|(port, _)| *port == WIRE).collect();
    assert_eq!(routed.len(), 1000);
    for flow in 0..25u16 {
        let of_flow = routed
            .iter()
            .filter(|(_, f)| f[34..36] == flow.to_be_bytes());
        let sequence: Vec<_> = of_flow
            .map(|(_, f)| u16::from_be_bytes([f[f.len() - 2], f[f.len() - 1]]))
            .collect();
        assert_eq!(sequence, (0..40).collect::<Vec<_>>(), "flow {flow}");
    }
    assert_eq!(all.len() - routed.len(), 1000);
    for counters in &switch.rig.counters {
        assert!(counters.ipv4_fast_path.get().packets > 100);
    }
    assert_eq!(switch.rig.traffic(BRIDGE).rx.packets, 1000);
    for worker in &mut switch.rig.workers {
        worker.pool().collect();
        let free = worker.pool().available(Class::Small);
        assert_eq!(free, SIZES.small as usize);
    }
}
