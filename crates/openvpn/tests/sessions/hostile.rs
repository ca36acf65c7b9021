//! Floods, forged and repeated packets.

use machine::Duration;
use machine::{Instant, Machine as _, Rng};
use openvpn::{Action, Fault, Path, Server, ServerEvent};

use crate::certificates::Certificates;
use crate::network::{Network, Side, address, client_settings, path, reversed, server_settings};

/// The reset of a client: opcode, session id, no acknowledgement, packet id.
fn reset(session: u64, id: u32) -> Vec<u8> {
    [&[0x38][..], &session.to_be_bytes(), &[0], &id.to_be_bytes()].concat()
}

fn from(port: u16) -> Path {
    Path {
        remote: ([192, 0, 2, 1], port).into(),
        ..reversed(&path())
    }
}

#[test]
fn resets_are_answered_and_leave_no_state() {
    let settings = server_settings(&Certificates::new());
    let mut server = Server::new(settings, Rng::seeded(1));
    let mut out = Vec::new();
    let now = Instant::from_secs(10);
    for number in 0..10_000u16 {
        let (path, packet) = (from(number), &reset(number.into(), 0));
        server.handle(ServerEvent::Received { path, packet }, now, &mut out);
    }
    assert_eq!(out.len(), 10_000);
    assert!(
        out.iter()
            .all(|action| matches!(action, Action::Send(_, packet) if packet.len() <= 30))
    );
    assert_eq!(server.session_count(), 0);
    assert_eq!(server.deadline(), None);
}

#[test]
fn a_session_begins_with_the_session_id_of_its_address_and_time_only() {
    let settings = server_settings(&Certificates::new());
    let mut server = Server::new(settings, Rng::seeded(1));
    let now = Instant::from_secs(10);
    let feed = |server: &mut Server, path, packet: &[u8], now| {
        let mut out = Vec::new();
        server.handle(ServerEvent::Received { path, packet }, now, &mut out);
        out
    };
    let answer = feed(&mut server, from(1), &reset(7, 1), now);
    let Some(Action::Send(_, answer)) = answer.first() else {
        panic!("an answer");
    };
    let sid = answer[1..9].to_vec();
    // An acknowledgement of the server's reset.
    let ack = |sid: &[u8]| [&[0x28][..], &7u64.to_be_bytes(), &[1, 0, 0, 0, 0], sid].concat();
    let wrong = [Action::Ignored(Fault::Cookie)];
    assert_eq!(feed(&mut server, from(1), &ack(&[9; 8]), now), wrong);
    assert_eq!(feed(&mut server, from(2), &ack(&sid), now), wrong);
    let late = now + Duration::from_secs(70);
    assert_eq!(feed(&mut server, from(1), &ack(&sid), late), wrong);
    assert_eq!(server.session_count(), 0);
    assert_eq!(feed(&mut server, from(1), &ack(&sid), now), []);
    assert_eq!(server.session_count(), 1);
    // It ends if the client says nothing more.
    let mut out = Vec::new();
    server.tick(now + Duration::from_secs(61), &mut out);
    server.tick(now + Duration::from_secs(70), &mut out);
    assert_eq!(server.session_count(), 0);
}

#[test]
fn half_open_sessions_are_limited() {
    let mut settings = server_settings(&Certificates::new());
    settings.max_sessions = 100_000;
    let mut server = Server::new(settings, Rng::seeded(1));
    let now = Instant::from_secs(10);
    let mut last = Vec::new();
    for port in 0..3000 {
        let mut out = Vec::new();
        let path = from(port);
        server.handle(
            ServerEvent::Received {
                path,
                packet: &reset(7, 0),
            },
            now,
            &mut out,
        );
        let Some(Action::Send(_, answer)) = out.first() else {
            panic!("an answer");
        };
        let ack = [
            &[0x28][..],
            &7u64.to_be_bytes(),
            &[1, 0, 0, 0, 0],
            &answer[1..9],
        ]
        .concat();
        last.clear();
        server.handle(ServerEvent::Received { path, packet: &ack }, now, &mut last);
    }
    assert_eq!(last, [Action::Ignored(Fault::Full)]);
    assert_eq!(server.session_count(), 2048);
}

#[test]
fn forged_packets_of_another_address_or_session_do_not_disturb_a_handshake() {
    let certificates = Certificates::new();
    let mut network = Network::with(3, server_settings(&certificates));
    network.connect(client_settings(&certificates));
    let mut forged = 0;
    while network.of_server.opened.is_empty() {
        assert!(network.step(Instant::FAR_FUTURE));
        let flying: Vec<_> = network.flying.values().cloned().collect();
        for (to, path, mut packet) in flying {
            forged += 1;
            let path = Path {
                remote: address("203.0.113.7:7"),
                ..path
            };
            packet.truncate(40);
            match to {
                Side::Server => network.at_server(ServerEvent::Received {
                    path,
                    packet: &packet,
                }),
                Side::Client => {
                    network.at_client(openvpn::ClientEvent::Received {
                        path,
                        packet: &packet,
                    });
                }
            }
        }
    }
    assert!(forged > 5);
    network.run(Duration::from_secs(5));
    network.assert_keyed(0);
}

#[test]
fn garbage_is_ignored_under_a_name() {
    let mut network = Network::with(4, server_settings(&Certificates::new()));
    let cases: [(&[u8], Fault); 5] = [
        (&[], Fault::Malformed),
        (&[0x38], Fault::Malformed),
        (&[0x08; 40], Fault::KeyMethod),
        (&[0x48; 40], Fault::Data),
        (&[0xf8; 40], Fault::Opcode),
    ];
    for (packet, fault) in cases {
        network.at_server(ServerEvent::Received {
            path: reversed(&path()),
            packet,
        });
        assert_eq!(network.of_server.ignored.pop(), Some(fault));
    }
    let long = vec![0x20; 4000];
    network.at_server(ServerEvent::Received {
        path: reversed(&path()),
        packet: &long,
    });
    assert_eq!(network.of_server.ignored, [Fault::Malformed]);
}
