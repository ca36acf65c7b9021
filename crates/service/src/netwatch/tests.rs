//! Hosts that answer, fail and recover, in virtual time.

use core::net::IpAddr;

use machine::{Duration, Instant, Machine, Rng};

use super::*;
use crate::ping::{Outcome, Response};

const HOST: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(192, 0, 2, 9));
const LIMITS: Limits = Limits {
    most: Duration::from_secs(1),
    average: Duration::from_millis(100),
    deviation: Duration::from_millis(250),
    jitter: Duration::from_secs(1),
    loss_percent: 85,
    loss: u32::MAX,
};

fn watch(kind: Kind) -> Watch {
    Watch {
        kind,
        host: Some(HOST),
        interval: Duration::from_secs(10),
        timeout: Duration::from_secs(3),
        first: Duration::from_secs(3),
        ignores_up: false,
        ignores_down: false,
    }
}

fn icmp(limits: Limits) -> Kind {
    Kind::Echo(Round {
        count: 10,
        space: Duration::from_millis(50),
        limits: Some(limits),
        takes_expired: false,
        ends_good: false,
        ends_bad: false,
    })
}

struct World {
    netwatch: Netwatch,
    now: Instant,
    /// Delay of answers, and percentage of lost ones.
    way: Duration,
    loss: u8,
    rng: Rng,
    echoes: usize,
    seen: Vec<Action>,
}

impl World {
    fn new(watch: Watch) -> Self {
        let mut world = Self {
            netwatch: Netwatch::new(77),
            now: Instant::from_secs(1),
            way: Duration::from_millis(2),
            loss: 0,
            rng: Rng::seeded(5),
            echoes: 0,
            seen: Vec::new(),
        };
        world.tell(Event::Put(1, watch));
        world
    }

    fn tell(&mut self, event: Event<'_>) {
        let mut out = Vec::new();
        self.netwatch.handle(event, self.now, &mut out);
        self.seen.extend(out);
    }

    fn run(&mut self, seconds: u64) -> Vec<Action> {
        let until = self.now + Duration::from_secs(seconds);
        let mut answers: Vec<(Instant, Response)> = Vec::new();
        loop {
            answers.sort_by_key(|(at, _)| *at);
            let due = self.netwatch.deadline().map(|(at, ())| at);
            let answer = answers.first().map(|(at, _)| *at);
            let next = due.into_iter().chain(answer).min();
            let Some(next) = next.filter(|at| *at <= until) else {
                break;
            };
            self.now = self.now.max(next);
            let mut out = Vec::new();
            if answer == Some(next) {
                let (_, heard) = answers.remove(0);
                self.netwatch
                    .handle(Event::Heard(&heard), self.now, &mut out);
                // A duplicate answer counts once.
                self.netwatch
                    .handle(Event::Heard(&heard), self.now, &mut out);
            } else {
                self.netwatch.tick(self.now, &mut out);
            }
            for action in out {
                let Action::Echo { to, numbers, .. } = action else {
                    self.seen.push(action);
                    continue;
                };
                self.echoes += 1;
                if !self.rng.percent(self.loss) {
                    answers.push((self.now + self.way, heard(to, numbers)));
                }
            }
        }
        self.now = until;
        core::mem::take(&mut self.seen)
    }
}

fn heard(to: IpAddr, (id, seq): (u16, u16)) -> Response {
    Response {
        from: Some(to),
        to,
        id,
        seq,
        bytes: 54,
        ttl: 64,
        outcome: Outcome::Reply,
    }
}

/// Status changes, and whether the script was run.
fn changes(seen: &[Action]) -> Vec<(Status, bool)> {
    let changed = seen.iter().filter_map(|action| match action {
        Action::Tested {
            status,
            was: Some(_),
            runs,
            ..
        } => Some((*status, *runs)),
        _ => None,
    });
    changed.collect()
}

#[test]
fn scripts_run_when_a_host_goes_up_and_down() {
    let mut world = World::new(watch(Kind::Echo(Round::SIMPLE)));
    assert_eq!(changes(&world.run(2)), [], "the first test waits");
    assert_eq!(changes(&world.run(30)), [(Status::Up, true)]);
    world.loss = 100;
    assert_eq!(changes(&world.run(30)), [(Status::Down, true)]);
    world.loss = 0;
    assert_eq!(changes(&world.run(30)), [(Status::Up, true)]);
    let known = world.netwatch.known(1).expect("it is watched");
    assert_eq!((known.done, known.failed), (9, 3));
    assert_eq!(world.echoes, 9);
}

#[test]
fn a_test_applies_thresholds_to_its_statistics() {
    let mut world = World::new(watch(icmp(LIMITS)));
    world.loss = 30;
    assert_eq!(changes(&world.run(60)), [(Status::Up, true)]);
    let statistics = world.netwatch.known(1).expect("it is watched").statistics;
    assert_eq!(statistics.sent, 10);
    assert!((1..10).contains(&statistics.answers));
    assert_eq!(
        (statistics.least, statistics.jitter()),
        (world.way, Duration::ZERO)
    );

    world.way = Duration::from_millis(150);
    assert_eq!(
        changes(&world.run(60)),
        [(Status::Down, true)],
        "too slow in the mean"
    );
}

