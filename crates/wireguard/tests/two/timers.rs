//! The timers of a peer, one at a time.

use machine::{Duration, Instant};
use wireguard::{Event, Peer};

use crate::end::{End, PEER, address, peer};

const START: Instant = Instant::from_secs(100);

fn secs(secs: u64) -> Instant {
    START + Duration::from_secs(secs)
}

/// Runs an end with four reports and ticks a second; returns types and seconds of the messages it sends.
fn sends(end: &mut End, from: u64, to: u64) -> Vec<(u64, u8)> {
    let mut sent = Vec::new();
    for quarter in from * 4..=to * 4 {
        let now = START + Duration::from_millis(quarter * 250);
        end.look(now);
        end.tick(now);
        let out = core::mem::take(&mut end.out);
        sent.extend(out.iter().map(|(_, bytes)| (quarter / 4, bytes[0])));
    }
    sent
}

/// Creates two ends with a session that the first one initiated.
fn met(one: Peer, other: Peer) -> [End; 2] {
    let [mut one, mut other] = [End::new(1, one, START), End::new(2, other, START)];
    one.send(b"ping", START);
    for _ in 0..3 {
        exchange(&mut one, &mut other, START);
    }
    assert_eq!((one.came.len(), other.came.len()), (0, 1));
    other.look(START);
    [one, other]
}

fn exchange(one: &mut End, other: &mut End, now: Instant) {
    for (_, bytes) in core::mem::take(&mut one.out) {
        other.hear(one.at, &bytes, now);
    }
    for (_, bytes) in core::mem::take(&mut other.out) {
        one.hear(other.at, &bytes, now);
    }
}

#[test]
fn a_handshake_is_retried_for_ninety_seconds() {
    let mut end = End::new(1, peer(2), START);
    end.send(b"ping", START);
    let sent = sends(&mut end, 0, 200);
    assert!(sent.iter().all(|(_, kind)| *kind == 1));
    let times: Vec<u64> = sent.iter().map(|(at, _)| *at).collect();
    assert!((16..=19).contains(&times.len()), "{times:?}");
    assert!(
        times
            .windows(2)
            .all(|pair| (5..=6).contains(&(pair[1] - pair[0])))
    );
    assert!(times.last().is_some_and(|last| *last < 92));
    assert_eq!(end.gave_up, 1);
}

#[test]
fn a_receiver_sends_a_keepalive_after_ten_seconds() {
    let [_, mut other] = met(peer(2), peer(1));
    assert_eq!(sends(&mut other, 0, 100), [(10, 4)]);
}

#[test]
fn a_sender_without_reply_rekeys_after_fifteen_seconds() {
    let [mut one, _] = met(peer(2), peer(1));
    // The peer has not answered the first message.
    let sent = sends(&mut one, 0, 19);
    assert_eq!(sent, [(15, 1)]);
}

#[test]
fn the_initiator_rekeys_after_two_minutes_when_sending() {
    let [mut one, mut other] = met(peer(2), peer(1));
    other.send(b"pong", secs(1));
    exchange(&mut other, &mut one, secs(1));
    assert_eq!(sends(&mut one, 1, 118), [(11, 4)]);
    one.send(b"ping", secs(119));
    assert_eq!(sends(&mut one, 119, 119), [(119, 4)]);
    one.send(b"ping", secs(120));
    let sent = sends(&mut one, 120, 120);
    assert_eq!(sent, [(120, 4), (120, 1)]);
}

#[test]
fn the_responder_does_not_rekey() {
    let [mut one, mut other] = met(peer(2), peer(1));
    for at in (0..120).step_by(5) {
        one.send(b"ping", secs(at));
        other.send(b"pong", secs(at));
        exchange(&mut one, &mut other, secs(at));
        one.look(secs(at));
        other.look(secs(at));
    }
    for at in 120..125 {
        other.send(b"pong", secs(at));
        assert_eq!(sends(&mut other, at, at), [(at, 4)]);
    }
}

