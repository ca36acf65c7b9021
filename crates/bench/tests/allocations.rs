//! Tests, with a counting allocator, that the walk allocates no memory.

use bench::{
    BRIDGED, ENCRYPTED, KEYED, LAYERED, Options, PROTECTED, QUEUED, SESSIONS, bridged, encrypted,
    keyed, layered, protected, queued, run, sessions,
};

#[global_allocator]
static ALLOCATOR: kernels::CountingAllocator = kernels::CountingAllocator;

#[test]
fn a_walked_packet_allocates_nothing() {
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
fn frames_of_interfaces_on_interfaces_allocate_nothing() {
    let options = Options {
        runs: 2,
        allocations: Some(kernels::CountingAllocator::count),
        ..Options::default()
    };
    let mut rows = 0;
    let result = layered(&options, LAYERED, &mut |_| rows += 1);
    assert_eq!((result, rows), (Ok(()), 2 * LAYERED.len()));
}

#[test]
fn session_data_allocates_nothing() {
    for workers in [1, 2] {
        let options = Options {
            runs: 2,
            workers,
            allocations: Some(kernels::CountingAllocator::count),
            ..Options::default()
        };
        let mut rows = Vec::new();
        let result = sessions(&options, SESSIONS, &mut |row| rows.push(row.flows));
        assert_eq!(result, Ok(()));
        assert_eq!(rows, [1, 4_000, 30_000].repeat(2 * SESSIONS.len()));
        let mut rows = Vec::new();
        let result = encrypted(&options, ENCRYPTED, &mut |row| rows.push(row.frame));
        assert_eq!(result, Ok(()));
        assert_eq!(rows, [64, 512, 1418].repeat(ENCRYPTED.len()));
    }
}

#[test]
fn a_packet_that_is_protected_allocates_nothing() {
    let options = Options {
        runs: 2,
        allocations: Some(kernels::CountingAllocator::count),
        ..Options::default()
    };
    let mut rows = 0;
    let result = protected(&options, PROTECTED, &mut |_| rows += 1);
    assert_eq!((result, rows), (Ok(()), 3 * PROTECTED.len()));
    let mut rows = 0;
    let result = keyed(&options, KEYED, &mut |_| rows += 1);
    // Three lengths of frames for WireGuard and OpenVPN, two for EoIP.
    assert_eq!((result, rows), (Ok(()), (2 + 4) * 3 + 4 * 2));
}

#[test]
fn a_packet_that_passes_queues_allocates_nothing() {
    for workers in [1, 2] {
        let options = Options {
            frames: vec![64],
            runs: 2,
            workers,
            allocations: Some(kernels::CountingAllocator::count),
            ..Options::default()
        };
        let mut rows = 0;
        let result = queued(&options, QUEUED, &mut |_| rows += 1);
        assert_eq!((result, rows), (Ok(()), 2 * QUEUED.len()));
    }
}

#[test]
fn a_bridged_frame_allocates_nothing() {
    for workers in [1, 2] {
        let options = Options {
            frames: vec![68, 1518],
            runs: 2,
            workers,
            allocations: Some(kernels::CountingAllocator::count),
            ..Options::default()
        };
        let mut rows = Vec::new();

        let result = bridged(&options, BRIDGED, &mut |row| {
            rows.push((row.row, row.hosts, row.vlans));
            assert!(row.to_json().contains("\"hosts\":"));
        });

        assert_eq!(result, Ok(()));
        rows.dedup();
        let [plain, filters, ruled] = ["bridging-fast-path", "bridge-vlan", "bridge-filter-25"];
        let expected = [
            (plain, 1, 0),
            (plain, 1_000, 0),
            (plain, 64_000, 0),
            (filters, 1_000, 1),
            (filters, 1_000, 1_000),
            (ruled, 1, 0),
            (ruled, 1_000, 0),
            (ruled, 64_000, 0),
        ];
        assert_eq!(rows, expected);
    }
}
