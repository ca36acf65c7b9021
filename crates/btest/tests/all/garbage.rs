//! Garbage for both state machines: they never panic, and their memory is bounded.

use btest::client::{self, Client};
use btest::server::{self, Authentication, Connection, Credential, Server, Settings};
use btest::wire::{Direction, Protocol, Status, Token, Word};
use btest::{Reason, Test};

use std::net::IpAddr;

use machine::{Duration, Instant, Machine, Rng};

use crate::world;

const ROUNDS: u64 = 300;

/// Random bytes, or bytes that resemble a protocol message.
fn bytes(rng: &mut Rng) -> Vec<u8> {
    let mut random = vec![0; rng.below(300) as usize];
    rng.fill(&mut random);
    match rng.below(14) {
        0 => vec![1, 0, 0, 0],
        1 => vec![rng.below(4) as u8, 0, 0, 0],
        2 => Word::Accepted(Some(Token::new(rng.next_u32() as u16)))
            .to_bytes()
            .to_vec(),
        3 | 10..=13 => {
            let mut command = random;
            command.resize(16, 0);
            (command[0], command[1]) = (rng.below(2) as u8, rng.below(4) as u8);
            command
        }
        4 => {
            let mut framed = random;
            framed.insert(0, [0x20, 0x31, 0x27][rng.below(3) as usize]);
            framed
        }
        5 => {
            let status = Status {
                cpu_percent: Some(1),
                second: rng.below(4) as u32,
                bytes: rng.next_u32(),
            };
            status.to_bytes().to_vec()
        }
        6 => vec![0; rng.below(70_000) as usize],
        _ => random,
    }
}

fn test_of(rng: &mut Rng) -> Test {
    let protocol = [Protocol::Tcp, Protocol::Udp][rng.below(2) as usize];
    let direction = [Direction::Receive, Direction::Transmit, Direction::Both];
    let direction = direction[rng.below(3) as usize];
    let mut test = world::test(protocol, direction, rng.below(256) as u8);
    test.local_size = rng.next_u32() as u16;
    test.local_speed_bps = rng.next_u64() >> rng.below(64);
    test
}

fn client_event<'a>(rng: &mut Rng, bytes: &'a [u8]) -> client::Event<'a> {
    let number = rng.below(4) as u8;
    match rng.below(40) {
        0 => client::Event::Closed(1 + number),
        1 => client::Event::Closed(number),
        2..=6 => client::Event::UdpOpened(number),
        7 => client::Event::UdpFailed(number),
        8..=12 => client::Event::Datagram(number, bytes),
        13 => client::Event::Connected(number),
        14 => client::Event::Start,
        15..=30 => client::Event::Received(0, bytes),
        _ => client::Event::Received(number, bytes),
    }
}

#[test]
fn a_client_survives_whatever_a_server_says() {
    let mut running = 0;
    for seed in 0..ROUNDS {
        let mut rng = Rng::seeded(seed);
        let mut client = Client::new(test_of(&mut rng), [seed as u8; 32]);
        let mut now = Instant::from_secs(5);
        let mut out = Vec::new();
        client.handle(client::Event::Start, now, &mut out);
        // A valid start in most cases.
        if rng.percent(80) {
            client.handle(client::Event::Received(0, &[1, 0, 0, 0]), now, &mut out);
        }
        for _ in 0..100 {
            let bytes = bytes(&mut rng);
            client.handle(client_event(&mut rng, &bytes), now, &mut out);
            now += Duration::from_millis(rng.below(700));
            client.tick(now, &mut out);
            assert!(
                client.deadline().is_none_or(|(at, _)| at > now),
                "seed {seed}"
            );
            if let Some(flow) = client.flow() {
                running += 1;
                let allowance = flow.allowance(now);
                flow.sent_datagrams(allowance.units, now);
                assert!(allowance.units * flow.unit() <= 1 << 20, "seed {seed}");
            }
            assert!(out.len() <= 1_000, "seed {seed}: {}", out.len());
            let _ = client.figures(now);
            out.clear();
        }
    }
    assert!(running > 100, "some get as far as data: {running}");
}