#[test]
fn the_initiator_rekeys_before_the_end_when_receiving() {
    let [mut one, mut other] = met(peer(2), peer(1));
    other.send(b"pong", secs(1));
    exchange(&mut other, &mut one, secs(1));
    sends(&mut one, 1, 160);
    for at in 160..=164 {
        other.send(b"pong", secs(at));
        exchange(&mut other, &mut one, secs(at));
        assert!(sends(&mut one, at, at).iter().all(|(_, kind)| *kind == 4));
    }
    other.send(b"pong", secs(166));
    exchange(&mut other, &mut one, secs(166));
    assert!(sends(&mut one, 166, 166).contains(&(166, 1)));
}

#[test]
fn keys_are_erased_after_three_minutes() {
    let [mut one, _] = met(peer(2), peer(1));
    sends(&mut one, 0, 179);
    assert!(one.is_ready());
    sends(&mut one, 180, 180);
    assert!(!one.is_ready());
}

#[test]
fn persistent_keepalives_are_sent_periodically() {
    let told = Peer {
        keepalive: Some(Duration::from_secs(25)),
        ..peer(2)
    };
    let [mut one, mut other] = [End::new(1, told, START), End::new(2, peer(1), START)];
    // A handshake starts without a packet.
    assert_eq!(sends(&mut one, 0, 0), [(0, 1)]);
    one.handle(Event::Peer(PEER, None), START);
    one = End::new(
        1,
        Peer {
            keepalive: Some(Duration::from_secs(25)),
            ..peer(2)
        },
        START,
    );
    one.tick(START);
    for _ in 0..3 {
        exchange(&mut one, &mut other, START);
    }
    assert_eq!(
        sends(&mut one, 0, 110),
        [(25, 4), (50, 4), (75, 4), (100, 4)]
    );
}

#[test]
fn a_responder_never_initiates() {
    let silent = Peer {
        responder: true,
        keepalive: Some(Duration::from_secs(25)),
        ..peer(2)
    };
    let mut end = End::new(1, silent, START);
    end.send(b"ping", START);
    assert_eq!(sends(&mut end, 0, 100), []);
}

#[test]
fn under_load_only_senders_with_a_cookie_are_answered() {
    let mut busy = End::new(2, peer(1), START);
    let mut garbage = vec![0; 148];
    garbage[0] = 1;
    // Correct MAC1s, which need nothing but the public key.
    let mut flooder = End::new(3, peer(2), START);
    for number in 0..300 {
        let now = START + Duration::from_millis(number);
        flooder.handle(Event::Peer(PEER, None), now);
        flooder.handle(Event::Peer(PEER, Some(peer(2))), now);
        flooder.handle(Event::Wanted(PEER), now);
        let (_, bytes) = flooder.out.pop().expect("a first message");
        busy.hear(address(3), &bytes, now);
    }
    let asked = core::mem::take(&mut busy.out);
    assert_eq!(asked.len(), 100);
    assert!(asked.iter().all(|(_, bytes)| bytes[0] == 3));

    let now = START + Duration::from_millis(400);
    let mut one = End::new(1, peer(2), now);
    one.send(b"ping", now);
    exchange(&mut one, &mut busy, now);
    assert!(!one.is_ready(), "it got a cookie");
    let later = now + Duration::from_millis(5500);
    // The flood goes on.
    for number in 0..250 {
        let now = later + Duration::from_millis(number / 2);
        let (_, bytes) = {
            flooder.handle(Event::Peer(PEER, None), now);
            flooder.handle(Event::Peer(PEER, Some(peer(2))), now);
            flooder.handle(Event::Wanted(PEER), now);
            flooder.out.pop().expect("a first message")
        };
        busy.hear(address(3), &bytes, now);
    }
    busy.out.clear();
    let now = later + Duration::from_millis(200);
    one.tick(now);
    exchange(&mut one, &mut busy, now);
    assert!(one.is_ready(), "{:?}", busy.device.counters());
}
