//! PPP sessions: LCP, authentication, CCP, IPCP, IPv6CP, multilink fragments.

use std::sync::Arc;

use machine::{Instant, Machine as _, Rng};
use ppp::{
    Action, CCP, CHAP, CloseReason, Credentials, EncryptionPolicy, Event, Grant, IPCP, IPV6CP,
    Ipv4Grant, LCP, Method, Methods, MppeKeys, PAP, Password, Proof, Role, Session, Settings,
    split,
};

use crate::script::{events, quiet, span};

/// Actions of an event at most.
const MAX_ACTIONS: usize = 16;
/// Bytes that an event may send beyond twice its own length.
const MAX_SENT: usize = 4_096;

/// Runs a client and a server on one script. Event kinds: the carrier is up; a raw packet; a packet of LCP,
/// authentication, CCP, IPCP or IPv6CP from its code on; an acknowledgement of a Configure-Request; a decision of the
/// owner; nothing but time.
pub fn ppp(script: &[u8]) {
    for role in [Role::Client, Role::Server] {
        let methods = match script.first() {
            Some(0x80..) => Methods::ALL,
            _ => Methods::NONE.with(Method::Pap).with(Method::Chap),
        };
        let settings = Settings {
            methods,
            mrru: Some(1_600),
            encryption: EncryptionPolicy::Allowed,
            ipv6: true,
            request_dns: true,
            credentials: (role == Role::Client).then(credentials),
            ..Settings::pppoe(role)
        };
        run(
            Session::new(Arc::new(settings), 1_492, Rng::seeded(3)),
            script,
        );
    }
}

fn credentials() -> Arc<Credentials> {
    Arc::new(Credentials {
        user: "anna".into(),
        password: Password::new("secret"),
    })
}

fn run(mut session: Session, script: &[u8]) {
    let mut now = Instant::from_secs(1);
    let mut up = [false; 2];
    // The last Configure-Request of each protocol.
    let mut requests = [const { Vec::new() }; 4];
    for (what, data) in events(script) {
        let was_over = session.is_over();
        let mut out = Vec::new();
        let packet = packet(what, data, &requests);
        let event = match what % 8 {
            0 => Some(Event::LowerUp),
            6 => Some(decision(data)),
            7 => None,
            _ => Some(Event::Packet(&packet)),
        };
        if let Some(event) = event {
            session.handle(event, now, &mut out);
        }
        now += span(data);
        session.tick(now, &mut out);
        quiet(&session, now);
        check(&out, packet.len());
        follow(&out, &mut up);
        remember(&out, &mut requests);
        assert!(
            !was_over || out.is_empty(),
            "a session that is over is silent"
        );
        let is_down = matches!(out.last(), Some(Action::Down(_)));
        assert_eq!(
            is_down,
            session.is_over() && !was_over,
            "Down comes once, and last"
        );
    }
}

/// Builds the packet of an event.
fn packet(what: u8, data: &[u8], requests: &[Vec<u8>; 4]) -> Vec<u8> {
    let (&kind, rest) = data.split_first().unwrap_or((&0, &[]));
    let pick = |protocols: &[u16]| protocols[usize::from(kind) % protocols.len()];
    match what % 8 {
        1 => data.to_vec(),
        2 => control(LCP, data),
        3 => {
            let mut packet = requests[usize::from(kind) % 4].clone();
            // Ack, Nak or Reject of all that was requested.
            if let Some(code) = packet.get_mut(2) {
                *code = 2 + kind / 4 % 3;
            }
            packet
        }
        4 => control(pick(&[PAP, CHAP]), rest),
        5 => control(pick(&[IPCP, IPV6CP, CCP]), rest),
        _ => Vec::new(),
    }
}

/// Builds a control packet from code, identifier and data, with a length that fits.
fn control(protocol: u16, data: &[u8]) -> Vec<u8> {
    let (&[code, id], rest) = data.split_first_chunk().unwrap_or((&[0; 2], &[]));
    let length = (rest.len() as u16 + 4).to_be_bytes();
    [&protocol.to_be_bytes()[..], &[code, id], &length, rest].concat()
}

fn decision(data: &[u8]) -> Event<'static> {
    let kind = data.first().copied().unwrap_or(0);
    match kind % 6 {
        0 => Event::Refused("no".into()),
        1 => Event::Close(CloseReason::IdleTimeout),
        2 => Event::LowerDown,
        3 => Event::Traffic {
            received: kind & 8 != 0,
        },
        _ => Event::Granted(Box::new(Grant {
            ipv4: Some(Ipv4Grant {
                local: [10, 0, 0, 1].into(),
                remote: [10, 0, 0, 2].into(),
                dns: [Some([9, 9, 9, 9].into()), None],
                wins: [None; 2],
            }),
            ipv6: true,
            encryption: match kind & 24 {
                0 => EncryptionPolicy::Off,
                8 => EncryptionPolicy::Required,
                _ => EncryptionPolicy::Allowed,
            },
            proof: Proof::default().with_keys(Some(MppeKeys::of_hashes([1; 8], &[2; 16], &[3; 8]))),
            ..Grant::default()
        })),
    }
}

/// Checks that an event costs little, and that packets are well-formed.
fn check(out: &[Action], received: usize) {
    assert!(out.len() <= MAX_ACTIONS, "an event has few actions");
    let mut bytes = 0;
    for action in out {
        if let Action::Send(packet) = action {
            bytes += packet.len();
            let (_, information) = split(packet).expect("a packet has a protocol");
            let length = usize::from(u16::from_be_bytes([information[2], information[3]]));
            assert_eq!(
                length,
                information.len(),
                "the length is that of the packet"
            );
        }
    }
    assert!(bytes <= 2 * received + MAX_SENT, "answers are bounded");
}

/// Checks that IPv4 and IPv6 go up and down in turn.
fn follow(out: &[Action], up: &mut [bool; 2]) {
    for action in out {
        let (family, is_up) = match action {
            Action::Ipv4Up(_) => (0, true),
            Action::Ipv4Down => (0, false),
            Action::Ipv6Up(_) => (1, true),
            Action::Ipv6Down => (1, false),
            Action::Down(_) => {
                assert_eq!(*up, [false; 2], "networks are down before the session is");
                continue;
            }
            _ => continue,
        };
        assert_ne!(up[family], is_up, "up and down alternate");
        up[family] = is_up;
    }
}

fn remember(out: &[Action], requests: &mut [Vec<u8>; 4]) {
    for action in out {
        let Action::Send(packet) = action else {
            continue;
        };
        for (protocol, request) in [LCP, IPCP, IPV6CP, CCP].into_iter().zip(&mut *requests) {
            if packet.starts_with(&protocol.to_be_bytes()) && packet.get(2) == Some(&1) {
                *request = packet.to_vec();
            }
        }
    }
}
