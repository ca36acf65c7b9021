//! Slave states over time as links go up and down.

use machine::{Duration, Instant, Machine, Rng};

use super::{Action, BUCKETS, Config, Event, Links, Watch, share_out};

const INTERVAL: Duration = Duration::from_millis(100);

fn config(watch: Watch) -> Config {
    Config {
        watch,
        up_delay: Duration::ZERO,
        down_delay: Duration::ZERO,
        primary: None,
    }
}

struct World {
    links: Links,
    now: Instant,
}

impl World {
    fn new(config: Config) -> Self {
        Self {
            links: Links::new(config),
            now: Instant::ZERO,
        }
    }

    fn tell(&mut self, event: Event) -> Vec<Action> {
        let mut out = Vec::new();
        self.links.handle(event, self.now, &mut out);
        out
    }

    /// Advances the time; returns actions with their times in milliseconds.
    fn pass(&mut self, time: Duration) -> Vec<(u64, Action)> {
        let end = self.now + time;
        let mut all = Vec::new();
        while let Some((at, _)) = self.links.deadline().filter(|(at, _)| *at <= end) {
            let mut out = Vec::new();
            self.now = at;
            self.links.tick(at, &mut out);
            let since = at.as_nanos() / 1_000_000;
            all.extend(out.into_iter().map(|action| (since, action)));
        }
        self.now = end;
        all
    }
}

#[test]
fn a_failed_link_is_detected_at_the_next_poll_and_the_other_takes_over() {
    let mut world = World::new(config(Watch::Links(INTERVAL)));
    let first = world.tell(Event::Slave(1, true));
    assert_eq!(first, [Action::Become(1, true), Action::Active(Some(1))]);
    assert_eq!(world.tell(Event::Slave(2, true)), [Action::Become(2, true)]);
    assert_eq!(world.links.deadline(), None, "nothing is to be looked at");

    world.pass(Duration::from_millis(30));
    assert_eq!(world.tell(Event::Link(1, false)), []);
    let expected = [
        (100, Action::Become(1, false)),
        (100, Action::Active(Some(2))),
    ];
    assert_eq!(world.pass(INTERVAL), expected);

    // The slave returns as a backup.
    world.tell(Event::Link(1, true));
    let back = world.pass(INTERVAL);
    assert_eq!(back, [(200, Action::Become(1, true))]);
    assert_eq!(world.links.active(), Some(2));
}

#[test]
fn up_and_down_delays_hold_and_a_short_flap_changes_nothing() {
    let mut world = World::new(Config {
        up_delay: Duration::from_millis(300),
        down_delay: Duration::from_millis(200),
        ..config(Watch::Links(INTERVAL))
    });
    world.tell(Event::Slave(1, true));
    world.tell(Event::Slave(2, true));
    world.tell(Event::Link(1, false));
    assert_eq!(world.pass(Duration::from_millis(250)), []);
    world.tell(Event::Link(1, true));
    assert_eq!(world.pass(Duration::from_secs(1)), []);

    world.now = Instant::from_secs(2);
    world.tell(Event::Link(1, false));
    let down = world.pass(Duration::from_secs(1));
    assert_eq!(down[0], (2300, Action::Become(1, false)));
    world.tell(Event::Link(1, true));
    let up = world.pass(Duration::from_secs(1));
    assert_eq!(up, [(3400, Action::Become(1, true))]);
}

#[test]
fn the_up_delay_is_skipped_without_another_active_slave() {
    let mut world = World::new(Config {
        up_delay: Duration::from_secs(60),
        ..config(Watch::Links(INTERVAL))
    });
    world.tell(Event::Slave(1, false));
    world.tell(Event::Slave(2, false));
    world.tell(Event::Link(2, true));
    let expected = [
        (100, Action::Become(2, true)),
        (100, Action::Active(Some(2))),
    ];
    assert_eq!(world.pass(Duration::from_secs(1)), expected);
    world.tell(Event::Link(1, true));
    assert_eq!(world.pass(Duration::from_secs(59)), []);
}

#[test]
fn the_primary_slave_is_active_whenever_it_is_up() {
    let mut world = World::new(Config {
        primary: Some(2),
        ..config(Watch::Links(INTERVAL))
    });
    world.tell(Event::Slave(1, true));
    let second = world.tell(Event::Slave(2, true));
    assert_eq!(second, [Action::Become(2, true), Action::Active(Some(2))]);
    world.tell(Event::Link(2, false));
    world.pass(INTERVAL);
    assert_eq!(world.links.active(), Some(1));
    world.tell(Event::Link(2, true));
    world.pass(INTERVAL);
    assert_eq!(world.links.active(), Some(2));
    let gone = world.tell(Event::SlaveGone(2));
    assert_eq!(gone, [Action::Become(2, false), Action::Active(Some(1))]);
}

