//! Test results of boards, as their maker published them: all ports in use, and IPsec.

use super::results::{Cell, FRAMES, Kind, Line, PACKETS, Results, switching};

/// Lines of the table of forwarding: mode and configuration.
pub(super) const FORWARDING: [(&str, &str); 5] = [
    ("Bridging", "none (fast path)"),
    ("Bridging", "25 bridge filter rules"),
    ("Routing", "none (fast path)"),
    ("Routing", "25 simple queues"),
    ("Routing", "25 ip filter rules"),
];

/// Lines of the table of IPsec: number of tunnels, and suite.
pub(super) const IPSEC: [(&str, &str); 7] = [
    ("Single tunnel", "AES-128-CBC + SHA1"),
    ("256 tunnels", "AES-128-CBC + SHA1"),
    ("256 tunnels", "AES-128-CBC + SHA256"),
    ("256 tunnels", "AES-256-CBC + SHA1"),
    ("256 tunnels", "AES-256-CBC + SHA256"),
    ("256 tunnels", "AES-128-GCM"),
    ("256 tunnels", "AES-256-GCM"),
];

/// kpps by line and size.
type Rates<const LINES: usize> = [[f64; 3]; LINES];

/// A board.
struct Board {
    name: &'static str,
    forwarding: Rates<5>,
    /// Whether the places of the lines of queues and of filter rules are guessed: the source lists their numbers apart
    /// from the table. The bit rates beside the numbers agree with the sizes.
    rules_are_guessed: bool,
    ipsec: Option<Ipsec>,
}

/// IPsec results of a board, for the first lines of [`IPSEC`].
struct Ipsec {
    rates: &'static [[f64; 3]],
    /// Number of the first line whose place is guessed.
    guessed_from: usize,
}

const BOARDS: [Board; 6] = [
    Board {
        name: "hEX (RB750Gr3)",
        forwarding: [
            [162.4, 443.7, 1039.1],
            [162.4, 168.1, 174.3],
            [162.4, 444.4, 1035.0],
            [162.4, 179.6, 171.4],
            [92.9, 94.1, 93.8],
        ],
        rules_are_guessed: false,
        ipsec: Some(Ipsec {
            rates: &[
                [41.9, 42.3, 41.5],
                [41.9, 43.7, 42.7],
                [42.2, 44.4, 42.7],
                [32.0, 40.0, 40.5],
                [32.1, 39.7, 40.5],
            ],
            guessed_from: usize::MAX,
        }),
    },
    Board {
        name: "RB3011UiAS-RM",
        forwarding: [
            [325.0, 939.8, 1530.2],
            [325.0, 384.2, 348.6],
            [325.0, 939.8, 1437.6],
            [325.0, 419.6, 419.7],
            [202.0, 204.1, 188.4],
        ],
        rules_are_guessed: false,
        ipsec: None,
    },
    Board {
        name: "RB1100AHx2",
        forwarding: [
            [406.0, 704.0, 1690.0],
            [308.0, 396.0, 412.0],
            [345.0, 704.0, 1495.0],
            [258.0, 616.0, 654.0],
            [243.0, 262.0, 278.0],
        ],
        rules_are_guessed: false,
        ipsec: Some(Ipsec {
            rates: &[
                [74.0, 83.9, 89.1],
                [86.9, 93.5, 95.7],
                [86.9, 93.5, 95.7],
                [85.7, 92.5, 95.6],
                [85.7, 92.5, 95.6],
            ],
            guessed_from: usize::MAX,
        }),
    },
    Board {
        name: "RB1100AHx4",
        forwarding: [
            [606.5, 1736.4, 5509.7],
            [606.5, 1107.8, 1153.2],
            [606.5, 1736.4, 5092.3],
            [606.5, 933.6, 960.3],
            [543.7, 561.8, 564.6],
        ],
        rules_are_guessed: true,
        ipsec: Some(Ipsec {
            rates: &[
                [122.0, 124.9, 127.0],
                [192.7, 200.5, 203.4],
                [192.4, 200.5, 203.4],
                [180.0, 188.2, 190.3],
                [180.0, 188.2, 190.3],
                [192.7, 202.2, 203.4],
            ],
            guessed_from: 3,
        }),
    },
    Board {
        name: "hAP ac (RB962)",
        forwarding: [
            [161.9, 345.5, 435.6],
            [125.5, 126.5, 128.8],
            [161.9, 334.2, 397.9],
            [161.9, 183.9, 203.3],
            [78.1, 77.8, 77.5],
        ],
        rules_are_guessed: false,
        ipsec: None,
    },
    Board {
        name: "RB4011",
        forwarding: [
            [806.4, 2312.9, 5509.7],
            [806.4, 1037.4, 1153.2],
            [806.4, 1923.3, 5092.3],
            [806.4, 1046.6, 960.3],
            [593.7, 625.2, 564.6],
        ],
        rules_are_guessed: false,
        ipsec: None,
    },
];

