//! Tests of the tracer: it decides as a worker does, and changes nothing.

use super::drops::refused;
use super::rig;
use crate::drop::DropReason;
use crate::testing::{ETHER1, ETHER2, Rig, Udp4, Udp6, arp};
use crate::trace::{End, trace_packet};
use crate::walk::Exit;

#[test]
fn the_tracer_decides_as_the_worker_does_and_moves_no_counter() {
    let mut rig = rig();
    let mut frames: Vec<_> = refused().into_iter().map(|(_, frame)| frame).collect();
    frames.extend([Udp4::default().frame(), Udp6::default().frame(), arp()]);
    for frame in frames {
        let before = format!("{:?}", rig.counters);

        let walked = trace_packet(rig.tables(), &frame, ETHER1);

        assert_eq!(before, format!("{:?}", rig.counters));
        let drops = rig.drops();
        let sent = rig.pass(frame.clone());
        match walked.end {
            End::Sent(egress) => assert_eq!((egress, sent.len()), (ETHER2, 1)),
            End::Exit(Exit::Drop(reason)) => {
                let dropped = |drops: &[(DropReason, u64)]| {
                    let counted = drops.iter().find(|(other, _)| *other == reason);
                    counted.map_or(0, |(_, count)| *count)
                };
                assert_eq!(dropped(&rig.drops()), dropped(&drops) + 1, "{reason:?}");
            }
            End::Exit(Exit::Punt(why)) => assert_eq!(rig.punts(), [(why, frame)]),
            End::Exit(exit) => panic!("{exit:?}"),
        }
        rig.punts();
    }
}

#[test]
fn a_trace_reads_stage_by_stage() {
    let mut rig = rig();
    let read = |rig: &Rig, frame: &[u8]| {
        let walked = trace_packet(rig.tables(), frame, ETHER1);
        let lines = walked.lines.iter();
        lines
            .map(|line| format!("{}: {}", line.stage.name(), line.decision))
            .collect::<Vec<_>>()
    };

    assert_eq!(
        read(&rig, &Udp4::default().frame()),
        [
            "ingress: arrived on ether1",
            "prerouting: 11.0.0.2 is to be routed",
            "routing: leaves by ether2",
            "forward: fits the link",
            "egress: sent by ether2",
        ]
    );
    rig.own([10, 0, 0, 2].into());
    assert_eq!(
        read(&rig, &Udp4::default().frame()).last().map(|l| &**l),
        Some("prerouting: drop: ipv4-own-source")
    );
}
