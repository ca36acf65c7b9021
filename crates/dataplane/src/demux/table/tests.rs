use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use proptest::prelude::*;

use super::*;

fn entry(id: u32) -> Entry {
    Entry {
        id: InterfaceId(id),
        facts: Facts(id as u16 & 0xfff),
    }
}

fn key(on: u32, name: u64) -> Key {
    Key { on, name }
}

/// Returns the number of keys.
fn len(table: &KeyTable) -> usize {
    table.count.load(Ordering::Relaxed) as usize
}

/// Returns the index of the size in use.
fn size(table: &KeyTable) -> u32 {
    table.size.load(Ordering::Relaxed)
}

proptest! {
    #[test]
    fn a_table_says_what_a_map_says(
        steps in prop::collection::vec((0..4u32, 0..200u64, 0..1000u32), 0..2000),
    ) {
        let (table, mut map) = (KeyTable::default(), HashMap::new());
        for (on, name, id) in steps {
            let key = key(on, name);
            match id {
                0..400 => prop_assert_eq!(table.remove(key), map.remove(&key)),
                _ => {
                    prop_assert!(table.set(key, entry(id)));
                    map.insert(key, entry(id));
                }
            }
            prop_assert_eq!(len(&table), map.len());
        }
        for (on, name) in (0..4).flat_map(|on| (0..200).map(move |name| (on, name))) {
            let key = key(on, name);
            prop_assert_eq!(table.get(key), map.get(&key).copied());
        }
    }
}

#[test]
fn keys_that_come_and_go_leave_the_table_as_large_as_it_is() {
    let table = KeyTable::default();
    let mac = |number: u64| 0x0200_0000_0000_0000 | number << 16;
    let mut largest = 0;
    for round in 0..8 {
        for number in 0..30_000 {
            assert!(table.set(key(1, mac(number) | round), entry(number as u32 + 1)));
        }
        if round == 0 {
            largest = size(&table);
        }
        assert_eq!((len(&table), size(&table)), (30_000, largest));
        for number in 0..30_000 {
            let key = key(1, mac(number) | round);
            assert_eq!(table.remove(key), Some(entry(number as u32 + 1)));
        }
    }
    assert_eq!(len(&table), 0);
    let entries = table.view().expect("it has a size").lines.len() * ENTRIES;
    assert!((60_000..=131_072).contains(&entries), "{entries}");
}

/// A reader always finds permanent keys, while other keys come and go, and the table grows and
/// moves keys.
#[test]
fn a_reader_finds_what_stays_while_others_come_and_go() {
    let (table, ends) = (KeyTable::default(), AtomicBool::new(false));
    let stays = |number: u64| key(7, number * 0x1_0001);
    for number in 0..100 {
        assert!(table.set(stays(number), entry(number as u32 + 1)));
    }
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut rounds = 0;
            while !ends.load(Ordering::Relaxed) || rounds < 2 {
                for number in 0..100 {
                    let found = table.get(stays(number));
                    assert_eq!(found, Some(entry(number as u32 + 1)));
                }
                rounds += 1;
            }
        });
        let all = if cfg!(miri) { 300 } else { 20_000 };
        for round in 1..4 {
            for number in 0..all {
                assert!(table.set(key(round, number), entry(number as u32 + 1000)));
            }
            for number in 0..all {
                assert!(table.remove(key(round, number)).is_some());
            }
        }
        ends.store(true, Ordering::Relaxed);
        reader.join().expect("the reader found all");
    });
}

#[test]
fn a_table_holds_a_key_for_each_interface() {
    let table = KeyTable::default();
    let all = 1 << InterfaceId::SLOT_BITS;
    for number in 1..all {
        assert!(table.set(key(number, 5), entry(number)), "{number}");
    }
    assert!(size(&table) as usize >= SIZES - 1);
    assert_eq!(table.get(key(all - 1, 5)), Some(entry(all - 1)));
}
