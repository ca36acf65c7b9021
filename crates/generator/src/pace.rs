//! Pacing of a stream: when its next frame is due.

use machine::Instant;

const PICOS: u128 = 1_000_000_000_000;

/// Limits of a stream's rate; 0 is unlimited. The lower limit applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rate {
    /// Frames per second.
    pub pps: u64,
    /// Bits per second, counted over frames without FCS.
    pub bps: u64,
}

/// Times of a stream's frames. A late driver catches up by a bounded burst; the rest of the delay is lost.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    picos_per_frame: u128,
    picos_per_byte: u128,
    burst_picos: u128,
    /// Time at which the next frame is due.
    next_picos: Option<u128>,
}

impl Pace {
    /// Creates a pace that begins with its first query. A late caller catches up the frames of `burst_nanos` at most.
    pub fn new(rate: Rate, burst_nanos: u64) -> Self {
        let per = |count: u64, unit: u128| match count {
            0 => 0,
            count => (unit * PICOS).div_ceil(u128::from(count)),
        };
        Self {
            picos_per_frame: per(rate.pps, 1),
            picos_per_byte: per(rate.bps, 8),
            burst_picos: u128::from(burst_nanos) * 1_000,
            next_picos: None,
        }
    }

    /// True if a frame may be sent now.
    #[inline]
    pub fn is_due(&mut self, now: Instant) -> bool {
        let now = u128::from(now.as_nanos()) * 1_000;
        let next = self.next_picos.get_or_insert(now);
        *next = (*next).max(now.saturating_sub(self.burst_picos));
        *next <= now
    }

    /// Counts a sent frame.
    #[inline]
    pub fn sent(&mut self, bytes: usize) {
        let cost = match self.picos_per_byte {
            0 => self.picos_per_frame,
            picos => self.picos_per_frame.max(picos * bytes as u128),
        };
        if let Some(next) = &mut self.next_picos {
            *next += cost;
        }
    }

    /// Time of the next frame; `None` before the first query.
    pub fn deadline(&self) -> Option<Instant> {
        let nanos = self.next_picos?.div_ceil(1_000);
        Some(Instant::from_nanos(
            u64::try_from(nanos).unwrap_or(u64::MAX),
        ))
    }
}
