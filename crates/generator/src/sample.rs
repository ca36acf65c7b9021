//! Figures of a test, summed over the workers.

use crate::counters::Counters;

/// Figures of one stream or of all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Frames sent, and their bytes.
    pub sent: u64,
    /// Bytes of sent frames, without FCS.
    pub sent_bytes: u64,
    /// Frames received, duplicates included.
    pub received: u64,
    /// Bytes of received frames, without FCS.
    pub received_bytes: u64,
    /// Frames received behind a frame with a higher number.
    pub late: u64,
    /// Frames received again.
    pub duplicates: u64,
    /// Frames whose footer has a wrong checksum.
    pub bad_checksum: u64,
    /// Frames with lower numbers than the last received one.
    pub expected: u64,
    /// Sum of latencies in nanoseconds, over the received frames.
    pub latency_sum: u64,
    /// Smallest latency in nanoseconds.
    pub latency_min: Option<u64>,
    /// Largest latency in nanoseconds.
    pub latency_max: u64,
    /// Sum of the differences between successive latencies, in nanoseconds.
    pub jitter_sum: u64,
    /// Frames by latency; the last bucket has all longer latencies.
    pub distribution: Vec<u64>,
}

/// All figures at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// Figures by stream id, ascending.
    pub streams: Vec<(u8, Figures)>,
    /// Frames of the test with an unknown stream.
    pub unknown: u64,
    /// Bytes of those frames.
    pub unknown_bytes: u64,
    /// Frames that were not built because no buffer was free.
    pub no_buffer: u64,
}

impl Figures {
    /// Adds the figures of another worker or stream. Distributions must have the same buckets.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        self.received += other.received;
        self.received_bytes += other.received_bytes;
        self.late += other.late;
        self.duplicates += other.duplicates;
        self.bad_checksum += other.bad_checksum;
        self.expected += other.expected;
        self.latency_sum = self.latency_sum.wrapping_add(other.latency_sum);
        self.latency_min = self.latency_min.into_iter().chain(other.latency_min).min();
        self.latency_max = self.latency_max.max(other.latency_max);
        self.jitter_sum = self.jitter_sum.wrapping_add(other.jitter_sum);
        let buckets = self.distribution.len().max(other.distribution.len());
        self.distribution.resize(buckets, 0);
        for (own, more) in self.distribution.iter_mut().zip(&other.distribution) {
            *own += more;
        }
    }

    /// Different frames received.
    pub fn unique(&self) -> u64 {
        self.received.saturating_sub(self.duplicates)
    }

    /// Sent frames that were not received. Frames on their way count as lost.
    pub fn missing(&self) -> u64 {
        self.sent.saturating_sub(self.unique())
    }

    /// Frames known to be lost or late: numbers below the highest received one that were not received.
    pub fn gaps(&self) -> u64 {
        self.expected.saturating_sub(self.unique())
    }

    /// Mean latency in nanoseconds.
    pub fn latency_mean(&self) -> Option<u64> {
        self.latency_sum.checked_div(self.received)
    }

    /// Mean difference between successive latencies in nanoseconds.
    pub fn jitter(&self) -> Option<u64> {
        self.jitter_sum.checked_div(self.received.saturating_sub(1))
    }

    /// Latency that `share` of the frames (from 0 to 1) do not exceed, as the upper bound of its bucket in units of
    /// buckets; `None` if it lies beyond the last bucket, or without frames.
    pub fn quantile(&self, share: f64) -> Option<usize> {
        let all: u64 = self.distribution.iter().sum();
        let wanted = ((all as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        let bounded = self.distribution.len().checked_sub(1)?;
        for (at, count) in self.distribution[..bounded].iter().enumerate() {
            below += count;
            if below >= wanted {
                return Some(at + 1);
            }
        }
        None
    }
}

impl Sample {
    /// Reads the counters of all workers, which count the same streams.
    pub fn read<'a>(workers: impl IntoIterator<Item = &'a Counters>) -> Self {
        let mut sample = Self::default();
        for counters in workers {
            sample.unknown += counters.unknown.value();
            sample.unknown_bytes += counters.unknown_bytes.value();
            sample.no_buffer += counters.no_buffer.value();
            for (id, own) in counters.streams() {
                let figures = Figures {
                    sent: own.sent.value(),
                    sent_bytes: own.sent_bytes.value(),
                    received: own.received.value(),
                    received_bytes: own.received_bytes.value(),
                    late: own.late.value(),
                    duplicates: own.duplicates.value(),
                    bad_checksum: own.bad_checksum.value(),
                    expected: 0,
                    latency_sum: own.latency_sum.value(),
                    latency_min: own.latency_min.value().checked_sub(1),
                    latency_max: own.latency_max.value(),
                    jitter_sum: own.jitter_sum.value(),
                    distribution: own.distribution.iter().map(|cell| cell.value()).collect(),
                };
                let end = own.sequence_end.value();
                sample.merge(*id, &figures, end);
            }
        }
        sample
    }

    /// Adds the figures of one worker. Each worker may have received the highest number of a stream.
    fn merge(&mut self, id: u8, figures: &Figures, end: u64) {
        let at = match self.streams.binary_search_by_key(&id, |(own, _)| *own) {
            Ok(at) => at,
            Err(at) => {
                self.streams.insert(at, (id, Figures::default()));
                at
            }
        };
        let (_, own) = &mut self.streams[at];
        own.add(figures);
        own.expected = own.expected.max(end);
    }

    /// Sum of all streams.
    pub fn total(&self) -> Figures {
        let mut total = Figures::default();
        for (_, figures) in &self.streams {
            total.add(figures);
        }
        total
    }
}