#[test]
fn with_arp_monitoring_a_slave_is_up_while_it_receives_frames() {
    let mut world = World::new(config(Watch::Arp(INTERVAL)));
    world.tell(Event::Slave(1, true));
    world.tell(Event::Slave(2, true));
    let mut done = Vec::new();
    for _ in 0..5 {
        world.tell(Event::Heard(2));
        done.extend(world.pass(INTERVAL));
    }
    let asked = done.iter().filter(|(_, action)| *action == Action::Ask);
    assert_eq!(asked.count(), 5);
    done.retain(|(_, action)| *action != Action::Ask);
    let expected = [
        (300, Action::Become(1, false)),
        (300, Action::Active(Some(2))),
    ];
    assert_eq!(done, expected);

    world.tell(Event::Heard(1));
    world.tell(Event::Link(2, false));
    world.pass(INTERVAL);
    assert!(world.links.is_up(1) && !world.links.is_up(2));
}

#[test]
fn without_monitoring_all_slaves_are_up() {
    let mut world = World::new(config(Watch::Links(INTERVAL)));
    world.tell(Event::Slave(1, false));
    let all = world.tell(Event::Configure(config(Watch::Nothing)));
    assert_eq!(all, [Action::Become(1, true), Action::Active(Some(1))]);
    world.tell(Event::Link(1, false));
    assert_eq!(world.pass(Duration::from_secs(9)), []);
}

/// After any sequence of events the active slave is up, and there is one if any slave is up.
#[test]
fn the_active_slave_is_up_after_any_sequence_of_events() {
    for seed in 0..200 {
        let mut rng = Rng::seeded(seed);
        let mut world = World::new(Config {
            up_delay: Duration::from_millis(rng.below(4) * 100),
            down_delay: Duration::from_millis(rng.below(4) * 100),
            ..config(Watch::Links(INTERVAL))
        });
        let mut links = [false; 5];
        for _ in 0..200 {
            let number = rng.below(5) as u16;
            let link = rng.below(2) == 0;
            match rng.below(6) {
                0 => drop(world.tell(Event::SlaveGone(number))),
                1 => drop(world.tell(Event::Slave(number, links[usize::from(number)]))),
                2..4 => {
                    links[usize::from(number)] = link;
                    world.tell(Event::Link(number, link));
                }
                _ => drop(world.pass(Duration::from_millis(rng.below(500)))),
            }
            let up: Vec<_> = (0..5).filter(|number| world.links.is_up(*number)).collect();
            let active = world.links.active();
            assert!(
                active.map_or(up.is_empty(), |one| up.contains(&one)),
                "{seed}"
            );
        }
        world.pass(Duration::from_secs(2));
        let settled = (0..5)
            .filter(|at| world.links.is_up(*at))
            .all(|at| links[usize::from(at)]);
        assert!(settled, "seed {seed}: who has no link is down in the end");
    }
}

fn loads(of: &[u8; BUCKETS], bytes: &[u64; BUCKETS]) -> [u64; 3] {
    let mut loads = [0; 3];
    for (slave, bytes) in of.iter().zip(bytes) {
        loads[usize::from(*slave)] += bytes;
    }
    loads
}

#[test]
fn load_is_balanced_by_speed_and_balanced_flows_stay() {
    let mut rng = Rng::seeded(7);
    let bytes = core::array::from_fn(|_| rng.below(1_000_000));
    let mut of = [0; BUCKETS];
    let slaves = [(0, 1_000), (1, 1_000), (2, 2_000)];
    share_out(&mut of, &bytes, &slaves);
    let [a, b, c] = loads(&of, &bytes);
    let even = |a: u64, b: u64| a.abs_diff(b) * 50 < a + b;
    assert!(even(a, b) && even(2 * a, c), "{a} {b} {c}");

    let before = of;
    share_out(&mut of, &bytes, &slaves);
    let moved = of.iter().zip(&before).filter(|(a, b)| a != b).count();
    assert!(moved < 8, "{moved} move though nothing changed");

    // Only the buckets of a slave that went down move.
    let before = of;
    share_out(&mut of, &[0; BUCKETS], &[(0, 0), (2, 0)]);
    let kept = of
        .iter()
        .zip(&before)
        .all(|(now, was)| *was == 1 || now == was);
    assert!(kept && of.iter().all(|slave| *slave != 1));
    let before = of;
    share_out(&mut of, &bytes, &[]);
    assert_eq!(of, before, "without slaves nothing is changed");
}
