//! Compares directories of hosts with an ordered map, also for addresses chosen with knowledge of the seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernels::{Baseline, Pages};
use machine::Rng;

use super::*;
use crate::grace::Grace;
use crate::heap::Memory;

const SEED: u64 = 0x1234_5678_9abc_def1;

fn heap() -> Heap {
    let memory = Memory::new(64 << 20, Pages::Small).expect("64 MB of address space");
    Heap::new(Arc::new(memory), 0, Arc::new(Grace::default()))
}

/// Looks up an address as a reader does.
fn found(heap: &Heap, directory: &Directory, address: u128) -> Option<NextHopId> {
    let words = heap.memory().words();
    let line = line(words, directory.entry().unit(), hash(SEED, address))?;
    find(Baseline, words.line(line), address)
}

#[test]
fn hosts_are_found_as_long_as_they_are_learned() {
    let mut heap = heap();
    let mut directory = Directory::new(&mut heap, Entry::leaf(NextHopId(9), 64));
    let mut model = BTreeMap::new();
    let mut rng = Rng::seeded(11);
    let link = 0x2001_0db8_u128 << 96;

    // First most changes add hosts, then most remove them.
    for round in 0..60_000_u64 {
        let address = link | u128::from(rng.below(8_000));
        let goes = rng.below(100) < if round < 30_000 { 20 } else { 90 };
        let id = NextHopId(if goes {
            0
        } else {
            0xff00 + rng.below(900) as u32
        });
        let old = match id {
            NextHopId::NO_ROUTE => model.remove(&address),
            id => model.insert(address, id),
        };
        assert_eq!(directory.put(&mut heap, SEED, address, id), Ok(old));
        assert_eq!(
            found(&heap, &directory, address),
            model.get(&address).copied()
        );
    }

    for number in 0..8_001 {
        let address = link | number;
        let right = model.get(&address).copied();
        assert_eq!(found(&heap, &directory, address), right);
        assert_eq!(directory.get(hash(SEED, address), address), right);
    }
    assert_eq!(directory.count, model.len());
    assert_eq!(
        heap.memory().slot(directory.others()),
        Entry::leaf(NextHopId(9), 64)
    );
}

#[test]
fn addresses_with_the_same_hash_are_refused_and_change_nothing() {
    let mut heap = heap();
    let mut directory = Directory::new(&mut heap, Entry::NONE);
    // Anyone who knows the seed can choose such addresses.
    let low = SEED.rotate_left(29) ^ 0x9e37_79b9_7f4a_7c15;
    let address = |number: u128| number << 64 | u128::from(low);
    assert_eq!(hash(SEED, address(1)), hash(SEED, address(2)));

    for number in 0..3 {
        let put = directory.put(&mut heap, SEED, address(number), NextHopId(7));
        assert_eq!(put, Ok(None));
    }
    let put = directory.put(&mut heap, SEED, address(3), NextHopId(8));

    assert_eq!(put, Err(Crowded));
    assert_eq!(found(&heap, &directory, address(3)), None);
    assert_eq!(directory.count, 3);
    for number in 0..3 {
        assert_eq!(
            found(&heap, &directory, address(number)),
            Some(NextHopId(7))
        );
        let gone = directory.put(&mut heap, SEED, address(number), NextHopId::NO_ROUTE);
        assert_eq!(gone, Ok(Some(NextHopId(7))));
    }
    assert!(directory.is_empty());
}
