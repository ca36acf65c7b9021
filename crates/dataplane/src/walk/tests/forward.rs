//! Tests of forwarding and its counters.

use super::{forwarded4, ip4, rig, with_options};
use crate::out::OutId;
use crate::punt::PuntReason;
use crate::snapshot::SlowReason;
use crate::table::{Adjacency, Kind};
use crate::testing::{
    ETHER1, ETHER2, GATEWAY, MAC, Rig, Udp4, Udp6, VLAN10, arp, ethernet, gateway,
};

#[test]
fn a_forwarded_packet_differs_in_link_header_ttl_and_checksum_only() {
    let mut rig = rig();
    for ttl in 2..=255 {
        for destination in [0x0b00_0000, 0x0bff_fffe, 0x0b12_3456] {
            let udp = Udp4 {
                ttl,
                destination,
                source: 0x0100_0000 | u32::from(ttl) << 8 | destination & 0xff,
                ..Udp4::default()
            };

            assert_eq!(rig.pass(udp.frame()), [forwarded4(&udp.packet())]);
        }
    }
    assert_eq!(rig.drops(), []);
}

#[test]
fn padding_of_the_last_link_is_not_passed_on() {
    let mut rig = rig();
    let udp = Udp4 {
        payload: 1,
        ..Udp4::default()
    };
    let mut frame = udp.frame();
    frame.resize(60, 0xaa);

    assert_eq!(rig.pass(frame), [forwarded4(&udp.packet())]);
}

#[test]
fn ipv6_is_forwarded_with_one_hop_less() {
    let mut rig = Rig::new();
    let mut adjacency = gateway();
    adjacency.header[12..14].copy_from_slice(&[0x86, 0xdd]);
    rig.writer.set_next_hop(rig.gateway, &adjacency);
    let udp = Udp6::default();

    let sent = rig.pass(udp.frame());

    let mut expected = udp.frame();
    expected[..12].copy_from_slice(&GATEWAY);
    expected[14 + 7] -= 1;
    assert_eq!(sent, [expected]);
    assert_eq!(rig.counters[0].ipv6_fast_path.get().packets, 1);
}

#[test]
fn counters_say_what_went_through() {
    let mut rig = rig();
    for _ in 0..300 {
        rig.arrive(Udp4::default().frame());
    }
    rig.settle();

    let (ether1, ether2) = (rig.traffic(ETHER1), rig.traffic(ETHER2));
    assert_eq!((ether1.rx.packets, ether1.rx.bytes), (300, 300 * 60));
    assert_eq!((ether2.tx.packets, ether2.tx.bytes), (300, 300 * 60));
    assert_eq!(ether1.fp_rx, ether1.rx);
    assert_eq!(ether2.fp_tx, ether2.tx);
    let fast = rig.counters[0].ipv4_fast_path.get();
    assert_eq!((fast.packets, fast.bytes), (300, 300 * 46));
}

#[test]
fn a_slow_interface_counts_nothing_as_fast_and_forwards_alike() {
    let mut rig = rig();
    rig.slow4(&[SlowReason::NotAllowed]);
    rig.publish();

    assert_eq!(
        rig.pass(Udp4::default().frame()),
        [forwarded4(&Udp4::default().packet())]
    );
    assert_eq!(rig.counters[0].ipv4_fast_path.get().packets, 0);
    assert_eq!(rig.traffic(ETHER1).fp_rx.packets, 0);
    assert_eq!(rig.traffic(ETHER2).tx.packets, 1);
}

#[test]
fn options_that_are_well_formed_are_forwarded() {
    let mut rig = rig();
    // Router alert, end of options.
    let packet = with_options(&[148, 4, 0, 0, 1, 1, 1, 0]);

    assert_eq!(rig.pass(ip4(&packet)), [forwarded4(&packet)]);
}

