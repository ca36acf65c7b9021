//! Tests of the host table in plain memory; the program is tested with devices.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use frame::switch::{BridgeOffload as _, Group, HostKey, Member, SwitchPort, SwitchPorts};

use super::Switch;
use crate::table::{Map, MapSize};

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

fn switch() -> Arc<Switch<Plain>> {
    let map = |size: MapSize| {
        let words = (0..size.value_bytes * size.entries / 8).map(|_| AtomicU64::new(0));
        io::Result::Ok(Plain(words.collect()))
    };
    Switch::new(0x0123_4567_89ab_cdef, map).expect("memory")
}

fn group(number: usize) -> Group {
    Group::new(number).expect("a group")
}

fn host(number: u32) -> HostKey {
    let [a, b, c, d] = number.to_be_bytes();
    HostKey {
        group: group(1),
        vid: 0,
        mac: [2, 0, a, b, c, d],
    }
}

/// Adds a port to group 1.
fn enter(switch: &Switch<Plain>, device: u32) -> SwitchPort {
    let port = switch.enter(device).expect("a port");
    let member = Member {
        group: group(1),
        reaches: SwitchPorts(u64::MAX),
        longest: 1514,
        learns: true,
        tags: None,
    };
    switch.set_member(port, Some(&member));
    port
}

#[test]
fn a_host_is_at_its_last_port_until_the_port_is_flushed() {
    let switch = switch();
    let (left, right) = (enter(&switch, 7), enter(&switch, 8));
    assert_eq!(switch.seen(&host(1)), None);

    switch.learn(&host(1), left);
    switch.learn(&host(2), left);
    switch.learn(&host(1), right);
    switch.flush(left);

    assert!(switch.seen(&host(1)).is_some(), "it has moved");
    assert_eq!(switch.seen(&host(2)), None);
    assert_eq!(switch.filling(group(1)).hosts, 2, "until it is swept");
    (0..64).for_each(|_| switch.sweep());
    assert_eq!(switch.filling(group(1)).hosts, 1);
    switch.forget(&host(1));
    assert_eq!(switch.seen(&host(1)), None);
    assert_eq!(switch.filling(group(1)).hosts, 0);
}

#[test]
fn a_group_is_bounded_and_counts_refused_hosts() {
    let switch = switch();
    let port = enter(&switch, 7);
    switch.set_limit(group(1), 1000);

    (0..3000).for_each(|number| switch.learn(&host(number), port));

    let filling = switch.filling(group(1));
    assert_eq!((filling.hosts, filling.refused), (1000, 2000));
    // Known hosts stay, and flushed hosts make room for others.
    switch.learn(&host(999), port);
    assert_eq!(switch.filling(group(1)), filling);
    switch.flush(port);
    (0..64).for_each(|_| switch.sweep());
    switch.learn(&host(2000), port);
    assert!(switch.seen(&host(2000)).is_some());
    let other = HostKey {
        group: group(2),
        ..host(1)
    };
    switch.learn(&other, port);
    assert_eq!(switch.filling(group(2)).hosts, 1);
}

#[test]
fn almost_no_bucket_is_full_with_64_000_hosts() {
    let switch = switch();
    let port = enter(&switch, 7);
    (0..64_000).for_each(|number| switch.learn(&host(number), port));
    let filling = switch.filling(group(1));
    assert!(filling.refused < 64, "{filling:?}");
}

#[test]
fn a_released_port_slot_is_reused_without_hosts() {
    let switch = switch();
    let all: Vec<SwitchPort> = (0..64).map(|device| enter(&switch, device)).collect();
    assert_eq!(switch.enter(64), None);
    switch.learn(&host(1), all[9]);

    switch.leave(all[9]);

    assert_eq!(switch.seen(&host(1)), None);
    assert_eq!(switch.enter(65), Some(all[9]));
}

#[test]
fn concurrent_threads_learn_the_same_hosts() {
    let switch = switch();
    let (left, right) = (enter(&switch, 7), enter(&switch, 8));
    std::thread::scope(|scope| {
        for port in [left, right] {
            let switch = &switch;
            scope.spawn(move || (0..20_000).for_each(|number| switch.learn(&host(number), port)));
        }
    });
    (0..20_000).for_each(|number| switch.learn(&host(number), left));

    switch.flush(right);

    let known = (0..20_000).filter(|number| switch.seen(&host(*number)).is_some());
    let refused = switch.filling(group(1)).refused as usize;
    assert!(known.count() + refused >= 20_000);
}
