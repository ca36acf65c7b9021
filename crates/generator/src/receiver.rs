//! Receiving side of a test: recognises the frames of its streams and measures them.

use std::sync::Arc;

use machine::Instant;

use crate::counters::Counters;
use crate::footer::Footer;
use crate::sequence::{Order, Sequence};

/// Result for a received frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The frame is not of this test; the router handles it.
    Foreign,
    /// The frame was counted; its slot is free.
    Counted,
}

/// Receiver of one worker.
#[derive(Debug)]
pub struct Receiver {
    counters: Arc<Counters>,
    streams: Vec<StreamState>,
    /// Starts of the footers' checksums, by position of the stream.
    checksum_from: Vec<Option<usize>>,
    measures_order: bool,
}

#[derive(Clone, Debug, Default)]
struct StreamState {
    sequence: Sequence,
    latency: Option<u64>,
}

impl Receiver {
    /// Creates a receiver. `checksums` has the offset of the footer's checksum by stream id. Without
    /// `measures_order` late frames and duplicates are counted as received only.
    pub fn new(counters: Arc<Counters>, checksums: &[(u8, usize)], measures_order: bool) -> Self {
        let streams = counters.streams();
        let start = |id: u8| checksums.iter().find(|(own, _)| *own == id);
        let starts = streams.iter().map(|(id, _)| start(*id).map(|(_, at)| *at));
        Self {
            checksum_from: starts.collect(),
            streams: vec![StreamState::default(); streams.len()],
            counters,
            measures_order,
        }
    }

    /// Counters of this worker.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Measures a received frame if it belongs to the test. The frame has neither FCS nor padding.
    #[inline]
    pub fn receive(&mut self, frame: &[u8], now: Instant) -> Verdict {
        let Some(footer) = Footer::parse(frame) else {
            return Verdict::Foreign;
        };
        if footer.test != self.counters.test {
            return Verdict::Foreign;
        }
        let Some(at) = self.counters.position(footer.stream) else {
            self.counters.unknown.add(1);
            self.counters.unknown_bytes.add(frame.len() as u64);
            return Verdict::Counted;
        };
        self.count(at, &footer, frame, now);
        Verdict::Counted
    }

    fn count(&mut self, at: usize, footer: &Footer, frame: &[u8], now: Instant) {
        let (_, counters) = &self.counters.streams()[at];
        let state = &mut self.streams[at];
        counters.received.add(1);
        counters.received_bytes.add(frame.len() as u64);
        let order = state.sequence.receive(footer.sequence);
        counters.sequence_end.set(state.sequence.end());
        match order {
            Order::Duplicate => counters.duplicates.add(1),
            Order::Late if self.measures_order => counters.late.add(1),
            Order::Late | Order::Ascending => {}
        }
        if let (Some(from), Some(checksum)) = (self.checksum_from[at], footer.checksum) {
            let end = frame.len() - 2;
            let covered = frame.get(from.min(end)..end).unwrap_or_default();
            if wire::checksum::checksum(covered) != checksum {
                counters.bad_checksum.add(1);
            }
        }
        let latency = footer.latency_nanos(now);
        let earlier = state.latency.replace(latency);
        counters.latency(latency, earlier, self.counters.bucket_nanos);
    }
}
