//! Counters of a test: written by one worker, read by anyone.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one stream on one worker.
#[derive(Debug)]
pub struct StreamCounters {
    pub(crate) sent: Cell,
    pub(crate) sent_bytes: Cell,
    pub(crate) received: Cell,
    pub(crate) received_bytes: Cell,
    pub(crate) late: Cell,
    pub(crate) duplicates: Cell,
    pub(crate) bad_checksum: Cell,
    /// One more than the highest received sequence number.
    pub(crate) sequence_end: Cell,
    pub(crate) latency_sum: Cell,
    /// Smallest latency plus 1; 0 for none.
    pub(crate) latency_min: Cell,
    pub(crate) latency_max: Cell,
    /// Sum of the differences between successive latencies.
    pub(crate) jitter_sum: Cell,
    /// Frames by latency; the last bucket has all longer latencies.
    pub(crate) distribution: Box<[Cell]>,
}

/// Counters of all streams of a test on one worker.
#[derive(Debug)]
pub struct Counters {
    /// Test whose frames are counted.
    pub test: u8,
    /// Width of a bucket of the distributions, in nanoseconds.
    pub bucket_nanos: u64,
    streams: Vec<(u8, StreamCounters)>,
    /// Frames of this test whose stream is not counted.
    pub(crate) unknown: Cell,
    pub(crate) unknown_bytes: Cell,
    /// Frames that were due while the pool was empty.
    pub(crate) no_buffer: Cell,
}

/// A number with one writer.
#[derive(Debug, Default)]
pub(crate) struct Cell(AtomicU64);

impl Cell {
    #[inline]
    pub(crate) fn add(&self, count: u64) {
        self.0
            .store(self.0.load(Relaxed).wrapping_add(count), Relaxed);
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    #[inline]
    pub(crate) fn value(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl StreamCounters {
    fn new(buckets: usize) -> Self {
        Self {
            sent: Cell::default(),
            sent_bytes: Cell::default(),
            received: Cell::default(),
            received_bytes: Cell::default(),
            late: Cell::default(),
            duplicates: Cell::default(),
            bad_checksum: Cell::default(),
            sequence_end: Cell::default(),
            latency_sum: Cell::default(),
            latency_min: Cell::default(),
            latency_max: Cell::default(),
            jitter_sum: Cell::default(),
            distribution: (0..=buckets).map(|_| Cell::default()).collect(),
        }
    }

    /// Counts a latency. `earlier` is the latency of the stream's previous frame.
    #[inline]
    pub(crate) fn latency(&self, nanos: u64, earlier: Option<u64>, bucket_nanos: u64) {
        self.latency_sum.add(nanos);
        let min = self.latency_min.value();
        if min == 0 || nanos < min - 1 {
            self.latency_min.set(nanos.saturating_add(1));
        }
        if nanos > self.latency_max.value() {
            self.latency_max.set(nanos);
        }
        if let Some(earlier) = earlier {
            self.jitter_sum.add(nanos.abs_diff(earlier));
        }
        let last = self.distribution.len() - 1;
        let bucket = (nanos / bucket_nanos.max(1)).min(last as u64);
        self.distribution[bucket as usize].add(1);
    }
}

impl Counters {
    /// Creates the counters of the streams with these ids. Each stream has `buckets` buckets of latency with a width
    /// of `bucket_nanos`, and one more for longer latencies.
    pub fn new(test: u8, streams: &[u8], buckets: usize, bucket_nanos: u64) -> Self {
        let mut ids = streams.to_vec();
        ids.sort_unstable();
        ids.dedup();
        let streams = ids.into_iter();
        Self {
            test,
            bucket_nanos,
            streams: streams
                .map(|id| (id, StreamCounters::new(buckets)))
                .collect(),
            unknown: Cell::default(),
            unknown_bytes: Cell::default(),
            no_buffer: Cell::default(),
        }
    }

    /// Position of a stream in the list of streams.
    #[inline]
    pub(crate) fn position(&self, id: u8) -> Option<usize> {
        self.streams.binary_search_by_key(&id, |(own, _)| *own).ok()
    }

    /// Streams in the order of their ids.
    pub(crate) fn streams(&self) -> &[(u8, StreamCounters)] {
        &self.streams
    }

    /// Counts a frame that was not built because no buffer was free.
    pub fn count_missing_buffer(&self) {
        self.no_buffer.add(1);
    }
}
