//! Tests, with a counting allocator, that the walk through a home router allocates no memory.

use bench::{HOME, Options, home};

#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

#[test]
fn a_packet_through_a_home_router_allocates_nothing() {
    let options = Options {
        runs: 2,
        connections_max: 2_000,
        allocations: Some(kernels::CountingAllocator::count),
        ..Options::default()
    };
    let mut rows = Vec::new();

    let result = home(&options, HOME, &mut |row| rows.push(row.row));

    assert_eq!(result, Ok(()));
    assert_eq!(rows, HOME);
}