/// A switch whose ports all send and receive at full speed: its name, and the sum of the speeds in bits per second.
const SWITCH: (&str, f64) = ("CRS309-1G-8S+IN", 81e9);

/// Returns the published results of a kind.
pub(super) fn published(kind: Kind) -> Vec<Results> {
    let results = |machine: &str, lines| Results {
        machine: machine.to_owned(),
        kind,
        lines,
    };
    match kind {
        Kind::Forwarding => { BOARDS.iter() }
            .map(|board| results(board.name, board.forwarding()))
            .collect(),
        Kind::Switching => {
            let (name, speed_bps) = SWITCH;
            let frames = FRAMES.map(|size| {
                let rate = calc::WireRate::of_speed(speed_bps, size.into());
                Cell::rate(rate.frames / 1e3, size)
            });
            vec![results(name, switching(frames))]
        }
        Kind::Ipsec => { BOARDS.iter() }
            .filter_map(|board| Some(results(board.name, board.ipsec.as_ref()?.lines())))
            .collect(),
    }
}

impl Board {
    fn forwarding(&self) -> Vec<Line> {
        let lines = FORWARDING.iter().zip(&self.forwarding).enumerate();
        lines
            .map(|(number, ((mode, configuration), rates))| {
                // The last two lines are queues and filter rules.
                let guessed = self.rules_are_guessed && number >= 3;
                line(mode, configuration, *rates, FRAMES, guessed)
            })
            .collect()
    }
}

impl Ipsec {
    fn lines(&self) -> Vec<Line> {
        let lines = IPSEC.iter().enumerate();
        lines
            .map(|(number, (tunnels, suite))| match self.rates.get(number) {
                Some(rates) => line(tunnels, suite, *rates, PACKETS, number >= self.guessed_from),
                None => Line {
                    mode: tunnels,
                    configuration: (*suite).to_owned(),
                    cells: [Cell::Missing; 3],
                },
            })
            .collect()
    }
}

fn line(
    mode: &'static str,
    configuration: &str,
    rates: [f64; 3],
    sizes: [u16; 3],
    guessed: bool,
) -> Line {
    let cell = |at: usize| {
        let cell = Cell::rate(rates[at], sizes[at]);
        if guessed { cell.guessed() } else { cell }
    };
    Line {
        mode,
        configuration: configuration.to_owned(),
        cells: core::array::from_fn(cell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_rates_equal_those_that_the_maker_prints_beside_packet_rates() {
        let mbps = |kind, machine: &str, line: usize, size: usize| {
            let results = published(kind);
            let own = results.iter().find(|results| results.machine == machine);
            match own.map(|own| own.lines[line].cells[size]) {
                Some(Cell::Rate { mbps, .. }) => (mbps * 10.0).round() / 10.0,
                other => panic!("{machine}: {other:?}"),
            }
        };
        assert_eq!(mbps(Kind::Forwarding, "hEX (RB750Gr3)", 0, 0), 1972.2);
        assert_eq!(mbps(Kind::Forwarding, "RB1100AHx4", 3, 1), 3824.0);
        assert_eq!(mbps(Kind::Ipsec, "hEX (RB750Gr3)", 0, 0), 469.3);
        assert_eq!(mbps(Kind::Ipsec, "RB1100AHx4", 5, 1), 828.2);
        assert_eq!(mbps(Kind::Switching, "CRS309-1G-8S+IN", 1, 1), 155_909.8);
        assert_eq!(mbps(Kind::Switching, "CRS309-1G-8S+IN", 2, 2), 81_000.0);
    }

    #[test]
    fn figures_in_guessed_places_are_marked() {
        let results = published(Kind::Ipsec);
        let board = results.iter().find(|own| own.machine == "RB1100AHx4");
        let lines = &board.expect("the board").lines;
        let guessed = |line: usize| {
            matches!(
                lines[line].cells[0],
                Cell::Rate {
                    is_guessed: true,
                    ..
                }
            )
        };
        assert!(!guessed(2) && guessed(3) && guessed(5));
        assert_eq!(lines[6].cells, [Cell::Missing; 3]);
    }
}
