//! Requests of a feature to a RADIUS server, and requests of a server, as frames on the wire.

use std::sync::{Arc, Mutex};

use dataplane::service::{FrameContent, Match, Rate, Service};
use machine::Instant;
use service::radius::{self, Answer, Outcome, Port, Question, Request, SubscriberLine};
use wire::radius::{Builder, Packet, code, kind, vendor};

use super::rig::{MAC, Rig, STATION, frame};
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::radius::RadiusQuery;
use crate::feature::{Effect, Effects, Feature};
use crate::running::Running;

/// EtherType for experiments (IEEE 802).
const LOCAL_EXPERIMENT: u16 = 0x88b5;
const SECRET: &[u8] = b"xyzzy5461";

type Answers = Arc<Mutex<Vec<(u64, Answer)>>>;

/// Sends a request for each frame: number, then the password.
#[derive(Debug)]
struct Subscribers(Answers);

impl Feature for Subscribers {
    fn menus(&self) -> &'static [&'static str] {
        &[]
    }

    fn services(&self) -> Vec<Service> {
        let its = Match::Frame(FrameContent::EtherType(LOCAL_EXPERIMENT));
        let rate = Rate {
            per_second: 1_000,
            burst: 1_000,
        };
        vec![Service::new("subscribers", [its], rate)]
    }

    fn hear(
        &mut self,
        heard: &ReceivedPacket<'_>,
        _: &Running<'_>,
        out: &mut Effects,
    ) -> ReceiveOutcome {
        let [number, password @ ..] = heard.packet() else {
            return ReceiveOutcome::NotMine;
        };
        let (feature, number) = (self.name(), u64::from(*number));
        if password.is_empty() {
            out.push(Effect::CancelRadius(feature, number));
            return ReceiveOutcome::Taken;
        }
        out.push(Effect::QueryRadius(Box::new(RadiusQuery {
            feature,
            number,
            request: Request {
                service: radius::Service::Ppp,
                question: Question::Access {
                    password: password.to_vec(),
                },
                user: "anna".into(),
                calling: "02:00:00:00:00:09".into(),
                called: "isp".into(),
                router: String::new(),
                port: Port::of_service("ether1"),
                subscriber_line: SubscriberLine::default(),
                session: "81000001".into(),
                classes: Vec::new(),
                timestamp: None,
            },
            server: None,
        })));
        ReceiveOutcome::Taken
    }

    fn radius_answered(&mut self, number: u64, answer: Answer, _: Instant, _: &mut Effects) {
        let mut answers = self.0.lock().expect("no test panics with it");
        answers.push((number, answer));
    }
}

/// Router at 192.0.2.1 with a server at 192.0.2.2.
fn rig() -> (Rig, Answers) {
    let answers = Answers::default();
    let mut rig = Rig::new(Subscribers(Arc::clone(&answers)));
    for command in [
        "/system/identity/set name=bras",
        "/ip/address/add address=192.0.2.1/24 interface=ether1",
        "/ip/arp/add address=192.0.2.2 mac-address=02:00:00:00:00:09 interface=ether1",
        "/radius/add service=ppp address=192.0.2.2 secret=xyzzy5461 require-message-auth=no",
    ] {
        rig.run(command);
    }
    rig.go_on_until(2);
    (rig, answers)
}

fn ask(rig: &mut Rig, number: u8, password: &[u8]) -> Vec<Vec<u8>> {
    let payload = [&[number][..], password].concat();
    let sent = rig.pass(frame(MAC, LOCAL_EXPERIMENT, &payload));
    let is_request = |sent: &Vec<u8>| sent.get(36..38) == Some(&1812_u16.to_be_bytes());
    sent.into_iter().filter(is_request).collect()
}

/// Returns the server's answer to a request frame.
fn answer(request: &[u8], code: u8, with: impl Fn(Builder) -> Builder) -> Vec<u8> {
    let asked = Packet::new_checked(&request[42..]).expect("a request");
    let built = with(Builder::new(code, asked.id(), asked.authenticator()));
    let mut bytes = built.finish().expect("it fits");
    radius::sign_as_server(&mut bytes, SECRET);
    datagram(2, u16::from_be_bytes([request[34], request[35]]), &bytes)
}

