//! Simultaneous initiation, strangers that spoof the peer's address, and giving up on a silent peer.

use ike::{Exchange, Mode, Peer, Side, State, Why};
use machine::Duration;

use crate::world::{World, address, peer, policy};

const BOTH: [Exchange; 2] = [Exchange::Main, Exchange::Ike2];

/// Two sides that initiate as soon as they have a policy.
fn both_begin(seed: u64, exchange: Exchange) -> World {
    let mut world = World::new(seed);
    world.peer(0, peer("198.51.100.2/32", exchange));
    world.peer(1, peer("192.0.2.1/32", exchange));
    let (one, two) = ("192.0.2.1/32", "198.51.100.2/32");
    world.policy(0, policy(one, two, Mode::Transport));
    world.policy(1, policy(two, one, Mode::Transport));
    world
}

#[test]
fn simultaneous_initiations_end_with_one_ike_sa_and_one_pair() {
    for (exchange, seed) in BOTH
        .into_iter()
        .flat_map(|of| (0..20).map(move |seed| (of, seed)))
    {
        let mut world = both_begin(seed, exchange);
        world.until("pairs", 20, World::both_have_pairs);
        for _ in 0..40 {
            world.run(1);
            assert!(world.both_have_pairs(), "{exchange:?} {seed}");
        }
        let spis = |side: usize| {
            let rows = world.sides[side].engine.peers();
            let there = rows.filter(|row| row.state == State::Established);
            there.map(|row| row.spis).collect::<Vec<_>>()
        };
        assert_eq!(spis(0).len(), 1, "{exchange:?} {seed}");
        assert_eq!(spis(0), spis(1), "{exchange:?} {seed}");
        for side in &world.sides {
            let pairs = &side.children;
            assert_eq!(pairs.len(), 1, "{exchange:?} {seed}: {pairs:#?}");
            assert!(side.failed.is_empty(), "{exchange:?} {seed}");
        }
    }
}

/// Longest time without a usable pair where datagrams take up to 2.5 seconds, in tenths of a second: the interval of
/// attempts to reach a peer, and one exchange.
const LONGEST_OUTAGE: u32 = 150;

/// Returns what goes wrong when both sides initiate, the second `later` milliseconds after the first, and
/// datagrams take up to `jitter` milliseconds.
fn fault_of(exchange: Exchange, seed: u64, jitter: u64, later: u64) -> Option<String> {
    let mut world = World::new(seed);
    (world.jitter, world.checked) = (jitter, false);
    world.peer(0, peer("198.51.100.2/32", exchange));
    world.peer(1, peer("192.0.2.1/32", exchange));
    let (one, two) = ("192.0.2.1/32", "198.51.100.2/32");
    world.policy(0, policy(one, two, Mode::Transport));
    world.run_millis(later);
    world.policy(1, policy(two, one, Mode::Transport));
    world.until("pairs", 60, World::reach_each_other);
    let mut outage = 0;
    for _ in 0..800 {
        world.run_millis(100);
        outage += u32::from(!world.reach_each_other());
    }
    let pairs = world.sides.each_ref().map(|side| side.children.len());
    let most = if jitter > 1000 { LONGEST_OUTAGE } else { 0 };
    let sas = world.sides.each_ref().map(|side| {
        let rows = side.engine.peers();
        rows.filter(|row| row.state == State::Established).count()
    });
    let fault = outage > most || pairs.iter().any(|pairs| *pairs > 2) || sas != [1, 1];
    fault.then(|| {
        let case = format!("{exchange:?} seed {seed} jitter {jitter} later {later}");
        format!("{case}: {outage} tenths of a second without, {pairs:?} pairs, {sas:?} IKE SAs")
    })
}

#[test]
fn simultaneous_initiations_over_slow_paths_keep_a_usable_pair() {
    let mut faults = Vec::new();
    for exchange in BOTH {
        for seed in 0..200_u64 {
            let jitter = [40, 300, 1000, 2500][seed as usize % 4];
            faults.extend(fault_of(exchange, seed, jitter, seed * 7 % 3000));
        }
    }
    assert!(faults.is_empty(), "{}: {faults:#?}", faults.len());
}

#[test]
fn a_side_that_is_killed_and_starts_again_keeps_its_first_usable_pair() {
    let mut faults = Vec::new();
    for (exchange, seed) in { BOTH.into_iter() }.flat_map(|of| (0..60_u64).map(move |n| (of, n))) {
        let mut world = both_begin(seed, exchange);
        world.checked = false;
        world.until("pairs", 60, World::reach_each_other);
        world.run_millis(seed * 331 % 9000);
        world.kill(1, 1000 + seed);
        world.jitter = [40, 300, 1000][seed as usize % 3];
        world.run_millis(seed * 97 % 2000);
        world.peer(1, peer("192.0.2.1/32", exchange));
        world.policy(
            1,
            policy("198.51.100.2/32", "192.0.2.1/32", Mode::Transport),
        );
        let start = world.now;
        world.until("pairs again", 60, World::reach_each_other);
        let took = world.now.saturating_since(start);
        let mut outage = 0;
        for _ in 0..600 {
            world.run_millis(100);
            outage += u32::from(!world.reach_each_other());
        }
        if outage > 0 {
            faults.push(format!("{exchange:?} {seed}: {took:?}, {outage}"));
        }
    }
    assert!(faults.is_empty(), "{}: {faults:#?}", faults.len());
}