#[test]
fn vlan_frames_enter_by_their_interface_and_leave_with_their_tag() {
    let mut rig = rig();
    rig.use_vlan10();
    rig.publish();
    let udp = Udp4::default();
    let mut tagged = ethernet(MAC, 0x8100, &[0xe0, 10, 0x08, 0x00]);
    tagged.extend(udp.packet());
    // A priority tag names no VLAN.
    let mut priority = ethernet(MAC, 0x8100, &[0xe0, 0, 0x08, 0x00]);
    priority.extend(udp.packet());

    assert_eq!(rig.pass(tagged.clone()), [forwarded4(&udp.packet())]);
    assert_eq!(rig.pass(priority), [forwarded4(&udp.packet())]);
    let vlan = rig.traffic(VLAN10);
    assert_eq!((vlan.rx.packets, vlan.rx.bytes), (1, tagged.len() as u64));
    assert_eq!(rig.traffic(ETHER1).rx.packets, 2);

    let mut adjacency = Adjacency {
        egress: VLAN10,
        out: OutId::port(0),
        header_len: 18,
        ..gateway()
    };
    adjacency.header[12..18].copy_from_slice(&[0x81, 0, 0, 10, 0x08, 0x00]);
    rig.writer.set_next_hop(rig.gateway, &adjacency);
    rig.arrive(udp.frame());
    rig.settle();

    let sent = rig.sent(0);
    assert_eq!(sent[0][..18], adjacency.header[..18]);
    assert_eq!(sent[0][18..], forwarded4(&udp.packet())[14..]);
    assert_eq!(rig.traffic(VLAN10).tx.packets, 1);
    assert_eq!(rig.traffic(ETHER1).tx.packets, 1);
}

#[test]
fn a_packet_that_goes_back_where_it_came_from_is_told_of_once_per_vector() {
    let mut rig = rig();
    rig.lead_back();
    rig.snapshot.send_redirects = true;
    rig.publish();
    let udp = Udp4 {
        payload: 400,
        ..Udp4::default()
    };
    rig.arrive(udp.frame());
    rig.arrive(udp.frame());
    rig.settle();

    assert_eq!(rig.sent(0).len(), 2);
    assert_eq!(
        rig.punts(),
        [(
            PuntReason::Redirect(rig.gateway),
            udp.frame()[..128].to_vec()
        )]
    );
}

#[test]
fn a_packet_that_will_go_back_is_told_of_though_its_neighbour_is_not_known() {
    let mut rig = rig();
    rig.snapshot.send_redirects = true;
    rig.publish();
    let udp = Udp4::default();
    for egress in [ETHER1, ETHER2] {
        let unknown = Adjacency {
            kind: Kind::Incomplete,
            egress,
            ..Adjacency::default()
        };
        rig.writer.set_next_hop(rig.gateway, &unknown);
        rig.arrive(udp.frame());
        rig.arrive(udp.frame());
        rig.settle();
    }

    let told: Vec<_> = rig.punts().into_iter().map(|(why, _)| why).collect();
    let (back, waits) = (
        PuntReason::Redirect(rig.gateway),
        PuntReason::Unresolved(rig.gateway),
    );
    // Only packets from the first interface leave by their ingress interface.
    assert_eq!(told, [back, waits, waits, waits, waits]);
}

#[test]
fn packets_of_all_kinds_in_one_vector_leave_in_their_order() {
    let mut rig = rig();
    let mut expected = Vec::new();
    for number in 0..250u16 {
        let four = Udp4 {
            source_port: number,
            ..Udp4::default()
        };
        let six = Udp6 {
            source: Udp6::default().source + u128::from(number),
            ..Udp6::default()
        };
        let old = Udp4 { ttl: 1, ..four };
        let frame = match number % 7 {
            0 | 3 | 4 => four.frame(),
            1 | 5 => six.frame(),
            2 => arp(),
            _ => old.frame(),
        };
        if !matches!(number % 7, 2 | 6) {
            expected.push(frame[26..40].to_vec());
        }
        rig.arrive(frame);
    }
    rig.settle();

    let sent = rig.sent(1);
    let sent: Vec<_> = sent.iter().map(|frame| frame[26..40].to_vec()).collect();
    assert_eq!(sent, expected);
    assert_eq!(rig.punts().len(), 250 - expected.len());
    let traffic = rig.traffic(ETHER1);
    assert_eq!(traffic.fp_rx.packets, expected.len() as u64);
    assert_eq!(traffic.rx.packets, 250);
}
