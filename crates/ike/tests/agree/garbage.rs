//! Malformed and hostile messages.

use ike::{Event, Exchange, Mode};
use machine::Rng;

use crate::world::World;

/// Feeds corrupted messages of a running world to an engine, from strangers and from the peer.
fn broken(exchange: Exchange) {
    let mut world = World::between(21, exchange, Mode::Tunnel);
    world.until("pairs", 5, World::both_have_pairs);
    let mut rng = Rng::seeded(22);
    let before = world.sides[1].children.clone();
    let rows: Vec<_> = world.sides[1].engine.peers().collect();
    let (initiator, responder) = rows[0].spis;
    for round in 0..5000_u32 {
        let mut bytes = Vec::new();
        let known = rng.percent(70);
        bytes.extend_from_slice(&if known { initiator } else { rng.next_u64() }.to_be_bytes());
        let second = if known {
            responder
        } else {
            rng.below(2) * rng.next_u64()
        };
        bytes.extend_from_slice(&second.to_be_bytes());
        let version = if rng.percent(50) { 0x10 } else { 0x20 };
        let exchanges = [1, 2, 4, 5, 6, 32, 34, 35, 36, 37, 43];
        let exchange = exchanges[rng.below(exchanges.len() as u64) as usize];
        let flags = rng.next_u64() as u8 & 0x29;
        bytes.extend_from_slice(&[rng.below(56) as u8, version, exchange, flags]);
        bytes.extend_from_slice(&(rng.below(4) as u32).to_be_bytes());
        let len = rng.below(200) as usize;
        bytes.extend_from_slice(&(28 + len as u32).to_be_bytes());
        for _ in 0..len {
            bytes.push(if rng.percent(60) {
                rng.below(40) as u8
            } else {
                rng.next_u64() as u8
            });
        }
        let remote = if rng.percent(50) {
            "192.0.2.1:500"
        } else {
            "192.0.2.1:1234"
        };
        let event = Event::Datagram {
            local: "198.51.100.2:500".parse().expect("an address"),
            remote: remote.parse().expect("an address"),
            natt: round % 5 == 0,
            bytes: &bytes,
        };
        world.event(1, event);
    }
    assert_eq!(world.sides[1].children, before, "nothing came of it");
    let counted: u64 = world.sides[1].engine.counters().values().sum();
    assert!(counted > 1000, "it was counted");
    assert!(world.sides[1].engine.peers().count() < 40, "and not kept");
    world.run(2000);
    assert!(world.both_have_pairs());
}

#[test]
fn broken_messages_of_ikev1_change_nothing() {
    broken(Exchange::Main);
}

#[test]
fn broken_messages_of_ikev2_change_nothing() {
    broken(Exchange::Ike2);
}
