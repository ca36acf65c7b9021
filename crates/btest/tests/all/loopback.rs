//! A client and a server over loopback sockets: data flow, and both ends report equal figures.

use std::thread;

use btest::server::{Authentication, Server};
use btest::wire::{Direction, Protocol};
use btest::{Figures, Status};

use crate::driver::{client, server};
use crate::world;

/// Slow enough for a small machine that runs all tests at once.
const SPEED_BPS: u64 = 8_000_000;

#[test]
fn tcp_without_authentication() {
    every_test(Protocol::Tcp, Authentication::None);
}

#[test]
fn tcp_with_md5() {
    every_test(Protocol::Tcp, Authentication::Md5);
}

#[test]
fn tcp_with_ec_srp5() {
    every_test(Protocol::Tcp, Authentication::EcSrp5);
}

#[test]
fn udp_without_authentication() {
    every_test(Protocol::Udp, Authentication::None);
}

#[test]
fn udp_with_md5() {
    every_test(Protocol::Udp, Authentication::Md5);
}

#[test]
fn udp_with_ec_srp5() {
    every_test(Protocol::Udp, Authentication::EcSrp5);
}

#[test]
fn tcp_in_large_chunks() {
    // Below the 34 Gbit/s at which the byte count of a status message wraps.
    let bps = 4_000_000_000;
    run(Protocol::Tcp, Direction::Both, 2, Authentication::None, bps);
}

#[test]
fn a_wrong_password_is_refused() {
    for authentication in [Authentication::Md5, Authentication::EcSrp5] {
        let (server, address) = server::begin("127.0.0.1:0", authentication, "other");
        let test = world::test(Protocol::Tcp, Direction::Both, 1);
        let client = client::begin(test, address);
        assert!(client.wait(|client, _| client.status() == Status::AuthenticationFailed));
        client.stop();
        server.stop();
    }
}

fn every_test(protocol: Protocol, authentication: Authentication) {
    let directions = [Direction::Receive, Direction::Transmit, Direction::Both];
    let kinds = directions
        .into_iter()
        .flat_map(|direction| [1, 10].map(|n| (direction, n)));
    let tests = kinds.map(|(direction, connections)| {
        thread::spawn(move || run(protocol, direction, connections, authentication, SPEED_BPS))
    });
    let tests: Vec<_> = tests.collect();
    for test in tests {
        test.join().expect("the test passes");
    }
}

fn run(
    protocol: Protocol,
    direction: Direction,
    connections: u8,
    authentication: Authentication,
    speed_bps: u64,
) {
    let what = format!("{protocol:?} {direction:?} {connections} {authentication:?}");
    let (server, address) = server::begin("127.0.0.1:0", authentication, "secret");
    let mut test = world::test(protocol, direction, connections);
    test.server = address.ip();
    (test.local_speed_bps, test.remote_speed_bps) = (speed_bps, speed_bps);
    let client = client::begin(test, address);

    // Both ends count what they receive, and get reports of what they send.
    let (sends, receives) = (direction.client_sends(), direction.server_sends());
    let measured = |figures: &Figures, tx: bool, rx: bool| {
        (figures.tx.total_bytes > 0) == tx && (figures.rx.total_bytes > 0) == rx
    };
    let is_measured = client.wait(|client, now| measured(&client.figures(now), sends, receives));
    assert!(is_measured, "{what}");
    let is_measured = server.wait(|server, now| {
        let view = server.sessions(now).next();
        view.is_some_and(|view| {
            let lines = if protocol == Protocol::Tcp {
                connections
            } else {
                1
            };
            assert_eq!(view.connections, usize::from(lines));
            measured(&view.figures, receives, sends)
        })
    });
    assert!(is_measured, "{what}");

    let seen = |server: &Server, now| {
        let view = server.sessions(now).next();
        view.map(|view| view.figures).unwrap_or_default()
    };
    // Reports equal the other end's count once its message has arrived.
    let is_told = client.wait(|client, now| {
        let (ours, theirs) = (client.figures(now), server.look(seen));
        !sends || ours.tx.total_bytes == theirs.rx.total_bytes
    });
    assert!(is_told, "{what}");
    let is_told = client.wait(|client, now| {
        let (ours, theirs) = (client.figures(now), server.look(seen));
        !receives || ours.rx.total_bytes == theirs.tx.total_bytes
    });
    assert!(is_told, "{what}");

    client::stop(&client);
    assert!(
        server.wait(|server, now| server.sessions(now).count() == 0),
        "{what}"
    );
    server.stop();
}
