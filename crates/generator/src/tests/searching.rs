//! The search finds the known throughput of a modelled device.

use proptest::prelude::*;

use crate::search::{Goal, Search, Trial};

fn goal(loss_ratio: f64) -> Goal {
    Goal {
        loss_ratio,
        exceed_ratio: 0.5,
        duration_sum: 1.0,
        width: 0.005,
    }
}

/// Runs a search on a device that forwards `capacity` frames per second.
fn search(capacity: f64, max_load: f64, trial_seconds: f64) -> Search {
    let mut search = Search::new(vec![goal(0.0), goal(0.005)], 10.0, max_load);
    while let Some(load) = search.next_load() {
        search.record(Trial {
            load,
            seconds: trial_seconds,
            loss_ratio: (1.0 - capacity / load).max(0.0),
        });
    }
    search
}

proptest! {
    #[test]
    fn the_throughput_of_a_rate_limiter_is_found_within_the_width(
        capacity in 100.0_f64..900_000.0,
        trial_seconds in prop_oneof![Just(1.0_f64), Just(0.25)],
    ) {
        let search = search(capacity, 1_000_000.0, trial_seconds);
        let without_loss = search.bounds(&goal(0.0));
        prop_assert!(without_loss.throughput <= capacity);
        prop_assert!(without_loss.throughput >= capacity * 0.994);
        let with_loss = search.bounds(&goal(0.005));
        prop_assert!((with_loss.throughput / capacity - 1.0).abs() < 0.006);
        prop_assert!(search.trials().len() < 120);
    }
}

#[test]
fn a_device_faster_than_the_generator_has_no_upper_bound() {
    let search = search(2_000.0, 1_000.0, 1.0);
    let bounds = search.bounds(&goal(0.0));
    assert_eq!((bounds.lower, bounds.upper), (Some(1_000.0), None));
    assert_eq!(search.trials().len(), 1);
}

#[test]
fn a_device_that_forwards_nothing_has_no_lower_bound() {
    let search = search(0.0, 1_000.0, 1.0);
    let bounds = search.bounds(&goal(0.005));
    assert_eq!((bounds.lower, bounds.throughput), (None, 0.0));
}

#[test]
fn the_loss_curve_has_the_mean_of_the_trials_of_each_load() {
    let mut search = Search::new(vec![goal(0.0)], 1.0, 100.0);
    for loss_ratio in [0.2, 0.4] {
        search.record(Trial {
            load: 100.0,
            seconds: 1.0,
            loss_ratio,
        });
    }
    let curve = search.loss_curve();
    assert_eq!(curve.len(), 1);
    assert!((curve[0].1 - 0.3).abs() < 1e-9);
}
