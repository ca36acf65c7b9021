//! Bridge without VLAN filtering.

use frame::switch::{Member, SwitchPorts, Switched, VlanPorts};

use crate::bed::*;
use crate::common::*;

fn bed() -> Option<Bed> {
    let bed = Bed::new()?;
    bed.bridge(None, 0);
    bed.vlan(0, &[]);
    Some(bed)
}

#[test]
fn frames_between_known_hosts_are_switched_and_counted() {
    in_namespace_as_root(|| {
        let Some(mut bed) = bed() else { return };
        let frames: Vec<_> = (0..64)
            .map(|number| between(mac(0), mac(1), number, 60 + number * 20))
            .collect();
        let vlan = tagged(&frames[0], 7);

        bed.passes((0, 1), &frames, &frames);
        bed.passes(
            (0, 1),
            std::slice::from_ref(&vlan),
            std::slice::from_ref(&vlan),
        );
        let back = [between(mac(1), mac(0), 1, 100)];
        bed.passes((1, 0), &back, &back);

        let bytes = frames.iter().map(Vec::len).sum::<usize>() + vlan.len();
        let one = Switched {
            from: bed.seat(0),
            to: bed.seat(1),
            frames: 65,
            bytes: bytes as u64,
        };
        let other = Switched {
            from: bed.seat(1),
            to: bed.seat(0),
            frames: 1,
            bytes: 100,
        };
        assert_eq!(bed.switched(), [one, other]);
        assert_eq!(bed.switched(), []);
    });
}

#[test]
fn all_other_frames_go_to_the_worker() {
    in_namespace_as_root(|| {
        let Some(mut bed) = bed() else { return };
        let known = [between(mac(0), mac(1), 1, 60)];
        bed.passes((0, 1), &known, &known);

        let long = [between(mac(0), mac(1), 1, 1514)];
        bed.passes((0, 1), &long, &long);

        bed.is_asked(
            0,
            &[
                between(mac(0), mac(9), 1, 60),
                between(mac(9), mac(1), 2, 60),
                between(mac(0), [0xff; 6], 3, 60),
                between(mac(0), [1, 0x80, 0xc2, 0, 0, 0], 4, 60),
                between([3, 0, 0, 0, 1, 0], mac(1), 5, 60),
                // A frame to its own sender, and from a host known on another port.
                between(mac(0), mac(0), 6, 60),
                between(mac(2), mac(1), 7, 60),
                tagged(&between(mac(0), mac(1), 8, 1514), 7),
            ],
        );
        assert_eq!(bed.switched().len(), 1);
    });
}

#[test]
fn a_change_takes_effect_at_once() {
    in_namespace_as_root(|| {
        let Some(mut bed) = bed() else { return };
        let frame = [between(mac(0), mac(1), 1, 60)];
        let port = bed.seat(1);
        bed.passes((0, 1), &frame, &frame);

        bed.switch.flush(port);
        bed.is_asked(0, &frame);
        bed.switch.learn(&host(1, 0), port);
        bed.passes((0, 1), &frame, &frame);

        bed.switch.forget(&host(1, 0));
        bed.is_asked(0, &frame);
        bed.switch.learn(&host(1, 0), bed.seat(2));
        bed.passes((0, 2), &frame, &frame);
        bed.switch.learn(&host(1, 0), port);
        bed.passes((0, 1), &frame, &frame);

        // Spanning tree blocks the port.
        let blocked = VlanPorts {
            ingress: bed.seats(&[0, 1, 2]),
            egress: bed.seats(&[0, 2]),
            untagged: SwitchPorts::default(),
        };
        bed.switch.set_vlan(group(1), 0, &blocked);
        bed.is_asked(0, &frame);
        bed.vlan(0, &[]);
        bed.passes((0, 1), &frame, &frame);

        let isolated = Member {
            reaches: bed.seats(&[2]),
            ..bed.member(None)
        };
        bed.switch.set_member(bed.seat(0), Some(&isolated));
        bed.is_asked(0, &frame);
        bed.switch.set_member(bed.seat(0), None);
        bed.is_asked(0, &frame);
        let other = Member {
            group: group(2),
            ..bed.member(None)
        };
        bed.switch.set_member(bed.seat(0), Some(&other));
        bed.is_asked(0, &frame);
    });
}

#[test]
fn a_port_without_learning_accepts_all_source_addresses() {
    in_namespace_as_root(|| {
        let Some(mut bed) = bed() else { return };
        let frame = [between(mac(9), mac(1), 1, 60)];
        bed.is_asked(0, &frame);

        let member = Member {
            learns: false,
            ..bed.member(None)
        };
        bed.switch.set_member(bed.seat(0), Some(&member));

        bed.passes((0, 1), &frame, &frame);
    });
}
