//! Per-worker counters of a bond: bytes per bucket of peers, and the position of round robin.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Number of buckets that peers are hashed into (balance-tlb, balance-alb).
pub const BUCKETS: usize = 256;
/// Rows of counters: workers whose numbers are equal modulo this share a row.
const ROWS: usize = 8;

/// The counters of a bond, one row per group of workers.
#[derive(Debug)]
pub struct Loads {
    rows: Box<[Row; ROWS]>,
}

/// The counters of a row.
#[derive(Debug)]
#[repr(align(64))]
struct Row {
    turn: AtomicU32,
    bytes: [AtomicU64; BUCKETS],
}

/// Two values are equal only if they share their counters.
impl PartialEq for Loads {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self, other)
    }
}

impl Eq for Loads {}

impl Default for Loads {
    fn default() -> Self {
        let row = || Row {
            turn: AtomicU32::new(0),
            bytes: core::array::from_fn(|_| AtomicU64::new(0)),
        };
        Self {
            rows: Box::new(core::array::from_fn(|_| row())),
        }
    }
}

impl Loads {
    fn row(&self, worker: u16) -> &Row {
        &self.rows[usize::from(worker) % ROWS]
    }

    /// Returns the round-robin position of a worker's next frame, and advances it by `frames`.
    #[inline]
    pub(super) fn turn(&self, worker: u16, frames: u32) -> u32 {
        self.row(worker).turn.fetch_add(frames, Ordering::Relaxed)
    }

    /// Counts bytes that a worker sent to the peers of a bucket.
    #[inline]
    pub(super) fn add(&self, worker: u16, bucket: u8, bytes: u64) {
        let counter = &self.row(worker).bytes[usize::from(bucket)];
        counter.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes sent to the peers of each bucket, summed over workers.
    pub fn bytes(&self) -> [u64; BUCKETS] {
        core::array::from_fn(|bucket| {
            let of = |row: &Row| row.bytes[bucket].load(Ordering::Relaxed);
            self.rows.iter().map(of).sum()
        })
    }
}
