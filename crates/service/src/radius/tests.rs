use core::net::Ipv4Addr;

use super::*;

fn server(id: u64, last: u8) -> Server {
    Server {
        id,
        address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, last)),
        authentication: 1812,
        accounting: 1813,
        secret: b"xyzzy5461".to_vec(),
        timeout: Duration::from_millis(300),
        source: None,
        realm: String::new(),
        needs_message_authenticator: true,
    }
}

fn request(question: Question) -> Request {
    Request {
        question,
        user: String::from("anna"),
        calling: String::from("198.51.100.7"),
        called: String::new(),
        router: String::from("core"),
        port: "ssh",
        session: String::new(),
        classes: Vec::new(),
    }
}

fn access() -> Request {
    request(Question::Access {
        password: b"arctangent".to_vec(),
    })
}

/// Actions, and the bytes of the last sent packet.
fn take(out: &mut Vec<Action>) -> (Vec<Action>, Vec<u8>) {
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

fn begun(servers: Vec<Server>, request: Request) -> (Exchange, Vec<Action>) {
    let (mut exchange, mut out) = (Exchange::new(servers, request, Rng::seeded(1)), Vec::new());
    exchange.handle(Event::Begin, Instant::ZERO, &mut out);
    (exchange, out)
}

fn from(last: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, last], 1812))
}

#[test]
fn a_server_lets_somebody_in() {
    let (mut exchange, mut out) = begun(vec![server(1, 1)], access());
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
    exchange.handle(
        Event::Received {
            from: from(1),
            bytes: &bytes,
        },
        now,
        &mut out,
    );

    let accept = Accept {
        group: Some(String::from("full")),
        idle_timeout: Some(60),
        classes: vec![b"a class".to_vec()],
        ..Accept::default()
    };
    let wanted = [
        Action::Answered(1, Duration::from_millis(20)),
        Action::Count(1, Count::Accept),
        Action::Done(Outcome::Accept(accept)),
    ];
    assert_eq!(out, wanted);
    assert_eq!(exchange.deadline(), None);
    out.clear();
    // A repeated answer has no effect.
    exchange.handle(
        Event::Received {
            from: from(1),
            bytes: &bytes,
        },
        now,
        &mut out,
    );
    assert_eq!(out, []);
}

#[test]
fn answers_that_are_not_proved_are_counted_and_the_real_one_is_heard() {
    let (mut exchange, mut out) = begun(vec![server(1, 1)], access());
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
        (from(1), other_id),
        (from(1), changed),
        (from(1), vec![2; 7]),
    ];

    for (from, bytes) in bad {
        exchange.handle(
            Event::Received {
                from,
                bytes: &bytes,
            },
            Instant::ZERO,
            &mut out,
        );
        assert_eq!(core::mem::take(&mut out), [Action::Count(1, Count::Bad)]);
    }
    exchange.handle(
        Event::Received {
            from: from(1),
            bytes: &good,
        },
        Instant::ZERO,
        &mut out,
    );

    assert_eq!(
        out.last(),
        Some(&Action::Done(Outcome::Reject { eap: Vec::new() }))
    );
}

#[test]
fn a_silent_server_is_asked_three_times_and_then_the_next() {
    let (mut exchange, mut out) = begun(vec![server(1, 1), server(2, 2)], access());
    let mut now = Instant::ZERO;
    let (mut sent, mut counted) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        for action in out.drain(..) {
            match action {
                Action::Send { to, bytes, .. } => sent.push((to, bytes)),
                other => counted.push(other),
            }
        }
        let Some((due, _)) = exchange.deadline() else {
            break;
        };
        exchange.tick(now, &mut out);
        assert_eq!(out, [], "too early");
        now = due;
        exchange.tick(now, &mut out);
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
        Action::Done(Outcome::Nobody),
    ];
    assert_eq!(counted, wanted);
}