#[test]
fn a_forged_initial_message_does_not_prevent_an_own_initiation() {
    for exchange in BOTH {
        let mut world = World::new(7);
        let mut passive = peer("192.0.2.1/32", exchange);
        passive.passive = true;
        world.peer(1, passive);
        world.policy(
            1,
            policy("198.51.100.2/32", "192.0.2.1/32", Mode::Transport),
        );
        world.peer(0, peer("198.51.100.2/32", exchange));
        world.spoof(0, exchange);
        world.policy(
            0,
            policy("192.0.2.1/32", "198.51.100.2/32", Mode::Transport),
        );
        let row = world.sides[0]
            .engine
            .peers()
            .next()
            .expect("a half-open SA");
        assert_eq!(row.side, Side::Responder);
        world.until("pairs", 15, World::both_have_pairs);
    }
}

#[test]
fn a_silent_peer_is_dropped_after_the_profiles_limits() {
    for (exchange, seconds, failures) in [
        (Exchange::Main, 1, 3),
        (Exchange::Ike2, 1, 3),
        (Exchange::Main, 10, 2),
        (Exchange::Ike2, 10, 2),
    ] {
        let mut world = World::between(12, exchange, Mode::Tunnel);
        for (side, other) in [(0, "198.51.100.2/32"), (1, "192.0.2.1/32")] {
            let mut peer = peer(other, exchange);
            peer.profile.dpd = Some((Duration::from_secs(seconds), failures));
            peer.passive = side == 1;
            peer.local = Some(world.sides[side].address);
            world.peer(side, peer);
        }
        world.until("pairs", 20, World::both_have_pairs);
        world.run(1);
        for side in &mut world.sides {
            side.closed.clear();
        }
        (world.cut, world.checked) = (true, false);
        // The interval, and for each failure the interval again, capped at five seconds.
        let patience = seconds + u64::from(failures) * seconds.min(5);
        world.run(patience - 2 * seconds.min(1));
        let gave_up = |world: &World| {
            world
                .sides
                .iter()
                .all(|side| side.closed.contains(&Why::Unreachable))
        };
        assert!(
            !gave_up(&world),
            "{exchange:?} {seconds},{failures}: too early"
        );
        world.until("both give up", 4, gave_up);
    }
}

/// Two sides with a pair in tunnel mode; the second accepts the first from any address.
fn one_may_move(exchange: Exchange, seed: u64) -> (World, Peer) {
    let mut world = World::between(seed, exchange, Mode::Tunnel);
    let mut passive = peer("192.0.2.0/24", exchange);
    passive.passive = true;
    world.peer(1, passive);
    let mut own = peer("198.51.100.2/32", exchange);
    own.local = Some(address("192.0.2.1"));
    world.peer(0, own.clone());
    world.until("pairs", 20, World::both_have_pairs);
    world.run(1);
    for side in &mut world.sides {
        side.closed.clear();
    }
    (world, own)
}

/// Returns true if both sides send between the second side and this address.
fn uses(world: &World, own: &str) -> bool {
    let ends = world.sides.each_ref().map(|side| {
        side.active()
            .map(|child| (child.local.ip(), child.remote.ip()))
    });
    let own = address(own);
    ends[0].is_some_and(|(local, _)| local == own)
        && ends[1].is_some_and(|(_, remote)| remote == own)
}

#[test]
fn ikev2_moves_all_sas_to_another_local_address() {
    for seed in 0..20 {
        let (mut world, mut own) = one_may_move(Exchange::Ike2, seed);
        if seed % 2 == 1 {
            (world.loss, world.repeat) = (20, 20);
        }
        let before = world
            .sides
            .each_ref()
            .map(|side| side.children.keys().copied().collect::<Vec<_>>());
        own.local = Some(address("192.0.2.9"));
        world.peer(0, own.clone());
        let seconds = if seed % 2 == 1 { 20 } else { 1 };
        world.until("it has moved", seconds, |world| uses(world, "192.0.2.9"));
        world.run(30);
        let after = world
            .sides
            .each_ref()
            .map(|side| side.children.keys().copied().collect::<Vec<_>>());
        assert_eq!(before, after, "{seed}");
        assert!(
            world.sides.iter().all(|side| side.closed.is_empty()),
            "{seed}"
        );
        for side in &world.sides {
            let row = side.engine.peers().next().expect("an IKE SA");
            assert_eq!((row.local.port(), row.remote.port()), (4500, 4500));
        }
    }
}

#[test]
fn a_responder_moves_pairs_when_the_peer_is_reached_at_its_new_address() {
    for seed in 0..10 {
        let (mut world, mut own) = one_may_move(Exchange::Ike2, seed);
        world.unreached = Some(address("192.0.2.9"));
        own.local = Some(address("192.0.2.9"));
        world.peer(0, own);
        world.run(3);
        let remote = |world: &World| world.sides[1].active().map(|child| child.remote.ip());
        assert_eq!(remote(&world), Some(address("192.0.2.1")), "{seed}");
        let row = world.sides[1].engine.peers().next().expect("an IKE SA");
        assert_eq!(
            row.remote.ip(),
            address("192.0.2.9"),
            "the question goes there"
        );
        world.unreached = None;
        world.until("it has moved", 20, |world| uses(world, "192.0.2.9"));
        assert!(world.sides.iter().all(|side| side.closed.is_empty()));
    }
}

#[test]
fn ikev1_restarts_at_once_from_a_new_local_address() {
    for seed in 0..10 {
        let (mut world, mut own) = one_may_move(Exchange::Main, seed);
        own.local = Some(address("192.0.2.9"));
        world.checked = false;
        world.peer(0, own);
        world.until("it has begun anew", 1, |world| uses(world, "192.0.2.9"));
        assert_eq!(world.sides[1].closed, [Why::Deleted], "{seed}");
        assert_eq!(world.sides[1].established(), 1, "{seed}");
    }
}
