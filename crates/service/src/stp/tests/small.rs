//! Small topologies, and the role of each port.

use machine::Duration;
use wire::bpdu::{Flags, Kind, Repr};

use super::net::{Net, address};
use crate::stp::{Config, Edge, Event, PortConfig, Protocol, Role, State};

fn bridges(count: usize, protocol: Protocol) -> Net {
    let config = |number| Config {
        protocol,
        address: address(number),
        ..Config::default()
    };
    Net::new((0..count).map(config).collect(), 1)
}

fn triangle(protocol: Protocol) -> Net {
    let mut net = bridges(3, protocol);
    let config = PortConfig::default();
    net.join(&[(0, 1), (1, 1)], &config);
    net.join(&[(0, 2), (2, 1)], &config);
    net.join(&[(1, 2), (2, 2)], &config);
    net
}

#[test]
fn a_triangle_has_one_blocked_port_within_a_second_and_heals_within_another() {
    let mut net = triangle(Protocol::Rstp);
    net.run(Duration::from_secs(1));

    assert!(net.is_tree(0));
    assert_eq!(net.bridges[0].tree(0).expect("a tree").root_port, None);
    assert_eq!(net.bridges[1].tree(0).expect("a tree").root_port, Some(1));
    assert_eq!(net.port(1, 2).role, Role::Designated);
    let blocked = net.port(2, 2);
    assert_eq!(
        (blocked.role, blocked.state),
        (Role::Alternate, State::Discarding)
    );

    net.set_up(1, false);
    net.run(Duration::from_millis(10));
    assert!(net.is_tree(0), "the alternate port forwards at once");
    assert_eq!(net.port(2, 2).role, Role::Root);
    assert!(
        net.flushed[&((1, 1), 0)] > 0,
        "who had learnt at a port forgets"
    );
    assert_eq!(net.looped, Duration::ZERO);
}

#[test]
fn stp_listens_and_learns_before_it_forwards() {
    let mut net = triangle(Protocol::Stp);
    net.run(Duration::from_secs(20));
    assert_eq!(net.port(0, 1).state, State::Learning);
    net.run(Duration::from_secs(17));
    assert_eq!(net.port(0, 1).state, State::Forwarding);
    assert!(net.is_tree(0));
    assert!(!net.port(0, 1).sends_rstp);
}

#[test]
fn a_port_without_bpdus_becomes_an_edge_port() {
    let mut net = bridges(1, Protocol::Rstp);
    net.join(&[(0, 1)], &PortConfig::default());
    let edge = |edge| PortConfig {
        edge,
        ..PortConfig::default()
    };
    net.join(&[(0, 2)], &edge(Edge::Yes));
    net.join(&[(0, 3)], &edge(Edge::No));
    let state = |net: &Net, port| (net.port(0, port).state, net.port(0, port).edge);

    assert_eq!(state(&net, 2), (State::Forwarding, true), "at once");
    net.run(Duration::from_secs(4));
    assert_eq!(
        state(&net, 1),
        (State::Forwarding, true),
        "after three seconds"
    );
    assert_eq!(state(&net, 3), (State::Discarding, false));
    net.run(Duration::from_secs(30));
    assert_eq!(state(&net, 3), (State::Forwarding, false), "in its time");
}

#[test]
fn a_bpdu_disables_a_guarded_port_until_it_is_enabled() {
    let mut net = bridges(2, Protocol::Rstp);
    let guard = PortConfig {
        bpdu_guard: true,
        ..PortConfig::default()
    };
    net.join(&[(0, 1), (1, 1)], &PortConfig::default());
    net.feed(1, Event::Port(1, guard));
    net.run(Duration::from_secs(5));

    assert_eq!(net.guarded, [(1, 1)]);
    assert!(net.port(1, 1).guarded);
    assert_eq!(net.port(1, 1).role, Role::Disabled);
    net.feed(1, Event::Unguard(1));
    net.run(Duration::from_secs(5));
    assert_eq!(net.guarded, [(1, 1), (1, 1)]);
}

#[test]
fn a_restricted_port_is_never_a_root_port() {
    let mut net = bridges(2, Protocol::Rstp);
    net.join(&[(0, 1), (1, 1)], &PortConfig::default());
    net.run(Duration::from_secs(1));
    assert_eq!(net.port(1, 1).role, Role::Root);

    let restricted = PortConfig {
        restricted_role: true,
        ..PortConfig::default()
    };
    net.feed(1, Event::Port(1, restricted));
    net.run(Duration::from_secs(5));
    assert_eq!(net.port(1, 1).role, Role::Alternate);
    assert_eq!(net.bridges[1].tree(0).expect("a tree").root_port, None);
}

