//! Floods, scans and noise: memory stays bounded, known neighbours stay, nothing panics.

use machine::Rng;

use super::*;

fn small() -> Config {
    Config {
        entries_max: 64,
        queue_total_max: 20,
        ..config()
    }
}

fn host(n: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(OWN.to_bits() & 0xff00_0000 | (n + 2))
}

/// A fixture with 48 confirmed neighbours, `n` of them from `host(0)` on.
fn fixture_with_known(n: u32) -> Fixture<Arp> {
    let mut fixture = Fixture::new(small(), OWN, 8);
    for n in 0..n {
        fixture.resolve(host(n), n);
        fixture.hear(&reply((PEER_MAC, host(n))), PEER_MAC);
    }
    fixture
}

#[test]
fn a_network_scan_evicts_no_known_neighbour() {
    let mut fixture = fixture_with_known(40);

    for n in 0..10_000 {
        fixture.resolve(host(1_000 + n), n);
        fixture.pass(Duration::from_millis(1));
    }

    let known = |n: &u32| {
        fixture
            .machine
            .row(host(*n))
            .is_some_and(|row| row.complete())
    };
    assert_eq!((0..40).filter(known).count(), 40);
    assert!(fixture.machine.len() <= 40 + 64 / 4);
    assert!(fixture.machine.waiting() <= 20);
    assert!(fixture.machine.counters().table_full > 0);
}

#[test]
fn a_network_scan_is_limited_to_its_share_of_the_table_per_second() {
    let mut fixture = fixture_with_known(0);
    let before = fixture.machine.counters().solicits;

    for n in 0..10_000 {
        fixture.resolve(host(1_000 + n), n);
        fixture.pass(Duration::from_millis(1));
    }

    let asked = fixture.machine.counters().solicits - before;
    assert!(asked <= 11 * 16 * 2, "{asked} questions in ten seconds");
}

#[test]
fn a_full_table_evicts_the_least_recently_used_neighbour() {
    let mut fixture = fixture_with_known(64);
    fixture.pass(Duration::from_secs(46));
    fixture.on(Event::Used { address: host(0) });
    let oldest: Vec<_> = fixture.machine.rows(None).map(|row| row.address).collect();

    fixture.hear(&request((THIRD_MAC, host(500)), OWN), THIRD_MAC);

    assert_eq!(fixture.machine.len(), 64);
    assert!(fixture.machine.row(host(500)).is_some());
    assert!(fixture.machine.row(host(0)).is_some(), "in use");
    assert_eq!(oldest.len(), 64);
    assert_eq!(fixture.machine.counters().evicted, 1);
}

#[test]
fn a_table_full_of_active_neighbours_refuses_new_ones() {
    let mut fixture = fixture_with_known(64);

    let out = fixture.resolve(host(500), 9);

    let why = DropReason::TableFull;
    assert_eq!(out, [Action::Dropped { packet: 9, why }]);
}

#[test]
fn static_entries_are_never_evicted_and_do_not_count() {
    let mut fixture = fixture_with_known(64);
    for n in 0..100 {
        fixture.on(Event::StaticAdded {
            address: host(2_000 + n),
            mac: Some(THIRD_MAC),
            published: false,
        });
    }
    fixture.on(Event::Configure(Config {
        entries_max: 1,
        ..small()
    }));

    assert_eq!(fixture.machine.len(), 101);
}

#[test]
fn every_queued_packet_is_returned_exactly_once() {
    for seed in 0..200 {
        let mut rng = Rng::seeded(seed);
        let mut fixture = fixture_with_known(0);
        let mut back = vec![0; 2_000];
        for n in 0..2_000 {
            let address = host(rng.below(100) as u32);
            let mut out = fixture.resolve(address, n);
            out.extend(fixture.pass(Duration::from_millis(rng.below(200))));
            out.extend(random_event(&mut fixture, &mut rng));
            count(&out, &mut back);
        }
        count(&fixture.on(Event::LinkDown), &mut back);

        let lost = back.iter().filter(|&&times| times != 1).count();
        assert_eq!((lost, fixture.machine.waiting()), (0, 0), "seed {seed}");
        assert!(fixture.machine.len() <= 64, "seed {seed}");
    }
}

fn count(actions: &[Action<Ipv4Addr, u32>], back: &mut [u32]) {
    for action in actions {
        match action {
            Action::Release { packet, .. }
            | Action::Unreachable { packet, .. }
            | Action::Dropped { packet, .. } => back[*packet as usize] += 1,
            _ => {}
        }
    }
}

