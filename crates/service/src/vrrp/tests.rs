//! Routers on one link, in virtual time: who is master, and when.

use core::net::{IpAddr, Ipv6Addr};

use machine::{Duration, Instant, Machine, Rng};

use super::*;

/// Routers on a link that may lose, delay and reorder packets.
struct Link {
    routers: Vec<VirtualRouter>,
    /// Disconnected routers.
    cut: Vec<bool>,
    /// Packets in transit, by time of arrival: receiver, contents.
    flying: Vec<(Instant, usize, Vec<u8>)>,
    now: Instant,
    rng: Rng,
    /// Percentage of lost packets.
    loss: u64,
    /// Maximum delay of a packet.
    delay: Duration,
}

impl Link {
    fn new(configs: impl IntoIterator<Item = Config>, seed: u64) -> Self {
        let routers: Vec<_> = configs.into_iter().map(VirtualRouter::new).collect();
        let mut link = Self {
            cut: vec![false; routers.len()],
            routers,
            flying: Vec::new(),
            now: Instant::from_secs(1),
            rng: Rng::seeded(seed),
            loss: 0,
            delay: Duration::from_millis(2),
        };
        for at in 0..link.routers.len() {
            link.feed(at, Event::Up);
        }
        link
    }

    fn feed(&mut self, at: usize, event: Event<'_>) -> Vec<Action> {
        let mut out = Vec::new();
        self.routers[at].handle(event, self.now, &mut out);
        self.send(at, &out);
        out
    }

    fn send(&mut self, from: usize, actions: &[Action]) {
        for action in actions {
            let Action::Send(packet) = action else {
                continue;
            };
            for to in 0..self.routers.len() {
                let is_lost = self.rng.below(100) < self.loss;
                let apart = to == from || self.cut[to] || self.cut[from];
                if !apart && !is_lost {
                    let nanos = self.rng.below(self.delay.as_nanos() as u64 + 1);
                    let at = self.now + Duration::from_nanos(nanos);
                    self.flying.push((at, to, packet.clone()));
                }
            }
        }
    }

    /// Advances the time.
    fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let timers = self.routers.iter().filter_map(|one| one.deadline());
            let timers = timers.map(|(at, _)| at);
            let next = timers.chain(self.flying.iter().map(|(at, ..)| *at)).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            let due = |(at, ..): &mut (Instant, usize, Vec<u8>)| *at <= next;
            let arrived: Vec<_> = self.flying.extract_if(.., due).collect();
            for (_, to, packet) in arrived {
                let heard = parse(&packet).expect("routers send what can be read");
                self.feed(to, Event::Received(&heard));
            }
            for at in 0..self.routers.len() {
                let mut out = Vec::new();
                self.routers[at].tick(self.now, &mut out);
                self.send(at, &out);
            }
        }
        self.now = end;
    }

    fn masters(&self) -> Vec<usize> {
        let all = self.routers.iter().enumerate();
        let masters = all.filter(|(_, one)| one.state() == State::Master);
        masters.map(|(at, _)| at).collect()
    }
}

fn router(number: u8, priority: u8) -> Config {
    Config {
        priority,
        source: Some(IpAddr::from([10, 0, 0, number])),
        addresses: vec![IpAddr::from([10, 0, 0, 254])],
        ..Config::new(7, false)
    }
}

fn router6(number: u16, priority: u8) -> Config {
    let own = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, number);
    let shared = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0xfe);
    Config {
        priority,
        source: Some(own.into()),
        addresses: vec![shared.into()],
        ..Config::new(7, true)
    }
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn the_router_of_highest_priority_is_master_after_three_intervals_and_skew() {
    let mut link = Link::new([router(1, 100), router(2, 200)], 1);
    // 3 s and (256 - 200) / 256 s.
    link.run(ms(3218));
    assert_eq!(link.masters(), [0; 0]);
    link.run(ms(2));
    assert_eq!(link.masters(), [1]);
    link.run(ms(60_000));
    assert_eq!(link.masters(), [1]);
    assert_eq!(link.routers[0].counters().elected, 0);
}

#[test]
fn a_stopping_master_announces_it_and_the_next_takes_over_after_its_skew() {
    let mut link = Link::new([router(1, 100), router(2, 200), router(3, 50)], 1);
    link.run(ms(10_000));
    let out = link.feed(1, Event::Down);
    assert_eq!(out.len(), 2);
    link.run(ms(600));
    assert_eq!(link.masters(), [0; 0], "(256 - 100) / 256 s is more");
    link.run(ms(20));
    assert_eq!(link.masters(), [0]);
}

#[test]
fn a_dead_master_is_replaced_after_three_intervals_and_preempts_on_return() {
    for preempt in [true, false] {
        let strong = Config {
            preempt,
            ..router(2, 200)
        };
        let mut link = Link::new([router(1, 100), strong], 1);
        link.run(ms(10_000));
        link.cut[1] = true;
        link.feed(1, Event::Down);
        link.run(ms(2500));
        assert_eq!(link.masters(), [0; 0]);
        link.run(ms(1200));
        assert_eq!(link.masters(), [0]);

        link.cut[1] = false;
        link.feed(1, Event::Up);
        link.run(ms(10_000));
        assert_eq!(link.masters(), [usize::from(preempt)]);
    }
}

#[test]
fn of_two_masters_of_equal_priority_the_higher_address_stays() {
    for (configs, last) in [
        ([router(9, 100), router(10, 100)], 1),
        ([router6(9, 100), router6(8, 100)], 0),
    ] {
        let mut link = Link::new(configs, 1);
        link.cut = vec![true; 2];
        link.run(ms(10_000));
        assert_eq!(link.masters(), [0, 1]);
        link.cut = vec![false; 2];
        link.run(ms(1500));
        assert_eq!(link.masters(), [last]);
    }
}

