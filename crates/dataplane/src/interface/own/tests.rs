//! Property tests of own addresses against a counting map, with a concurrent reader.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::BTreeMap;

use kernels::Baseline;
use proptest::prelude::*;

use super::OwnAddresses;

/// Few neighbouring addresses, so that many are added several times.
fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        (0..400_u32).prop_map(|low| Ipv4Addr::from_bits(0x0a00_0000 | low).into()),
        (0..200_u128).prop_map(|low| Ipv6Addr::from_bits(0x2001_0db8 << 96 | low).into()),
        (0..200_u128).prop_map(|low| Ipv6Addr::from_bits(0xfe80 << 112 | low).into()),
        // IPv6 addresses with the bits of the IPv4 addresses.
        (0..4_u128).prop_map(|low| Ipv6Addr::from_bits(0x0a00_0000 | low).into()),
    ]
}

fn has(own: &OwnAddresses, address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => own.has_ipv4(address.to_bits()),
        IpAddr::V6(address) => own.has_ipv6(address.to_bits()),
    }
}

/// Runs the check of 16 addresses at once, which must never exclude an own address.
fn may_have(own: &OwnAddresses, address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => own.may_have_ipv4(Baseline, &[address.to_bits(); 16]) != [0; 16],
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let words = [96, 64, 32, 0].map(|shift| [(bits >> shift) as u32; 16]);
            address.is_unicast_link_local() || own.may_have_ipv6(Baseline, &words) != [0; 16]
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 64 }))]

    #[test]
    fn what_was_added_more_often_than_taken_back_is_there(
        steps in prop::collection::vec((address(), 0..3_u8), 1..if cfg!(miri) { 60 } else { 1500 }),
        all in prop::collection::vec(address(), 100),
    ) {
        let own = OwnAddresses::new();
        let always = IpAddr::from([192, 0, 2, 1]);
        let never = IpAddr::from([192, 0, 2, 2]);
        own.add(always).expect("room");
        let (done, mut wrong) = (AtomicBool::new(false), false);
        let mut model = BTreeMap::<IpAddr, u32>::new();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut wrong = false;
                while !done.load(Ordering::Relaxed) {
                    wrong |= !has(&own, always) || !may_have(&own, always) || has(&own, never);
                }
                wrong
            });
            for (address, step) in steps {
                if step > 0 {
                    own.add(address).expect("room");
                    *model.entry(address).or_default() += 1;
                } else {
                    own.remove(address);
                    let users = model.entry(address).or_default();
                    *users = users.saturating_sub(1);
                }
            }
            done.store(true, Ordering::Relaxed);
            wrong = reader.join().unwrap_or(true);
        });
        prop_assert!(!wrong, "what did not change was always found");
        for address in model.keys().copied().chain(all) {
            let is_there = model.get(&address).is_some_and(|users| *users > 0);
            prop_assert_eq!(has(&own, address), is_there, "{}", address);
            prop_assert!(!is_there || may_have(&own, address), "{}", address);
        }
    }
}

#[test]
fn many_addresses_leave_the_bitmap_sparse_and_nothing_behind() {
    let own = OwnAddresses::new();
    let count = if cfg!(miri) { 200 } else { 30_000 };
    let address = |at: u32| IpAddr::from(Ipv4Addr::from_bits(0x0a00_0000 | at));
    for at in 0..count {
        own.add(address(at)).expect("room");
    }
    let strangers =
        (0..count).filter(|at| may_have(&own, Ipv4Addr::from_bits(0xc0a8_0000 | at).into()));
    let strangers = strangers.count() as u32;
    assert!(strangers < count / 20, "{strangers} of {count}");

    for at in 0..count {
        own.remove(address(at));
    }
    assert!((0..count).all(|at| !has(&own, address(at)) && !may_have(&own, address(at))));
}
