//! `check-gateway=arp` and `check-gateway=ping` of `/ip/route` and `/ipv6/route`.
//!
//! RouterOS: probes a gateway every ten seconds; an answer that takes longer than ten seconds is a timeout. Two
//! timeouts make the gateway unreachable, one answer makes it reachable. All routes through a gateway share its state
//! if any of them checks it, so that one check per gateway and method suffices: the owner watches each pair once.
//!
//! When a path to the gateway returns (link up), the machine sends an extra probe at once, so that an unreachable
//! gateway recovers without delay. Extra probes change neither the schedule nor the count of timeouts.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant, Machine, Rng};

/// Interval between probes, and timeout of an answer.
const INTERVAL: Duration = Duration::from_secs(10);
/// Number of consecutive timeouts that make a gateway unreachable.
const MISSES_MAX: u8 = 2;

/// Probe method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// ARP or neighbour solicitation.
    Arp,
    /// ICMP echo.
    Ping,
}

/// Events of [`GatewayCheck`]. `G` identifies a gateway: address and interface, or what the owner needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<G> {
    /// Start to check this gateway; it counts as reachable until two probes time out. Watching a gateway again keeps
    /// its state.
    Watch {
        /// Gateway.
        gateway: G,
        /// Probe method.
        how: How,
    },
    /// A path to the gateway returned. If the gateway is unreachable or owes an answer, it is probed within one
    /// millisecond per watched gateway, one second at most.
    Found {
        /// Gateway.
        gateway: G,
        /// Probe method.
        how: How,
    },
    /// No route needs this check any more.
    Unwatch {
        /// Gateway.
        gateway: G,
        /// Probe method.
        how: How,
    },
    /// The gateway answered a probe.
    Answered {
        /// Gateway.
        gateway: G,
        /// Probe method.
        how: How,
    },
}

/// Actions that the owner of [`GatewayCheck`] carries out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<G> {
    /// Probe the gateway.
    Ask {
        /// Gateway.
        gateway: G,
        /// Probe method.
        how: How,
    },
    /// The gateway's reachability changed.
    Changed {
        /// Gateway.
        gateway: G,
        /// Probe method.
        how: How,
        /// New reachability.
        reachability: Reachability,
    },
}

/// Reachability of a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reachability {
    /// Answers, or has not yet timed out twice.
    Reachable,
    /// Timed out twice in a row.
    Unreachable,
}

/// Timers of [`GatewayCheck`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// Next probe of a gateway.
    Ask,
}

/// State of a watched gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Reachable, with this number of unanswered probes in a row, the current one included.
    Reachable { unanswered: u8 },
    /// Two probes in a row timed out.
    Unreachable,
}

#[derive(Clone, Copy, Debug)]
struct Watched {
    state: State,
    /// Time of the next regular probe.
    due: Instant,
    /// Time of the extra probe.
    extra: Option<Instant>,
}

/// Checks the reachability of gateways.
#[derive(Debug)]
pub struct GatewayCheck<G> {
    watched: BTreeMap<(G, How), Watched>,
    timers: BTreeSet<(Instant, G, How)>,
    rng: Rng,
}

