//! Tests of stations: several MAC addresses on one interface.

use std::sync::Arc;

use frame::InterfaceId;
use wire::Mac;

use super::{forwarded4, rig};
use crate::drop::DropReason;
use crate::interface::{Details, Interface};
use crate::out::OutId;
use crate::rings::Command;
use crate::testing::{ARP, ETHER1, MAC, Rig, Udp4, VLAN10, arp, ethernet};
use crate::trace::trace_packet;

const STATION: InterfaceId = InterfaceId(11);
const OTHER: InterfaceId = InterfaceId(12);
/// The MAC address of virtual router 1, and another one.
const VIRTUAL: [u8; 6] = [0, 0, 0x5e, 0, 1, 1];
const SECOND: [u8; 6] = [2, 0, 0, 0, 9, 9];

/// Adds a station with this MAC address to an interface.
fn put(
    rig: &mut Rig,
    (on, through): (InterfaceId, &[InterfaceId]),
    (id, mac): (InterfaceId, [u8; 6]),
) {
    let below = *rig.interface(on);
    let line = Interface {
        mac: Mac(mac),
        under: on,
        ..below
    };
    rig.interfaces.set(id, &line);
    let details = Details {
        name: "vrrp1".into(),
        ..Details::default()
    };
    rig.interfaces.set_details(id, Arc::new(details));
    let room = rig.interfaces.set_station(on, Mac(mac), through, Some(id));
    assert!(room);
}

fn to(mac: [u8; 6], udp: &Udp4) -> Vec<u8> {
    ethernet(mac, 0x0800, &udp.packet())
}

fn tagged(frame: &[u8]) -> Vec<u8> {
    let mut tagged = frame.to_vec();
    tagged.splice(12..12, [0x81, 0, 0, 10]);
    tagged
}

fn received(rig: &Rig, id: InterfaceId) -> u64 {
    rig.traffic(id).rx.packets
}

#[test]
fn a_frame_to_a_station_is_forwarded_as_its_own_beside_those_of_the_interface() {
    let mut rig = rig();
    put(&mut rig, (ETHER1, &[]), (STATION, VIRTUAL));
    let udp = Udp4::default();
    for mac in [VIRTUAL, MAC, VIRTUAL, SECOND] {
        rig.arrive(to(mac, &udp));
    }
    rig.settle();

    assert_eq!(rig.sent(1), vec![forwarded4(&udp.packet()); 3]);
    assert_eq!(rig.drops(), [(DropReason::EthernetOther, 1)]);
    assert_eq!((received(&rig, ETHER1), received(&rig, STATION)), (4, 2));
}

#[test]
fn a_station_that_is_gone_or_does_not_run_gets_nothing() {
    let mut rig = rig();
    put(&mut rig, (ETHER1, &[]), (STATION, VIRTUAL));
    let line = rig.interfaces.get(STATION).expect("it is there");
    let down = Interface {
        running: false,
        ..line
    };
    rig.interfaces.set(STATION, &down);
    assert_eq!(rig.pass(to(VIRTUAL, &Udp4::default())), [[0; 0]; 0]);
    assert_eq!(rig.drops(), [(DropReason::InterfaceDown, 1)]);

    rig.interfaces.set_station(ETHER1, Mac(VIRTUAL), &[], None);
    assert!(rig.interfaces.get(ETHER1).is_some_and(|is| !is.stations));
    assert_eq!(rig.pass(to(VIRTUAL, &Udp4::default())), [[0; 0]; 0]);
    let expected = [
        (DropReason::EthernetOther, 1),
        (DropReason::InterfaceDown, 1),
    ];
    assert_eq!(rig.drops(), expected);
}

#[test]
fn what_is_for_all_is_heard_on_the_interface_and_on_every_station_that_runs() {
    let mut rig = rig();
    put(&mut rig, (ETHER1, &[]), (STATION, VIRTUAL));
    put(&mut rig, (ETHER1, &[]), (OTHER, SECOND));
    rig.pass(arp());

    let heard: Vec<_> = rig.punts().into_iter().map(|(why, _)| why).collect();
    assert_eq!(heard, [ARP; 3]);
    let counts = [ETHER1, STATION, OTHER].map(|id| received(&rig, id));
    assert_eq!(counts, [1, 1, 1]);
}

#[test]
fn a_station_on_a_vlan_gets_what_comes_with_its_tag_and_nothing_else() {
    let mut rig = rig();
    rig.use_vlan10();
    put(&mut rig, (VLAN10, &[ETHER1]), (STATION, VIRTUAL));
    rig.publish();
    let udp = Udp4::default();

    assert_eq!(rig.pass(to(VIRTUAL, &udp)), [[0; 0]; 0]);
    let frame = tagged(&to(VIRTUAL, &udp));
    assert_eq!(rig.pass(frame), [forwarded4(&udp.packet())]);
    rig.pass(tagged(&arp()));

    let expected = [(DropReason::EthernetOther, 1)];
    assert_eq!(rig.drops(), expected);
    assert_eq!(rig.punts().len(), 2);
    assert_eq!((received(&rig, VLAN10), received(&rig, STATION)), (2, 2));
    rig.interfaces
        .set_station(VLAN10, Mac(VIRTUAL), &[ETHER1], None);
    assert!(
        rig.interfaces
            .get(ETHER1)
            .is_some_and(|is| !is.stations && is.vlans)
    );
}

#[test]
fn a_trace_names_the_station() {
    let mut rig = rig();
    put(&mut rig, (ETHER1, &[]), (STATION, VIRTUAL));
    let frame = to(VIRTUAL, &Udp4::default());
    let walked = trace_packet(rig.tables(), &frame, ETHER1);
    let first = walked.lines.first().expect("ingress decided");
    assert_eq!(first.decision, "arrived on vrrp1");
}

/// Adds two stations to `ether1` that send by its link, and reach each other there if `bridged`.
fn two(rig: &mut Rig, bridged: bool) {
    for (id, mac) in [(STATION, VIRTUAL), (OTHER, SECOND)] {
        put(rig, (ETHER1, &[]), (id, mac));
        if bridged {
            let line = rig.interfaces.get(id).expect("it is there");
            let out = OutId::station(id);
            rig.interfaces.set(id, &Interface { out, ..line });
        }
    }
}

#[test]
fn what_a_bridged_station_sends_reaches_the_others_of_its_link() {
    for bridged in [true, false] {
        let mut rig = rig();
        two(&mut rig, bridged);
        let send = |rig: &mut Rig, frame: Vec<u8>| {
            let mut frame = rig.pool.alloc_from(&frame).expect("room");
            frame.egress = STATION;
            frame.l3 = 14;
            rig.command(Command::Transmit(frame));
            rig.settle();
        };
        let question = arp();
        send(&mut rig, question.clone());
        assert_eq!(rig.sent(0), [question], "it leaves in any case");
        assert_eq!(rig.punts().len(), usize::from(bridged));
        assert_eq!(received(&rig, OTHER), u64::from(bridged));

        let udp = Udp4::default();
        send(&mut rig, to(SECOND, &udp));
        let (left, forwarded) = (rig.sent(0).len(), rig.sent(1).len());
        assert_eq!((left, forwarded), if bridged { (0, 1) } else { (1, 0) });
        send(&mut rig, to([2, 0, 0, 0, 7, 7], &udp));
        assert_eq!(rig.sent(0).len(), 1, "nobody here has it");
    }
}
