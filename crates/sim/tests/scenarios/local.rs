//! Packets to and from the router itself.

use dataplane::DropReason;
use sim::{Line, Received, World};

use crate::{Chain, chain, errors, seconds};

#[test]
fn fragments_to_the_router_are_reassembled() {
    let Chain {
        mut world, client, ..
    } = chain(1, Line::default(), 1);

    world.at(client).ping("10.1.0.1", 1, 4_000);
    world.at(client).ping("10.9.0.2", 2, 4_000);
    world.run(seconds(1));

    assert_eq!(world.at(client).replies("10.1.0.1"), 1);
    assert_eq!(world.at(client).replies("10.9.0.2"), 1);
    assert_eq!(world.at(client).reassembled, 2);
}

#[test]
fn a_router_answers_while_a_script_waits() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(3, Line::default(), 1);
    world.at(client).ping("10.1.0.1", 1, 40);

    let printed = world.run_on(
        west,
        ":put [:len [/ip arp find]]; :delay 5s; :put [:len [/ip arp find]]",
    );

    assert_eq!(printed, "0\n1\n", "the client was learnt meanwhile");
    assert_eq!(world.at(client).replies("10.1.0.1"), 1);
}

#[test]
fn packets_without_a_service_are_refused() {
    let Chain {
        mut world, client, ..
    } = chain(2, Line::default(), 1);

    world.at(client).send_udp("10.1.0.1", 9, 100);
    world.at(client).send_udp("2001:db8:1::1", 9, 100);
    world.run(seconds(1));

    let expected = [
        ("10.1.0.1".to_owned(), 3, 3, 0),
        ("2001:db8:1::1".to_owned(), 1, 4, 0),
    ];
    assert_eq!(errors(&mut world, client), expected);
}

#[test]
fn errors_are_limited_and_echoes_are_not() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(3, Line::default(), 1);
    world.run_on(west, "/ip settings set icmp-rate-limit=1000");
    for seq in 0..100 {
        world.at(client).ping_ttl("10.2.0.2", seq, 56, 1);
        world.at(client).ping("10.1.0.1", seq, 56);
    }
    world.run(seconds(1));

    let told = errors(&mut world, client).len();
    assert!((1..=10).contains(&told), "{told} errors in a second");
    assert_eq!(world.at(client).replies("10.1.0.1"), 100);
}

#[test]
fn directed_broadcasts_are_not_forwarded() {
    let Chain {
        mut world,
        client,
        server,
        ..
    } = chain(4, Line::default(), 1);

    world.at(client).send_udp("10.2.0.255", 9, 50);
    world.run(seconds(1));

    let udp = |heard: &Received| matches!(heard, Received::Udp { .. });
    assert!(!world.at(server).heard.iter().any(udp));
    assert!(errors(&mut world, client).is_empty());
}

#[test]
fn the_host_plane_mirrors_interfaces_and_addresses() {
    let mut world = World::new(5);
    let router = world.router(
        "/interface vlan add name=seven interface=ether1 vlan-id=7 mtu=1400\n\
         /ip address add address=10.7.0.1/24 interface=seven\n\
         /ipv6 address add address=2001:db8:7::1/64 interface=seven\n",
        1,
        1,
    );
    let peer = world.host(sim::HostConfig::new("10.0.0.2/24", "10.0.0.1"));
    world.join((router, 0), (peer, 0), Line::default());
    world.run(seconds(4));

    let changes = world.control(router).take_mirror_changes(usize::MAX);

    let changes = changes.expect("the router has begun");
    let named = |name: &str| {
        let wanted = changes.mirrors.iter();
        let mut wanted = wanted.filter_map(|(id, mirror)| Some((*id, mirror.as_ref()?)));
        wanted.find(|(_, mirror)| mirror.name == name)
    };
    let (id, seven) = named("seven").expect("it has addresses");
    assert_eq!(seven.mtu, 1400);
    let addresses: Vec<_> = seven
        .addresses
        .iter()
        .map(|(addr, len)| format!("{addr}/{len}"))
        .collect();
    assert_eq!(
        addresses,
        ["10.7.0.1/24", "2001:db8:7::1/64", "fe80::f0:ff:fe00:1/64"]
    );
    assert_eq!((changes.default4, changes.default6), (Some(id), Some(id)));
}