impl<G: Copy + Ord> GatewayCheck<G> {
    /// Creates a machine without gateways. Its jitter derives from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            watched: BTreeMap::new(),
            timers: BTreeSet::new(),
            rng: Rng::seeded(seed),
        }
    }

    /// Reachability of a gateway; `None` for gateways without this method's check.
    pub fn reachability(&self, gateway: G, how: How) -> Option<Reachability> {
        self.watched.get(&(gateway, how)).map(Watched::reachability)
    }

    fn watch(&mut self, gateway: G, how: How, now: Instant) {
        if self.watched.contains_key(&(gateway, how)) {
            return;
        }
        // Spreads the first probes of many gateways.
        let due = now + Duration::from_nanos(self.rng.below(SPREAD.as_nanos() as u64));
        let watched = Watched {
            state: State::Reachable { unanswered: 0 },
            due,
            extra: None,
        };
        self.watched.insert((gateway, how), watched);
        self.timers.insert((due, gateway, how));
    }

    fn unwatch(&mut self, gateway: G, how: How) {
        if let Some(watched) = self.watched.remove(&(gateway, how)) {
            for at in core::iter::once(watched.due).chain(watched.extra) {
                self.timers.remove(&(at, gateway, how));
            }
        }
    }

    fn found(&mut self, gateway: G, how: How, now: Instant) {
        // Spreads the extra probes, because many gateways may be behind one link.
        let spread = SPREAD.min(Duration::from_millis(self.watched.len() as u64));
        let Some(watched) = self.watched.get_mut(&(gateway, how)) else {
            return;
        };
        if watched.state == (State::Reachable { unanswered: 0 }) || watched.extra.is_some() {
            return;
        }
        let at = now + Duration::from_nanos(self.rng.below(spread.as_nanos() as u64));
        if at < watched.due {
            watched.extra = Some(at);
            self.timers.insert((at, gateway, how));
        }
    }

    fn answered(&mut self, gateway: G, how: How, out: &mut Vec<Action<G>>) {
        let Some(watched) = self.watched.get_mut(&(gateway, how)) else {
            return;
        };
        let before = watched.reachability();
        watched.state = State::Reachable { unanswered: 0 };
        if before == Reachability::Unreachable {
            let reachability = Reachability::Reachable;
            out.push(Action::Changed {
                gateway,
                how,
                reachability,
            });
        }
    }

    fn is_out_of_turn(&self, gateway: G, how: How, at: Instant) -> bool {
        let watched = self.watched.get(&(gateway, how));
        watched.is_some_and(|watched| watched.extra == Some(at))
    }

    fn ask_again(&mut self, gateway: G, how: How, out: &mut Vec<Action<G>>) {
        if let Some(watched) = self.watched.get_mut(&(gateway, how)) {
            watched.extra = None;
            out.push(Action::Ask { gateway, how });
        }
    }

    fn ask(&mut self, gateway: G, how: How, now: Instant, out: &mut Vec<Action<G>>) {
        let Some(watched) = self.watched.get_mut(&(gateway, how)) else {
            return;
        };
        let before = watched.reachability();
        watched.state = watched.state.asked_again();
        watched.due = now + INTERVAL;
        self.timers.insert((watched.due, gateway, how));
        let reachability = watched.reachability();
        if reachability != before {
            out.push(Action::Changed {
                gateway,
                how,
                reachability,
            });
        }
        out.push(Action::Ask { gateway, how });
    }
}

impl State {
    /// State after a further probe without an answer to the last one.
    fn asked_again(self) -> Self {
        match self {
            Self::Reachable { unanswered } if unanswered < MISSES_MAX => Self::Reachable {
                unanswered: unanswered + 1,
            },
            Self::Reachable { .. } | Self::Unreachable => Self::Unreachable,
        }
    }
}

impl Watched {
    fn reachability(&self) -> Reachability {
        match self.state {
            State::Reachable { .. } => Reachability::Reachable,
            State::Unreachable => Reachability::Unreachable,
        }
    }
}

impl<G: Copy + Ord> Machine for GatewayCheck<G> {
    type Event<'a> = Event<G>;
    type Action = Action<G>;
    type Timer = Timer;