#[test]
fn an_address_owner_is_master_at_once() {
    let mut link = Link::new([router(1, 255), router(2, 254)], 1);
    assert_eq!(link.masters(), [0]);
    link.run(ms(10_000));
    assert_eq!(link.masters(), [0]);
}

#[test]
fn a_version_3_backup_uses_the_masters_interval() {
    let slow = Config {
        interval: ms(5000),
        ..router(2, 200)
    };
    let mut link = Link::new([router(1, 100), slow], 1);
    link.run(ms(60_000));
    assert_eq!(link.masters(), [1], "the backup waits for 15 s");
    assert!(link.routers[0].counters().elected <= 1);
    let elected = link.routers[0].counters().elected;
    link.run(ms(60_000));
    assert_eq!(link.routers[0].counters().elected, elected);
}

#[test]
fn a_lossy_reordering_link_converges_to_one_master() {
    for seed in 0..200 {
        let mut rng = Rng::seeded(seed);
        let count = 2 + rng.below(4) as u8;
        let mut priorities: Vec<u8> = (0..count).map(|at| 50 + at * 20).collect();
        for at in (1..priorities.len()).rev() {
            priorities.swap(at, rng.below(at as u64 + 1) as usize);
        }
        let best = (0..priorities.len()).max_by_key(|at| priorities[*at]);
        let configs = priorities.iter().zip(1..);
        let configs = configs.map(|(priority, number)| router(number, *priority));
        let mut link = Link::new(configs, seed);
        (link.loss, link.delay) = (60, ms(1500));
        link.run(ms(60_000));
        (link.loss, link.delay) = (0, ms(5));
        link.run(ms(10_000));
        assert_eq!(
            link.masters(),
            [best.expect("there are some")],
            "seed {seed}"
        );
    }
}

/// Actions of a backup for an advertisement of another router.
fn said_of(theirs: &Config, own: &Config) -> Vec<Action> {
    let packet = theirs.packet(200, 3).expect("it has an address");
    let heard = parse(&packet).expect("it can be read");
    let mut one = VirtualRouter::new(own.clone());
    let mut out = Vec::new();
    let now = Instant::from_secs(1);
    one.handle(Event::Up, now, &mut out);
    out.clear();
    one.handle(Event::Received(&heard), now, &mut out);
    out
}

fn of_version_2(config: Config, authentication: Authentication) -> Config {
    Config {
        version: Version::V2,
        authentication,
        ..config
    }
}

#[test]
fn invalid_advertisements_are_dropped_by_reason() {
    let theirs = |authentication| of_version_2(router(2, 200), authentication);
    let own = |authentication| of_version_2(router(1, 100), authentication);
    let (none, simple, header) = (
        Authentication::None,
        Authentication::simple,
        Authentication::header,
    );
    let sums_as_v2 = |config| Config {
        sums_as_v2: true,
        ..config
    };
    let slow = Config {
        interval: ms(2000),
        ..theirs(none)
    };
    let (plain, plainly) = (router(2, 200), router(1, 100));
    let cases = [
        (plain.clone(), plainly.clone(), None),
        (
            sums_as_v2(plain.clone()),
            plainly.clone(),
            Some(Fault::Checksum),
        ),
        (plain, sums_as_v2(plainly.clone()), Some(Fault::Checksum)),
        (theirs(none), own(none), None),
        (slow, own(none), Some(Fault::Interval)),
        (theirs(none), plainly, Some(Fault::Version)),
        (theirs(simple("one")), own(simple("one")), None),
        (
            theirs(simple("one")),
            own(simple("two")),
            Some(Fault::Authentication),
        ),
        (
            theirs(none),
            own(simple("two")),
            Some(Fault::Authentication),
        ),
        (theirs(header("one")), own(header("one")), None),
        (
            theirs(header("two")),
            own(header("one")),
            Some(Fault::Authentication),
        ),
    ];
    for (theirs, own, fault) in cases {
        let expected: Vec<_> = fault.map(Action::Discarded).into_iter().collect();
        assert_eq!(said_of(&theirs, &own), expected, "{theirs:?} to {own:?}");
    }
}

#[test]
fn a_forwarded_advertisement_is_dropped() {
    let mut packet = router(2, 200).packet(200, 1).expect("it has an address");
    packet[8] = 254;
    let heard = parse(&packet).expect("it can be read");
    let mut one = VirtualRouter::new(router(1, 100));
    let mut out = Vec::new();
    one.handle(Event::Up, Instant::from_secs(1), &mut out);
    out.clear();
    one.handle(Event::Received(&heard), Instant::from_secs(1), &mut out);
    assert_eq!(out, [Action::Discarded(Fault::Ttl)]);
}

#[test]
fn a_group_member_follows_its_authority_and_sends_nothing() {
    let now = Instant::from_secs(1);
    let mut member = VirtualRouter::new(router(1, 100));
    let mut out = Vec::new();
    member.handle(Event::Follow(Some(State::Backup)), now, &mut out);
    member.handle(Event::Up, now, &mut out);
    member.handle(Event::Follow(Some(State::Master)), now, &mut out);
    member.handle(Event::Follow(Some(State::Backup)), now, &mut out);
    let became = [State::Backup, State::Master, State::Backup];
    assert_eq!(out, became.map(|state| Action::Become(state, Why::Group)));
    assert_eq!(member.deadline(), None);

    out.clear();
    member.handle(Event::Follow(None), now, &mut out);
    assert_eq!(
        member.deadline().map(|(_, timer)| timer),
        Some(Timer::MasterDown)
    );
}
