use core::net::{Ipv4Addr, SocketAddr};

use machine::{Instant, Machine as _, Rng};
use wire::radius::{Builder, Packet, code, kind, vendor};

use super::*;

/// Action of a client with requests `1` and so on.
type TestAction = Action<u8>;

pub(super) fn server(id: u64, last: u8) -> Server {
    Server {
        id,
        services: vec![Service::Login],
        called: String::new(),
        domain: String::new(),
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)),
        authentication: 1812,
        accounting: 1813,
        secret: b"xyzzy5461".to_vec(),
        timeout: Duration::from_millis(300),
        is_backup: false,
        source: None,
        nas_address: None,
        realm: String::new(),
        needs_message_authenticator: true,
        tls: None,
    }
}

fn request(question: Question) -> Request {
    Request {
        service: Service::Login,
        question,
        user: String::from("anna"),
        calling: String::from("198.51.100.7"),
        called: String::new(),
        router: String::from("core"),
        port: Port::of_service("ssh"),
        subscriber_line: SubscriberLine::default(),
        session: String::new(),
        classes: Vec::new(),
        timestamp: None,
    }
}

fn access() -> Request {
    request(Question::Access {
        password: b"arctangent".to_vec(),
    })
}

/// Actions, and the bytes of the last sent packet.
fn take(out: &mut Vec<TestAction>) -> (Vec<TestAction>, Vec<u8>) {
    let mut sent = Vec::new();
    out.iter().for_each(|action| {
        if let Action::Send { bytes, .. } = action {
            sent.clone_from(bytes);
        }
    });
    (core::mem::take(out), sent)
}

/// A server's answer.
fn answer(asked: &[u8], code: u8, secret: &[u8], with_authenticator: bool) -> Vec<u8> {
    let asked = Packet::new_checked(asked).expect("a request");
    let mut built = Builder::new(code, asked.id(), asked.authenticator());
    if with_authenticator {
        built = built.with(kind::MESSAGE_AUTHENTICATOR, &[0; 16]);
    }
    let built = built
        .with_vendor(vendor::MIKROTIK, vendor::MIKROTIK_GROUP, b"full")
        .with_number(kind::IDLE_TIMEOUT, 60)
        .with(kind::CLASS, b"a class");
    let mut bytes = built.finish().expect("it fits");
    // Both digests cover the authenticator of the request, which is still in place.
    secret::sign(&mut bytes, secret, true);
    bytes
}

fn begun(servers: Vec<Server>, request: Request) -> (Client<u8>, Vec<TestAction>) {
    let (mut client, mut out) = (Client::new(Rng::seeded(1)), Vec::new());
    client.handle(Event::Servers(servers), Instant::ZERO, &mut out);
    let query = Query {
        request,
        server: None,
        since: None,
        age: Duration::ZERO,
    };
    client.handle(Event::Query(1, Box::new(query)), Instant::ZERO, &mut out);
    (client, out)
}

fn finished(outcome: Outcome, server: Option<u64>) -> TestAction {
    Action::Done(1, Box::new(Answer { outcome, server }))
}

fn from(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 1812))
}

#[test]
fn an_access_accept_grants_the_login() {
    let (mut client, mut out) = begun(vec![server(1, 1)], access());
    let (asked, sent) = take(&mut out);
    assert!(
        matches!(&asked[..], [Action::Count(1, Count::Request), Action::Send { to, .. }] if *to == from(1))
    );
    let packet = Packet::new_checked(&sent).expect("a request");
    assert_eq!(packet.code(), code::ACCESS_REQUEST);
    assert_eq!(
        packet.attributes().next().map(|of| of.kind),
        Some(kind::MESSAGE_AUTHENTICATOR)
    );
    let password = packet.get(kind::USER_PASSWORD).expect("it is there").value;
    assert_eq!(
        password,
        secret::hide(b"arctangent", b"xyzzy5461", &packet.authenticator())
    );
    let mut zeroed = sent.clone();
    zeroed[22..38].fill(0);
    assert_eq!(sent[22..38], secret::hmac(b"xyzzy5461", &[&zeroed]));
    let now = Instant::ZERO + Duration::from_millis(20);

    let bytes = answer(&sent, code::ACCESS_ACCEPT, b"xyzzy5461", true);
    client.handle(
        Event::Received {
            line: LineId(1),
            from: from(1),
            bytes: &bytes,
        },
        now,
        &mut out,
    );

    let accept = Accept {
        authorization: Authorization {
            group: Some(String::from("full")),
            idle_timeout: Some(60),
            ..Authorization::default()
        },
        classes: vec![b"a class".to_vec()],
        ..Accept::default()
    };
    let wanted = [
        Action::Answered(1, Duration::from_millis(20)),
        Action::Count(1, Count::Accept),
        finished(Outcome::Accept(Box::new(accept)), Some(1)),
    ];
    assert_eq!(out, wanted);
    assert_eq!(client.deadline(), None);
    out.clear();
    // A repeated answer has no effect but its count.
    client.handle(
        Event::Received {
            line: LineId(1),
            from: from(1),
            bytes: &bytes,
        },
        now,
        &mut out,
    );
    assert_eq!(out, [Action::Count(1, Count::Late)]);
}