    fn handle(&mut self, event: Event<G>, now: Instant, out: &mut Vec<Action<G>>) {
        match event {
            Event::Watch { gateway, how } => self.watch(gateway, how, now),
            Event::Found { gateway, how } => self.found(gateway, how, now),
            Event::Unwatch { gateway, how } => self.unwatch(gateway, how),
            Event::Answered { gateway, how } => self.answered(gateway, how, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Action<G>>) {
        while let Some(&(due, gateway, how)) = self.timers.first()
            && due <= now
        {
            self.timers.pop_first();
            if self.is_out_of_turn(gateway, how, due) {
                self.ask_again(gateway, how, out);
            } else {
                self.ask(gateway, how, now, out);
            }
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        self.timers.first().map(|&(due, ..)| (due, Timer::Ask))
    }
}

/// Time over which the first probes are spread.
const SPREAD: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    const PING: How = How::Ping;

    struct Fixture {
        machine: GatewayCheck<u32>,
        now: Instant,
    }

    impl Fixture {
        fn watching(gateways: u32) -> Self {
            let mut machine = GatewayCheck::new(1);
            let now = Instant::from_secs(50);
            for gateway in 0..gateways {
                machine.handle(Event::Watch { gateway, how: PING }, now, &mut Vec::new());
            }
            Self { machine, now }
        }

        fn on(&mut self, event: Event<u32>) -> Vec<Action<u32>> {
            let mut out = Vec::new();
            self.machine.handle(event, self.now, &mut out);
            out
        }

        /// Advances the time. Gateways for which `answers` returns true answer at once.
        fn pass(&mut self, span: Duration, answers: impl Fn(u32) -> bool) -> Vec<Action<u32>> {
            let end = self.now + span;
            let mut all = Vec::new();
            while let Some((due, Timer::Ask)) = self.machine.deadline().filter(|next| next.0 <= end)
            {
                self.now = self.now.max(due);
                let mut out = Vec::new();
                self.machine.tick(self.now, &mut out);
                for action in &out {
                    if let &Action::Ask { gateway, how } = action
                        && answers(gateway)
                    {
                        all.extend(self.on(Event::Answered { gateway, how }));
                    }
                }
                all.extend(out);
            }
            self.now = end;
            all
        }
    }

    fn changes(actions: &[Action<u32>]) -> Vec<(u32, Reachability)> {
        let change = |action: &Action<u32>| match *action {
            Action::Changed {
                gateway,
                reachability,
                ..
            } => Some((gateway, reachability)),
            Action::Ask { .. } => None,
        };
        actions.iter().filter_map(change).collect()
    }

    #[test]
    fn an_answering_gateway_is_probed_every_ten_seconds_and_stays_reachable() {
        let mut fixture = Fixture::watching(1);

        let actions = fixture.pass(Duration::from_secs(3_600), |_| true);

        assert_eq!(actions.len(), 360);
        assert_eq!(changes(&actions), []);
        assert_eq!(
            fixture.machine.reachability(0, PING),
            Some(Reachability::Reachable)
        );
    }

    #[test]
    fn two_timeouts_make_a_gateway_unreachable_and_one_answer_reachable() {
        let mut fixture = Fixture::watching(1);
        let first = fixture.machine.deadline().unwrap().0;
        let until_first = first - fixture.now;

        // Probes at 0 and 10 s; the second timeout is at 20 s.
        let early = fixture.pass(until_first + Duration::from_millis(19_999), |_| false);
        assert_eq!(changes(&early), []);
        let late = fixture.pass(Duration::from_millis(1), |_| false);
        assert_eq!(changes(&late), [(0, Reachability::Unreachable)]);
        assert_eq!(
            changes(&fixture.pass(Duration::from_secs(60), |_| false)),
            []
        );

        let gateway = 0;
        let back = fixture.on(Event::Answered { gateway, how: PING });
        assert_eq!(changes(&back), [(0, Reachability::Reachable)]);
    }

    #[test]
    fn one_lost_reply_changes_nothing() {
        let mut fixture = Fixture::watching(1);
        fixture.pass(Duration::from_secs(5), |_| true);

        let lost = fixture.pass(Duration::from_secs(10), |_| false);
        let found = fixture.pass(Duration::from_secs(10), |_| true);

        assert_eq!(changes(&lost), []);
        assert_eq!(changes(&found), []);
    }

    #[test]
    fn an_unreachable_gateway_is_probed_at_once_when_a_path_appears() {
        let mut fixture = Fixture::watching(1);
        fixture.pass(Duration::from_secs(63), |_| false);
        let turn = fixture.machine.deadline();

        fixture.on(Event::Found {
            gateway: 0,
            how: PING,
        });
        let back = fixture.pass(Duration::from_millis(1), |_| true);

        assert_eq!(changes(&back), [(0, Reachability::Reachable)]);
        // The regular schedule stays unchanged.
        assert_eq!(fixture.machine.deadline(), turn);
    }

    #[test]
    fn an_unscheduled_probe_does_not_count_as_a_timeout() {
        let mut fixture = Fixture::watching(1);
        let until_first = fixture.machine.deadline().unwrap().0 - fixture.now;
        fixture.pass(until_first, |_| false);
        for _ in 0..19 {
            fixture.on(Event::Found {
                gateway: 0,
                how: PING,
            });
            let asked = fixture.pass(Duration::from_secs(1), |_| false);
            assert_eq!(changes(&asked), []);
            assert!(!asked.is_empty());
        }

        let late = fixture.pass(Duration::from_secs(1), |_| false);

        assert_eq!(changes(&late), [(0, Reachability::Unreachable)]);
    }

    #[test]
    fn a_gateway_that_answers_is_probed_on_schedule_only() {
        let mut fixture = Fixture::watching(1);
        fixture.pass(Duration::from_secs(5), |_| true);
        let turn = fixture.machine.deadline();

        fixture.on(Event::Found {
            gateway: 0,
            how: PING,
        });

        assert_eq!(fixture.machine.deadline(), turn);
    }

    #[test]
    fn probes_of_a_thousand_gateways_are_spread_over_a_second() {
        let mut fixture = Fixture::watching(1_000);
        fixture.pass(Duration::from_secs(63), |_| false);
        for gateway in 0..1_000 {
            fixture.on(Event::Found { gateway, how: PING });
        }

        let early = fixture.pass(Duration::from_millis(500), |_| true);
        let late = fixture.pass(Duration::from_millis(500), |_| true);

        let (early, late) = (changes(&early).len(), changes(&late).len());
        assert_eq!(early + late, 1_000);
        assert!(early > 400 && late > 400, "{early} and {late}");
    }

    #[test]
    fn unmonitored_gateways_are_neither_probed_nor_known() {
        let mut fixture = Fixture::watching(1);
        fixture.pass(Duration::from_secs(63), |_| false);
        let (gateway, how) = (0, PING);
        fixture.on(Event::Found { gateway, how });
        fixture.on(Event::Unwatch { gateway, how });

        assert_eq!(fixture.machine.deadline(), None);
        assert_eq!(fixture.machine.reachability(0, PING), None);
        let stray = fixture.on(Event::Answered {
            gateway: 0,
            how: PING,
        });
        assert_eq!(stray, []);
    }

    #[test]
    fn ping_and_arp_probes_have_separate_states() {
        let mut fixture = Fixture::watching(1);
        let how = How::Arp;
        fixture.on(Event::Watch { gateway: 0, how });
        fixture.pass(Duration::from_secs(60), |_| false);

        fixture.on(Event::Answered { gateway: 0, how });

        assert_eq!(
            fixture.machine.reachability(0, how),
            Some(Reachability::Reachable)
        );
        assert_eq!(
            fixture.machine.reachability(0, PING),
            Some(Reachability::Unreachable)
        );
    }

    #[test]
    fn a_gateway_monitored_again_keeps_its_state() {
        let mut fixture = Fixture::watching(1);
        fixture.pass(Duration::from_secs(60), |_| false);

        fixture.on(Event::Watch {
            gateway: 0,
            how: PING,
        });

        assert_eq!(
            fixture.machine.reachability(0, PING),
            Some(Reachability::Unreachable)
        );
    }

    #[test]
    fn ten_thousand_gateways_are_monitored_independently() {
        let mut fixture = Fixture::watching(10_000);

        let actions = fixture.pass(Duration::from_secs(60), |gateway| gateway % 3 != 0);

        let down = changes(&actions);
        assert_eq!(down.len(), 3_334);
        assert!(down.iter().all(|&(gateway, _)| gateway % 3 == 0));
    }
}
