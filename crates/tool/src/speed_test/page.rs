//! Values of `/tool/speed-test`.

use std::time::Duration;

use btest::wire::Protocol;
use menu::{Row, Value};

use super::{Measurement, SpeedTest, rule};
use crate::bandwidth::{CPU_REMARK, is_busy};
use crate::ping::Sums;

/// Builds the row of a test.
pub(super) fn row(test: &SpeedTest, now: Duration) -> Row {
    let mut row = Row::default();
    let mut text = |name, text: String| row.set(name, Value::text(text));
    let busy = test.results.iter().any(Measurement::is_busy);
    if busy {
        text(Row::ABOUT, CPU_REMARK.to_owned());
    }
    text("status", test.status().to_owned());
    let remaining = test.remaining(now).as_secs();
    text("time-remaining", format!("{remaining}s"));
    let pings = &test.pinger;
    text("ping-min-avg-max", spans(&pings.times));
    text("jitter-min-avg-max", spans(&pings.jitter));
    let (sent, received) = (pings.times.sent, pings.times.received);
    let lost = sent - received;
    text("loss", format!("{}% ({lost}/{sent})", pings.times.loss()));
    for measurement in &test.results {
        text(measurement.name, measurement.line());
    }
    for (measurement, names) in test.results.iter().zip(DETAILS) {
        text(names.latency, latency(measurement, &pings.times));
        text(names.bound, measurement.bound());
        if let Some(result) = rule::apply(&measurement.samples) {
            let rate = rate(result.rate_bps);
            text(names.rule, format!("{rate} ({} threads)", result.threads));
        }
    }
    row
}

/// Names of the values about a measurement.
struct DetailNames {
    latency: &'static str,
    bound: &'static str,
    rule: &'static str,
}

const DETAILS: [DetailNames; 4] = [
    DetailNames {
        latency: "tcp-download-latency",
        bound: "tcp-download-bound",
        rule: "tcp-download-speedtest-net",
    },
    DetailNames {
        latency: "tcp-upload-latency",
        bound: "tcp-upload-bound",
        rule: "tcp-upload-speedtest-net",
    },
    DetailNames {
        latency: "udp-download-latency",
        bound: "udp-download-bound",
        rule: "udp-download-speedtest-net",
    },
    DetailNames {
        latency: "udp-upload-latency",
        bound: "udp-upload-bound",
        rule: "udp-upload-speedtest-net",
    },
];

impl Measurement {
    fn is_busy(&self) -> bool {
        is_busy(self.local_cpu_percent) || self.remote_cpu_percent.is_some_and(is_busy)
    }

    /// RouterOS: the rate, and the CPU loads as far as the ends report them.
    fn line(&self) -> String {
        let mut line = rate(self.rate_bps);
        line.push_str(&format!(" local-cpu-load:{}%", self.local_cpu_percent));
        if let Some(remote) = self.remote_cpu_percent {
            line.push_str(&format!(" remote-cpu-load:{remote}%"));
        }
        line
    }

    /// Returns what bound the rate, and how it was made.
    fn bound(&self) -> String {
        let bound = match (self.is_busy(), self.fills_windows()) {
            (true, _) => "cpu",
            (false, true) => "window",
            (false, false) => "path",
        };
        let mut how = format!("{bound} ({} connections", self.connections);
        if let Some(path) = self.path.filter(|_| self.protocol == Protocol::Tcp) {
            let (window, rtt) = (path.window_bytes, span(path.rtt));
            how.push_str(&format!(", window {window} bytes, rtt {rtt}"));
        }
        if self.protocol == Protocol::Udp && !self.sends {
            how.push_str(&format!(", {} packets lost", self.lost_packets));
        }
        how.push_str(&format!(", {}% of a core here)", self.test_cpu_percent));
        how
    }

    fn fills_windows(&self) -> bool {
        let path = self.path.filter(|_| self.protocol == Protocol::Tcp);
        path.is_some_and(|path| path.is_filled(self.rate_bps, self.connections.into()))
    }
}

/// Returns mean and maximum round-trip time under load, and how many times the unloaded mean that is.
fn latency(measurement: &Measurement, unloaded: &Sums) -> String {
    let loaded = measurement.pinger.times.times();
    let Some([_, mean, most]) = loaded else {
        return "no replies".to_owned();
    };
    let mut text = format!("avg {} max {}", span(mean), span(most));
    let before = unloaded.times().map_or(0, |[_, mean, _]| mean.as_micros());
    if let Some(tenths) = (mean.as_micros() * 10).checked_div(before) {
        text.push_str(&format!(
            " ({}.{} times unloaded)",
            tenths / 10,
            tenths % 10
        ));
    }
    text
}

/// RouterOS: `541us / 609us / 3.35ms`.
fn spans(sums: &Sums) -> String {
    let times = sums.times().unwrap_or_default();
    times.map(span).join(" / ")
}

/// RouterOS: three digits with a unit, and `0s`.
fn span(span: Duration) -> String {
    let micros = span.as_micros();
    match micros {
        0 => "0s".to_owned(),
        1..1_000 => format!("{micros}us"),
        1_000..1_000_000 => digits(micros, 1_000, "ms"),
        _ => digits(micros, 1_000_000, "s"),
    }
}

/// RouterOS: `921Mbps`.
fn rate(bps: u64) -> String {
    let bps = u128::from(bps);
    match bps {
        0..1_000 => format!("{bps}bps"),
        1_000..1_000_000 => digits(bps, 1_000, "kbps"),
        1_000_000..1_000_000_000 => digits(bps, 1_000_000, "Mbps"),
        _ => digits(bps, 1_000_000_000, "Gbps"),
    }
}

/// Formats a number of units with three digits at least.
fn digits(number: u128, unit: u128, name: &str) -> String {
    let whole = number / unit;
    let rest = number % unit;
    match whole {
        0..10 => format!("{whole}.{:02}{name}", rest * 100 / unit),
        10..100 => format!("{whole}.{}{name}", rest * 10 / unit),
        _ => format!("{whole}{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_rates_have_three_digits() {
        let micros = |micros| span(Duration::from_micros(micros));

        assert_eq!(micros(541), "541us");
        assert_eq!(micros(3_350), "3.35ms");
        assert_eq!(micros(76_500), "76.5ms");
        assert_eq!(micros(2_000_000), "2.00s");
        assert_eq!(micros(0), "0s");
        assert_eq!(rate(921_400_000), "921Mbps");
        assert_eq!(rate(9_870_000_000), "9.87Gbps");
        assert_eq!(rate(12), "12bps");
    }
}
