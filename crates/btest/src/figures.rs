//! Results of a test: rates of both directions, losses, CPU loads.

use machine::Duration;

/// Measurements of a test so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Duration of the data transfer.
    pub duration: Duration,
    /// Sent data, as the other end reports its arrival.
    pub tx: Rates,
    /// Received data.
    pub rx: Rates,
    /// Lost datagrams of the receiving direction.
    pub lost_packets: u64,
    /// Local CPU load in percent.
    pub local_cpu_percent: u8,
    /// Remote CPU load in percent; `None` until reported.
    pub remote_cpu_percent: Option<u8>,
}

/// Rates of one direction in bit/s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Rate of the last second.
    pub current_bps: u64,
    /// Average of the last ten seconds.
    pub ten_second_average_bps: u64,
    /// Average since the start.
    pub total_average_bps: u64,
    /// Bytes since the start.
    pub total_bytes: u64,
}

/// Seconds in the moving average.
const AVERAGED_SECONDS: usize = 10;

/// Measures one direction, second by second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    last: [(u64, Duration); AVERAGED_SECONDS],
    count: usize,
    total: (u64, Duration),
}

impl Meter {
    /// Adds the bytes of one interval of about a second.
    pub(crate) fn push(&mut self, bytes: u64, span: Duration) {
        self.last[self.count % AVERAGED_SECONDS] = (bytes, span);
        self.count += 1;
        let (total, spans) = self.total;
        self.total = (total.saturating_add(bytes), spans.saturating_add(span));
    }

    pub(crate) fn rates(&self) -> Rates {
        let newest = self
            .count
            .checked_sub(1)
            .map(|at| self.last[at % AVERAGED_SECONDS]);
        let newest = newest.unwrap_or_default();
        let sum = |sum: (u64, Duration), one: &(u64, Duration)| {
            (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
        };
        let last = self.last.iter().fold((0, Duration::ZERO), sum);
        Rates {
            current_bps: rate(newest.0, newest.1),
            ten_second_average_bps: rate(last.0, last.1),
            total_average_bps: rate(self.total.0, self.total.1),
            total_bytes: self.total.0,
        }
    }
}

fn rate(bytes: u64, span: Duration) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    let bps = bits.checked_div(span.as_nanos()).unwrap_or_default();
    u64::try_from(bps).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_over_ten_seconds_and_over_all() {
        let mut meter = Meter::default();
        assert_eq!(meter.rates(), Rates::default());
        for second in 1..=20 {
            meter.push(second * 1000, Duration::from_secs(1));
        }
        let rates = meter.rates();
        assert_eq!(rates.current_bps, 160_000);
        assert_eq!(rates.ten_second_average_bps, 124_000);
        assert_eq!(rates.total_average_bps, 84_000);
        assert_eq!(rates.total_bytes, 210_000);
    }

    #[test]
    fn a_longer_second_is_weighted_by_its_length() {
        let mut meter = Meter::default();
        meter.push(1000, Duration::from_millis(2000));
        assert_eq!(meter.rates().current_bps, 4000);
        meter.push(u64::MAX / 2, Duration::ZERO);
        assert_eq!(meter.rates().current_bps, 0);
    }
}
