//! Results in the form of the tables of RouterOS's maker: kpps and Mbit/s by configuration and packet size.

use bench::Spread;

/// Frame lengths with FCS in bytes.
pub(super) const FRAMES: [u16; 3] = [1518, 512, 64];
/// Lengths of IP packets in IPsec tunnels in bytes.
pub(super) const PACKETS: [u16; 3] = [1400, 512, 64];
/// Maximum spread of a published figure: the distance of the 10th and the 90th percentile, in percent of the median.
pub(super) const MAX_SPREAD_PERCENT: f64 = 15.0;

/// Results of one machine with one carrier of packets.
pub(super) struct Results {
    pub(super) machine: String,
    pub(super) kind: Kind,
    pub(super) lines: Vec<Line>,
}

/// Kinds of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bridging and routing; sizes are those of frames.
    Forwarding,
    /// Switching, by layer; sizes are those of frames.
    Switching,
    /// IPsec tunnels; sizes are those of inner packets.
    Ipsec,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Forwarding, Self::Switching, Self::Ipsec];

    /// Returns the name in JSON.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Forwarding => "forwarding",
            Self::Switching => "switching",
            Self::Ipsec => "ipsec",
        }
    }

    /// Returns the sizes of the columns in bytes.
    pub(super) const fn sizes(self) -> [u16; 3] {
        match self {
            Self::Forwarding | Self::Switching => FRAMES,
            Self::Ipsec => PACKETS,
        }
    }
}

/// A line of a table.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) mode: &'static str,
    pub(super) configuration: String,
    /// Figures by size, in the order of [`Kind::sizes`].
    pub(super) cells: [Cell; 3],
}

/// A figure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Cell {
    /// Neither measured nor published.
    #[default]
    Missing,
    /// A rate.
    Rate {
        kpps: f64,
        mbps: f64,
        /// The source states the number without its place in the table.
        is_guessed: bool,
    },
    /// The measurements differ too much; their spread in percent of the median.
    Unsteady { percent: f64 },
}

impl Cell {
    /// Returns the figure of packets of this size; the rate is that of the counted bytes.
    pub(super) fn rate(kpps: f64, size: u16) -> Self {
        Self::Rate {
            kpps,
            mbps: kpps * f64::from(size) * 8.0 / 1e3,
            is_guessed: false,
        }
    }

    /// Returns a measured figure, or its spread if that is too large. `spread` may be of rates or of times per packet.
    pub(super) fn measured(kpps: f64, spread: Spread, size: u16) -> Self {
        let percent = (spread.p90 - spread.p10) / spread.median.max(f64::MIN_POSITIVE) * 100.0;
        match percent <= MAX_SPREAD_PERCENT {
            true => Self::rate(kpps, size),
            false => Self::Unsteady { percent },
        }
    }

    /// Marks a published figure whose place in the table is a guess.
    pub(super) fn guessed(self) -> Self {
        match self {
            Self::Rate { kpps, mbps, .. } => Self::Rate {
                kpps,
                mbps,
                is_guessed: true,
            },
            other => other,
        }
    }

    /// Replaces the bit rate by a function of frames per second and frame length, in bits per second.
    fn with_bit_rate(self, size: u16, bits: impl Fn(calc::WireRate) -> f64) -> Self {
        match self {
            Self::Rate {
                kpps, is_guessed, ..
            } => Self::Rate {
                kpps,
                mbps: bits(calc::WireRate::of_frames(kpps * 1e3, size.into())) / 1e6,
                is_guessed,
            },
            other => other,
        }
    }
}

/// Returns the lines of a switch with these rates of frames: throughput and capacity on layers 2 and 1. Throughput
/// counts frames that leave, capacity also those that arrive.
pub(super) fn switching(frames: [Cell; 3]) -> Vec<Line> {
    type Bits = fn(calc::WireRate) -> f64;
    let lines: [(&str, Bits); 4] = [
        ("Layer 2 throughput", |rate| rate.layer2_bps),
        ("Layer 2 capacity", |rate| 2.0 * rate.layer2_bps),
        ("Layer 1 throughput", |rate| rate.layer1_bps),
        ("Layer 1 capacity", |rate| 2.0 * rate.layer1_bps),
    ];
    let line = |(configuration, bits): (&str, Bits)| Line {
        mode: "Switching",
        configuration: configuration.to_owned(),
        cells: core::array::from_fn(|at| frames[at].with_bit_rate(FRAMES[at], bits)),
    };
    lines.map(line).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_with_a_large_spread_is_replaced_by_its_spread() {
        let spread = |p10, p90| Spread {
            p10,
            median: 100.0,
            p90,
        };
        let steady = Cell::measured(1_000.0, spread(95.0, 110.0), 1518);
        assert_eq!(steady, Cell::rate(1_000.0, 1518));
        let unsteady = Cell::measured(1_000.0, spread(95.0, 110.1), 1518);
        assert!(
            matches!(unsteady, Cell::Unsteady { percent } if (percent - 15.1).abs() < 0.01),
            "{unsteady:?}"
        );
    }

    #[test]
    fn a_switch_has_throughput_and_capacity_on_both_layers() {
        let lines = switching([Cell::rate(1_000.0, 1518), Cell::Missing, Cell::Missing]);
        let mbps = lines.iter().map(|line| match line.cells[0] {
            Cell::Rate { mbps, .. } => mbps.round() as u32,
            _ => 0,
        });
        assert_eq!(mbps.collect::<Vec<_>>(), [12_144, 24_288, 12_304, 24_608]);
        assert!(lines.iter().all(|line| line.cells[1] == Cell::Missing));
    }
}