#[test]
fn unauthenticated_responses_are_counted_and_the_genuine_one_accepted() {
    let (mut client, mut out) = begun(vec![server(1, 1)], access());
    let (_, sent) = take(&mut out);
    let good = answer(&sent, code::ACCESS_REJECT, b"xyzzy5461", true);
    let mut other_id = good.clone();
    other_id[1] ^= 1;
    let mut changed = good.clone();
    *changed.last_mut().expect("it is not empty") ^= 1;
    let bad = [
        (
            from(1),
            answer(&sent, code::ACCESS_ACCEPT, b"guessed", true),
        ),
        (
            from(1),
            answer(&sent, code::ACCESS_ACCEPT, b"xyzzy5461", false),
        ),
        (
            from(1),
            answer(&sent, code::ACCOUNTING_RESPONSE, b"xyzzy5461", true),
        ),
        (from(2), good.clone()),
        (from(1), changed),
        (from(1), vec![2; 7]),
    ];

    for (at, (from, bytes)) in bad.into_iter().enumerate() {
        client.handle(
            Event::Received {
                line: LineId(1),
                from,
                bytes: &bytes,
            },
            Instant::ZERO,
            &mut out,
        );
        // The second one is genuine, but unsigned.
        let count = if at == 1 { Count::Unsigned } else { Count::Bad };
        assert_eq!(core::mem::take(&mut out), [Action::Count(1, count)]);
    }
    client.handle(
        Event::Received {
            line: LineId(1),
            from: from(1),
            bytes: &other_id,
        },
        Instant::ZERO,
        &mut out,
    );
    assert_eq!(core::mem::take(&mut out), [Action::Count(1, Count::Late)]);
    client.handle(
        Event::Received {
            line: LineId(1),
            from: from(1),
            bytes: &good,
        },
        Instant::ZERO,
        &mut out,
    );

    assert_eq!(
        out.last(),
        Some(&finished(Outcome::Reject(Reject::default()), Some(1)))
    );
}

#[test]
fn a_silent_server_is_tried_three_times_before_the_next() {
    let (mut client, mut out) = begun(vec![server(1, 1), server(2, 2)], access());
    let mut now = Instant::ZERO;
    let (mut sent, mut counted) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        for action in out.drain(..) {
            match action {
                Action::Send { to, bytes, .. } => sent.push((to, bytes)),
                other => counted.push(other),
            }
        }
        let Some((due, _)) = client.deadline() else {
            break;
        };
        client.tick(now, &mut out);
        assert_eq!(out, [], "too early");
        now = due;
        client.tick(now, &mut out);
    }

    assert_eq!(now, Instant::ZERO + Duration::from_millis(1_800));
    let to: Vec<_> = sent.iter().map(|(to, _)| *to).collect();
    assert_eq!(to, [from(1), from(1), from(1), from(2), from(2), from(2)]);
    assert!(
        sent[0].1 == sent[1].1 && sent[1].1 == sent[2].1,
        "it is the same question"
    );
    assert_ne!(sent[2].1, sent[3].1);
    let wanted = [
        Action::Count(1, Count::Request),
        Action::Count(1, Count::Resend),
        Action::Count(1, Count::Resend),
        Action::Count(1, Count::Timeout),
        Action::Count(2, Count::Request),
        Action::Count(2, Count::Resend),
        Action::Count(2, Count::Resend),
        Action::Count(2, Count::Timeout),
        finished(Outcome::Nobody, None),
    ];
    assert_eq!(counted, wanted);
}

