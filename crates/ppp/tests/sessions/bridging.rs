//! Bridging: BCP between two sessions, and with a foreign peer.

use machine::Duration;
use ppp::{
    Action, BCP, BridgeLink, DownReason, Event, Grant, IPCP, LCP, Method, Methods, Proof, Settings,
};

use super::link::{CLIENT, Pair, SERVER, Verifier, client, server, verify};
use super::peer::{ACK, NAK, Peer, REJECT, REQUEST, Sent};

const MINUTE: Duration = Duration::from_secs(60);
/// MAC-Support Ethernet, IEEE-802-Tagged-Frame enabled, Management-Inline.
const ALL: [u8; 8] = [3, 3, 1, 8, 3, 1, 9, 2];

const BRIDGING: Verifier = |claim| {
    let mut grant = verify(claim)?;
    grant.bridging = true;
    Ok(grant)
};

fn bridging_client() -> Settings {
    Settings {
        bridging: true,
        ..client()
    }
}

fn bridge(pair: &Pair, end: usize) -> Option<BridgeLink> {
    let mut log = pair.ends[end].log.iter();
    log.find_map(|action| match action {
        Action::BridgeUp(link) => Some(*link),
        _ => None,
    })
}

#[test]
fn two_bridging_ends_exchange_frames_and_no_packets() {
    let mut pair = Pair::new(bridging_client(), server(), 3).with_verifier(BRIDGING);
    pair.start();
    pair.run_for(MINUTE);
    let all = Some(BridgeLink {
        has_tags: true,
        has_inline_management: true,
    });
    assert_eq!([CLIENT, SERVER].map(|end| bridge(&pair, end)), [all; 2]);
    assert!(
        pair.ends
            .iter()
            .all(|end| end.ipv4.is_none() && end.ipv6.is_none())
    );
    assert_eq!(pair.downs(), [None, None]);
}

#[test]
fn a_bridge_with_an_end_that_does_not_bridge_has_no_protocol_in_common() {
    let cases = [
        (bridging_client(), verify as Verifier),
        (client(), BRIDGING),
    ];
    for (client, verifier) in cases {
        let mut pair = Pair::new(client, server(), 3).with_verifier(verifier);
        pair.start();
        pair.run_for(MINUTE);
        let downs = pair.downs();
        assert!(
            downs.contains(&Some(DownReason::NoNetworkProtocol)),
            "{downs:?}"
        );
        assert_eq!([CLIENT, SERVER].map(|end| bridge(&pair, end)), [None; 2]);
    }
}

/// Returns a server's session that bridges, and the Configure-Request of its BCP.
fn bridging() -> (Peer, Sent) {
    let settings = Settings {
        methods: Methods::NONE.with(Method::Pap),
        ..server()
    };
    let mut peer = Peer::open(settings);
    peer.send(ppp::PAP, 1, 1, b"\x04anna\x06geheim");
    let sent = peer.handle(Event::Granted(Box::new(Grant {
        bridging: true,
        proof: Proof::default(),
        ..Grant::default()
    })));
    let request = sent.into_iter().find(|sent| sent.protocol == BCP);
    (peer, request.expect("a request of BCP"))
}

#[test]
fn options_of_the_peer_are_judged_and_its_abilities_are_known() {
    let (mut peer, request) = bridging();
    assert_eq!(request.data, ALL);
    let line = [2, 4, 0, 1];
    let answer = peer.send(BCP, REQUEST, 1, &[&line[..], &ALL].concat());
    assert_eq!((answer[0].code, &answer[0].data[..]), (REJECT, &line[..]));
    let answer = peer.send(BCP, REQUEST, 2, &[4, 3, 1, 5, 3, 1]);
    assert_eq!(
        (answer[0].code, &answer[0].data[..]),
        (NAK, &[4, 3, 2, 5, 3, 2][..])
    );
    let address = [6, 8, 2, 0, 0, 0, 0, 9, 4, 3, 2];
    assert_eq!(peer.send(BCP, REQUEST, 3, &address)[0].code, ACK);
    // The peer rejects VLAN tags, and receives none.
    let sent = peer.send(BCP, REJECT, request.id, &[8, 3, 1]);
    assert_eq!(sent[0].data, [3, 3, 1, 9, 2]);
    peer.send(BCP, ACK, sent[0].id, &sent[0].data);
    let plain = BridgeLink {
        has_tags: false,
        has_inline_management: false,
    };
    assert_eq!(peer.actions, [Action::BridgeUp(plain)]);
    peer.send(BCP, REQUEST, 4, &ALL);
    assert_eq!(peer.actions[0], Action::BridgeDown);
    let reject = peer.send(IPCP, REQUEST, 1, &[]);
    assert_eq!((reject[0].protocol, reject[0].code), (LCP, 8));
}

#[test]
fn a_peer_without_ethernet_is_no_port() {
    let (mut peer, request) = bridging();
    peer.send(BCP, ACK, request.id, &request.data);
    let sent = peer.send(BCP, REQUEST, 1, &[3, 3, 4]);
    assert_eq!(
        sent.iter().map(|sent| sent.code).collect::<Vec<_>>(),
        [ACK, 5]
    );
    let up = |action: &Action| matches!(action, Action::BridgeUp(_));
    assert!(!peer.actions.iter().any(up));
}
