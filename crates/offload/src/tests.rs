//! Tests of ports and control plane with a table in plain memory, in explicit time steps.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use frame::InterfaceId;
use frame::shortcut::{
    AddressPair, Connection, ConnectionTraffic, Dependency, FlowOffload as _, Handler,
    LaneSelector, LaneTraffic, Rules, Service, Shortcut, ShortcutPath, Shortcuts as _,
};

use super::lanes::{LANES, PORT_LANES_MAX, lane};
use super::table::GRACE_STEPS;
use super::{Installer, Map, MapSize, Table};

/// Memory that is not shared with the kernel.
#[derive(Debug)]
struct Plain(Vec<AtomicU64>);

impl Map for Plain {
    fn words(&self) -> &[AtomicU64] {
        &self.0
    }

    fn descriptor(&self) -> i32 {
        -1
    }
}

fn table() -> Arc<Table<Plain>> {
    let map = |size: MapSize| {
        let words = (0..size.value_bytes * size.entries / 8).map(|_| AtomicU64::new(0));
        io::Result::Ok(Plain(words.collect()))
    };
    Table::new(0x0123_4567_89ab_cdef, map).expect("memory")
}

/// A shortcut between two addresses whose lane is counted by this rule.
fn counted_by(rule: u32) -> Shortcut {
    let mut rules = Rules::default();
    assert!(rules.push(rule));
    Shortcut {
        between: AddressPair {
            source: 1,
            destination: 2,
            ipv6: false,
        },
        connection: None,
        lane: ShortcutPath {
            ingress: InterfaceId(1),
            to: [2; 6],
            egress: InterfaceId(2),
            device: 7,
            link: [4; 12],
            mtu: 1500,
            handler: Handler::Firewall,
            rules,
        },
    }
}

/// A shortcut for a connection from this port.
fn connection(port: u16) -> Shortcut {
    let [high, low] = port.to_be_bytes();
    Shortcut {
        connection: Some(Connection {
            service: Service {
                protocol: 17,
                ports: [high, low, 0, 53],
            },
            token: u64::from(port) + 1,
            rewrite: None,
        }),
        ..counted_by(9)
    }
}

#[test]
fn a_change_affects_only_dependent_entries() {
    let table = table();
    let mut port = table.installer(0, 7);
    port.begin_at(1);
    port.install(&counted_by(9));
    let address = |first, len, ipv6| table.rests_on(&Dependency::Network { first, len, ipv6 });
    let link = |egress, byte| {
        let egress = InterfaceId(egress);
        table.rests_on(&Dependency::Link {
            egress,
            link: [byte; 12],
        })
    };

    assert!(address(1, 32, false) && address(2, 32, false) && link(2, 4));
    assert!(
        !address(3, 32, false) && !address(2, 64, true),
        "nobody goes there"
    );
    assert!(!link(3, 4) && !link(2, 5));
    assert!(address(0, 24, false), "of shorter ones it is not known");
    table.forget_at(2);
    assert!(!address(2, 32, false) && !link(2, 4));

    // The round began before the change.
    port.install(&counted_by(9));
    assert!(!address(2, 32, false));
}

/// Returns the number of the lane that the shortcut's slot refers to.
fn lane_of(table: &Table<Plain>, shortcut: &Shortcut) -> Option<u32> {
    let key = super::slot::Key::of_all(&shortcut.between, 0);
    Some(table.find(&key)?.content().lane)
}

/// Counts a frame of a lane, as the program does.
fn count(table: &Table<Plain>, number: u32) {
    let line = table.line(number);
    line.store(lane::PACKETS, line.load(lane::PACKETS) + 1);
    line.store(lane::BYTES, line.load(lane::BYTES) + 100);
}

fn took(table: &Table<Plain>, which: LaneSelector, step: u32) -> Vec<(Vec<u32>, u64, u64)> {
    let mut all = Vec::new();
    table.take_at(which, step, &mut |went: LaneTraffic| {
        all.push((went.lane.rules.iter().collect(), went.packets, went.bytes));
    });
    all
}

fn begin(table: &Arc<Table<Plain>>) -> Installer<Plain> {
    let mut port = table.installer(0, 7);
    port.begin_at(1);
    port
}

#[test]
fn a_port_installs_entries_while_control_reads_the_lanes() {
    let table = table();
    let mut port = begin(&table);

    let held = table.registry();
    port.install(&counted_by(3));
    port.install(&connection(5));
    port.remove(
        &connection(5).between,
        &connection(5).connection.expect("one").service,
    );
    port.gather(None, &mut |_: ConnectionTraffic| true);
    drop(held);

    assert_eq!(took(&table, LaneSelector::All, 1), []);
    let number = lane_of(&table, &counted_by(3)).expect("a slot");
    count(&table, number);
    assert_eq!(took(&table, LaneSelector::CountedBy(4), 1), []);
    assert_eq!(
        took(&table, LaneSelector::CountedBy(3), 1),
        [(vec![3], 1, 100)]
    );
    assert_eq!(took(&table, LaneSelector::All, 1), [], "once");
}

#[test]
fn a_port_reuses_finished_lanes_after_their_report() {
    let table = table();
    let mut port = begin(&table);
    let mut lanes = std::collections::HashSet::new();
    for rule in 0..PORT_LANES_MAX as u32 * 2 {
        // The control plane grants more numbers from time to time.
        if rule % 256 == 0 {
            assert_eq!(took(&table, LaneSelector::All, 1), []);
        }
        port.install(&counted_by(rule));
        lanes.extend(lane_of(&table, &counted_by(rule)));
    }
    assert_eq!(lanes.len(), PORT_LANES_MAX);
    let kept = *lanes.iter().min().expect("some");
    count(&table, kept);

    // The lane with unread traffic stays; the numbers of all other lanes are reused.
    table.forget_at(1);
    for step in 1..=2 + GRACE_STEPS {
        port.begin_at(step);
        port.install(&counted_by(100_000 + step));
    }
    for rule in 200_000..200_000 + PORT_LANES_MAX as u32 {
        port.install(&counted_by(rule));
        assert_ne!(lane_of(&table, &counted_by(rule)), Some(kept));
    }
    let told = took(&table, LaneSelector::All, 3 + GRACE_STEPS);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].1, told[0].2), (1, 100));
}

#[test]
fn lanes_of_removed_ports_are_reported_and_reused() {
    let table = table();
    let all = LANES;
    for round in 0..3 {
        let mut port = begin(&table);
        port.install(&counted_by(round));
        let number = lane_of(&table, &counted_by(round)).expect("a slot");
        table.forget_at(10 * round);
        count(&table, number);
        drop(port);

        assert_eq!(
            took(&table, LaneSelector::Of(InterfaceId(1)), 10 * round).len(),
            1
        );
        count(&table, number);
        table.forget_at(10 * round + 1);
        let told = took(&table, LaneSelector::All, 10 * round + 1 + GRACE_STEPS);

        assert_eq!(told, [(vec![round], 1, 100)]);
        assert_eq!(table.registry().counts(), (0, all));
    }
}

#[test]
fn counters_of_a_connection_wait_for_its_worker() {
    let table = table();
    let mut port = begin(&table);
    assert!(!port.gathers());

    port.install(&connection(5));

    let service = connection(5).connection.expect("one").service;
    assert!(port.gathers());
    assert!(
        table
            .waiting(&connection(5).between, &service)
            .is_some_and(|one| one.token == 6)
    );
    drop(port);
    assert_eq!(table.waiting(&connection(5).between, &service), None);
}