#[test]
fn two_ports_of_a_bridge_on_one_segment_do_not_both_forward() {
    let mut net = bridges(2, Protocol::Rstp);
    net.join(&[(0, 1), (0, 2), (1, 1)], &PortConfig::default());
    net.run(Duration::from_secs(40));

    assert!(net.is_tree(0));
    assert_eq!(net.port(0, 1).role, Role::Designated);
    assert_eq!(net.port(0, 2).role, Role::Backup);
}

#[test]
fn a_port_that_receives_its_own_bpdus_does_not_forward() {
    let mut net = bridges(1, Protocol::Rstp);
    net.join(&[(0, 1), (0, 2)], &PortConfig::default());
    net.run(Duration::from_secs(40));
    assert!(!net.has_loop(0));
    assert_eq!(net.port(0, 2).role, Role::Backup);
}

#[test]
fn a_port_falls_back_to_stp_for_an_old_neighbour_and_returns_to_rstp() {
    let mut net = triangle(Protocol::Rstp);
    let old = Config {
        protocol: Protocol::Stp,
        address: address(1),
        ..Config::default()
    };
    net.feed(1, Event::Configure(old.clone()));
    net.run(Duration::from_secs(60));
    assert!(net.is_tree(0));
    assert!(!net.port(0, 1).sends_rstp && net.port(0, 2).sends_rstp);

    net.feed(
        1,
        Event::Configure(Config {
            protocol: Protocol::Rstp,
            ..old
        }),
    );
    net.feed(0, Event::Migrate(1));
    net.run(Duration::from_secs(10));
    assert!(net.port(0, 1).sends_rstp);
    assert!(net.is_tree(0));
}

#[test]
fn without_a_protocol_all_ports_with_a_link_forward() {
    let mut net = triangle(Protocol::None);
    net.run(Duration::from_secs(1));
    assert!(net.has_loop(0));
    assert_eq!(net.port(0, 1).counters.sent, 0);
    net.set_up(0, false);
    assert_eq!(net.port(0, 1).state, State::Discarding);
}

#[test]
fn malformed_bpdus_are_harmless() {
    let mut net = triangle(Protocol::Mstp);
    let mut rng = machine::Rng::seeded(5);
    net.run(Duration::from_secs(3));
    for _ in 0..20_000 {
        let mut bytes = vec![0; rng.below(160) as usize];
        rng.fill(&mut bytes);
        // Most random frames start like BPDUs.
        let version = [0, 2, 3][rng.below(3) as usize];
        let kind = [0, 2, 0x80, 2][rng.below(4) as usize];
        for (at, byte) in bytes.iter_mut().zip([0, 0, version, kind]) {
            *at = byte;
        }
        let port = 1 + rng.below(2) as u16;
        net.feed(rng.below(3) as usize, Event::Received(port, &bytes));
        net.run(Duration::from_millis(rng.below(50)));
    }
    assert_eq!(net.unsettled(), 0);
    // Invented information expires.
    net.run(Duration::from_secs(200));
    assert!(net.is_tree(0));
}

#[test]
fn the_transmit_hold_count_limits_bpdus_per_second() {
    let mut net = triangle(Protocol::Rstp);
    net.run(Duration::from_secs(3));
    let before = net.port(1, 1).counters.sent;
    let better = Repr {
        kind: Kind::Rapid,
        flags: Flags::ROLE_DESIGNATED.with(Flags::PROPOSAL, true),
        root: wire::bpdu::BridgeId::new(0, 0, address(77)),
        cost: 0,
        bridge: wire::bpdu::BridgeId::new(0, 0, address(77)),
        port: wire::bpdu::PortId::new(0x80, 1),
        times: crate::stp::Times {
            max_age: 20,
            hello: 2,
            forward_delay: 15,
            ..Default::default()
        }
        .to_bpdu(),
        multiple: None,
    };
    for cost in 0..1_000 {
        let bpdu = Repr { cost, ..better }.to_bytes(&[]);
        net.feed(1, Event::Received(1, &bpdu));
    }
    assert!(net.port(1, 1).counters.sent - before <= 6);
}
