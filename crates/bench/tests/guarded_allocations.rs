//! Tests, with a counting allocator, that the walk through rules and connections allocates no
//! memory.

use bench::{GUARDED, Options, guarded};

#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

#[test]
fn a_packet_past_rules_and_connections_allocates_nothing() {
    for workers in [1, 2] {
        // One frame size and one number of flows: other values run the same code, and a test is no
        // measurement.
        let options = Options {
            frames: vec![512],
            flows: vec![1_000],
            runs: 1,
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
