use std::sync::{Arc, Mutex};

use frame::switch::{Filling, Switched as Crossed};

use super::*;
use crate::bridge::tests::rig;
use crate::bridge::{Bridges, PortSet, VlanTable};

/// A switch that records its calls.
#[derive(Debug, Default)]
struct Noted(Mutex<Vec<String>>, Mutex<Option<u32>>);

impl Noted {
    fn note(&self, what: String) {
        self.0.lock().expect("one thread").push(what);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("one thread"))
    }
}

fn host_in_words(host: &HostKey) -> String {
    format!("{}/{}/{:x}", host.group.number(), host.vid, host.mac[5])
}

impl BridgeOffload for Noted {
    fn set_member(&self, seat: SwitchPort, member: Option<&Member>) {
        let what = member.map_or("gone", |_| "member");
        self.note(format!("{what} {}", seat.number()));
    }

    fn set_vlan(&self, group: Group, vid: u16, seats: &VlanPorts) {
        self.note(format!(
            "vlan {}/{vid} {:b} {:b} {:b}",
            group.number(),
            seats.ingress.0,
            seats.egress.0,
            seats.untagged.0
        ));
    }

    fn set_limit(&self, group: Group, hosts: u32) {
        self.note(format!("limit {} {hosts}", group.number()));
    }

    fn flush(&self, seat: SwitchPort) {
        self.note(format!("flush {}", seat.number()));
    }

    fn forget(&self, host: &HostKey) {
        self.note(format!("forget {}", host_in_words(host)));
    }

    fn seen(&self, _: &HostKey) -> Option<u32> {
        *self.1.lock().expect("one thread")
    }

    fn learn(&self, host: &HostKey, seat: SwitchPort) {
        self.note(format!("learn {} {}", host_in_words(host), seat.number()));
    }

    fn take(&self, _: &mut dyn FnMut(Crossed)) {}

    fn sweep(&self) {}

    fn filling(&self, _: Group) -> Filling {
        Filling::default()
    }
}

fn seat(number: usize) -> SwitchPort {
    SwitchPort::new(number).expect("a seat")
}

fn group(number: usize) -> Group {
    Group::new(number).expect("a group")
}

/// Returns a port with an offload in this group, at this switch port.
fn port(of: usize, number: usize) -> BridgePort {
    BridgePort {
        interface: InterfaceId::new(number as u32 + 1, 0),
        switched: Some(Switched {
            group: group(of),
            seat: seat(number),
            longest: 1514,
        }),
        ..BridgePort::default()
    }
}

/// Returns a port without offload.
fn software(number: usize) -> BridgePort {
    BridgePort {
        switched: None,
        ..port(1, number)
    }
}

fn bridge(ports: Vec<BridgePort>) -> Bridge {
    Bridge::new(InterfaceId::new(100, 0), ports)
}

fn host(mac: u64) -> bridge_hosts::HostKey {
    bridge_hosts::HostKey {
        bridge: InterfaceId::new(100, 0),
        vid: 0,
        mac,
    }
}

fn reach(of: &Offloaded) -> Vec<u64> {
    of.members.values().map(|member| member.reaches.0).collect()
}

#[test]
fn ports_reach_those_of_their_group_that_they_may() {
    let plain = bridge(vec![
        port(1, 0),
        software(1),
        port(1, 2),
        port(2, 3),
        port(2, 4),
    ]);
    let of = Offloaded::of(&plain);
    assert_eq!(reach(&of), [0b100, 0b1, 0b1_0000, 0b1000]);
    let seats = of.vlans.values().map(|seats| seats.ingress.0);
    assert_eq!(seats.collect::<Vec<_>>(), [0b101, 0b1_1000]);

    let mut ports = vec![port(1, 0), port(1, 1), port(1, 2), port(1, 3)];
    (ports[0].isolated, ports[1].isolated) = (true, true);
    ports[2].only_to = Some(PortSet::from_iter([3]));
    (ports[0].horizon, ports[3].horizon) = (Some(1), Some(1));
    let of = Offloaded::of(&bridge(ports));
    assert_eq!(reach(&of), [0b100, 0b1100, 0b1000, 0b110]);
}