#[test]
fn a_connection_to_a_closed_port_is_reset() {
    let Chain {
        mut world, client, ..
    } = chain(6, Line::default(), 1);

    let syn = syn("10.1.0.2", "10.1.0.1");
    world.at(client).send_raw("10.1.0.1", syn);
    world.run(seconds(1));

    let reset = Received::Reset {
        from: "10.1.0.1".parse().expect("an address"),
        ack: 1_001,
    };
    assert_eq!(world.at(client).heard.last(), Some(&reset));
}

fn syn(source: &str, destination: &str) -> Vec<u8> {
    use wire::checksum::pseudo_v4;
    use wire::{Protocol, ipv4, tcp};
    let (src, dst) = (source.parse(), destination.parse());
    let (src, dst) = (src.expect("an address"), dst.expect("an address"));
    let segment = tcp::Repr {
        src_port: 40_000,
        dst_port: 80,
        seq: 1_000,
        ack: 0,
        flags: tcp::Flags::SYN,
        window: 1_000,
        urgent: 0,
    };
    let mut upper = Vec::new();
    let pseudo = pseudo_v4(src, dst, Protocol::TCP, 20);
    segment.emit(&[], &[], pseudo, &mut upper);
    let header = ipv4::Repr::new(Protocol::TCP, src, dst).to_bytes(upper.len());
    [&header[..], &upper].concat()
}

#[test]
fn items_with_dangling_references_stay_and_are_marked_invalid() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(7, Line::default(), 1);
    world.run_on(
        west,
        "/interface vlan add name=seven interface=ether1 vlan-id=7; \
         /ip address add address=10.7.0.1/24 interface=seven; \
         /ip route add dst-address=10.77.0.0/16 gateway=seven; \
         /routing rule add interface=seven action=drop",
    );
    assert!(
        world
            .run_on(west, "/ip route print")
            .contains("As 10.77.0.0/16")
    );

    world.run_on(west, "/interface vlan remove seven");

    let addresses = world.run_on(west, "/ip address print");
    assert!(addresses.contains("I 10.7.0.1/24"), "{addresses}");
    let routes = world.run_on(west, "/ip route print");
    assert!(routes.contains("Is 10.77.0.0/16"), "{routes}");
    assert!(!routes.contains("10.7.0.0/24"), "{routes}");
    let rules = world.run_on(west, "/routing rule print");
    assert!(rules.contains("0 I "), "{rules}");
    world.at(client).ping("10.2.0.2", 1, 56);
    world.run(seconds(1));
    assert_eq!(world.at(client).replies("10.2.0.2"), 1);
}

#[test]
fn malformed_messages_are_counted() {
    let Chain {
        mut world,
        client,
        west,
        ..
    } = chain(5, Line::default(), 1);
    let (from, to) = ("10.1.0.2", "10.1.0.1");
    let header = wire::ipv4::Repr::new(wire::Protocol::ICMP, address(from), address(to));
    // An echo request with a wrong checksum, and a truncated message.
    for message in [&[8, 0, 1, 2, 0, 0, 0, 1][..], &[8, 0]] {
        let packet = [&header.to_bytes(message.len())[..], message].concat();
        world.at(client).send_raw(to, packet);
    }
    let (from, to) = ("2001:db8:1::2", "2001:db8:1::1");
    let header = wire::ipv6::Repr::new(wire::Protocol::ICMPV6, address(from), address(to));
    let solicitation = [&[135, 0, 9, 9, 0, 0, 0, 0][..], &[0; 16]].concat();
    let packet = [&header.to_bytes(24)[..], &solicitation].concat();
    world.at(client).send_raw(to, packet);
    world.run(seconds(1));

    assert_eq!(world.at(client).replies("10.1.0.1"), 0);
    let counted = world.control(west).workers().counters();
    let counted: u64 = counted
        .map(|one| one.drops(DropReason::IcmpMalformed))
        .sum();
    assert_eq!(counted, 3);
}

fn address<A: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> A {
    text.parse().expect("an address")
}
