use std::cell::Cell;
use std::collections::HashSet;

use packet::drop::DropReason;
use packet::{Tuple, protocol};
use proptest::prelude::*;

use crate::nat::{
    Action, Addresses, Context, Endpoint, Exhausted, Mappings, PROBES, Ports, Side, Target, Unique,
    choose, settle,
};

/// A simple model of a router's connections.
#[derive(Default)]
struct Model {
    tuples: HashSet<Tuple>,
    asked: Cell<u32>,
}

impl Unique for Model {
    fn taken(&self, reply: &Tuple) -> bool {
        self.asked.set(self.asked.get() + 1);
        self.tuples.contains(reply)
    }
}

/// A table in which every tuple is taken.
#[derive(Default)]
struct Full(Cell<u32>);

impl Unique for Full {
    fn taken(&self, _: &Tuple) -> bool {
        self.0.set(self.0.get() + 1);
        true
    }
}

const CONTEXT: Context<'_> = Context {
    own: Some(0xc633_6401),
    random: 0x1234_5678_9abc_def0,
    mappings: None,
};

const MASQUERADE: Target = Target {
    side: Side::Source,
    action: Action::Own,
    addresses: None,
    ports: None,
    randomise: false,
};

fn tcp(source: u32, source_port: u16) -> Tuple {
    Tuple {
        source: u128::from(source),
        destination: 0xc000_0209,
        source_port,
        destination_port: 443,
        protocol: protocol::TCP,
        ipv6: false,
    }
}

fn addresses(first: u128, last: u128) -> Option<Addresses> {
    Addresses::new(first, last)
}

fn target() -> impl Strategy<Value = Target> {
    let side = prop::sample::select(vec![Side::Source, Side::Destination]);
    let action = prop::sample::select(vec![
        Action::Translate,
        Action::Own,
        Action::EndpointIndependent,
        Action::Netmap { from: None },
        Action::Same {
            by_destination: true,
        },
        Action::Same {
            by_destination: false,
        },
    ]);
    let range = prop::option::of((0..40_u128, 0..6_u128));
    let ports = prop::option::of((1..60_000_u16, 0..4_u16));
    (side, action, range, ports, any::<bool>()).prop_map(
        |(side, action, range, ports, randomise)| Target {
            side,
            action,
            addresses: range.and_then(|(first, more)| Addresses::new(first, first + more)),
            ports: ports.and_then(|(first, more)| Ports::new(first, first + more)),
            randomise,
        },
    )
}

/// Few different tuples, so that some collide.
fn any_tuple() -> impl Strategy<Value = Tuple> {
    let number = prop::sample::select(vec![6, 17, 33, 132, 136, 47, 1]);
    let port = || prop::sample::select(vec![1_u16, 511, 512, 1023, 1024, 5000, 65_535]);
    (number, 0..8_u128, 30..36_u128, port(), port()).prop_map(|(number, from, to, one, other)| {
        super::tuple(number, false, 8, from, to, one, other)
    })
}

