//! Loops, storms, and arbitrary bytes: a session stays bounded, ends, and never panics.

use machine::{Duration, Machine as _};
use proptest::prelude::*;

use ppp::{
    Action, CHAP, CloseReason, DownReason, Event, Fault, Grant, IPCP, IPV6CP, LCP, MULTILINK, PAP,
    Settings,
};

use crate::link::{ADDRESSES, CLIENT, Pair, SERVER, client, server};
use crate::peer::{NAK, Peer, REQUEST};

/// Bytes that an event may send beyond a copy of its packet: a few packets of negotiation.
const MAX_ANSWER: usize = 1_024;

#[test]
fn own_packets_that_come_back_end_the_session() {
    for settings in [client(), server()] {
        let mut peer = Peer::new(settings);
        let mut waiting = peer.handle(Event::LowerUp);
        let mut packets = 0;
        let down = loop {
            let mut next = Vec::new();
            for packet in std::mem::take(&mut waiting) {
                packets += 1;
                next.extend(peer.send(packet.protocol, packet.code, packet.id, &packet.data));
                if peer.session.is_over() {
                    break;
                }
            }
            if peer.session.is_over() {
                break peer.down().cloned();
            }
            waiting = match next.is_empty() {
                true => peer.wait(Duration::from_secs(3)),
                false => next,
            };
            assert!(packets < 100, "a loop is noticed");
        };
        assert_eq!(down, Some(DownReason::Loop));
    }
}

#[test]
fn a_storm_of_terminate_requests_ends_the_session_once() {
    let mut pair = Pair::new(client(), server(), 1);
    pair.start();
    pair.run_for(Duration::from_secs(1));
    let sent = pair.sent;
    for id in 0..200 {
        pair.handle(SERVER, Event::Packet(&[0xc0, 0x21, 5, id, 0, 4]));
    }
    assert_eq!(pair.ends[SERVER].down, Some(DownReason::PeerRequest));
    assert_eq!(pair.sent, sent + 1, "a session that is over is silent");
}

#[test]
fn a_peer_that_naks_forever_is_given_up() {
    let (mut peer, mut request) = Peer::start(client());
    let mut naks = 0;
    while !peer.session.is_over() {
        naks += 1;
        assert!(naks < 100, "negotiation ends");
        let answers = peer.send(LCP, NAK, request.id, &[1, 4, 4, 0]);
        request = match answers.into_iter().next() {
            Some(next) => next,
            None => match peer.wait(Duration::from_secs(3)).pop() {
                Some(next) => next,
                None => break,
            },
        };
    }
    assert_eq!(peer.down(), Some(&DownReason::NotResponding));
}

#[test]
fn a_peer_that_restarts_lcp_ends_an_open_session_but_old_packets_do_not() {
    let mut pair = Pair::new(client(), server(), 2);
    pair.start();
    pair.run_for(Duration::from_secs(1));
    let mut requests = pair.ends[CLIENT]
        .log
        .iter()
        .filter_map(|action| match action {
            Action::Send(packet) if packet[..3] == [0xc0, 0x21, REQUEST] => Some(packet.clone()),
            _ => None,
        });
    let old = requests.next_back().expect("the client has negotiated");
    for _ in 0..5 {
        pair.handle(SERVER, Event::Packet(&old));
    }
    pair.run_for(Duration::from_secs(1));
    pair.assert_open();
    assert!(pair.ends[SERVER].log.contains(&Action::Count(Fault::Stale)));

    let restart = [0xc0, 0x21, REQUEST, 99, 0, 10, 5, 6, 1, 2, 3, 4];
    pair.handle(SERVER, Event::Packet(&restart));
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.ends[SERVER].down, Some(DownReason::Restarted));
    assert_eq!(pair.ends[CLIENT].down, Some(DownReason::PeerRequest));
}

#[test]
fn a_peer_that_reopens_ipcp_forever_is_dropped() {
    let mut pair = Pair::new(client(), server(), 3);
    pair.start();
    pair.run_for(Duration::from_secs(1));
    for id in 100..200 {
        let request = [0x80, 0x21, REQUEST, id, 0, 10, 3, 6, 10, 0, 0, 9];
        pair.handle(SERVER, Event::Packet(&request));
        pair.run_for(Duration::from_secs(4));
    }
    assert_eq!(pair.ends[SERVER].down, Some(DownReason::Restarted));
}

#[test]
fn a_server_whose_owner_never_answers_gives_up() {
    let mut peer = Peer::open(Settings {
        methods: ppp::Methods::NONE.with(ppp::Method::Pap),
        ..server()
    });
    peer.send(PAP, 1, 1, b"\x01a\x01b");
    assert!(peer.session.is_verifying());
    while !peer.session.is_over() {
        peer.wait(Duration::from_secs(1));
        assert!(peer.now.as_nanos() < 200_000_000_000, "the session ends");
    }
    assert_eq!(peer.down(), Some(&DownReason::NotResponding));
}

