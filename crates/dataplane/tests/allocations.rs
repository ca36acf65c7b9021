//! Nothing is allocated while packets are walked. By itself in this binary: other tests allocate.

use std::sync::{Mutex, PoisonError};

use dataplane::bench::{GUARDED, Options, guarded, run};

#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

/// What one test allocates is not laid at the other's door: the count is the process's.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn a_walked_packet_allocates_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for workers in [1, 2] {
        let options = Options {
            frames: vec![64, 1518],
            flows: vec![1, 1_000],
            routes: vec![1, 1_000],
            runs: 2,
            workers,
            allocations: Some(kernels::CountingAllocator::count),
            ..Options::default()
        };
        let mut rows = 0;

        let result = run(&options, &mut |row| {
            rows += 1;
            assert_eq!(row.workers, workers);
            assert!(row.to_json().contains("\"row\":\"routing-fast-path\""));
        });

        assert_eq!((result, rows), (Ok(()), 16));
    }
}

#[test]
fn a_packet_past_rules_and_connections_allocates_nothing() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for workers in [1, 2] {
        let options = Options {
            runs: 2,
            workers,
            connections_max: 64_000,
            allocations: Some(kernels::CountingAllocator::count),
            ..Options::default()
        };
        let mut rows = Vec::new();

        let result = guarded(&options, GUARDED, &mut |row| {
            assert_eq!(row.workers, workers);
            rows.push(row.row);
        });

        assert_eq!(result, Ok(()));
        rows.dedup();
        assert_eq!(rows, GUARDED);
    }
}