fn random_event(fixture: &mut Fixture<Arp>, rng: &mut Rng) -> Acts<Arp> {
    let address = host(rng.below(100) as u32);
    let mac = Mac([2, 0, 0, 0, 9, rng.below(4) as u8]);
    match rng.below(12) {
        0 => fixture.on(Event::Used { address }),
        1 => fixture.on(Event::Forget { address }),
        2 => fixture.on(Event::StaticRemoved { address }),
        3 => fixture.on(Event::StaticAdded {
            address,
            mac: rng.percent(50).then_some(mac),
            published: rng.percent(50),
        }),
        4 => fixture.on(Event::Probe { address }),
        5 => fixture.hear(&request((mac, address), OWN), mac),
        6 => fixture.hear(&request((mac, address), address), mac),
        7 => fixture.own(address, 24, DuplicateDetection::Run),
        8 => fixture.on(Event::AddressRemoved { address }),
        _ => fixture.hear(&reply((mac, address)), mac),
    }
}

#[test]
fn sixty_five_thousand_neighbours_resolve_age_and_expire() {
    let config = Config {
        entries_max: 1 << 16,
        ..config()
    };
    let mut fixture = Fixture::<Arp>::new(config, OWN, 8);
    for n in 0..1 << 16 {
        fixture.resolve(host(n), n);
        // A request also creates an entry, so that the limit of unresolved entries is not exceeded.
        fixture.hear(&reply((PEER_MAC, host(n))), PEER_MAC);
    }
    assert_eq!(fixture.machine.len(), 1 << 16);

    let out = fixture.pass(Duration::from_secs(200));

    let lost = |action: &&Action<_, _>| matches!(action, Action::Lost { .. });
    assert_eq!(out.iter().filter(lost).count(), 1 << 16);
    assert!(fixture.machine.is_empty());
    assert_eq!(fixture.machine.deadline(), None);
}

#[test]
fn random_bytes_never_panic() {
    for seed in 0..300 {
        let mut rng = Rng::seeded(seed);
        let mut v4 = fixture_with_known(3);
        let mut v6 = Fixture::<Discovery>::new(config(), OWN6, 64);
        v6.resolve(PEER6, 1);
        let mut seeds = vec![reply((PEER_MAC, host(1))), request((PEER_MAC, PEER), OWN)];
        seeds.extend(frames_of(&mut v6));
        for _ in 0..500 {
            let packet = mutated(&mut rng, &seeds);
            v4.hear(&packet, PEER_MAC);
            v6.hear(&packet, PEER_MAC);
            v4.pass(Duration::from_millis(rng.below(50)));
            v6.pass(Duration::from_millis(rng.below(50)));
        }
        assert!(v4.machine.len() + v6.machine.len() < 1_000, "seed {seed}");
    }
}

/// Valid packets sent by the machine itself.
fn frames_of(fixture: &mut Fixture<Discovery>) -> Vec<Vec<u8>> {
    let mut out = fixture.own(PEER6, 64, DuplicateDetection::Run);
    out.extend(fixture.pass(Duration::from_secs(9)));
    let sent = frames(&out);
    sent.iter().map(|frame| frame.payload.clone()).collect()
}

/// A packet of `seeds` with some bytes changed and possibly truncated, or random bytes.
fn mutated(rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut packet = seeds[rng.below(seeds.len() as u64) as usize].clone();
    if rng.percent(10) {
        packet.resize(rng.below(200) as usize, 0);
        rng.fill(&mut packet);
    }
    for _ in 0..rng.below(4) {
        let at = rng.below(packet.len().max(1) as u64) as usize;
        if let Some(byte) = packet.get_mut(at) {
            *byte = rng.next_u32() as u8;
        }
    }
    if rng.percent(20) {
        packet.truncate(rng.below(packet.len() as u64 + 1) as usize);
    }
    packet
}

#[test]
fn a_network_scan_evicts_no_stale_neighbour() {
    let mut fixture = fixture_with_known(40);
    fixture.pass(Duration::from_secs(46));

    for n in 0..5_000 {
        fixture.resolve(host(1_000 + n), n);
        fixture.pass(Duration::from_millis(1));
    }

    let known = |n: &u32| {
        fixture
            .machine
            .row(host(*n))
            .is_some_and(|row| row.complete())
    };
    assert_eq!((0..40).filter(known).count(), 40);
}

#[test]
fn the_age_of_a_resolution_counts_from_its_first_request() {
    let mut fixture = fixture_with_known(0);
    for n in 0..16 {
        fixture.resolve(host(n), n);
        fixture.pass(Duration::from_millis(10));
    }
    fixture.pass(Duration::from_millis(1_400));

    fixture.resolve(host(100), 99);

    assert_eq!(fixture.machine.row(host(0)), None, "the oldest went");
    assert_eq!(fixture.status(host(100)), Some(Status::Incomplete));
}
