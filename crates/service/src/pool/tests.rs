use machine::Rng;

use super::*;

fn addr(bits: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(bits)
}

fn lease() -> Use {
    Use {
        owner: "dhcp",
        info: "client".into(),
    }
}

#[test]
fn a_pool_matches_a_set_model() {
    for seed in 0..50 {
        let mut rng = Rng::seeded(seed);
        let pools = Pools::default();
        let base = 0x0a00_0000;
        let mut ranges = vec![
            (addr(base + 10), addr(base + 40)),
            (addr(base + 60), addr(base + 70)),
        ];
        pools.set("a", &ranges, None);
        let mut free: BTreeSet<u32> = (10..=40).chain(60..=70).map(|n| base + n).collect();
        let mut used = BTreeSet::new();
        for step in 0..500 {
            match rng.below(10) {
                0..4 => {
                    let taken = pools
                        .take_any("a", &lease())
                        .map(|(address, _)| address.to_bits());
                    assert_eq!(taken.is_some(), !free.is_empty(), "seed {seed} step {step}");
                    if let Some(taken) = taken {
                        assert!(free.remove(&taken), "seed {seed} step {step}");
                        used.insert(taken);
                    }
                }
                4..6 => {
                    let one = base + rng.below(80) as u32;
                    let taken = pools.take("a", addr(one), &lease()).is_some();
                    assert_eq!(taken, free.remove(&one), "seed {seed} step {step}");
                    used.extend(taken.then_some(one));
                }
                6..9 => {
                    let at = rng.below(80) as u32 + base;
                    pools.give_back("a", addr(at));
                    let in_range = |(first, last): &Range| (*first..=*last).contains(&addr(at));
                    if used.remove(&at) && ranges.iter().any(in_range) {
                        free.insert(at);
                    }
                }
                _ => {
                    let first = rng.below(60) as u32;
                    let last = first + rng.below(20) as u32;
                    ranges = vec![(addr(base + first), addr(base + last))];
                    pools.set("a", &ranges, None);
                    free = (first..=last).map(|n| base + n).collect();
                    free.retain(|one| !used.contains(one));
                }
            }
            let counts = pools.counts("a").expect("the pool is there");
            let expected = (used.len() as u64, free.len() as u64);
            assert_eq!(
                (counts.used, counts.available),
                expected,
                "seed {seed} step {step}"
            );
        }
    }
}

#[test]
fn the_highest_address_is_first_and_released_addresses_are_last() {
    let pools = Pools::default();
    pools.set("a", &[(addr(1), addr(3))], None);
    let take = || {
        pools
            .take_any("a", &lease())
            .map(|(address, _)| address.to_bits())
    };

    assert_eq!((take(), take()), (Some(3), Some(2)));
    pools.give_back("a", addr(3));
    pools.give_back("a", addr(2));
    assert_eq!(
        [take(), take(), take(), take()],
        [Some(1), Some(3), Some(2), None]
    );
}

#[test]
fn an_exhausted_pool_continues_in_the_next_and_pool_cycles_terminate() {
    let pools = Pools::default();
    pools.set("a", &[(addr(1), addr(1))], Some("b"));
    pools.set("b", &[(addr(9), addr(9))], Some("a"));

    assert_eq!(pools.take_any("a", &lease()), Some((addr(1), "a".into())));
    assert_eq!(pools.take_any("a", &lease()), Some((addr(9), "b".into())));
    assert_eq!(pools.take_any("a", &lease()), None);
    pools.give_back("b", addr(9));
    assert_eq!(pools.take("a", addr(9), &lease()), Some("b".into()));
    assert!(pools.contains("a", addr(9)) && !pools.contains("a", addr(5)));
}

#[test]
fn memory_of_a_pool_depends_on_used_addresses() {
    let pools = Pools::default();
    pools.set("a", &[(addr(0x0a00_0000), addr(0x0aff_ffff))], None);
    for _ in 0..10_000 {
        assert!(pools.take_any("a", &lease()).is_some());
    }
    let used = pools.used_from(&("".into(), addr(0)), 100_000);

    assert_eq!(used.len(), 10_000);
    assert_eq!(used[0].1, addr(0x0aff_ffff - 9_999));
    assert_eq!(pools.all()["a"].fresh.len(), 1);
    assert_eq!(pools.used_from(&("a".into(), used[9_999].1), 5).len(), 1);
}

#[test]
fn a_reserved_address_is_not_assigned() {
    let pools = Pools::default();
    pools.set("a", &[(addr(1), addr(2))], None);

    assert!(pools.reserve(addr(2), &lease()) && !pools.reserve(addr(2), &lease()));
    assert_eq!(
        pools.take_any("a", &lease()).map(|(one, _)| one),
        Some(addr(1))
    );
    assert_eq!(pools.take_any("a", &lease()), None);
    pools.release(addr(2));
    assert_eq!(
        pools.take_any("a", &lease()).map(|(one, _)| one),
        Some(addr(2))
    );
}
