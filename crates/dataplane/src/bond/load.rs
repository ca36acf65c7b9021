//! What workers count of a bond: the bytes of each bucket of peers, and whose turn it is.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Buckets that peers are shared out in (balance-tlb, balance-alb).
pub const BUCKETS: usize = 256;
/// Rows of counters: workers with the same number modulo this share one.
const ROWS: usize = 8;

/// See the module.
#[derive(Debug)]
pub struct Loads {
    rows: Box<[Row; ROWS]>,
}

/// What a worker counts.
#[derive(Debug)]
#[repr(align(64))]
struct Row {
    turn: AtomicU32,
    bytes: [AtomicU64; BUCKETS],
}

/// Counters are the same only as themselves.
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

    /// The turn of a worker's next frame; so many frames follow.
    #[inline]
    pub(super) fn turn(&self, worker: u16, frames: u32) -> u32 {
        self.row(worker).turn.fetch_add(frames, Ordering::Relaxed)
    }

    /// A worker sends so many bytes to the peers of a bucket.
    #[inline]
    pub(super) fn add(&self, worker: u16, bucket: u8, bytes: u64) {
        let counter = &self.row(worker).bytes[usize::from(bucket)];
        counter.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Bytes that were sent to the peers of each bucket.
    pub fn bytes(&self) -> [u64; BUCKETS] {
        core::array::from_fn(|bucket| {
            let of = |row: &Row| row.bytes[bucket].load(Ordering::Relaxed);
            self.rows.iter().map(of).sum()
        })
    }
}