#[test]
fn a_late_response_of_the_first_server_does_not_answer_the_second_request() {
    let (mut client, mut out) = begun(vec![server(1, 1), server(2, 1)], access());
    let (_, first) = take(&mut out);
    for _ in 0..3 {
        let (due, _) = client.deadline().expect("it waits");
        client.tick(due, &mut out);
    }
    take(&mut out);
    let late = answer(&first, code::ACCESS_ACCEPT, b"xyzzy5461", true);

    let (due, _) = client.deadline().expect("it waits");
    client.handle(
        Event::Received {
            line: LineId(2),
            from: from(1),
            bytes: &late,
        },
        due,
        &mut out,
    );

    assert_eq!(out, [Action::Count(2, Count::Bad)]);
}

/// 2001:db8:: with this length.
fn prefix(length: u8) -> Prefix6 {
    Prefix6 {
        network: "2001:db8::".parse().expect("an address"),
        length,
    }
}

/// The end of a session in accounting.
fn stop_of_a_session() -> Request {
    Request {
        service: Service::Ppp,
        session: String::from("80000001"),
        classes: vec![b"a class".to_vec()],
        timestamp: Some(1_000),
        port: Port {
            kind: PortType::Ethernet,
            number: Some(7),
            id: String::from("ether1"),
        },
        ..request(Question::Accounting(Accounting {
            status: Status::Stop,
            seconds: 90,
            authentic: Authentic::Local,
            cause: Some(TerminateCause::LostCarrier),
            through: Some(Through {
                address: Some([10, 7, 0, 5].into()),
                ipv6_prefix: Some(prefix(64)),
                delegated_prefix: Some(prefix(48)),
                input: Traffic {
                    packets: 3,
                    bytes: 0x2_0000_0001,
                },
                output: Traffic {
                    packets: 4,
                    bytes: 5,
                },
            }),
        }))
    }
}

#[test]
fn a_session_is_accounted_with_start_and_stop() {
    let realm = Server {
        services: vec![Service::Ppp],
        realm: String::from("example.org"),
        source: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))),
        ..server(1, 1)
    };
    let (mut client, mut out) = begun(vec![realm], stop_of_a_session());
    let (asked, sent) = take(&mut out);
    assert!(matches!(&asked[1], Action::Send { to, .. } if to.port() == 1813));
    let packet = Packet::new_checked(&sent).expect("a request");
    assert!(
        is_servers(&packet, b"xyzzy5461") && !is_servers(&packet, b"x"),
        "its sum is over zeros"
    );
    let text = |kind| packet.get(kind).map(|of| of.value);
    assert_eq!(text(kind::USER_NAME), Some(&b"anna@example.org"[..]));
    assert_eq!(text(kind::SESSION), Some(&b"80000001"[..]));
    assert_eq!(text(kind::CLASS), Some(&b"a class"[..]));
    assert_eq!(text(kind::NAS_IP_ADDRESS), Some(&[10, 0, 0, 1][..]));
    assert_eq!(
        (
            packet.number(kind::STATUS),
            packet.number(kind::SESSION_TIME)
        ),
        (Some(2), Some(90))
    );
    assert_eq!(text(kind::FRAMED_IP_ADDRESS), Some(&[10, 7, 0, 5][..]));
    for (kind, count) in [
        (kind::INPUT_OCTETS, 1),
        (kind::INPUT_GIGAWORDS, 2),
        (kind::OUTPUT_OCTETS, 5),
        (kind::OUTPUT_GIGAWORDS, 0),
        (kind::INPUT_PACKETS, 3),
        (kind::OUTPUT_PACKETS, 4),
        (kind::SERVICE_TYPE, 2),
        (kind::FRAMED_PROTOCOL, 1),
        (kind::AUTHENTIC, 2),
        (kind::TERMINATE_CAUSE, 2),
        (kind::DELAY, 0),
        (kind::EVENT_TIMESTAMP, 1_000),
        (kind::NAS_PORT, 7),
        (kind::NAS_PORT_TYPE, 15),
    ] {
        assert_eq!(packet.number(kind), Some(count), "{kind}");
    }

    let prefix_of = |kind| packet.get(kind).map(|of| of.value.to_vec());
    let network = [0x20, 1, 0x0d, 0xb8, 0, 0];
    let delegated = [&[0, 48][..], &network].concat();
    assert_eq!(prefix_of(kind::DELEGATED_IPV6_PREFIX), Some(delegated));
    let link = [&[0, 64][..], &network, &[0, 0]].concat();
    assert_eq!(prefix_of(kind::FRAMED_IPV6_PREFIX), Some(link));

    let bytes = answer(&sent, code::ACCOUNTING_RESPONSE, b"xyzzy5461", false);
    client.handle(
        Event::Received {
            line: LineId(1),
            from: from(1),
            bytes: &bytes,
        },
        Instant::ZERO,
        &mut out,
    );

    assert_eq!(out.last(), Some(&finished(Outcome::Noted, Some(1))));
}