#[test]
fn a_server_survives_whatever_clients_say() {
    let mut began = 0;
    for seed in 0..ROUNDS {
        let mut rng = Rng::seeded(seed);
        let all = [
            Authentication::None,
            Authentication::Md5,
            Authentication::EcSrp5,
        ];
        let settings = Settings {
            authentication: all[rng.below(3) as usize],
            max_sessions: 5,
        };
        let mut server = Server::new(settings, [7; 32]);
        let mut now = Instant::from_secs(5);
        let mut out = Vec::new();
        for number in 0..300 {
            let connection = Connection(rng.below(20) + number / 20);
            let bytes = bytes(&mut rng);
            server.handle(server_event(&mut rng, connection, &bytes), now, &mut out);
            now += Duration::from_millis(rng.below(300));
            server.tick(now, &mut out);
            assert!(
                server.deadline().is_none_or(|(at, _)| at > now),
                "seed {seed}"
            );
            assert!(server.sessions(now).count() <= 5, "seed {seed}");
            if let Some(flow) = server.flow(connection) {
                let units = flow.allowance(now).units;
                flow.sent_datagrams(units, now);
            }
            let _ = server.destination(connection);
            assert!(out.len() <= 100, "seed {seed}: {}", out.len());
            let begins = out
                .drain(..)
                .filter(|one| matches!(one, server::Action::Begin(..)));
            began += begins.count();
        }
    }
    assert!(began > 100, "some get as far as data: {began}");
}

fn server_event<'a>(rng: &mut Rng, connection: Connection, bytes: &'a [u8]) -> server::Event<'a> {
    match rng.below(30) {
        0..=5 => server::Event::Accepted {
            connection,
            peer: world::PEER,
            source: world::PEER,
            random: Box::new([rng.next_u32() as u8; 64]),
        },
        6 => server::Event::Closed(connection),
        7 => server::Event::Credential(connection, Credential::Unknown),
        8 | 9 => server::Event::Credential(connection, Credential::Password("x".into())),
        10 | 11 => server::Event::UdpOpened(connection, rng.next_u32() as u16),
        12 => server::Event::UdpFailed(connection),
        13 | 14 => server::Event::Datagram {
            session: connection,
            port: rng.next_u32() as u16,
            datagram: bytes,
        },
        15 => server::Event::Stop(connection),
        _ => server::Event::Received(connection, bytes),
    }
}

/// Returns the number of refused connections of 10,000, and of those that were too slow afterwards.
fn refused(source: impl Fn(u64) -> IpAddr) -> (usize, usize) {
    let settings = Settings {
        authentication: Authentication::None,
        max_sessions: 100,
    };
    let mut server = Server::new(settings, [7; 32]);
    let now = Instant::from_secs(5);
    let mut out = Vec::new();
    for number in 0..10_000 {
        server.handle(
            server::Event::Accepted {
                connection: Connection(number),
                peer: world::PEER,
                source: source(number),
                random: Box::new([1; 64]),
            },
            now,
            &mut out,
        );
    }
    let refused =
        |action: &&server::Action| matches!(action, server::Action::Close(_, Reason::Connections));
    let refused = out.iter().filter(refused).count();
    out.clear();
    server.tick(now + Duration::from_secs(10), &mut out);
    assert_eq!(server.deadline(), None);
    (refused, out.len())
}

#[test]
fn connections_without_a_test_are_bounded() {
    let many = |number| IpAddr::from([10, 0, (number / 250) as u8, (number % 250) as u8]);

    assert_eq!(refused(many), (10_000 - 512, 512), "of all sources");
    assert_eq!(refused(|_| world::PEER), (10_000 - 24, 24), "of one source");
}

#[test]
fn a_proof_with_reordered_inputs_is_refused() {
    let mut world = world::World::new(
        world::test(Protocol::Tcp, Direction::Both, 1),
        Authentication::EcSrp5,
        1,
    );
    // A client that skips authentication and sends data.
    world.tell_server(server::Event::Accepted {
        connection: Connection(0),
        peer: world::PEER,
        source: world::PEER,
        random: Box::new([1; 64]),
    });
    let command = [1, 3, 1, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    world.tell_server(server::Event::Received(Connection(0), &command));
    world.tell_server(server::Event::Received(Connection(0), &[0; 1000]));
    assert_eq!(world.closed.get(&0), Some(&Reason::BadExchange));
    assert_eq!(world.server.sessions(world.now).count(), 0);
}
