//! The report as text and JSON.

use std::fmt::Write as _;

use generator::search::Bounds;
use serde_json::{Value, json};

use super::trial::{BUCKET_NANOS, Outcome};

/// Bits of a frame on the wire besides its bytes with FCS: preamble and gap.
const OVERHEAD_BYTES: f64 = 20.0;

/// Results of all frame lengths.
pub(super) struct Report {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) drivers: [&'static str; 2],
    pub(super) path: &'static str,
    /// Own limit of the generator in frames per second by frame length, or why it is unknown.
    pub(super) own: Result<Vec<f64>, String>,
    pub(super) results: Vec<FrameResult>,
}

/// Results of one frame length.
pub(super) struct FrameResult {
    /// Bytes with FCS.
    pub(super) frame: u32,
    /// Highest load of the search, in frames per second.
    pub(super) max: f64,
    /// Throughputs at the loss ratios 0 and 0.5 %.
    pub(super) bounds: [Bounds; 2],
    /// Latency at the throughput without loss.
    pub(super) latency: Option<Latency>,
    /// Longest burst at the highest load without loss, in frames.
    pub(super) burst: u64,
    /// Loss ratio by load.
    pub(super) curve: Vec<(f64, f64)>,
    pub(super) trials: usize,
    /// Trials in which the generator was too slow for the load.
    pub(super) late: u32,
}

/// Latencies in nanoseconds.
pub(super) struct Latency {
    min: u64,
    mean: u64,
    median: Option<u64>,
    p99: Option<u64>,
    max: u64,
}

impl Latency {
    /// Latencies of a trial.
    pub(super) fn of(outcome: &Outcome) -> Self {
        let figures = &outcome.figures;
        let quantile = |share: f64| figures.quantile(share).map(|at| at as u64 * BUCKET_NANOS);
        Self {
            min: figures.latency_min.unwrap_or(0),
            mean: figures.latency_mean().unwrap_or(0),
            median: quantile(0.5),
            p99: quantile(0.99),
            max: figures.latency_max,
        }
    }
}

impl FrameResult {
    /// True if the device is faster than the highest load.
    pub(super) fn is_beyond(&self, bounds: &Bounds) -> bool {
        bounds.upper.is_none() && bounds.lower.is_some()
    }

    /// Bits per second on the wire of a rate in frames per second.
    fn wire_mbps(&self, pps: f64) -> f64 {
        pps * (f64::from(self.frame) + OVERHEAD_BYTES) * 8.0 / 1e6
    }
}

impl Report {
    /// Tables for people.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{} to {}, {}, by {} and {}\n",
            self.from, self.to, self.path, self.drivers[0], self.drivers[1]
        );
        match &self.own {
            Ok(own) => {
                let all = own.iter().zip(&self.results);
                let all: Vec<_> = all
                    .map(|(pps, result)| format!("{} bytes {pps:.0} pps", result.frame))
                    .collect();
                let _ = writeln!(
                    text,
                    "the generator's own limit, over a veth pair: {}",
                    all.join(", ")
                );
            }
            Err(why) => {
                let _ = writeln!(text, "the generator's own limit is unknown: {why}");
            }
        }
        let _ = writeln!(
            text,
            "\n{:>5} {:>13} {:>10} {:>13} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
            "frame",
            "no loss pps",
            "wire Mbps",
            "0.5 % pps",
            "min us",
            "mean us",
            "p50 us",
            "p99 us",
            "max us",
            "burst"
        );
        for result in &self.results {
            let rate = |bounds: &Bounds| match (result.is_beyond(bounds), bounds.lower) {
                (true, _) => format!(">={:.1}", bounds.throughput),
                (false, Some(_)) => format!("{:.1}", bounds.throughput),
                (false, None) => String::from("none"),
            };
            let micros = |nanos: Option<u64>| match nanos {
                Some(nanos) => format!("{:.1}", nanos as f64 / 1e3),
                None => String::from("-"),
            };
            let latency = result.latency.as_ref();
            let _ = writeln!(
                text,
                "{:>5} {:>13} {:>10.2} {:>13} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7}",
                result.frame,
                rate(&result.bounds[0]),
                result.wire_mbps(result.bounds[0].throughput),
                rate(&result.bounds[1]),
                micros(latency.map(|latency| latency.min)),
                micros(latency.map(|latency| latency.mean)),
                micros(latency.and_then(|latency| latency.median)),
                micros(latency.and_then(|latency| latency.p99)),
                micros(latency.map(|latency| latency.max)),
                result.burst,
            );
        }
        text.push_str(&self.curves());
        text
    }

    /// Loss by load, and remarks.
    fn curves(&self) -> String {
        let mut text = String::from("\nloss by load:\n");
        for result in &self.results {
            let points = result.curve.iter();
            let points: Vec<_> = points
                .map(|(load, loss)| format!("{load:.0} pps {:.2} %", loss * 100.0))
                .collect();
            let _ = writeln!(text, "{:>5}  {}", result.frame, points.join(", "));
        }
        for result in &self.results {
            if result.is_beyond(&result.bounds[0]) {
                let _ = writeln!(
                    text,
                    "{} bytes: the device is faster than the highest load, {:.0} pps",
                    result.frame, result.max
                );
            }
            if result.late > 0 {
                let _ = writeln!(
                    text,
                    "{} bytes: the generator was too slow in {} of {} trials; their missing frames count as lost",
                    result.frame, result.late, result.trials
                );
            }
        }
        text
    }

    /// One object.
    pub(super) fn json(&self) -> Value {
        let result = |result: &FrameResult| {
            let bounds = |bounds: &Bounds| {
                json!({
                    "throughput_pps": bounds.throughput,
                    "lower_pps": bounds.lower,
                    "upper_pps": bounds.upper,
                })
            };
            let latency = result.latency.as_ref().map(|latency| {
                json!({
                    "min_ns": latency.min,
                    "mean_ns": latency.mean,
                    "p50_ns": latency.median,
                    "p99_ns": latency.p99,
                    "max_ns": latency.max,
                })
            });
            let curve: Vec<_> = result
                .curve
                .iter()
                .map(|(load, loss)| json!([load, loss]))
                .collect();
            json!({
                "frame": result.frame,
                "max_pps": result.max,
                "no_loss": bounds(&result.bounds[0]),
                "loss_0.5_percent": bounds(&result.bounds[1]),
                "latency": latency,
                "back_to_back": result.burst,
                "loss_by_load": curve,
                "trials": result.trials,
                "late_trials": result.late,
            })
        };
        let results: Vec<_> = self.results.iter().map(result).collect();
        json!({
            "from": self.from,
            "to": self.to,
            "path": self.path,
            "drivers": self.drivers,
            "own_limit_pps": self.own.as_ref().ok(),
            "results": results,
        })
    }
}