#[test]
fn requests_that_cannot_be_sent_fail() {
    let nobody = [finished(Outcome::Nobody, None)];
    assert_eq!(begun(Vec::new(), access()).1, nobody);
    let long = request(Question::Access {
        password: vec![b'x'; PASSWORD + 1],
    });
    assert_eq!(begun(vec![server(1, 1)], long).1, nobody);
    let name = Request {
        user: "x".repeat(300),
        ..access()
    };
    assert_eq!(begun(vec![server(1, 1), server(2, 2)], name).1, nobody);
}

/// A server's answer to an EAP request, with additional attributes.
fn eap_answer(asked: &[u8], code: u8, more: impl Fn(Builder, [u8; 16]) -> Builder) -> Vec<u8> {
    let asked = Packet::new_checked(asked).expect("a request");
    let built = Builder::new(code, asked.id(), asked.authenticator());
    let built = built.with(kind::MESSAGE_AUTHENTICATOR, &[0; 16]);
    let built = more(built, asked.authenticator());
    let mut bytes = built.finish().expect("it fits");
    secret::sign(&mut bytes, b"xyzzy5461", true);
    bytes
}

/// An MS-MPPE key as a server encrypts it (RFC 2548, 2.4.2).
fn hidden(key: &[u8], salt: [u8; 2], authenticator: [u8; 16]) -> Vec<u8> {
    let mut plain = [&[key.len() as u8], key].concat();
    plain.resize(plain.len().next_multiple_of(16), 0);
    let mut out = salt.to_vec();
    let mut before = [&authenticator[..], &salt].concat();
    for piece in plain.chunks(16) {
        let sum = md5::compute([b"xyzzy5461", &before[..]].concat()).0;
        before = piece.iter().zip(sum).map(|(byte, of)| byte ^ of).collect();
        out.extend(&before);
    }
    out
}

/// Passes an answer of the server to the client.
fn heard(client: &mut Client<u8>, bytes: &[u8], out: &mut Vec<TestAction>) {
    let event = Event::Received {
        line: LineId(1),
        from: from(1),
        bytes,
    };
    client.handle(event, Instant::ZERO, out);
}

