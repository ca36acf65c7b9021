//! Clients and servers over a line with delay, loss, duplicates and false servers, in virtual time.

use core::net::IpAddr;

use machine::{Duration, Instant, Machine, Rng};
use wire::ntp::{Mode, Packet, Repr, Timestamp};

use super::*;

const START: i64 = 1_790_000_000 * SECOND;
const MILLI: i64 = 1_000_000;

fn address(number: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, number])
}

fn peer(number: u8) -> Peer {
    Peer {
        id: number.into(),
        address: Some(address(number)),
        min_poll: 6,
        max_poll: 10,
        burst: true,
        key: None,
    }
}

/// A client whose raw clock is off by `wrong` and loses `drift` nanoseconds per second, and servers with errors.
struct World {
    client: Client,
    servers: Vec<(IpAddr, Server, i64)>,
    now: Instant,
    wrong: i64,
    drift: i64,
    rng: Rng,
    loss: u8,
    seen: Vec<Action>,
}

impl World {
    fn new(peers: Vec<Peer>, off: &[i64]) -> Self {
        let servers = off.iter().zip(1..).map(|(off, number)| {
            let mut server = Server::new(1);
            let settings = Settings {
                local_stratum: Some(2),
                keys: vec![Key::new(9, b"secret")],
                ..Settings::default()
            };
            server.configure(settings, Instant::ZERO);
            (address(number), server, *off)
        });
        let mut world = Self {
            client: Client::new(7, START - 90 * SECOND, Instant::ZERO),
            servers: servers.collect(),
            now: Instant::ZERO,
            wrong: -90 * SECOND,
            drift: 0,
            rng: Rng::seeded(3),
            loss: 0,
            seen: Vec::new(),
        };
        let mut out = Vec::new();
        world.tell_clock();
        world
            .client
            .handle(Event::Configure(peers), world.now, &mut out);
        world
    }

    fn truth(&self) -> i64 {
        START + self.now.as_nanos() as i64
    }

    fn raw(&self) -> i64 {
        let past = self.now.as_nanos() as i64;
        self.truth() + self.wrong - past / 1_000 * self.drift / 1_000_000
    }

    fn tell_clock(&mut self) {
        let event = Event::Clock(self.raw());
        self.client.handle(event, self.now, &mut self.seen);
    }

    fn run(&mut self, seconds: u64) {
        let until = self.now + Duration::from_secs(seconds);
        while let Some((at, ())) = self.client.deadline().filter(|(at, ())| *at <= until) {
            // The owner passes in the clock once per second.
            while self.now + Duration::from_secs(1) < at {
                self.now += Duration::from_secs(1);
                self.tell_clock();
            }
            self.now = at.max(self.now);
            self.tell_clock();
            let mut out = Vec::new();
            self.client.tick(self.now, &mut out);
            for action in out {
                let Action::Send { to, bytes } = action else {
                    self.seen.push(action);
                    continue;
                };
                self.exchange(to, &bytes);
            }
        }
        self.now = until;
        self.tell_clock();
    }

    fn exchange(&mut self, to: IpAddr, question: &[u8]) {
        let (there, back) = (self.rng.below(4_000), self.rng.below(4_000));
        if self.rng.percent(self.loss) {
            return;
        }
        self.now += Duration::from_micros(3_000 + there);
        let truth = self.truth();
        let mut servers = self.servers.iter_mut();
        let Some((from, server, off)) = servers.find(|(address, ..)| *address == to) else {
            return;
        };
        let Ok(answer) = server.answer(address(100), question, None, truth + *off, self.now) else {
            return;
        };
        assert!(answer.len() <= question.len());
        let from = *from;
        self.now += Duration::from_micros(3_000 + back);
        self.tell_clock();
        for _ in 0..=u8::from(self.rng.percent(self.loss)) {
            let event = Event::Received {
                from,
                bytes: &answer,
            };
            self.client.handle(event, self.now, &mut self.seen);
        }
    }

    /// Error of the corrected time.
    fn error(&self) -> i64 {
        (self.client.time(self.now) - self.truth()).abs()
    }
}

#[test]
fn a_wrong_drifting_clock_is_corrected_within_milliseconds() {
    let mut world = World::new(vec![peer(1)], &[0]);
    (world.drift, world.loss) = (40_000, 20);
    world.run(200);
    assert_eq!(
        world.client.status().map(|status| status.server),
        Some(address(1))
    );
    assert!(world.error() < 5 * MILLI, "{}", world.error());

    world.run(6 * 3_600);
    assert!(world.error() < 3 * MILLI, "{}", world.error());
    let frequency = world.client.discipline().frequency();
    assert!((frequency - 40_000).abs() < 8_000, "{frequency}");
    let twice = world
        .seen
        .iter()
        .filter(|seen| **seen == Action::Discarded(Fault::Unasked));
    assert!(twice.count() > 0, "an answer that comes twice counts once");
    assert!(world.client.peer(1).is_some_and(|peer| peer.poll > 6));
}

#[test]
fn a_falseticker_among_three_servers_is_ignored() {
    let mut world = World::new(vec![peer(1), peer(2), peer(3)], &[0, 700 * SECOND, MILLI]);
    world.run(600);
    assert!(world.error() < 5 * MILLI, "{}", world.error());
    assert_ne!(
        world.client.status().map(|status| status.server),
        Some(address(2))
    );
}