/// Returns a datagram to a port of the router from port 1812 of 192.0.2.`last`.
fn datagram(last: u8, to: u16, bytes: &[u8]) -> Vec<u8> {
    let ports = wire::udp::Repr {
        src_port: 1812,
        dst_port: to,
    };
    let (server, router) = ([192, 0, 2, last].into(), [192, 0, 2, 1].into());
    let udp = ports.to_bytes_v4(bytes, server, router);
    let ip = wire::ipv4::Repr::new(wire::Protocol::UDP, server, router);
    let head = ip.to_bytes(udp.len() + bytes.len());
    frame(MAC, 0x800, &[&head[..], &udp, bytes].concat())
}

#[test]
fn a_feature_has_the_answers_to_its_requests() {
    let (mut rig, answers) = rig();
    let first = ask(&mut rig, 1, b"right");
    let second = ask(&mut rig, 2, b"wrong");
    let [first, second] = [&first[..], &second].map(|sent| match sent {
        [one] => one.clone(),
        other => panic!("{other:?}"),
    });
    let request = Packet::new_checked(&first[42..]).expect("a request");
    let of = |kind| request.get(kind).map(|of| of.value);
    assert_eq!(of(kind::NAS_IDENTIFIER), Some(&b"bras"[..]));
    assert_eq!(of(kind::NAS_IP_ADDRESS), Some(&[192, 0, 2, 1][..]));
    assert_eq!(first[..6], STATION);

    rig.pass(answer(&second, code::ACCESS_REJECT, |built| built));
    let mark = |built: Builder| {
        let limit = vendor::MIKROTIK_RATE_LIMIT;
        built.with_vendor(vendor::MIKROTIK, limit, b"1M/2M")
    };
    rig.pass(answer(&first, code::ACCESS_ACCEPT, mark));

    let answers = core::mem::take(&mut *answers.lock().expect("no test panics with it"));
    let [(2, rejected), (1, accepted)] = &answers[..] else {
        panic!("{answers:?}");
    };
    assert!(matches!(rejected.outcome, Outcome::Reject(_)));
    let Outcome::Accept(accept) = &accepted.outcome else {
        panic!("{accepted:?}");
    };
    let limit = accept.authorization.rate_limit.as_deref();
    assert_eq!(limit, Some("1M/2M"));
    assert!(accepted.server.is_some());
    let counted = rig.run("/radius/monitor 0 once");
    for line in ["pending: 0", "requests: 2", "accepts: 1", "rejects: 1"] {
        assert!(counted.contains(line), "{line} in {counted}");
    }
}

#[test]
fn a_server_that_does_not_sign_its_answers_is_named_once_in_the_log() {
    let (mut rig, answers) = rig();
    rig.run("/radius/set 0 require-message-auth=yes-for-request-resp");
    for number in [1, 2] {
        let sent = ask(&mut rig, number, b"right");
        rig.pass(answer(&sent[0], code::ACCESS_ACCEPT, |built| built));
    }
    assert!(answers.lock().expect("no test panics with it").is_empty());
    let log = rig.run("/log/print where topics~\"radius\"");
    let warning = "answers of 192.0.2.2 have no Message-Authenticator and are dropped";
    assert_eq!(log.matches(warning).count(), 1, "{log}");
    assert!(rig.run("/radius/monitor 0 once").contains("bad-replies: 2"));
}

#[test]
fn a_request_to_a_silent_server_ends_and_a_cancelled_one_has_no_answer() {
    let (mut rig, answers) = rig();
    assert_eq!(ask(&mut rig, 1, b"x").len(), 1);
    assert_eq!(ask(&mut rig, 2, b"x").len(), 1);
    ask(&mut rig, 2, b"");
    rig.go_on_until(10);
    let nobody = Answer {
        outcome: Outcome::Nobody,
        server: None,
    };
    let known = || core::mem::take(&mut *answers.lock().expect("no test panics with it"));
    assert_eq!(known(), [(1, nobody.clone())]);
    let counted = rig.run("/radius/monitor 0 once");
    for line in ["pending: 0", "requests: 2", "resends: 2", "timeouts: 1"] {
        assert!(counted.contains(line), "{line} in {counted}");
    }
    // Without servers there is nobody to ask.
    rig.run("/radius/remove 0");
    assert_eq!(ask(&mut rig, 3, b"x").len(), 0);
    assert_eq!(known(), [(3, nobody)]);
}