#[test]
fn an_answer_of_the_first_server_is_none_of_the_second() {
    let (mut exchange, mut out) = begun(vec![server(1, 1), server(2, 1)], access());
    let (_, first) = take(&mut out);
    for _ in 0..TRIES {
        let (due, _) = exchange.deadline().expect("it waits");
        exchange.tick(due, &mut out);
    }
    take(&mut out);
    let late = answer(&first, code::ACCESS_ACCEPT, b"xyzzy5461", true);

    let (due, _) = exchange.deadline().expect("it waits");
    exchange.handle(
        Event::Received {
            from: from(1),
            bytes: &late,
        },
        due,
        &mut out,
    );

    assert_eq!(out, [Action::Count(2, Count::Bad)]);
}

#[test]
fn a_session_is_accounted() {
    let told = Request {
        session: String::from("80000001"),
        classes: vec![b"a class".to_vec()],
        ..request(Question::Accounting {
            status: Status::Stop,
            seconds: 90,
            through: Some(Through {
                address: Some([10, 7, 0, 5].into()),
                input: (3, 0x2_0000_0001),
                output: (4, 5),
            }),
        })
    };
    let realm = Server {
        realm: String::from("example.org"),
        source: Some(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))),
        ..server(1, 1)
    };
    let (mut exchange, mut out) = begun(vec![realm], told);
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
        (kind::SERVICE_TYPE, FRAMED),
    ] {
        assert_eq!(packet.number(kind), Some(count), "{kind}");
    }

    let bytes = answer(&sent, code::ACCOUNTING_RESPONSE, b"xyzzy5461", false);
    exchange.handle(
        Event::Received {
            from: from(1),
            bytes: &bytes,
        },
        Instant::ZERO,
        &mut out,
    );

    assert_eq!(out.last(), Some(&Action::Done(Outcome::Noted)));
}

#[test]
fn what_cannot_be_asked_is_nobodys_to_answer() {
    let nobody = [Action::Done(Outcome::Nobody)];
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

#[test]
fn a_user_is_challenged_by_eap_and_let_in_with_a_key() {
    let long = [7; 600];
    let question = |message: &[u8], state: &[u8]| {
        request(Question::Eap {
            message: message.to_vec(),
            state: state.to_vec(),
        })
    };
    let (mut exchange, mut out) = begun(vec![server(1, 1)], question(&long, b""));
    let (_, sent) = take(&mut out);
    let packet = Packet::new_checked(&sent).expect("a request");
    assert_eq!(packet.whole(kind::EAP_MESSAGE), long);
    assert_eq!(packet.get(kind::STATE), None);
    let heard = |exchange: &mut Exchange, bytes: &[u8], out: &mut Vec<Action>| {
        let event = Event::Received {
            from: from(1),
            bytes,
        };
        exchange.handle(event, Instant::ZERO, out);
    };
    // Without authentication the answer is ignored.
    let challenge = |built: Builder, _| {
        built
            .with_whole(kind::EAP_MESSAGE, &long)
            .with(kind::STATE, b"s")
    };
    let mut unproved = eap_answer(&sent, code::ACCESS_CHALLENGE, challenge);
    unproved[40] ^= 1;
    heard(&mut exchange, &unproved, &mut out);
    assert_eq!(take(&mut out).0, [Action::Count(1, Count::Bad)]);
    heard(
        &mut exchange,
        &eap_answer(&sent, code::ACCESS_CHALLENGE, challenge),
        &mut out,
    );
    let (eap, state) = (long.to_vec(), b"s".to_vec());
    assert_eq!(
        out.pop(),
        Some(Action::Done(Outcome::Challenge { eap, state }))
    );

    let (mut exchange, mut out) = begun(vec![server(1, 1)], question(b"answer", b"s"));
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
        &mut exchange,
        &eap_answer(&sent, code::ACCESS_ACCEPT, accepts),
        &mut out,
    );
    let key = [&[1; 32][..], &[2; 16]].concat();
    let accept = Accept {
        eap: vec![3, 1, 0, 4],
        key: Some(Key(key)),
        ..Accept::default()
    };
    assert_eq!(out.pop(), Some(Action::Done(Outcome::Accept(accept))));
}

#[test]
fn a_key_that_is_not_well_formed_is_none() {
    for len in 0..40 {
        // Any input decrypts without panic, to fewer bytes than before.
        let shown = secret::reveal(&vec![0xa5; len], b"xyzzy5461", &[9; 16]);
        assert!(shown.is_none_or(|shown| shown.len() < len), "{len}");
    }
}
