//! Options of a foreign peer, and its replies to options of this end.

use machine::Duration;
use ppp::{
    Action, CHAP, DownReason, Event, Fault, IPCP, IPV6CP, Ipv4Grant, LCP, Method, Methods, PAP,
    Settings,
};

use crate::link::{ADDRESSES, client, server};
use crate::peer::{ACK, NAK, Peer, REJECT, REQUEST};

/// A Configure-Request of the peer, and the expected code and options of the answer.
type Case = (&'static str, &'static [u8], u8, &'static [u8]);

#[test]
fn options_of_lcp_are_answered() {
    let plain: &[Case] = &[
        ("nothing", &[], ACK, &[]),
        ("MRU", &[1, 4, 5, 0xd4], ACK, &[1, 4, 5, 0xd4]),
        (
            "MRU beyond the carrier",
            &[1, 4, 5, 0xdc],
            NAK,
            &[1, 4, 5, 0xd4],
        ),
        ("tiny MRU", &[1, 4, 0, 64], NAK, &[1, 4, 0, 128]),
        ("MRU of one byte", &[1, 3, 5], REJECT, &[1, 3, 5]),
        ("PAP", &[3, 4, 0xc0, 0x23], ACK, &[3, 4, 0xc0, 0x23]),
        ("EAP", &[3, 4, 0xc2, 0x27], NAK, &[3, 5, 0xc2, 0x23, 0x81]),
        ("magic", &[5, 6, 1, 2, 3, 4], ACK, &[5, 6, 1, 2, 3, 4]),
        ("quality", &[4, 4, 0xc0, 0x25], REJECT, &[4, 4, 0xc0, 0x25]),
        ("PFC, ACFC", &[7, 2, 8, 2], REJECT, &[7, 2, 8, 2]),
        ("ACCM", &[2, 6, 0, 0, 0, 0], REJECT, &[2, 6, 0, 0, 0, 0]),
        ("callback", &[13, 3, 6], REJECT, &[13, 3, 6]),
        ("MRRU", &[17, 4, 6, 0x4e], REJECT, &[17, 4, 6, 0x4e]),
        ("short numbers", &[18, 2], REJECT, &[18, 2]),
        ("discriminator", &[19, 3, 0], REJECT, &[19, 3, 0]),
        (
            "a Reject goes before a Nak",
            &[1, 4, 0, 64, 7, 2],
            REJECT,
            &[7, 2],
        ),
    ];
    let multilink: &[Case] = &[
        ("MRRU", &[17, 4, 6, 0x4e], ACK, &[17, 4, 6, 0x4e]),
        ("tiny MRRU", &[17, 4, 0, 1], NAK, &[17, 4, 0, 128]),
        ("short numbers", &[18, 2], REJECT, &[18, 2]),
        ("discriminator", &[19, 4, 0, 1], ACK, &[19, 4, 0, 1]),
        ("empty discriminator", &[19, 2], REJECT, &[19, 2]),
        ("PFC, ACFC", &[7, 2, 8, 2], ACK, &[7, 2, 8, 2]),
        ("ACCM", &[2, 6, 0, 0, 0, 0], ACK, &[2, 6, 0, 0, 0, 0]),
    ];
    let settings = Settings {
        mrru: Some(1600),
        hdlc_options: true,
        ..client()
    };
    for (settings, cases) in [(client(), plain), (settings, multilink)] {
        for (name, request, code, expected) in cases {
            let (mut peer, _) = Peer::start(settings.clone());
            let answers = peer.send(LCP, REQUEST, 7, request);
            assert_eq!(answers.len(), 1, "{name}");
            let answer = &answers[0];
            assert_eq!((answer.code, answer.id), (*code, 7), "{name}");
            assert_eq!(answer.data, *expected, "{name}");
        }
    }
}

#[test]
fn a_server_authenticates_itself_to_nobody() {
    let (mut peer, _) = Peer::start(server());
    let answers = peer.send(LCP, REQUEST, 1, &[3, 4, 0xc0, 0x23]);
    assert_eq!(answers[0].code, REJECT);
}

#[test]
fn a_malformed_list_of_options_is_discarded() {
    let (mut peer, request) = Peer::start(client());
    assert_eq!(peer.send(LCP, REQUEST, 1, &[1, 4, 5]), []);
    assert_eq!(peer.faults(), [Fault::Option]);
    assert_eq!(peer.send(LCP, NAK, request.id, &[1, 0]), []);
    assert_eq!(peer.faults(), [Fault::Option]);
}

#[test]
fn replies_to_other_requests_are_discarded() {
    let (mut peer, request) = Peer::start(client());
    assert_eq!(peer.send(LCP, ACK, request.id ^ 1, &request.data), []);
    assert_eq!(peer.faults(), [Fault::Mismatch]);
    assert_eq!(peer.send(LCP, ACK, request.id, &request.data[1..]), []);
    assert_eq!(peer.faults(), [Fault::Mismatch]);
    peer.send(LCP, ACK, request.id, &request.data);
    assert_eq!(peer.send(LCP, ACK, request.id, &request.data), []);
    assert_eq!(peer.faults(), [Fault::Stale]);
}

#[test]
fn a_server_steps_down_on_nak_and_follows_a_suggestion() {
    let (mut peer, request) = Peer::start(server());
    assert_eq!(request.data[4..9], [3, 5, 0xc2, 0x23, 0x81]);
    // EAP is not offered here: the next weaker method follows.
    let request = peer
        .send(LCP, NAK, request.id, &[3, 4, 0xc2, 0x27])
        .remove(0);
    assert_eq!(request.data[4..9], [3, 5, 0xc2, 0x23, 0x80]);
    let request = peer
        .send(LCP, NAK, request.id, &[3, 4, 0xc0, 0x23])
        .remove(0);
    assert_eq!(request.data[4..8], [3, 4, 0xc0, 0x23]);
    peer.send(LCP, NAK, request.id, &[3, 4, 0xc2, 0x27]);
    peer.wait(Duration::from_secs(10));
    peer.wait(Duration::from_secs(10));
    assert_eq!(peer.down(), Some(&DownReason::NoCommonMethod));
}

#[test]
fn rejected_options_are_left_away() {
    let settings = Settings {
        mrru: Some(1600),
        ..client()
    };
    let (mut peer, request) = Peer::start(settings);
    let request = peer.send(LCP, REJECT, request.id, &request.data).remove(0);
    assert_eq!(request.data, []);
    assert_eq!(request.code, REQUEST);
}

/// Brings a server to its network phase by PAP; returns its IPCP request.
fn network(grant: Ipv4Grant) -> (Peer, crate::peer::Sent) {
    let mut peer = Peer::open(Settings {
        methods: Methods::NONE.with(Method::Pap),
        ..server()
    });
    peer.send(PAP, 1, 9, b"\x04anna\x06geheim");
    let claim = peer.actions.iter().find_map(|action| match action {
        Action::Verify(claim) => Some(claim.clone()),
        _ => None,
    });
    let claim = claim.expect("the server verifies");
    let proof = claim.check("geheim").expect("the password is right");
    let sent = peer.handle(Event::Granted(Box::new(ppp::Grant {
        ipv4: Some(grant),
        ipv6: true,
        proof,
        ..ppp::Grant::default()
    })));
    assert_eq!((sent[0].protocol, sent[0].code, sent[0].id), (PAP, 2, 9));
    assert_eq!((sent[1].protocol, sent[2].protocol), (IPCP, IPV6CP));
    (peer, sent[1].clone())
}

#[test]
fn a_server_assigns_what_was_granted() {
    let wins = [Some([10, 0, 0, 5].into()), None];
    let (mut peer, request) = network(Ipv4Grant { wins, ..ADDRESSES });
    assert_eq!(request.data, [3, 6, 10, 0, 0, 1]);
    let cases: &[Case] = &[
        ("no address", &[], NAK, &[3, 6, 10, 0, 0, 9]),
        ("0.0.0.0", &[3, 6, 0, 0, 0, 0], NAK, &[3, 6, 10, 0, 0, 9]),
        ("another", &[3, 6, 10, 0, 0, 7], NAK, &[3, 6, 10, 0, 0, 9]),
        (
            "VJ",
            &[2, 6, 0, 0x2d, 15, 1],
            REJECT,
            &[2, 6, 0, 0x2d, 15, 1],
        ),
        (
            "old addresses",
            &[1, 10, 0, 0, 0, 0, 0, 0, 0, 0],
            REJECT,
            &[1, 10, 0, 0, 0, 0, 0, 0, 0, 0],
        ),
        (
            "second DNS",
            &[131, 6, 0, 0, 0, 0],
            REJECT,
            &[131, 6, 0, 0, 0, 0],
        ),
    ];
    for (name, options, code, expected) in cases {
        let answer = peer.send(IPCP, REQUEST, 1, options).remove(0);
        assert_eq!(
            (answer.code, &answer.data[..]),
            (*code, *expected),
            "{name}"
        );
    }
    let servers = [3, 6, 10, 0, 0, 9, 129, 6, 0, 0, 0, 0, 130, 6, 0, 0, 0, 0];
    let answer = peer.send(IPCP, REQUEST, 2, &servers).remove(0);
    assert_eq!(answer.code, NAK);
    assert_eq!(answer.data, [129, 6, 9, 9, 9, 9, 130, 6, 10, 0, 0, 5]);
}

#[test]
fn naks_become_rejects_after_five() {
    let (mut peer, _) = network(ADDRESSES);
    let codes = (0..7).map(|id| {
        let answer = peer.send(IPCP, REQUEST, id, &[3, 6, 10, 0, 0, 7]).remove(0);
        answer.code
    });
    assert!(codes.eq([NAK, NAK, NAK, NAK, NAK, REJECT, REJECT]));
}

#[test]
fn identifiers_of_ipv6_differ_and_are_not_zero() {
    let (mut peer, _) = network(ADDRESSES);
    for request in [&[1, 10, 0, 0, 0, 0, 0, 0, 0, 0][..], &[]] {
        let answer = peer.send(IPV6CP, REQUEST, 1, request).remove(0);
        assert_eq!((answer.code, answer.data.len()), (NAK, 10));
        assert_ne!(answer.data[2..], [0; 8]);
    }
    let compression = [2, 4, 0, 0x61];
    let answer = peer.send(IPV6CP, REQUEST, 1, &compression).remove(0);
    assert_eq!((answer.code, &answer.data[..]), (REJECT, &compression[..]));
}

#[test]
fn pap_requests_are_answered_again_under_their_identifier() {
    let (mut peer, _) = network(ADDRESSES);
    let answers = peer.send(PAP, 1, 10, b"\x04anna\x06geheim");
    assert_eq!((answers[0].code, answers[0].id), (2, 10));
    peer.send(PAP, 1, 10, b"\x04anna\x06gehei");
    assert_eq!(peer.faults(), [Fault::Authentication]);
    peer.send(CHAP, 2, 10, &[1, 2, 3]);
    assert_eq!(peer.faults(), [Fault::Method]);
}

#[test]
fn unknown_protocols_and_codes_are_rejected() {
    let mut peer = Peer::open(server());
    // MPLSCP.
    let answers = peer.send(0x8281, REQUEST, 1, &[]);
    assert_eq!((answers[0].protocol, answers[0].code), (LCP, 8));
    assert_eq!(answers[0].data[..4], [0x82, 0x81, 1, 1]);
    assert_eq!(peer.faults(), [Fault::UnknownProtocol]);
    let answers = peer.send(LCP, 77, 3, &[0; 1_400]);
    assert_eq!((answers[0].code, answers[0].data[0]), (7, 77));
    assert!(answers[0].data.len() <= 128, "the copy is cut");
    for ignored in [11, 12, 13] {
        assert_eq!(peer.send(LCP, ignored, 3, &[0; 8]), []);
        assert_eq!(peer.faults(), []);
    }
}

#[test]
fn echoes_are_answered_in_full_with_the_own_magic_number() {
    let mut peer = Peer::open(server());
    let data = [&[0, 0, 0, 1][..], &[7; 1_480]].concat();
    let answers = peer.send(LCP, 9, 5, &data);
    assert_eq!((answers[0].code, answers[0].id), (10, 5));
    assert_eq!(answers[0].data.len(), data.len());
    assert_ne!(answers[0].data[..4], data[..4]);
    assert_eq!(answers[0].data[4..], data[4..]);
    assert_eq!(peer.send(LCP, 9, 5, &[1, 2, 3]), []);
    assert_eq!(peer.faults(), [Fault::Length]);
}

#[test]
fn rejects_of_the_peer_take_effect() {
    let (mut peer, _) = network(ADDRESSES);
    peer.send(LCP, 8, 1, &[0x80, 0x57]);
    assert_eq!(peer.down(), None, "IPv4 goes on");
    let sent = peer.send(LCP, 8, 2, &[0x80, 0x21]);
    assert_eq!(
        (sent[0].protocol, sent[0].code),
        (LCP, 5),
        "nothing is left"
    );
    peer.send(LCP, 6, sent[0].id, &[]);
    assert_eq!(peer.down(), Some(&DownReason::NoNetworkProtocol));

    let mut peer = Peer::open(server());
    peer.send(LCP, 7, 1, &[REQUEST, 1, 0, 4]);
    peer.send(LCP, 6, 1, &[]);
    assert_eq!(peer.down(), Some(&DownReason::ProtocolError));
}
