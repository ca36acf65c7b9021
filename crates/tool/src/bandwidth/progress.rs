//! Progress of a bandwidth test.

use std::time::Duration;

use btest::{Figures, Status};

/// Progress of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BandwidthProgress {
    /// Status in RouterOS's words.
    pub status: Status,
    /// Reason for the end.
    pub reason: Option<btest::Reason>,
    /// Measurements.
    pub figures: Figures,
    /// CPU time of generating and receiving here, in percent of one core.
    pub test_cpu_percent: u64,
    /// State of the first TCP connection; `None` before it is established.
    pub path: Option<PathState>,
}

/// State of a TCP connection (tcp(7), `TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathState {
    /// Smoothed round-trip time.
    pub rtt: Duration,
    /// Bytes that may be unacknowledged in the direction of the data.
    pub window_bytes: u64,
    /// Segments sent again.
    pub retransmitted: u64,
}
