//! A client and a server against each other: every kind of test, and failures.

use crate::world::{self, World, test};
use btest::client::{Event, Status};
use btest::server::{self, Authentication, Connection, Settings};
use btest::wire::{Direction, Protocol};
use btest::{Reason, client};
use machine::{Duration, Instant, Machine};

const DIRECTIONS: [Direction; 3] = [Direction::Receive, Direction::Transmit, Direction::Both];
const AUTHENTICATIONS: [Authentication; 3] = [
    Authentication::None,
    Authentication::Md5,
    Authentication::EcSrp5,
];

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn every_kind_of_test_carries_data_and_both_ends_agree_on_how_much() {
    let mut seed = 0;
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        for direction in DIRECTIONS {
            for connections in [1, 10] {
                for authentication in AUTHENTICATIONS {
                    seed += 1;
                    let test = test(protocol, direction, connections);
                    let mut world = World::new(test, authentication, seed);
                    carries_data(
                        &mut world,
                        &format!("{protocol:?} {direction:?} {connections}"),
                    );
                }
            }
        }
    }
}

fn carries_data(world: &mut World, what: &str) {
    world.start();
    world.run(Duration::from_millis(4_500));
    assert_eq!(
        world.client.status(),
        Status::Running,
        "{what}: {:?}",
        world.client.reason()
    );

    let direction = world.client.test().direction;
    let ours = world.client.figures(world.now);
    let view = world.server.sessions(world.now).next().expect("a session");
    let theirs = view.figures;
    assert_eq!(ours.rx.total_bytes > 0, direction.server_sends(), "{what}");
    assert_eq!(ours.tx.total_bytes > 0, direction.client_sends(), "{what}");
    // The last second's message may be in transit.
    for (told, counted) in [(ours.tx, theirs.rx), (theirs.tx, ours.rx)] {
        let most = counted.current_bps / 8 * 2;
        let behind = counted.total_bytes.abs_diff(told.total_bytes);
        assert!(behind <= most, "{what}: {told:?} {counted:?}");
    }
    assert_eq!((ours.lost_packets, theirs.lost_packets), (0, 0), "{what}");

    world.tell_client(Event::Stop);
    assert_eq!(world.ended, Some((Status::Done, Reason::Stopped)), "{what}");
    assert_eq!(world.server.sessions(world.now).count(), 0, "{what}");
}

#[test]
fn lost_datagrams_are_counted_at_their_receiver() {
    for connections in [1, 10] {
        let test = test(Protocol::Udp, Direction::Both, connections);
        let mut world = World::new(test, Authentication::None, 5);
        world.lose = 7;
        world.start();
        world.run(seconds(3));

        let [to_server, to_client] = world.dropped;
        let ours = world.client.figures(world.now).lost_packets;
        let view = world.server.sessions(world.now).next().expect("a session");
        let theirs = view.figures.lost_packets;
        assert!(
            to_client > 10 && to_client.abs_diff(ours) <= 1,
            "{to_client} {ours}"
        );
        assert!(
            to_server > 10 && to_server.abs_diff(theirs) <= 1,
            "{to_server} {theirs}"
        );
    }
}

#[test]
fn both_ends_keep_to_their_speeds() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let mut test = test(protocol, Direction::Both, 1);
        (test.local_speed_bps, test.remote_speed_bps) = (2_000_000, 1_000_000);
        let mut world = World::new(test, Authentication::None, 6);
        world.start();
        world.run(Duration::from_millis(10_500));

        let figures = world.client.figures(world.now);
        let near = |bps: u64, wanted: u64| bps.abs_diff(wanted) < wanted / 20;
        assert!(
            near(figures.tx.total_average_bps, 2_000_000),
            "{protocol:?} {figures:?}"
        );
        assert!(
            near(figures.rx.total_average_bps, 1_000_000),
            "{protocol:?} {figures:?}"
        );
    }
}

#[test]
fn loads_are_told() {
    let test = test(Protocol::Udp, Direction::Receive, 1);
    let mut world = World::new(test, Authentication::None, 7);
    world.server.set_cpu_percent(42);
    world.start();
    world.run(Duration::from_millis(100));
    world.client.set_cpu_percent(7);
    world.run(seconds(2));

    let ours = world.client.figures(world.now);
    assert_eq!(
        (ours.local_cpu_percent, ours.remote_cpu_percent),
        (7, Some(42))
    );
    let view = world.server.sessions(world.now).next().expect("a session");
    assert_eq!(view.figures.remote_cpu_percent, Some(7));
}