proptest! {
    #[test]
    fn no_two_connections_share_a_tuple(
        packets in proptest::collection::vec((any_tuple(), target(), target()), 1..120),
        random in any::<u64>(),
    ) {
        let mut model = Model::default();
        for (turn, (tuple, first, second)) in packets.into_iter().enumerate() {
            // A packet of a known connection needs no translation.
            if model.tuples.contains(&tuple) {
                continue;
            }
            let context = Context { random: random.wrapping_mul(turn as u64 | 1), ..CONTEXT };
            let dstnat = Target { side: Side::Destination, ..first };
            let srcnat = Target { side: Side::Source, ..second };
            let moved = choose(&dstnat, &tuple, &context, &model).unwrap();
            let moved = match choose(&srcnat, &moved, &context, &model) {
                Ok(moved) => settle(&moved, &model),
                Err(refused) => Err(refused),
            };
            if let Ok(moved) = moved {
                prop_assert!(model.tuples.insert(tuple));
                // A connection to itself has one tuple; all others have two.
                let fresh = model.tuples.insert(moved.reversed());
                prop_assert!(fresh || moved.reversed() == tuple);
            }
        }
    }

    #[test]
    fn replies_are_translated_back_to_the_client(
        tuple in any_tuple(),
        first in target(),
        second in target(),
        payload in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let model = Model::default();
        let dstnat = Target { side: Side::Destination, ..first };
        let srcnat = Target { side: Side::Source, ..second };
        let moved = choose(&dstnat, &tuple, &CONTEXT, &model).unwrap();
        let moved = choose(&srcnat, &moved, &CONTEXT, &model).unwrap();
        let moved = settle(&moved, &model).unwrap();
        let built = super::Built {
            tuple,
            payload,
            options: false,
            checksum: super::Checksum::Finished,
        };
        let packet = |built: &super::Built| (built.packet(), super::shape(&built.packet()));

        let (asks, shape) = packet(&built);
        let asked = super::rewritten(asks, &tuple, &moved, shape);
        prop_assert_eq!(asked, built.with(moved).packet());
        let reply = moved.reversed();
        let (answers, shape) = packet(&built.with(reply));
        let answered = super::rewritten(answers, &reply, &tuple.reversed(), shape);
        prop_assert_eq!(answered, built.with(tuple.reversed()).packet());
    }

    #[test]
    fn nat_keeps_the_source_port_or_picks_one_of_its_class(
        port in 1..=u16::MAX,
        random in any::<u64>(),
        randomise in any::<bool>(),
    ) {
        let target = Target { randomise, ..MASQUERADE };
        let context = Context { random, ..CONTEXT };
        let class = |port: u16| [512, 1024].iter().filter(|edge| port >= **edge).count();
        let mut model = Model::default();
        let alone = choose(&target, &tcp(1, port), &context, &model).unwrap();
        model.tuples.insert(tcp(0xc633_6401, port).reversed());

        let second = choose(&target, &tcp(2, port), &context, &model).unwrap();

        prop_assert!(randomise || alone.source_port == port);
        prop_assert_eq!(class(alone.source_port), class(port));
        prop_assert_eq!(class(second.source_port), class(port));
        prop_assert_ne!(second.source_port, port);
        prop_assert_ne!(second.source_port, 0);
    }

    #[test]
    fn netmap_of_a_range_onto_a_range_is_one_to_one(
        from in 0..u128::from(u32::MAX) - 4096,
        to in 0..u128::from(u32::MAX) - 4096,
        count in 1..200_u128,
        told in any::<bool>(),
    ) {
        let range = addresses(from, from + count - 1);
        let there = Target {
            action: Action::Netmap { from: range.filter(|_| told) },
            addresses: addresses(to, to + count - 1),
            ..MASQUERADE
        };
        let mapped = |address| {
            let tuple = Tuple { source: address, ..tcp(0, 5000) };
            choose(&there, &tuple, &CONTEXT, &Model::default()).unwrap().source
        };

        let images: HashSet<_> = (from..from + count).map(mapped).collect();

        prop_assert_eq!(images.len() as u128, count);
        prop_assert!(images.iter().all(|image| (to..to + count).contains(image)));
        if told {
            prop_assert_eq!(mapped(from), to);
        }
    }

    #[test]
    fn netmap_of_a_prefix_keeps_the_host_part(host in 0..256_u128, from in any::<u16>(), to in any::<u16>()) {
        let (from, to) = (u128::from(from) << 8, u128::from(to) << 8);
        let target = Target {
            side: Side::Destination,
            action: Action::Netmap { from: None },
            addresses: addresses(to, to + 255),
            ..MASQUERADE
        };
        let tuple = Tuple { destination: from + host, ..tcp(1, 5000) };

        let moved = choose(&target, &tuple, &CONTEXT, &Model::default()).unwrap();

        prop_assert_eq!(moved.destination, to + host);
    }

    #[test]
    fn action_same_gives_a_client_the_same_address(
        client in any::<u32>(),
        ports in any::<(u16, u16)>(),
        others in any::<(u32, u32)>(),
        by_destination in any::<bool>(),
        random in any::<(u64, u64)>(),
    ) {
        let target = Target {
            action: Action::Same { by_destination },
            addresses: addresses(1000, 1099),
            ..MASQUERADE
        };
        let chosen = |port, other: u32, random| {
            let tuple = Tuple { destination: u128::from(other), ..tcp(client, port) };
            let context = Context { random, ..CONTEXT };
            choose(&target, &tuple, &context, &Model::default()).unwrap().source
        };
        let other = if by_destination { others.0 } else { others.1 };

        prop_assert_eq!(chosen(ports.0, others.0, random.0), chosen(ports.1, other, random.1));
    }
}