#[test]
fn a_port_that_its_tree_blocks_neither_takes_nor_sends() {
    let mut ports = vec![port(1, 0), port(1, 1), port(1, 2)];
    ports[1].forwarding = 0;
    let of = Offloaded::of(&bridge(ports));
    let expected = VlanPorts {
        ingress: SwitchPorts(0b101),
        egress: SwitchPorts(0b101),
        untagged: SwitchPorts(0),
    };
    assert_eq!(of.vlans, BTreeMap::from([((group(1), 0), expected)]));
}

#[test]
fn vlans_are_of_their_members_by_their_own_trees() {
    let mut table = VlanTable::new(3);
    for (vid, port, is) in [
        (10, 0, bridge::Member::Untagged),
        (10, 1, bridge::Member::Tagged),
        (20, 1, bridge::Member::Tagged),
    ] {
        table.set(vid, port, is);
    }
    table.set_instance(20, 1);
    let mut ports = vec![port(1, 0), port(1, 1), port(1, 2)];
    ports[0].frame_types = FrameTypes::UntaggedAndPriority;
    ports[0].pvid = 10;
    ports[1].frame_types = FrameTypes::Tagged;
    ports[1].forwarding = 0b1;
    ports[2].ingress_filtering = false;
    let mut bridge = bridge(ports);
    bridge.vlans = Some(Arc::new(table));
    let of = Offloaded::of(&bridge);

    let expected = VlanPorts {
        ingress: SwitchPorts(0b111),
        egress: SwitchPorts(0b11),
        untagged: SwitchPorts(0b1),
    };
    // VLAN 20's tree blocks its only member.
    assert_eq!(of.vlans, BTreeMap::from([((group(1), 10), expected)]));
    let tags: Vec<_> = { of.members.values() }
        .filter_map(|member| member.tags)
        .map(|tags| (tags.pvid, tags.admits_tagged))
        .collect();
    assert_eq!(tags, [(Some(10), false), (None, true), (Some(1), true)]);
}

#[test]
fn a_switch_is_told_what_is_new_and_nothing_else() {
    let noted = Noted::default();
    let nothing = Offloaded::of(&bridge(vec![software(0), software(1)]));
    assert_eq!(nothing, Offloaded::default());

    let both = Offloaded::of(&bridge(vec![port(1, 0), port(1, 1)]));
    both.follow(&nothing, &noted);
    assert_eq!(
        noted.take(),
        [
            "vlan 1/0 11 11 0",
            "limit 1 131072",
            "flush 0",
            "member 0",
            "flush 1",
            "member 1"
        ]
    );

    both.follow(&both, &noted);
    assert!(noted.take().is_empty());

    let others = Offloaded::of(&bridge(vec![port(1, 0), software(1), port(1, 2)]));
    others.follow(&both, &noted);
    assert_eq!(
        noted.take(),
        [
            "gone 1",
            "flush 1",
            "vlan 1/0 101 101 0",
            "member 0",
            "flush 2",
            "member 2"
        ]
    );

    nothing.follow(&others, &noted);
    assert_eq!(
        noted.take(),
        ["gone 0", "flush 0", "gone 2", "flush 2", "vlan 1/0 0 0 0"]
    );
}

#[test]
fn a_pair_is_taught_when_a_worker_bridged_between_ports_of_a_group() {
    let noted = Noted::default();
    let teach = |from: &BridgePort, to: &BridgePort| {
        bridged(Some(&noted), from, &host(0xa), to, &host(0xb));
        noted.take()
    };

    assert_eq!(
        teach(&port(1, 0), &port(1, 1)),
        ["learn 1/0/a 0", "learn 1/0/b 1"]
    );
    assert!(teach(&port(1, 0), &port(2, 3)).is_empty());
    assert!(teach(&port(1, 0), &software(1)).is_empty());
    assert!(teach(&software(0), &port(1, 1)).is_empty());
    let forgetful = BridgePort {
        learn: false,
        ..port(1, 0)
    };
    assert_eq!(teach(&forgetful, &port(1, 1)), ["learn 1/0/b 1"]);
}