#[test]
fn an_eap_login_with_challenge_yields_a_key() {
    let long = [7; 600];
    let question = |message: &[u8], state: &[u8]| {
        request(Question::Eap {
            message: message.to_vec(),
            state: state.to_vec(),
        })
    };
    let (mut client, mut out) = begun(vec![server(1, 1)], question(&long, b""));
    let (_, sent) = take(&mut out);
    let packet = Packet::new_checked(&sent).expect("a request");
    assert_eq!(packet.whole(kind::EAP_MESSAGE), long);
    assert_eq!(packet.get(kind::STATE), None);
    // Without authentication the answer is ignored.
    let challenge = |built: Builder, _| {
        built
            .with_whole(kind::EAP_MESSAGE, &long)
            .with(kind::STATE, b"s")
    };
    let mut unproved = eap_answer(&sent, code::ACCESS_CHALLENGE, challenge);
    unproved[40] ^= 1;
    heard(&mut client, &unproved, &mut out);
    assert_eq!(take(&mut out).0, [Action::Count(1, Count::Bad)]);
    heard(
        &mut client,
        &eap_answer(&sent, code::ACCESS_CHALLENGE, challenge),
        &mut out,
    );
    let (eap, state) = (long.to_vec(), b"s".to_vec());
    assert_eq!(
        out.pop(),
        Some(finished(Outcome::Challenge { eap, state }, Some(1)))
    );

    let (mut client, mut out) = begun(vec![server(1, 1)], question(b"answer", b"s"));
    let (_, sent) = take(&mut out);
    let packet = Packet::new_checked(&sent).expect("a request");
    assert_eq!(packet.get(kind::STATE).map(|of| of.value), Some(&b"s"[..]));
    let accepts = |built: Builder, authenticator| {
        let key =
            |kind, key: &[u8], salt| (vendor::MICROSOFT, kind, hidden(key, salt, authenticator));
        let keys = [
            key(vendor::MS_MPPE_SEND_KEY, &[2; 16], [0x80, 1]),
            key(vendor::MS_MPPE_RECV_KEY, &[1; 32], [0x80, 2]),
        ];
        let built = built.with(kind::EAP_MESSAGE, &[3, 1, 0, 4]);
        keys.iter().fold(built, |built, (of, kind, value)| {
            built.with_vendor(*of, *kind, value)
        })
    };
    heard(
        &mut client,
        &eap_answer(&sent, code::ACCESS_ACCEPT, accepts),
        &mut out,
    );
    let keys = MppeKeys {
        send: Key(vec![2; 16]),
        receive: Key(vec![1; 32]),
    };
    assert_eq!(keys.of_eap(), [&[1; 32][..], &[2; 16]].concat());
    let accept = Accept {
        eap: vec![3, 1, 0, 4],
        keys: Some(keys),
        ..Accept::default()
    };
    let outcome = Outcome::Accept(Box::new(accept));
    assert_eq!(out.pop(), Some(finished(outcome, Some(1))));
}

#[test]
fn malformed_keys_are_ignored() {
    for len in 0..40 {
        // Any input decrypts without panic, to fewer bytes than before.
        let shown = secret::reveal(&vec![0xa5; len], b"xyzzy5461", &[9; 16]);
        assert!(shown.is_none_or(|shown| shown.len() < len), "{len}");
    }
}

/// Attributes of the request with these credentials, for a server with a Windows domain.
fn with_credentials(question: Question) -> Vec<u8> {
    let server = Server {
        services: vec![Service::Ppp],
        domain: String::from("EXAMPLE"),
        nas_address: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2))),
        ..server(1, 1)
    };
    let request = Request {
        service: Service::Ppp,
        session: String::from("81000001"),
        called: String::from("isp"),
        ..request(question)
    };
    take(&mut begun(vec![server], request).1).1
}

#[test]
fn credentials_of_ppp_are_sent_as_the_server_expects_them() {
    let (challenge, mut value) = (vec![7; 16], [0; 49]);
    value[..24].fill(1);
    value[24..48].fill(2);
    value[48] = 3;
    let (response, box_value) = ([9; 16], Box::new(value));
    let chap = with_credentials(Question::Chap {
        id: 5,
        challenge: challenge.clone(),
        response,
    });
    let chap = Packet::new_checked(&chap).expect("a request");
    let of = |kind| chap.get(kind).map(|of| of.value.to_vec());
    assert_eq!(
        of(kind::CHAP_PASSWORD),
        Some([&[5][..], &response].concat())
    );
    assert_eq!(of(kind::CHAP_CHALLENGE), Some(challenge.clone()));
    assert_eq!(of(kind::NAS_IP_ADDRESS), Some(vec![10, 0, 0, 2]));
    assert_eq!(of(kind::CALLED_STATION), Some(b"isp".to_vec()));
    assert_eq!(of(kind::SESSION), Some(b"81000001".to_vec()));
    assert_eq!(chap.number(kind::FRAMED_PROTOCOL), Some(1));
    let domain = chap.of_vendor(vendor::MICROSOFT, vendor::MS_CHAP_DOMAIN);
    assert_eq!(domain, Some(&b"EXAMPLE"[..]));
    let v1 = Question::MsChap1 {
        id: 5,
        challenge: challenge[..8].to_vec(),
        response: box_value.clone(),
    };
    let v2 = Question::MsChap2 {
        id: 5,
        challenge: challenge.clone(),
        response: box_value,
    };
    let cases = [
        (v1, vendor::MS_CHAP_RESPONSE, 8),
        (v2, vendor::MS_CHAP2_RESPONSE, 16),
    ];
    for (question, kind, len) in cases {
        let bytes = with_credentials(question);
        let packet = Packet::new_checked(&bytes).expect("a request");
        let of = |kind| packet.of_vendor(vendor::MICROSOFT, kind);
        // Identifier, flags, then the responses (RFC 2548, 2.1.3 and 2.3.2).
        let expected = [&[5, 3][..], &value[..48]].concat();
        assert_eq!(of(kind), Some(&expected[..]));
        assert_eq!(of(vendor::MS_CHAP_CHALLENGE), Some(&challenge[..len]));
    }
}