#[test]
fn an_exhausted_pool_drops_with_nat_ports_and_only_then() {
    for (range, count, number) in [
        (1, 7, 6),
        (3, 100, 17),
        (4, 256, 136),
        (1, 1024, 33),
        (9, 1, 132),
        (1000, 1, 6),
    ] {
        // The port range contains or does not contain the clients' port.
        for port in [5000, 2000] {
            let target = Target {
                action: Action::Translate,
                addresses: addresses(1000, 1000 + range - 1),
                ports: Ports::new(2000, 2000 + count - 1),
                ..MASQUERADE
            };
            let of = |client| Tuple {
                protocol: number,
                ..tcp(client, port)
            };
            let mut model = Model::default();
            for client in 0..range as u32 * u32::from(count) {
                let moved = choose(&target, &of(client), &CONTEXT, &model).expect("room is left");
                assert!(model.tuples.insert(moved.reversed()));
            }

            let refused = choose(&target, &of(u32::MAX), &CONTEXT, &model);

            assert_eq!(refused, Err(Exhausted::Ports));
            assert_eq!(Exhausted::Ports.reason(), DropReason::NatPorts);
        }
    }
}

#[test]
fn an_exhausted_pool_tries_a_bounded_number_of_ports() {
    for (range, ports) in [
        (1, None),
        (3, None),
        (1000, None),
        (5000, Ports::new(80, 80)),
    ] {
        let full = Full::default();
        let target = Target {
            action: Action::Translate,
            addresses: addresses(1, range),
            ports,
            ..MASQUERADE
        };

        assert_eq!(
            choose(&target, &tcp(1, 5000), &CONTEXT, &full),
            Err(Exhausted::Ports)
        );
        assert!(full.0.get() <= PROBES, "{} questions", full.0.get());
        assert_eq!(settle(&tcp(1, 5000), &full), Err(Exhausted::Ports));
        assert!(full.0.get() <= 2 * PROBES);
    }
}

#[test]
fn masquerade_without_an_address_drops_with_nat_address() {
    let nowhere = Context {
        own: None,
        ..CONTEXT
    };

    let refused = choose(&MASQUERADE, &tcp(1, 5000), &nowhere, &Model::default());

    assert_eq!(
        refused.map_err(Exhausted::reason),
        Err(DropReason::NatAddress)
    );
}

#[test]
fn two_clients_may_use_the_same_icmp_identifier() {
    let echo = |source: u32| Tuple {
        destination_port: 0x0800,
        protocol: protocol::ICMP,
        ..tcp(source, 7)
    };
    let mut model = Model::default();
    let first = choose(&MASQUERADE, &echo(1), &CONTEXT, &model).unwrap();
    model.tuples.insert(first.reversed());

    let second = choose(&MASQUERADE, &echo(2), &CONTEXT, &model).unwrap();

    assert_eq!((first.source_port, first.destination_port), (7, 0x0800));
    assert_ne!(second.source_port, 7);
    assert_eq!(second.destination_port, 0x0800);
}

#[test]
fn a_protocol_without_ports_has_one_connection_per_peer_and_address() {
    let gre = |source: u32| Tuple {
        destination_port: 0,
        protocol: protocol::GRE,
        ..tcp(source, 0)
    };
    let mut model = Model::default();
    let first = choose(&MASQUERADE, &gre(1), &CONTEXT, &model).unwrap();
    model.tuples.insert(first.reversed());

    let second = choose(&MASQUERADE, &gre(2), &CONTEXT, &model);

    assert_eq!(second, Err(Exhausted::Ports));
}