#[test]
fn a_host_that_moves_is_where_it_is_or_nowhere() {
    let noted = Noted::default();
    let ports = vec![port(1, 0), port(1, 1), software(2), port(2, 3), software(4)];
    let bridge = bridge(ports);
    let moves = |from: usize, to: usize| {
        let ids = [from, to].map(|at| bridge.ports()[at].interface);
        moved(Some(&noted), &bridge, &host(0xa), ids[0], ids[1]);
        noted.take()
    };

    assert_eq!(moves(0, 1), ["learn 1/0/a 1"]);
    assert_eq!(moves(0, 2), ["forget 1/0/a"]);
    assert_eq!(moves(0, 3), ["learn 2/0/a 3", "forget 1/0/a"]);
    assert_eq!(moves(2, 1), ["learn 1/0/a 1"]);
    assert!(moves(2, 4).is_empty());
    let (gone, to) = (InterfaceId::new(77, 0), bridge.ports()[2].interface);
    moved(Some(&noted), &bridge, &host(0xa), gone, to);
    assert!(noted.take().is_empty());
}

#[test]
fn workers_teach_hosts_between_which_they_bridged_and_forget_those_that_left() {
    const A: [u8; 6] = [2, 0, 0, 0, 1, 0xa];
    const B: [u8; 6] = [2, 0, 0, 0, 1, 0xb];
    const ALL: [u8; 6] = [0xff; 6];
    let frame = |to, from| rig::frame(to, from, &[0x08, 0]);
    let mut switch = rig::Switch::new(3);
    let noted = Arc::new(Noted::default());
    let bridges = switch.rig.interfaces.bridges();
    bridges.set_switch(Arc::clone(&noted) as Arc<dyn BridgeOffload>);
    switch.change(|bridge| {
        bridge.fast_forward = true;
        bridge.switch(|id| {
            (0..2)
                .find(|at| rig::Switch::port(*at) == id)
                .and_then(switched_at)
        });
        assert!(!bridge.fast_forward);
    });

    switch.pass(0, &frame(ALL, A));
    switch.pass(1, &frame(ALL, B));
    assert!(
        noted.take().is_empty(),
        "nothing was bridged between two hosts"
    );
    assert_eq!(switch.pass(0, &frame(B, A)), [(1, frame(B, A))]);
    assert_eq!(noted.take(), ["learn 1/0/a 0", "learn 1/0/b 1"]);

    switch.pass(2, &frame(ALL, A));
    assert_eq!(noted.take(), ["forget 1/0/a"]);
    switch.pass(2, &frame(B, A));
    assert!(noted.take().is_empty(), "one of them is not switched");
    switch.pass(1, &frame(ALL, A));
    assert_eq!(noted.take(), ["learn 1/0/a 1"]);
}

#[test]
fn a_host_whose_frames_are_switched_does_not_age() {
    let bridges = Bridges::default();
    let noted = Arc::new(Noted::default());
    bridges.set_switch(Arc::clone(&noted) as Arc<dyn BridgeOffload>);
    let (at, key) = (InterfaceId::new(1, 0), host(0xa));
    bridges.hosts().learn(&key, at, 0, 10);
    bridges.set_places([(at, port(1, 0).switched.expect("it is"))].into());
    let age = |now| {
        let lines = bridges.hosts().lines();
        let mut gone = 0;
        bridges.age(0, lines, now, |_| Some(300), |_, _| gone += 1);
        gone
    };

    *noted.1.lock().expect("one thread") = Some(5);
    assert_eq!(age(299), 0);
    assert_eq!(age(400), 0);
    let seen = bridges.hosts().get(&key).map(|host| host.seen);
    assert_eq!(seen, Some(395));
    assert!(noted.take().is_empty());

    *noted.1.lock().expect("one thread") = None;
    assert_eq!(age(694), 0);
    assert_eq!(age(695), 1);
    assert_eq!(noted.take(), ["forget 1/0/a"]);

    bridges.hosts().learn(&key, at, 700, 10);
    bridges.flush(at, |_| true);
    assert_eq!(noted.take(), ["flush 0"]);
    bridges.hosts().learn(&key, at, 700, 10);
    assert!(bridges.forget(&key).is_some() && bridges.forget(&key).is_none());
    assert_eq!(noted.take(), ["forget 1/0/a"]);
}

fn switched_at(place: u16) -> Option<Switched> {
    port(1, usize::from(place)).switched
}

#[test]
fn the_switch_has_an_address_as_it_lies_in_a_frame() {
    let key = key(group(3), &host(0x0200_1122_3344));
    assert_eq!(key.mac, [2, 0, 0x11, 0x22, 0x33, 0x44]);
    assert_eq!((key.group, key.vid), (group(3), 0));
}
