//! Tests of a worker's time by facility.

use std::sync::Arc;

use kernels::tsc;

use super::firewall::{filtered, tracked};
use super::rig;
use crate::connection::Purge;
use crate::firewall::{Firewall, filter};
use crate::meter::Facility;
use crate::profile::Subject;
use crate::rings::Command;
use crate::rule::{Action, Layer7, Match, Rule};
use crate::testing::{Rig, Udp4};

/// Returns the cycles of all facilities, in order.
fn clocks(rig: &Rig) -> Vec<u64> {
    let of = |facility: &Facility| rig.counters[0].clocks(*facility);
    Facility::ALL.iter().map(of).collect()
}

fn arrive(rig: &mut Rig) {
    for _ in 0..64 {
        rig.arrive(Udp4::default().frame());
    }
}

/// Steps once. Returns the charged facilities, and the cycles of all except idle.
fn step(rig: &mut Rig) -> (Vec<Facility>, u64) {
    let before = clocks(rig);
    rig.workers[0].step(rig.now);
    let charged = clocks(rig).into_iter().zip(before);
    let pairs = Facility::ALL
        .iter()
        .zip(charged.map(|(now, before)| now - before));
    let charged: Vec<_> = pairs.filter(|(_, clocks)| *clocks > 0).collect();
    let busy = charged
        .iter()
        .filter(|(facility, _)| **facility != Facility::Idle);
    let busy = busy.map(|(_, clocks)| clocks).sum();
    (
        charged.into_iter().map(|(facility, _)| *facility).collect(),
        busy,
    )
}

#[test]
fn the_facilities_of_a_step_are_charged_for_all_of_its_time() {
    let mut rig = rig();
    rig.settle();
    arrive(&mut rig);
    step(&mut rig);
    for _ in 0..20 {
        arrive(&mut rig);
        let from = rig.workers[0].charged_until();
        let (_, busy) = step(&mut rig);
        assert_eq!(busy, rig.workers[0].charged_until() - from);
        assert!(rig.workers[0].charged_until() <= tsc());
    }

    let (from, before) = (rig.workers[0].charged_until(), clocks(&rig));
    for _ in 0..20 {
        arrive(&mut rig);
        rig.settle();
    }

    let sum = |all: Vec<u64>| all.into_iter().sum::<u64>();
    let passed = rig.workers[0].charged_until() - from;
    assert_eq!(sum(clocks(&rig)) - sum(before), passed, "with idleness");
}

#[test]
fn a_step_is_charged_to_what_it_was_busy_with() {
    use Facility::{Ethernet, Firewall as Rules, Idle, Layer7 as Streams, Management, Networking};
    let mut rig = rig();
    rig.settle();

    assert_eq!(step(&mut rig).0, [Idle]);
    arrive(&mut rig);
    assert_eq!(step(&mut rig).0, [Idle, Ethernet, Networking]);
    arrive(&mut rig);
    assert_eq!(step(&mut rig).0, [Ethernet, Networking], "at once");
    rig.command(Command::Purge(Purge::Everything));
    assert_eq!(step(&mut rig).0, [Ethernet, Management]);

    tracked(&mut rig);
    let pattern = Layer7::new("x", "x").expect("a pattern");
    let rules = vec![Rule::new(1, Vec::new(), Action::Passthrough)];
    filtered(&mut rig, filter::FORWARD, rules);
    arrive(&mut rig);
    assert_eq!(step(&mut rig).0, [Ethernet, Rules]);
    let rules = vec![Rule::new(
        1,
        vec![Match::Layer7(pattern).into()],
        Action::Passthrough,
    )];
    filtered(&mut rig, filter::FORWARD, rules);
    let mut firewall = Firewall::clone(&rig.snapshot.firewall);
    firewall.seek(&Firewall::default());
    rig.snapshot.firewall = Arc::new(firewall);
    rig.publish();
    arrive(&mut rig);
    assert_eq!(step(&mut rig).0, [Ethernet, Rules, Streams]);
}

#[test]
fn a_profile_divides_the_clocks_by_interface_and_by_rule_while_it_runs() {
    let mut rig = rig();
    rig.settle();
    tracked(&mut rig);
    let rules = vec![Rule::new(3, Vec::new(), Action::Passthrough)];
    filtered(&mut rig, filter::FORWARD, rules);
    for (subject, key) in [(Subject::Interface, None), (Subject::Rule, Some(3))] {
        let profile = rig.counters[0].begin_profile(subject);
        for _ in 0..400 {
            arrive(&mut rig);
            step(&mut rig);
        }
        let read = profile.read();
        assert!(read.steps > 5 && read.busy > 0, "{read:?}");
        let of_keys: u64 = read.keys.iter().map(|(_, clocks)| clocks).sum();
        assert!(of_keys > 0 && of_keys <= read.busy, "{read:?}");
        if let Some(key) = key {
            let keys: Vec<_> = read.keys.iter().map(|(key, _)| *key).collect();
            assert_eq!(keys, [key], "{read:?}");
        }
        rig.counters[0].end_profile();
        for _ in 0..100 {
            arrive(&mut rig);
            step(&mut rig);
        }
        assert_eq!(profile.read(), read, "it has ended");
    }
}