#[test]
fn a_decided_test_can_end_early() {
    let Kind::Echo(round) = icmp(Limits { loss: 1, ..LIMITS }) else {
        unreachable!("it is one of echoes");
    };
    let mut world = World::new(watch(Kind::Echo(Round {
        ends_bad: true,
        ..round
    })));
    world.loss = 100;
    let begin = world.now + Duration::from_secs(3);
    world.run(8);
    let known = world.netwatch.known(1).expect("it is watched");
    assert_eq!(known.status, Status::Down);
    // The second loss decides the test.
    assert_eq!(known.since, Some(begin + Duration::from_millis(3_050)));
}

#[test]
fn ignore_initial_up_suppresses_the_first_script() {
    let mut world = World::new(Watch {
        ignores_up: true,
        ..watch(Kind::Echo(Round::SIMPLE))
    });
    assert_eq!(changes(&world.run(5)), [(Status::Up, false)]);
    world.loss = 100;
    assert_eq!(changes(&world.run(20)), [(Status::Down, true)]);
}

#[test]
fn a_host_without_an_address_is_down() {
    let mut world = World::new(Watch {
        host: None,
        ..watch(Kind::Echo(Round::SIMPLE))
    });
    assert_eq!(changes(&world.run(5)), [(Status::Down, true)]);
    world.tell(Event::Address(1, Some(HOST)));
    assert_eq!(changes(&world.run(20)), [(Status::Up, true)]);
}

#[test]
fn replies_of_other_hosts_do_not_count() {
    let mut world = World::new(watch(Kind::Echo(Round::SIMPLE)));
    world.loss = 100;
    let mut out = Vec::new();
    world.now = Instant::from_secs(4);
    world.netwatch.tick(world.now, &mut out);
    let [Action::Echo { to, numbers, .. }] = out[..] else {
        panic!("an echo: {out:?}");
    };
    let (id, seq) = numbers;
    let other = IpAddr::from([192, 0, 2, 10]);
    for wrong in [
        heard(other, numbers),
        heard(to, (id + 1, seq)),
        heard(to, (id, seq + 1)),
    ] {
        world.tell(Event::Heard(&wrong));
    }
    assert_eq!(world.seen, []);
    world.tell(Event::Heard(&heard(to, numbers)));
    assert_eq!(changes(&world.seen), [(Status::Up, true)]);
}

#[test]
fn probes_run_in_turn_and_time_out() {
    let mut netwatch = Netwatch::new(1);
    let (mut out, now) = (Vec::new(), Instant::from_secs(10));
    for id in 0..100 {
        let mut watch = watch(Kind::Probe);
        watch.first = Duration::ZERO;
        netwatch.handle(Event::Put(id, watch), now, &mut out);
    }
    netwatch.tick(now, &mut out);
    let probes = |out: &[Action]| {
        let all = out.iter().filter_map(|action| match action {
            Action::Probe { id, test, .. } => Some((*id, *test)),
            _ => None,
        });
        all.collect::<Vec<_>>()
    };
    let first = probes(&out);
    assert_eq!(first.len(), PROBES);

    out.clear();
    let (id, test) = first[0];
    let ended = |test| Event::Probed { id, test, up: true };
    netwatch.handle(ended(test + 1), now, &mut out);
    assert_eq!(out, [], "of another test");
    netwatch.handle(ended(test), now, &mut out);
    assert_eq!(changes(&out), [(Status::Up, true)]);
    assert_eq!(probes(&out).len(), 1, "the next one's turn");

    out.clear();
    netwatch.tick(now + Duration::from_secs(12), &mut out);
    assert_eq!(changes(&out).len(), PROBES);
    assert_eq!(probes(&out).len(), PROBES);
}

#[test]
fn hosts_added_and_removed_in_any_order_leave_no_state() {
    let mut netwatch = Netwatch::new(1);
    let mut rng = Rng::seeded(9);
    let (mut now, mut out) = (Instant::from_secs(1), Vec::new());
    for _ in 0..20_000 {
        let id = rng.below(50);
        let kinds = [Kind::Probe, icmp(LIMITS), Kind::Echo(Round::SIMPLE)];
        let kind = kinds[rng.below(3) as usize].clone();
        let heard = heard(HOST, (1, rng.below(200) as u16));
        let event = match rng.below(5) {
            0 => Event::Put(id, watch(kind)),
            1 => Event::Remove(id),
            2 => Event::Heard(&heard),
            3 => Event::Probed {
                id,
                test: rng.below(100),
                up: true,
            },
            _ => Event::Address(id, None),
        };
        netwatch.handle(event, now, &mut out);
        now += Duration::from_millis(rng.below(2_000));
        netwatch.tick(now, &mut out);
        assert!(netwatch.deadline().is_none_or(|(at, ())| at > now));
    }
    for id in 0..50 {
        netwatch.handle(Event::Remove(id), now, &mut out);
    }
    assert_eq!(netwatch.deadline(), None);
    assert_eq!(
        (netwatch.probes, netwatch.echoes.len(), netwatch.queue.len()),
        (0, 0, 0)
    );
}