#[test]
fn a_test_ends_after_its_time() {
    let mut test = test(Protocol::Tcp, Direction::Receive, 3);
    test.duration = Some(seconds(2));
    let mut world = World::new(test, Authentication::EcSrp5, 8);
    world.start();
    world.run(seconds(3));

    assert_eq!(world.ended, Some((Status::Done, Reason::Duration)));
    let figures = world.client.figures(world.now);
    assert_eq!(
        figures.rx.total_average_bps,
        figures.rx.ten_second_average_bps
    );
    assert!(figures.rx.total_bytes > 0);
}

#[test]
fn wrong_passwords_and_unknown_users_give_the_same_error() {
    for authentication in [Authentication::Md5, Authentication::EcSrp5] {
        for user in ["admin", "nobody"] {
            let mut test = test(Protocol::Tcp, Direction::Receive, 1);
            (test.user, test.password) = (user.to_owned(), "wrong".into());
            let mut world = World::new(test, authentication, 9);
            world.start();
            world.run(seconds(1));

            let failed = (Status::AuthenticationFailed, Reason::RefusedUser);
            assert_eq!(world.ended, Some(failed), "{authentication:?} {user}");
            assert_eq!(world.closed.get(&0), Some(&Reason::BadProof));
            assert_eq!(world.server.sessions(world.now).count(), 0);
        }
    }
}

#[test]
fn a_closed_connection_after_the_proof_is_a_refusal() {
    let test = test(Protocol::Tcp, Direction::Receive, 1);
    let mut out = Vec::new();
    let mut client = client::Client::new(test, [1; 32]);
    let now = Instant::from_secs(1);
    client.handle(Event::Start, now, &mut out);
    let challenge = [&[1, 0, 0, 0, 2, 0, 0, 0][..], &[9; 16]].concat();
    client.handle(Event::Received(0, &challenge), now, &mut out);
    client.handle(Event::Closed(0), now, &mut out);
    assert_eq!(client.status(), Status::AuthenticationFailed);
    assert_eq!(client.reason(), Some(Reason::Closed));
}

#[test]
fn a_server_with_one_connection_does_not_support_more() {
    let mut out = Vec::new();
    let test = test(Protocol::Tcp, Direction::Receive, 2);
    let mut client = client::Client::new(test, [1; 32]);
    let now = Instant::from_secs(1);
    client.handle(Event::Start, now, &mut out);
    let words = [1, 0, 0, 0, 1, 0, 0, 0];
    client.handle(Event::Received(0, &words), now, &mut out);
    assert_eq!(client.status(), Status::Unsupported);
    assert_eq!(client.reason(), Some(Reason::NoToken));
}

#[test]
fn a_users_salt_is_the_same_each_time_whether_there_is_such_a_user_or_not() {
    for user in ["admin", "nobody"] {
        let [first, second] = [1, 2].map(|seed| salt_of(user, seed));
        assert_eq!(first, second, "{user}");
    }
    assert_ne!(salt_of("admin", 1), salt_of("nobody", 1));
}

/// Returns the salt that a server sends for a user.
fn salt_of(user: &str, random: u8) -> Vec<u8> {
    let settings = Settings {
        authentication: Authentication::EcSrp5,
        max_sessions: 1,
    };
    let mut server = server::Server::new(settings, [3; 32]);
    let mut out = Vec::new();
    let connection = Connection(0);
    let mut tell = |event| {
        out.clear();
        server.handle(event, Instant::ZERO, &mut out);
        out.clone()
    };
    tell(server::Event::Accepted {
        connection,
        peer: world::PEER,
        source: world::PEER,
        random: Box::new([random; 64]),
    });
    tell(server::Event::Received(connection, &[1; 16]));
    let key = btest::srp::ClientKey::new([random; 32]);
    let message = [user.as_bytes(), &[0], &key.public().to_bytes()].concat();
    let message = [&[message.len() as u8][..], &message].concat();
    tell(server::Event::Received(connection, &message));
    let known = if user == "admin" {
        server::Credential::Password("secret".into())
    } else {
        server::Credential::Unknown
    };
    let said = tell(server::Event::Credential(connection, known));
    let [server::Action::Send(_, challenge)] = &said[..] else {
        panic!("{said:?}");
    };
    assert_eq!(challenge.len(), 50);
    challenge[34..].to_vec()
}

#[test]
fn a_peer_that_vanishes_ends_the_test_on_the_other_end() {
    for protocol in [Protocol::Tcp, Protocol::Udp] {
        let test = test(protocol, Direction::Both, 1);
        let mut world = World::new(test, Authentication::None, 12);
        world.start();
        world.run(seconds(3));
        assert_eq!(world.ended, None);

        let now = world.now + seconds(17);
        for second in 1..=17 {
            let at = world.now + seconds(second);
            world.client.tick(at, &mut Vec::new());
            world.server.tick(at, &mut Vec::new());
        }
        assert_eq!(world.client.status(), Status::Disconnected, "{protocol:?}");
        assert_eq!(world.server.sessions(now).count(), 0, "{protocol:?}");
    }
}

