//! A row of the benchmark's table.

/// Median and spread of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// A tenth of the runs took less.
    pub p10: f64,
    /// Half of the runs took less.
    pub median: f64,
    /// A tenth of the runs took more.
    pub p90: f64,
}

impl Spread {
    /// Computes the spread of these values, and sorts them.
    pub fn of(values: &mut [f64]) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self {
            p10: percentile(values, 10),
            median: percentile(values, 50),
            p90: percentile(values, 90),
        }
    }
}

/// Returns the percentile of sorted values; 0 if there are none.
pub(super) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len().saturating_sub(1) * percent + 50) / 100;
    sorted.get(place).copied().unwrap_or_default()
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub row: &'static str,
    /// `ipv4` or `ipv6`.
    pub family: &'static str,
    /// Bytes of a frame, with its check sequence.
    pub frame: u16,
    /// Number of flows.
    pub flows: u32,
    /// Number of routes.
    pub routes: u32,
    /// Number of hosts that a bridge knows; 0 without a bridge.
    pub hosts: u32,
    /// Number of VLANs of the bridge.
    pub vlans: u16,
    /// The transport of the packets, such as `memory`.
    pub via: &'static str,
    /// Number of workers.
    pub workers: u16,
    /// Frequency of the time stamp counter in Hz.
    pub tsc_hz: u64,
    /// Frequency of the core in Hz.
    pub core_hz: u64,
    /// Time stamp counter cycles per packet and worker, over the runs.
    pub tsc_per_packet: Spread,
    /// Clocks per header of the reference work, run in between.
    pub reference_tsc: f64,
    /// The selected instruction set.
    pub simd: &'static str,
    /// Processor time per packet in nanoseconds, at the median, where that differs from the time
    /// between two packets.
    pub core_ns: Option<f64>,
    /// Another forwarder that was measured in alternation.
    pub peer: Option<Peer>,
}

/// Another forwarder on the same packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peer {
    /// Its name.
    pub name: &'static str,
    /// Thousands of packets per second, at the median.
    pub kpps: f64,
    /// Ratio of our rate to its rate: the median over pairs of runs.
    pub ratio: f64,
    /// Its processor time per packet in nanoseconds, at the median.
    pub core_ns: f64,
}

impl Row {
    /// Returns thousands of packets per second of all workers together, at the median.
    pub fn kpps(&self) -> f64 {
        let one = self.tsc_hz as f64 / self.tsc_per_packet.median.max(0.001) / 1e3;
        one * f64::from(self.workers)
    }

    /// Returns megabits per second at layer 2, check sequence included.
    pub fn mbps(&self) -> f64 {
        self.kpps() * f64::from(self.frame) * 8.0 / 1e3
    }

    /// Returns the row as a JSON object on one line.
    pub fn to_json(&self) -> String {
        format!(
            concat!(
                r#"{{"row":"{}","family":"{}","frame":{},"flows":{},"routes":{},"#,
                r#""hosts":{},"vlans":{},"via":"{}","#,
                r#""workers":{},"kpps":{:.0},"mbps":{:.0},"tsc_per_packet":{:.2},"tsc_hz":{},"#,
                r#""core_hz":{},"reference_tsc":{:.2},"p10":{:.2},"p90":{:.2},"simd":"{}","#,
                r#""core_ns":{},"peer":{}}}"#
            ),
            self.row,
            self.family,
            self.frame,
            self.flows,
            self.routes,
            self.hosts,
            self.vlans,
            self.via,
            self.workers,
            self.kpps(),
            self.mbps(),
            self.tsc_per_packet.median,
            self.tsc_hz,
            self.core_hz,
            self.reference_tsc,
            self.tsc_per_packet.p10,
            self.tsc_per_packet.p90,
            self.simd,
            self.core_ns
                .map_or_else(|| String::from("null"), |ns| format!("{ns:.0}")),
            self.peer
                .map_or_else(|| String::from("null"), Peer::to_json),
        )
    }
}

impl Peer {
    fn to_json(self) -> String {
        let Self {
            name,
            kpps,
            ratio,
            core_ns,
        } = self;
        format!(r#"{{"name":"{name}","kpps":{kpps:.0},"ratio":{ratio:.3},"core_ns":{core_ns:.0}}}"#)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_is_read_off_the_sorted_values() {
        let mut values: Vec<f64> = (0..=100).rev().map(f64::from).collect();

        let spread = Spread::of(&mut values);

        assert_eq!((spread.p10, spread.median, spread.p90), (10.0, 50.0, 90.0));
        assert_eq!(Spread::of(&mut []), Spread::default());
    }
}
