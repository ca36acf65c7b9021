//! Dead peers and live ones.

use machine::{Duration, Instant};
use ppp::{Action, DownReason, Keepalive, Settings};

use crate::link::{CLIENT, Pair, SERVER, client, server};

fn open(client: Settings, server: Settings) -> Pair {
    let mut pair = Pair::new(client, server, 1);
    pair.start();
    pair.run_for(Duration::from_secs(1));
    pair.assert_open();
    pair
}

/// Cuts the link and returns the time until an end is down.
fn time_to_death(pair: &mut Pair, at: usize) -> Duration {
    pair.cut = [true; 2];
    let begin = pair.now;
    while pair.ends[at].down.is_none() {
        pair.run_for(Duration::from_millis(100));
        assert!(pair.now < begin + Duration::from_secs(600), "it dies");
    }
    pair.now - begin
}

#[test]
fn a_dead_peer_is_noticed_after_twice_the_timeout() {
    let mut pair = open(client(), server());
    let took = time_to_death(&mut pair, SERVER);

    assert_eq!(pair.ends[SERVER].down, Some(DownReason::NotResponding));
    // The timeout of 10 s, a query, ten echoes; then two Terminate-Requests without an answer.
    let expected = Duration::from_secs(20)..Duration::from_secs(28);
    assert!(expected.contains(&took), "{took:?}");
}

#[test]
fn a_tunnel_sends_five_echoes() {
    let server = Settings {
        keepalive: Some(Keepalive::tunnel(Duration::from_secs(30))),
        ..server()
    };
    let mut pair = open(client(), server);
    pair.ends[SERVER].log.clear();
    time_to_death(&mut pair, SERVER);

    let echo = |action: &&Action| matches!(action, Action::Send(packet) if packet[2] == 9);
    assert_eq!(pair.ends[SERVER].log.iter().filter(echo).count(), 5);
}

#[test]
fn traffic_costs_no_packet() {
    let mut pair = open(client(), server());
    let sent = pair.sent;
    for _ in 0..600 {
        pair.ends.iter_mut().for_each(|end| end.traffic = true);
        pair.run_for(Duration::from_secs(1));
    }

    pair.assert_open();
    assert_eq!(pair.sent, sent);
}

#[test]
fn a_silent_pair_stays_open_by_echoes() {
    let mut pair = open(client(), server());
    let sent = pair.sent;
    pair.run_for(Duration::from_secs(600));

    pair.assert_open();
    // An echo of one end keeps both from sending more: request and reply in 10 s.
    let echoes = pair.sent - sent;
    assert!((60..=260).contains(&echoes), "{echoes} packets");
    let spilled = |action: &Action| matches!(action, Action::Send(packet) if packet.spilled());
    let late = pair.ends[CLIENT].log.iter().skip(40).any(spilled);
    assert!(!late, "an echo needs no heap");
}

#[test]
fn without_keepalive_nothing_expires() {
    let off = |settings| Settings {
        keepalive: None,
        ..settings
    };
    let pair = open(off(client()), off(server()));
    let deadlines = pair.ends.iter().map(|end| end.session_deadline());
    assert!(deadlines.eq([None, None]));
}

impl crate::link::End {
    fn session_deadline(&self) -> Option<Instant> {
        machine::Machine::deadline(&self.session).map(|(due, _)| due)
    }
}