#[test]
fn a_name_without_room_for_it_fails_here() {
    for (authentication, len) in [(Authentication::Md5, 33), (Authentication::EcSrp5, 222)] {
        let mut test = test(Protocol::Tcp, Direction::Receive, 1);
        test.user = "u".repeat(len);
        let mut world = World::new(test, authentication, 10);
        world.start();
        world.run(seconds(1));
        assert_eq!(
            world.ended,
            Some((Status::AuthenticationFailed, Reason::BadUser))
        );
    }
}

#[test]
fn a_server_with_enough_sessions_is_busy() {
    let test = test(Protocol::Tcp, Direction::Receive, 1);
    let mut world = World::new(test, Authentication::None, 11);
    world.server.configure(Settings {
        authentication: Authentication::None,
        max_sessions: 0,
    });
    world.start();
    world.run(seconds(1));

    assert_eq!(
        world.ended,
        Some((Status::RemoteBusy, Reason::RefusedCommand))
    );
    assert_eq!(world.closed.get(&0), Some(&Reason::Sessions));
}

#[test]
fn a_server_without_a_port_ends_the_test() {
    let test = test(Protocol::Udp, Direction::Receive, 1);
    let mut world = World::new(test, Authentication::None, 12);
    world.has_port = false;
    world.start();
    world.run(seconds(1));

    assert_eq!(world.closed.get(&0), Some(&Reason::NoPort));
    assert_eq!(world.ended, Some((Status::Disconnected, Reason::Closed)));
}

#[test]
fn connections_that_never_join_time_out() {
    let test = test(Protocol::Tcp, Direction::Both, 4);
    let mut world = World::new(test, Authentication::None, 13);
    world.start();
    // After hello, command and acceptance a connection breaks.
    world.run(Duration::from_millis(20));
    world.tell_server(server::Event::Closed(Connection(3)));
    world.tell_client(Event::Closed(3));
    world.run(seconds(15));

    assert_eq!(
        world.client.status(),
        Status::Running,
        "{:?}",
        world.client.reason()
    );
    let view = world.server.sessions(world.now).next().expect("a session");
    assert_eq!(view.connections, 3);
    assert!(view.figures.rx.total_bytes > 0 && view.figures.tx.total_bytes > 0);
}

#[test]
fn the_operator_of_the_server_can_end_a_session() {
    for connections in [1, 5] {
        let test = test(Protocol::Tcp, Direction::Both, connections);
        let mut world = World::new(test, Authentication::None, 14);
        world.start();
        world.run(seconds(2));
        world.tell_server(server::Event::Stop(Connection(0)));
        world.run(seconds(1));

        assert_eq!(world.ended, Some((Status::Disconnected, Reason::Closed)));
        assert_eq!(world.closed.len(), usize::from(connections));
        assert_eq!(world.closed.get(&0), Some(&Reason::Stopped));
    }
}

#[test]
fn silence_ends_a_handshake_on_both_ends() {
    let test = test(Protocol::Tcp, Direction::Both, 1);
    let mut world = World::new(test, Authentication::None, 15);
    world.tell_server(server::Event::Accepted {
        connection: Connection(9),
        peer: world::PEER,
        source: world::PEER,
        random: Box::new([0; 64]),
    });
    world.run(seconds(11));
    assert_eq!(world.closed.get(&9), Some(&Reason::Timeout));

    // The server's messages are not delivered.
    let mut out = Vec::new();
    world.client.handle(Event::Start, world.now, &mut out);
    world.client.tick(world.now + seconds(10), &mut out);
    let end = client::Action::Ended(Status::CanNotConnect, Reason::Timeout);
    assert_eq!(out, [client::Action::Connect(0), end]);
}

#[test]
fn a_repeated_reply_before_the_udp_port_is_skipped() {
    let mut client = client::Client::new(test(Protocol::Udp, Direction::Transmit, 1), [1; 32]);
    let mut out = Vec::new();
    let mut tell = |event| {
        out.clear();
        client.handle(event, Instant::ZERO, &mut out);
        out.clone()
    };
    tell(Event::Start);
    tell(Event::Received(0, &[1, 0, 0, 0]));
    tell(Event::Received(0, &[1, 0, 0, 0]));

    let actions = tell(Event::Received(0, &[1, 0, 0, 0, 7, 0xd1]));

    let open = client::Action::OpenUdp {
        socket: 0,
        local_port: 2257,
        remote_port: 2001,
    };
    assert_eq!(actions, [open]);
}