#[test]
fn a_silent_server_becomes_unreachable_and_recovers() {
    let mut world = World::new(vec![peer(1)], &[0]);
    world.run(60);
    world.loss = 100;
    world.run(3 * 3_600);
    assert!(world.seen.contains(&Action::Lost));
    assert_eq!(world.client.status(), None);
    world.loss = 0;
    world.run(2 * 1_024);
    assert!(world.client.status().is_some());
}

#[test]
fn local_time_continues_when_the_machines_clock_is_set() {
    let mut world = World::new(vec![peer(1)], &[0]);
    world.run(60);
    world.wrong = 12 * SECOND;
    world.tell_clock();
    assert!(world.error() < 5 * MILLI, "{}", world.error());
    assert!(
        !world.seen[1..]
            .iter()
            .any(|seen| matches!(seen, Action::Lost))
    );
}

#[test]
fn a_response_without_the_requests_timestamp_is_refused() {
    let mut world = World::new(vec![peer(1)], &[]);
    let mut out = Vec::new();
    world.client.tick(world.now, &mut out);
    let forged = Repr {
        mode: Mode::SERVER,
        stratum: 1,
        receive: Timestamp::from_unix_nanos(START),
        transmit: Timestamp::from_unix_nanos(START),
        origin: Timestamp::from_unix_nanos(world.raw()),
        ..Repr::question(1)
    };
    let faults = |world: &mut World, from, bytes: &[u8]| {
        let mut out = Vec::new();
        let event = Event::Received { from, bytes };
        world.client.handle(event, world.now, &mut out);
        out
    };
    let unasked = [Action::Discarded(Fault::Unasked)];
    assert_eq!(faults(&mut world, address(1), &forged.to_bytes()), unasked);
    let Some(Action::Send { bytes, .. }) = out.first() else {
        panic!("a question: {out:?}");
    };
    let question = Packet::parse(bytes).expect("a question");
    assert_eq!(question.repr, Repr::question(question.repr.transmit.0));
    let right = Repr {
        origin: question.repr.transmit,
        ..forged
    };
    assert_eq!(faults(&mut world, address(2), &right.to_bytes()), unasked);
    assert_eq!(faults(&mut world, address(1), &right.to_bytes()), []);
}

#[test]
fn a_kiss_of_death_stops_or_slows_requests() {
    for (code, polls) in [(*b"DENY", false), (*b"RATE", true)] {
        let mut world = World::new(vec![peer(1)], &[]);
        let mut out = Vec::new();
        world.client.tick(world.now, &mut out);
        let Some(Action::Send { bytes, .. }) = out.first() else {
            panic!("a question: {out:?}");
        };
        let cookie = Packet::parse(bytes).expect("a question").repr.transmit;
        let kiss = Repr {
            mode: Mode::SERVER,
            reference_id: code,
            origin: cookie,
            ..Repr::question(1)
        };
        let event = Event::Received {
            from: address(1),
            bytes: &kiss.to_bytes(),
        };
        let mut out = Vec::new();
        world.client.handle(event, world.now, &mut out);
        assert_eq!(out, [Action::Kissed(address(1), code)]);
        let next = world.client.deadline().map(|(at, ())| at);
        assert_eq!(
            next.is_some_and(|at| at >= Instant::from_secs(1_000)),
            polls
        );
        assert_eq!(next.is_none(), !polls);
    }
}

#[test]
fn a_server_with_a_key_must_authenticate() {
    let with = |secret: &[u8]| Peer {
        key: Some(Key::new(9, secret)),
        ..peer(1)
    };
    let mut right = World::new(vec![with(b"secret")], &[0]);
    right.run(60);
    assert!(right.client.status().is_some());
    let mut wrong = World::new(vec![with(b"other")], &[0]);
    wrong.run(60);
    assert_eq!(wrong.client.status(), None);
    assert!(wrong.seen.contains(&Action::Discarded(Fault::Unsigned)));
}

#[test]
fn server_responses_match_requests_and_are_rate_limited() {
    let mut server = Server::new(1);
    let question = Repr::question(77).to_bytes();
    let mut ask = |from, bytes: &[u8]| server.answer(from, bytes, None, START, Instant::ZERO);

    let answer = ask(address(1), &question).expect("an answer");
    let read = Packet::parse(&answer).expect("an answer").repr;
    assert_eq!((read.leap, read.stratum, read.origin.0), (3, 0, 77));
    assert_eq!(ask(address(1), &answer), Err(Refused::NoQuestion));
    let many = (0..200)
        .filter(|_| ask(address(1), &question).is_ok())
        .count();
    assert!((60..=64).contains(&many), "{many}");
    assert!(ask(address(2), &question).is_ok());
    let unknown = Key::new(1, b"x").sign(&question);
    assert_eq!(ask(address(3), &unknown).map(|answer| answer.len()), Ok(52));
}

#[test]
fn garbage_is_counted_and_changes_nothing() {
    let mut rng = Rng::seeded(11);
    let mut world = World::new(vec![peer(1)], &[0]);
    world.run(60);
    let before = world.client.discipline().to_owned();
    for _ in 0..5_000 {
        let mut bytes = vec![0; rng.below(100) as usize];
        rng.fill(&mut bytes);
        let event = Event::Received {
            from: address(1),
            bytes: &bytes,
        };
        world.client.handle(event, world.now, &mut world.seen);
        let server = &mut world.servers[0].1;
        if let Ok(answer) = server.answer(address(1), &bytes, None, START, world.now) {
            assert!(answer.len() <= bytes.len());
        }
    }
    assert_eq!(*world.client.discipline(), before);
}