#[test]
fn a_lost_carrier_ends_a_session_at_once() {
    let mut pair = Pair::new(client(), server(), 4);
    pair.start();
    pair.run_for(Duration::from_secs(1));
    pair.handle(CLIENT, Event::LowerDown);
    assert_eq!(pair.ends[CLIENT].down, Some(DownReason::CarrierLost));
    assert_eq!(pair.ends[CLIENT].ipv4, None);
    pair.handle(CLIENT, Event::LowerUp);
    pair.handle(CLIENT, Event::Close(CloseReason::Administrator));
}

/// An input of a run, in the proportions in which they reach deep states.
#[derive(Clone, Debug)]
enum Input {
    /// Packets of the other end pass for this time.
    Run(u8),
    /// A packet with a valid control header.
    Control {
        protocol: u8,
        code: u8,
        id: u8,
        data: Vec<u8>,
    },
    /// A packet of the other end, repeated with a changed byte.
    Changed {
        number: u8,
        at: u8,
        byte: u8,
    },
    Bytes(Vec<u8>),
    Wait(u8),
    Owner(u8),
}

fn input() -> impl Strategy<Value = Input> {
    let data = proptest::collection::vec(any::<u8>(), 0..40);
    prop_oneof![
        4 => any::<u8>().prop_map(Input::Run),
        4 => (any::<u8>(), 0_u8..16, 0_u8..5, data.clone()).prop_map(|(protocol, code, id, data)| {
            Input::Control { protocol, code, id, data }
        }),
        4 => (any::<u8>(), any::<u8>(), any::<u8>())
            .prop_map(|(number, at, byte)| Input::Changed { number, at, byte }),
        1 => data.prop_map(Input::Bytes),
        1 => any::<u8>().prop_map(Input::Wait),
        1 => any::<u8>().prop_map(Input::Owner),
    ]
}

/// Passes a packet to the server and checks what it costs.
fn deliver(pair: &mut Pair, packet: &[u8]) {
    let before = pair.ends[SERVER].log.len();
    pair.handle(SERVER, Event::Packet(packet));
    let sent = pair.ends[SERVER].log[before..]
        .iter()
        .map(|action| match action {
            Action::Send(packet) => packet.len(),
            _ => 0,
        });
    let sent: usize = sent.sum();
    assert!(
        sent <= 2 * packet.len() + MAX_ANSWER,
        "{sent} bytes are sent"
    );
}

fn apply(pair: &mut Pair, input: Input) {
    match input {
        Input::Run(time) => pair.run_for(Duration::from_millis(u64::from(time) * 4)),
        Input::Control {
            protocol,
            code,
            id,
            data,
        } => {
            let all = [LCP, IPCP, IPV6CP, PAP, CHAP, MULTILINK, 0x80fd];
            let protocol = all[usize::from(protocol) % all.len()];
            let length = (data.len() as u16 + 4).to_be_bytes();
            let head = [&protocol.to_be_bytes()[..], &[code, id], &length].concat();
            deliver(pair, &[head, data].concat());
        }
        Input::Changed { number, at, byte } => {
            let sent = pair.ends[CLIENT]
                .log
                .iter()
                .filter_map(|action| match action {
                    Action::Send(packet) => Some(packet.to_vec()),
                    _ => None,
                });
            let sent: Vec<_> = sent.collect();
            if let Some(mut packet) = sent.get(usize::from(number) % sent.len().max(1)).cloned() {
                let at = usize::from(at) % packet.len();
                packet[at] = byte;
                deliver(pair, &packet);
            }
        }
        Input::Bytes(bytes) => deliver(pair, &bytes),
        Input::Wait(seconds) => pair.run_for(Duration::from_secs(seconds.into())),
        Input::Owner(what) => {
            let event = match what % 6 {
                0 => Event::LowerUp,
                1 => Event::Granted(Box::new(Grant {
                    ipv4: Some(ADDRESSES),
                    ..Grant::default()
                })),
                2 => Event::Refused("E=691".repeat(99).into()),
                3 => Event::Close(CloseReason::Administrator),
                _ => Event::Traffic {
                    received: what & 16 == 0,
                },
            };
            pair.handle(SERVER, event);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_input_in_any_state_is_answered_within_bounds(
        seed in any::<u64>(),
        mrru in any::<bool>(),
        inputs in proptest::collection::vec(input(), 0..40),
    ) {
        let multilink = |settings| Settings {
            mrru: mrru.then_some(1_600),
            ipv6: true,
            ..settings
        };
        let mut pair = Pair::new(multilink(client()), multilink(server()), seed);
        pair.start();
        for input in inputs {
            apply(&mut pair, input);
        }
        pair.handle(SERVER, Event::Close(CloseReason::Reboot));
        pair.run_for(Duration::from_secs(300));
        prop_assert!(pair.ends[SERVER].down.is_some(), "a closed session ends");
        prop_assert_eq!(pair.ends[SERVER].session.deadline(), None);
    }
}
