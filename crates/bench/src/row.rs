//! A row of the benchmark's table.

/// The middle of several runs, and how far they spread.
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
    /// Of these values, which are sorted by it.
    pub fn of(values: &mut [f64]) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        Self {
            p10: percentile(values, 10),
            median: percentile(values, 50),
            p90: percentile(values, 90),
        }
    }
}

/// The value that so many percent of these sorted ones are below; 0 if there is none.
pub(super) fn percentile(sorted: &[f64], percent: usize) -> f64 {
    let place = (sorted.len().saturating_sub(1) * percent + 50) / 100;
    sorted.get(place).copied().unwrap_or_default()
}

/// A row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Its name.
    pub row: &'static str,
    /// `ipv4` or `ipv6`.
    pub family: &'static str,
    /// Bytes of a frame, with its check sequence.
    pub frame: u16,
    /// How many flows.
    pub flows: u32,
    /// How many routes.
    pub routes: u32,
    /// How many hosts a bridge knows; 0 where there is none.
    pub hosts: u32,
    /// How many VLANs it filters.
    pub vlans: u16,
    /// What packets came and went by.
    pub via: &'static str,
    /// How many workers.
    pub workers: u16,
    /// Rate of the time stamp counter.
    pub tsc_hz: u64,
    /// Rate of the core.
    pub core_hz: u64,
    /// Clocks of the time stamp counter per packet that a worker takes, over the runs.
    pub tsc_per_packet: Spread,
    /// Clocks per header of the reference work, run in between.
    pub reference_tsc: f64,
    /// The instruction set that was chosen.
    pub simd: &'static str,
    /// Nanoseconds of a core that a packet costs, at the median, where that is another figure than
    /// the time between two packets: the processor time of whatever forwards.
    pub core_ns: Option<f64>,
    /// What was measured in alternation, if anything.
    pub peer: Option<Peer>,
}

/// Another forwarder on the same packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peer {
    /// What it is.
    pub name: &'static str,
    /// Thousands of packets per second, at the median.
    pub kpps: f64,
    /// Our rate over its rate: the median of the pairs' ratios.
    pub ratio: f64,
    /// Nanoseconds of a core that a packet costs it, at the median.
    pub core_ns: f64,
}

impl Row {
    /// Thousands of packets per second of all workers together, at the median.
    pub fn kpps(&self) -> f64 {
        let one = self.tsc_hz as f64 / self.tsc_per_packet.median.max(0.001) / 1e3;
        one * f64::from(self.workers)
    }

    /// Megabits per second at layer 2, check sequence included.
    pub fn mbps(&self) -> f64 {
        self.kpps() * f64::from(self.frame) * 8.0 / 1e3
    }

    /// The row as a JSON object on one line.
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