#[test]
fn answers_to_ms_chap_have_proof_keys_and_reasons() {
    let ms_chap = || {
        request(Question::MsChap2 {
            id: 5,
            challenge: vec![7; 16],
            response: Box::new([0; 49]),
        })
    };
    let answered = |code, with: fn(Builder, [u8; 16]) -> Builder| {
        let (mut client, mut out) = begun(vec![server(1, 1)], ms_chap());
        let (_, sent) = take(&mut out);
        let event = Event::Received {
            line: LineId(1),
            from: from(1),
            bytes: &eap_answer(&sent, code, with),
        };
        client.handle(event, Instant::ZERO, &mut out);
        match out.pop() {
            Some(Action::Done(1, answer)) => answer.outcome,
            other => panic!("{other:?}"),
        }
    };
    let accepted = answered(code::ACCESS_ACCEPT, |built, authenticator| {
        let keys = [&[1; 8][..], &[2; 16], &[0; 8]].concat();
        let keys = secret::hide(&keys, b"xyzzy5461", &authenticator);
        let success = b"\x05S=407A5589115FD0D6209F510FE9C04566932CDA56";
        let microsoft = vendor::MICROSOFT;
        built
            .with_vendor(microsoft, vendor::MS_CHAP2_SUCCESS, success)
            .with_vendor(microsoft, vendor::MS_CHAP_MPPE_KEYS, &keys)
            .with(kind::REPLY_MESSAGE, b"welcome")
    });
    let Outcome::Accept(accept) = accepted else {
        panic!("{accepted:?}");
    };
    let success = "S=407A5589115FD0D6209F510FE9C04566932CDA56";
    assert_eq!(accept.ms_chap2_success.as_deref(), Some(success));
    assert_eq!(accept.ms_chap_keys.map(|keys| keys.nt), Some([2; 16]));
    assert_eq!(accept.message.as_deref(), Some("welcome"));
    let rejected = answered(code::ACCESS_REJECT, |built, _| {
        let error = b"\x05E=691 R=0";
        built.with_vendor(vendor::MICROSOFT, vendor::MS_CHAP_ERROR, error)
    });
    let reason = Reject {
        ms_chap_error: Some(String::from("E=691 R=0")),
        ..Reject::default()
    };
    assert_eq!(rejected, Outcome::Reject(reason));
}

#[test]
fn a_request_names_the_line_of_the_subscriber() {
    let mut request = request(Question::Access {
        password: b"geheim".to_vec(),
    });
    request.subscriber_line = SubscriberLine {
        circuit_id: Some("olt1 eth 1/2/3".to_owned()),
        remote_id: Some("\u{e9}".repeat(63)),
    };
    let packet = request
        .packet(&server(1, 1), 1, [7; 16], 0)
        .expect("the packet fits");
    let packet = Packet::new_checked(&packet).expect("well formed");
    let id = |kind| packet.of_vendor(vendor::BROADBAND_FORUM, kind);
    assert_eq!(id(vendor::AGENT_CIRCUIT_ID), Some(&b"olt1 eth 1/2/3"[..]));
    // 63 bytes at most (RFC 4679, 3.3.2), in whole characters.
    let remote = id(vendor::AGENT_REMOTE_ID).expect("it is named");
    assert_eq!(remote, "\u{e9}".repeat(31).as_bytes());
}
