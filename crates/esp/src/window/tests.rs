//! The window against sets of numbers, and number inference against a search.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

const SIZES: [u32; 7] = [32, 64, 96, 128, 256, 512, 1024];

/// RFC 4303, 3.4.3, with all numbers ever seen.
#[derive(Default)]
struct Model {
    seen: BTreeSet<u64>,
}

impl Model {
    fn take(&mut self, size: u32, number: u64) -> bool {
        let top = self.seen.last().copied().unwrap_or(0);
        let is_old = number == 0 || number + u64::from(size) <= top;
        !is_old && self.seen.insert(number)
    }
}

fn take(window: &Window, number: u64) -> bool {
    let mut packets = [(number, true)];
    window.take(
        &mut packets,
        |packet| Some(packet.0),
        |packet| packet.1 = false,
    );
    packets[0].1
}

/// Steps of the highest number, forwards and backwards, small and large.
fn steps() -> impl Strategy<Value = Vec<i64>> {
    let step = prop_oneof![
        4 => -3_i64..4,
        2 => -1100_i64..1100,
        1 => -70_i64..70,
        1 => 0_i64..5000,
    ];
    prop::collection::vec(step, 1..300)
}

proptest! {
    #[test]
    fn replay_windows_of_every_size_match_the_model(steps in steps(), batch in 1_usize..9) {
        for size in SIZES {
            let window = Window::new(size);
            let mut model = Model::default();
            let mut at = 0_i64;
            let numbers: Vec<u64> = steps
                .iter()
                .map(|step| {
                    at = (at + step).max(0);
                    at as u64
                })
                .collect();
            for numbers in numbers.chunks(batch) {
                let expected: Vec<bool> =
                    numbers.iter().map(|number| model.take(size, *number)).collect();
                let looked: Vec<bool> =
                    numbers.iter().map(|number| window.may_be_new(*number)).collect();
                let mut packets: Vec<(u64, bool)> =
                    numbers.iter().map(|number| (*number, true)).collect();

                window.take(&mut packets, |packet| Some(packet.0), |packet| packet.1 = false);

                let taken: Vec<bool> = packets.iter().map(|packet| packet.1).collect();
                prop_assert_eq!(&taken, &expected, "window of {}", size);
                // Whatever the first check rejects, the second rejects too.
                prop_assert!(looked.iter().zip(&taken).all(|(looked, taken)| *looked || !taken));
            }
            prop_assert_eq!(window.top(), model.seen.last().copied().unwrap_or(0));
        }
    }

    #[test]
    fn the_inferred_sequence_number_is_correct(
        size in prop::sample::select(&SIZES[..]),
        top in prop_oneof![0_u64..5000, (1_u64 << 32) - 3000..(1 << 32) + 3000, 1_u64 << 40..1 << 41],
        step in -900_i64..100_000,
    ) {
        // A peer's numbers lie in the window or ahead of it, not 2^32 away.
        let step = step.max(1 - i64::from(size));
        let Some(number) = top.checked_add_signed(step).filter(|number| *number > 0) else {
            return Ok(());
        };

        let inferred = extend(top, u64::from(size), number as u32);

        prop_assert_eq!(inferred, Some(number));
    }
}

#[test]
fn sequence_numbers_before_the_first_are_refused() {
    // The window reaches below zero: the number would have to be negative.
    assert_eq!(extend(10, 64, u32::MAX), None);
    assert_eq!(extend(10, 64, 11), Some(11));
    assert_eq!(extend(0, 64, 1), Some(1));
    assert_eq!(extend(u64::MAX - 5, 64, 3), None);
}

#[test]
fn numbers_at_both_window_edges_are_distinguished() {
    for size in SIZES {
        let window = Window::new(size);
        let size = u64::from(size);
        assert!(take(&window, 2 * size));
        assert!(take(&window, size + 1));
        assert!(!take(&window, size + 1));
        assert!(!take(&window, size));
        assert!(take(&window, 2 * size - 1));
        assert!(!take(&window, 2 * size));
        assert!(!take(&window, 0));
    }
}

#[test]
fn without_a_window_duplicates_are_accepted() {
    let window = Window::new(0);
    for _ in 0..3 {
        assert!(window.may_be_new(7) && take(&window, 7));
    }
}

#[test]
fn threads_accept_each_number_once() {
    const NUMBERS: u64 = 20_000;
    let window = Window::new(1024);
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for number in 1..=NUMBERS {
                    if window.may_be_new(number) && take(&window, number) {
                        taken.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    // Numbers that all threads offered too late are lost; none counts twice.
    let taken = taken.into_inner();
    assert!(taken <= NUMBERS && window.top() == NUMBERS, "{taken}");
}
