//! Values of `/tool/bandwidth-test`.

use btest::wire::{Direction, Fill, Protocol, UDP_SIZE};
use btest::{Rates, Test};
use menu::{Row, Value};

use super::progress::BandwidthProgress;

/// RouterOS: remark of tests whose result a processor may bound.
pub(crate) const CPU_REMARK: &str = "results can be limited by cpu, note that traffic generation/termination \
     performance might not be representative of forwarding performance";
/// CPU load above which the remark is shown, in percent.
const BUSY_PERCENT: u8 = 90;

/// Returns true if a CPU load may bound the result.
pub(crate) const fn is_busy(percent: u8) -> bool {
    percent > BUSY_PERCENT
}

/// Builds the row of a test.
pub(super) fn row(test: &Test, progress: &BandwidthProgress) -> Row {
    let figures = &progress.figures;
    let mut row = Row::default();
    let busiest = figures
        .remote_cpu_percent
        .max(Some(figures.local_cpu_percent));
    if busiest.is_some_and(is_busy) {
        row.set(Row::ABOUT, Value::text(CPU_REMARK));
    }
    row.set("status", Value::Word(progress.status.name()));
    if let Some(reason) = progress.reason {
        row.set("reason", Value::text(reason.to_string()));
    }
    let seconds = i64::try_from(figures.duration.as_secs()).unwrap_or(i64::MAX);
    row.set(
        "duration",
        Value::Time(seconds.saturating_mul(1_000_000_000)),
    );
    let direction = test.direction;
    if direction.client_sends() {
        set_rates(&mut row, TX, &figures.tx);
    }
    if direction.server_sends() {
        set_rates(&mut row, RX, &figures.rx);
        if test.protocol == Protocol::Udp {
            row.set("lost-packets", number(figures.lost_packets));
        }
    }
    row.set("random-data", Value::Bool(test.fill == Fill::Random));
    row.set(
        "direction",
        Value::Word(match direction {
            Direction::Receive => "receive",
            Direction::Transmit => "transmit",
            Direction::Both => "both",
        }),
    );
    if test.protocol == Protocol::Udp {
        let size = |size: u16| number(if size == 0 { UDP_SIZE } else { size }.into());
        row.set("tx-size", size(test.local_size));
        row.set("rx-size", size(test.remote_size));
    }
    row.set("connection-count", number(test.connections.into()));
    row.set("local-cpu-load", percent(figures.local_cpu_percent.into()));
    if let Some(remote) = figures.remote_cpu_percent {
        row.set("remote-cpu-load", percent(remote.into()));
    }
    row.set("test-cpu-share", percent(progress.test_cpu_percent));
    set_path(&mut row, test, progress);
    row
}

/// Names of the rates of a direction: of the last second, of ten seconds, of the whole test.
type RateNames = [&'static str; 3];

const TX: RateNames = ["tx-current", "tx-10-second-average", "tx-total-average"];
const RX: RateNames = ["rx-current", "rx-10-second-average", "rx-total-average"];

fn set_rates(row: &mut Row, names: RateNames, rates: &Rates) {
    let values = [
        rates.current_bps,
        rates.ten_second_average_bps,
        rates.total_average_bps,
    ];
    for (name, bps) in names.into_iter().zip(values) {
        row.set(name, rate(bps));
    }
}

/// Adds the state of the path, and the number of connections whose windows fill it at the measured rate.
fn set_path(row: &mut Row, test: &Test, progress: &BandwidthProgress) {
    let Some(path) = progress.path.filter(|_| test.protocol == Protocol::Tcp) else {
        return;
    };
    let micros = i64::try_from(path.rtt.as_micros()).unwrap_or(i64::MAX);
    row.set("tcp-rtt", Value::Time(micros.saturating_mul(1_000)));
    row.set("tcp-window", number(path.window_bytes));
    row.set("tcp-retransmitted", number(path.retransmitted));
    let figures = &progress.figures;
    let bps = figures
        .tx
        .total_average_bps
        .max(figures.rx.total_average_bps);
    if let Some(streams) = needed_streams(bps, path.rtt.as_nanos(), path.window_bytes) {
        row.set("connections-needed", number(streams));
    }
}

/// Returns the number of connections that carry a rate: each carries at most a window per round-trip time
/// (RFC 6349, 3.3.1). `None` without a rate or a window.
fn needed_streams(bps: u64, rtt_nanos: u128, window_bytes: u64) -> Option<u64> {
    let flight_bytes = u128::from(bps) * rtt_nanos / 8_000_000_000;
    if bps == 0 || window_bytes == 0 {
        return None;
    }
    let streams = flight_bytes.div_ceil(u128::from(window_bytes)).max(1);
    u64::try_from(streams).ok()
}

/// A measured rate.
pub(crate) fn rate(bps: u64) -> Value {
    Value::BitRate(i64::try_from(bps).unwrap_or(i64::MAX))
}

fn number(number: u64) -> Value {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

fn percent(percent: u64) -> Value {
    Value::share(percent, 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_as_many_windows_as_are_in_flight() {
        let millis = |millis: u128| millis * 1_000_000;

        // 1 Gbit/s at 100 ms is 12.5 MB in flight.
        assert_eq!(
            needed_streams(1_000_000_000, millis(100), 4_000_000),
            Some(4)
        );
        assert_eq!(needed_streams(1_000_000_000, millis(1), 4_000_000), Some(1));
        assert_eq!(needed_streams(0, millis(1), 4_000_000), None);
        assert_eq!(needed_streams(1_000, millis(1), 0), None);
    }
}