#[test]
fn dstnat_keeps_the_port_unless_to_ports_is_set() {
    let chosen = |ports: Option<Ports>, model: &Model| {
        let target = Target {
            side: Side::Destination,
            action: Action::Translate,
            addresses: addresses(7, 7),
            ports,
            ..MASQUERADE
        };
        let moved = choose(&target, &tcp(1, 5000), &CONTEXT, model).unwrap();
        assert_eq!((moved.destination, moved.source_port), (7, 5000));
        moved.destination_port
    };
    let mut model = Model::default();

    assert_eq!(chosen(None, &model), 443);
    assert_eq!(chosen(Ports::new(8443, 8443), &model), 8443);
    assert_eq!(chosen(Ports::new(400, 500), &model), 443);
    assert_eq!(chosen(Ports::new(8000, 8010), &model), 8000);
    let first = Tuple {
        destination: 7,
        destination_port: 8000,
        ..tcp(1, 5000)
    };
    model.tuples.insert(first.reversed());
    assert_eq!(chosen(Ports::new(8000, 8010), &model), 8001);
    assert_eq!(chosen(Ports::new(8000, 8000), &model), 8000);
}

#[test]
fn an_untranslated_connection_changes_its_port_on_conflict() {
    // Another connection's reply tuple would be the same.
    let mut model = Model::default();
    model.tuples.insert(tcp(1, 5000).reversed());

    let settled = settle(&tcp(1, 5000), &model).unwrap();

    assert_eq!(
        Tuple {
            source_port: 5000,
            ..settled
        },
        tcp(1, 5000)
    );
    assert!(settled.source_port >= 1024 && settled.source_port != 5000);
    assert_eq!(settle(&tcp(2, 5000), &model), Ok(tcp(2, 5000)));
}

#[test]
fn connections_are_spread_over_a_range_of_addresses() {
    let target = Target {
        action: Action::Translate,
        addresses: addresses(1000, 1003),
        ..MASQUERADE
    };
    let mut counts = [0; 4];
    for port in 0..4000 {
        let moved = choose(&target, &tcp(1, 2000 + port), &CONTEXT, &Model::default());
        counts[moved.unwrap().source as usize - 1000] += 1;
    }

    assert!(
        counts.iter().all(|count| (800..1200).contains(count)),
        "{counts:?}"
    );
}

#[test]
fn redirect_goes_to_the_router_itself() {
    let target = Target {
        side: Side::Destination,
        ports: Ports::new(3128, 3128),
        ..MASQUERADE
    };

    let moved = choose(&target, &tcp(1, 5000), &CONTEXT, &Model::default()).unwrap();

    assert_eq!(
        (moved.destination, moved.destination_port),
        (0xc633_6401, 3128)
    );
}

#[test]
fn endpoint_independent_nat_has_one_endpoint_open_to_all() {
    let mappings = Mappings::new(7).expect("address space");
    let context = Context {
        mappings: Some(&mappings),
        ..CONTEXT
    };
    let out = Target {
        action: Action::EndpointIndependent,
        ..MASQUERADE
    };
    let udp = |source, destination| Tuple {
        destination,
        protocol: protocol::UDP,
        ..tcp(source, 5000)
    };
    let mut model = Model::default();
    // Two clients with the same port, each with two peers.
    let mut seen = HashSet::new();
    for (client, peer) in [(1, 77), (2, 77), (1, 88), (2, 88)] {
        let moved = choose(&out, &udp(client, peer), &context, &model).unwrap();
        let ends = |address, port| Endpoint { address, port };
        let outside = ends(moved.source as u32, moved.source_port);
        mappings.hold(ends(client, 5000), outside).unwrap();
        model.tuples.insert(moved.reversed());
        seen.insert((client, outside));
    }
    assert_eq!(seen.len(), 2);

    let back = Target {
        side: Side::Destination,
        ..out
    };
    for (client, outside) in seen {
        let stranger = Tuple {
            destination: u128::from(outside.address),
            destination_port: outside.port,
            ..udp(99, 0)
        };
        let moved = choose(&back, &stranger, &context, &model).unwrap();
        assert_eq!(
            (moved.destination, moved.destination_port),
            (u128::from(client), 5000)
        );
    }
    let nobody = udp(99, 0xc633_6401);
    assert_eq!(choose(&back, &nobody, &context, &model), Ok(nobody));
}