/// Logs in a user whom a RADIUS server accepted.
fn login(rig: &mut Rig, user: &str) -> access::Login {
    let from = [192, 0, 2, 9].into();
    let attempt = rig.instance().attempt(user, from, access::Service::Ssh);
    let answer = attempt.password(b"x").vouched(access::Vouched {
        group: "read".into(),
        idle: None,
    });
    rig.instance().admit(answer).expect("the group may log in")
}

/// Returns the code and the Error-Cause of the router's response to a request of 192.0.2.`last`.
fn response(rig: &mut Rig, last: u8, request: &[u8]) -> Option<(u8, Option<u32>)> {
    let sent = rig.pass(datagram(last, 3799, request));
    let mut answers = sent
        .iter()
        .filter(|sent| sent.get(34..36) == Some(&3799_u16.to_be_bytes()));
    let packet = Packet::new_checked(answers.next()?.get(42..)?).expect("a packet");
    Some((packet.code(), packet.number(kind::ERROR_CAUSE)))
}

#[test]
fn a_server_ends_the_sessions_of_its_users_only() {
    let (mut rig, _) = rig();
    let request = |code, user: &str, secret| {
        let built = Builder::new(code, 9, [0; 16]).with(kind::USER_NAME, user.as_bytes());
        let mut bytes = built.finish().expect("it fits");
        radius::sign_as_server(&mut bytes, secret);
        bytes
    };
    let (anna, bert) = (login(&mut rig, "anna"), login(&mut rig, "bert"));
    let disconnect = request(code::DISCONNECT_REQUEST, "anna", SECRET);
    assert_eq!(response(&mut rig, 2, &disconnect), None);
    rig.run("/radius/incoming/set accept=yes");

    let forged = request(code::DISCONNECT_REQUEST, "anna", b"guessed");
    assert_eq!(response(&mut rig, 2, &forged), None);
    rig.run("/ip/arp/add address=192.0.2.3 mac-address=02:00:00:00:00:09 interface=ether1");
    assert_eq!(response(&mut rig, 3, &disconnect), None);
    let change = request(code::COA_REQUEST, "anna", SECRET);
    assert_eq!(
        response(&mut rig, 2, &change),
        Some((code::COA_NAK, Some(401)))
    );
    let stranger = request(code::DISCONNECT_REQUEST, "carol", SECRET);
    let not_found = Some((code::DISCONNECT_NAK, Some(503)));
    assert_eq!(response(&mut rig, 2, &stranger), not_found);
    assert!(!anna.is_ended());

    assert_eq!(
        response(&mut rig, 2, &disconnect),
        Some((code::DISCONNECT_ACK, None))
    );

    assert!(anna.is_ended() && !bert.is_ended());
    let again = login(&mut rig, "anna");
    // A replayed request has the same response and no effect.
    assert_eq!(
        response(&mut rig, 2, &disconnect),
        Some((code::DISCONNECT_ACK, None))
    );
    assert!(!again.is_ended());
    let counted = rig.run("/radius/incoming/monitor once");
    for line in ["requests: 6", "bad-requests: 2", "acks: 1", "naks: 2"] {
        assert!(counted.contains(line), "{line} in {counted}");
    }
    let drops = rig.run("/tool/drop/print detail without-paging");
    for reason in ["radius-unauthenticated", "radius-unknown-sender"] {
        assert!(drops.contains(reason), "{reason} in {drops}");
    }
    rig.run("/radius/incoming/reset-counters");
    assert!(
        rig.run("/radius/incoming/monitor once")
            .contains("requests: 0")
    );
}

#[test]
fn a_server_may_have_a_name() {
    let (mut rig, answers) = rig();
    rig.run("/ip/dns/static/add name=radius.example address=192.0.2.2 ttl=1s");
    rig.run("/radius/set 0 address=radius.example");
    rig.go_on_until(3);
    let sent = ask(&mut rig, 1, b"x");
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0][30..34], [192, 0, 2, 2]);
    rig.pass(answer(&sent[0], code::ACCESS_ACCEPT, |built| built));
    assert_eq!(answers.lock().expect("no test panics with it").len(), 1);
    // Another address of the name is used when its lifetime ends.
    rig.run("/ip/arp/add address=192.0.2.4 mac-address=02:00:00:00:00:09 interface=ether1");
    rig.run("/ip/dns/static/set [find] address=192.0.2.4");
    rig.go_on_until(20);
    let sent = ask(&mut rig, 2, b"x");
    assert_eq!(sent[0][30..34], [192, 0, 2, 4]);
}
