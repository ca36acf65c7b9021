//! Tests of the changes that queues send to workers.

use std::collections::BTreeMap;

use dataplane::queueing::Change;
use dataplane::rule::{Clock, When};
use frame::InterfaceId;
use machine::Instant;
use queue::{Direction, Index, PacketFields};

use super::branch::Numbers;
use super::read::{Side, Simple, SimpleTarget};
use super::simple::{self, Simples};
use super::{BranchInputs, QueueRequest};
use crate::feature::{Effect, Effects};
use crate::intent::Name;

/// Simple queues, and the index of a worker that receives their changes.
#[derive(Default)]
struct World {
    simple: Simples,
    numbers: Numbers,
    interfaces: BTreeMap<Name, InterfaceId>,
    /// Queues in the worker's index, with the numbers of their leaves: upload, download.
    index: Index<(u64, [u64; 2])>,
    gone: usize,
    clock: Clock,
}

impl World {
    fn tell(&mut self, act: impl FnOnce(&mut Simples, &mut BranchInputs<'_>, &mut Effects)) {
        let mut out = Effects::default();
        let types = BTreeMap::new();
        let mut ground = BranchInputs {
            types: &types,
            interfaces: &self.interfaces,
            numbers: &mut self.numbers,
            clock: self.clock,
        };
        act(&mut self.simple, &mut ground, &mut out);
        for effect in out {
            let Effect::Queues(QueueRequest::Change { change, .. }) = effect else {
                panic!("{effect:?}");
            };
            match change {
                Change::Simple {
                    id,
                    order,
                    matches,
                    within,
                    queue,
                } => {
                    let leaves = [queue.up, queue.down].map(|leaf| leaf.expect("a leaf").node.id());
                    self.index.insert(id, order, matches, within, (id, leaves));
                }
                Change::NoSimple(id) => _ = self.index.remove(id),
                Change::Gone(node) => {
                    self.gone += 1;
                    assert_eq!(node.counts().queued_packets, 0);
                }
                _ => {}
            }
        }
    }

    fn put(&mut self, id: u64, position: u64, settings: Simple) {
        self.tell(|simple, ground, out| simple.put(id, settings, position, ground, out));
    }

    fn take_away(&mut self, id: u64) {
        self.tell(|simple, ground, out| simple.take_away(id, ground, out));
    }

    /// Returns the queue of a packet to this host.
    fn to(&self, host: u128) -> Option<u64> {
        self.met_by(host).map(|(id, _)| id)
    }

    /// Returns the queue of a packet to this host, with its leaves.
    fn met_by(&self, host: u128) -> Option<(u64, [u64; 2])> {
        let seen = PacketFields {
            destination: 0x0a00_0000 + host,
            ..PacketFields::default()
        };
        self.index.find(&seen).map(|(_, found)| *found)
    }
}

fn queue(name: &str, parent: Option<&str>, low: u128, len: u8) -> Simple {
    let side = || Side {
        limits: queue::Limits::default(),
        kind: "default-small".into(),
    };
    let target = queue::Target::Prefix {
        ipv6: false,
        address: 0x0a00_0000 + low,
        len,
    };
    Simple {
        name: name.into(),
        disabled: false,
        parent: parent.map(Name::from),
        targets: vec![SimpleTarget::Network(target)],
        peer: None,
        marks: Vec::new(),
        time: None,
        sides: [side(), side(), side()],
    }
}

#[test]
fn the_first_queue_of_the_list_counts_and_a_move_changes_that() {
    let mut world = World::default();
    world.put(1, 10, queue("all", None, 0, 24));
    world.put(2, 20, queue("one", None, 7, 32));
    assert_eq!(world.to(7), Some(1));
    world.put(2, 5, queue("one", None, 7, 32));
    assert_eq!((world.to(7), world.to(8)), (Some(2), Some(1)));
    world.take_away(1);
    assert_eq!((world.to(7), world.to(8)), (Some(2), None));
}

#[test]
fn children_match_before_their_parent_and_stop_with_it() {
    let mut world = World::default();
    // The order of items does not matter: a child may precede its parent.
    world.put(3, 30, queue("child", Some("parent"), 7, 32));
    assert_eq!(world.to(7), None);
    world.put(2, 20, queue("parent", None, 0, 24));
    world.put(1, 25, queue("later", None, 0, 8));
    assert_eq!(
        [7, 8, 300].map(|host| world.to(host)),
        [Some(3), Some(2), Some(1)]
    );
    // A child only matches packets that its parent matches.
    world.put(4, 40, queue("wide", Some("parent"), 0, 8));
    assert_eq!(
        [7, 8, 300].map(|host| world.to(host)),
        [Some(3), Some(4), Some(1)]
    );
    let parent = Simple {
        disabled: true,
        ..queue("parent", None, 0, 24)
    };
    world.put(2, 20, parent);
    assert_eq!([7, 8, 300].map(|host| world.to(host)), [Some(1); 3]);
}

#[test]
fn a_queue_for_an_interface_works_while_the_interface_exists() {
    let mut world = World::default();
    let mut settings = queue("guests", None, 0, 24);
    settings.targets = vec![SimpleTarget::Interface("vlan7".into())];
    world.put(1, 10, settings);
    let seen = PacketFields {
        egress: 9,
        ..PacketFields::default()
    };
    assert!(world.index.find(&seen).is_none());
    world.interfaces.insert("vlan7".into(), InterfaceId(9));
    world.tell(|simple, ground, out| simple.moved(&"vlan7".into(), ground, out));
    assert!(world.index.find(&seen).is_some());
    world.interfaces.clear();
    world.tell(|simple, ground, out| simple.moved(&"vlan7".into(), ground, out));
    assert!(world.index.find(&seen).is_none());
}

#[test]
fn changed_limits_keep_nodes_and_removed_nodes_are_reported() {
    let mut world = World::default();
    world.put(1, 10, queue("one", None, 7, 32));
    let before = world.met_by(7);
    let mut settings = queue("one", None, 7, 32);
    settings.sides[0].limits.max_limit = 1_000_000;
    world.put(1, 10, settings.clone());
    assert_eq!(world.met_by(7), before);
    assert_eq!(world.gone, 0);
    // A total limit rebuilds the queue.
    settings.sides[2].limits.max_limit = 1_000_000;
    world.put(1, 10, settings);
    assert_ne!(world.met_by(7), before);
    assert_eq!(world.gone, 2);
    world.take_away(1);
    assert_eq!(world.gone, 5);
    assert!(world.index.is_empty());
}

#[test]
fn a_queue_with_a_time_works_only_during_that_time() {
    let mut world = World::default();
    let office = When {
        first: 8 * 3_600,
        last: 17 * 3_600,
        days: 0b011_1110,
    };
    let settings = Simple {
        time: Some(office),
        ..queue("office", None, 0, 24)
    };
    world.put(1, 10, settings);
    // 1970 began on a Thursday.
    for (hours, works) in [
        (0, false),
        (9, true),
        (18, false),
        (24 + 12, true),
        (48 + 12, false),
    ] {
        world.clock = Clock::at(Instant::ZERO, hours * 3_600);
        world.tell(|simple, ground, out| simple.keep_time(ground, out));
        assert_eq!(world.to(7).is_some(), works, "{hours}");
    }
}

#[test]
fn the_reported_queue_is_the_one_that_workers_find() {
    let mut world = World::default();
    world.put(2, 20, queue("parent", None, 0, 24));
    world.put(3, 30, queue("child", Some("parent"), 7, 32));
    world.put(1, 25, queue("later", None, 0, 8));
    let none = BTreeMap::new();
    for host in [7, 8, 300] {
        let seen = PacketFields {
            source: 0x0a00_0000 + host,
            ..PacketFields::default()
        };
        let told = world.simple.met(&seen, &|one| simple::matches(&none, one));
        let (way, told) = told.expect("a queue");
        let (_, (id, _)) = world.index.find(&seen).expect("a queue");
        assert_eq!(way, Direction::Up);
        assert_eq!(&*told.name, ["later", "parent", "child"][*id as usize - 1]);
    }
}
