//! The published test results of boards as lines of the table: all ports in use, and IPsec.

use board::{BOARDS, Forwarding, SuiteRates, Tunnels};

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

/// A switch whose ports all send and receive at full speed: its name, and the sum of the speeds in bits per second.
const SWITCH: (&str, f64) = ("CRS309-1G-8S+IN", 81e9);

/// Returns the published results of a kind.
pub(super) fn published(kind: Kind) -> Vec<Results> {
    let results = |machine: &str, lines| Results {
        machine: machine.to_owned(),
        kind,
        lines,
    };
    let boards = BOARDS.iter().filter_map(|board| board.hardware());
    match kind {
        Kind::Forwarding => boards
            .filter_map(|board| Some(results(board.board, forwarding(board.forwarding?))))
            .collect(),
        Kind::Switching => {
            let (name, speed_bps) = SWITCH;
            let frames = FRAMES.map(|size| {
                let rate = calc::WireRate::of_speed(speed_bps, size.into());
                Cell::rate(rate.frames / 1e3, size)
            });
            vec![results(name, switching(frames))]
        }
        Kind::Ipsec => boards
            .filter(|board| !board.encryption.rates.is_empty())
            .map(|board| results(board.board, ipsec(board.encryption.rates)))
            .collect(),
    }
}

fn forwarding(rates: &Forwarding) -> Vec<Line> {
    let lines = FORWARDING.iter().zip(rates.rows()).enumerate();
    lines
        .map(|(number, ((mode, configuration), row))| {
            // The last two lines are queues and filter rules.
            let guessed = rates.rules_are_guessed && number >= 3;
            line(mode, configuration, row, FRAMES, guessed)
        })
        .collect()
}

fn ipsec(rates: &[SuiteRates]) -> Vec<Line> {
    let of_line = |(tunnels, suite): (&str, &str)| {
        rates.iter().find(|rates| {
            let is_one = rates.tunnels == Tunnels::One;
            // RouterOS's aes-128-cbc and sha1, in the notation of the table.
            let name = rates.suite.to_string().to_uppercase().replace('+', " + ");
            is_one == (tunnels == IPSEC[0].0) && name == suite
        })
    };
    let lines = IPSEC.into_iter();
    lines
        .map(|(tunnels, suite)| match of_line((tunnels, suite)) {
            Some(rates) => line(tunnels, suite, rates.kpps, PACKETS, rates.is_guessed),
            None => Line {
                mode: tunnels,
                configuration: suite.to_owned(),
                cells: [Cell::Missing; 3],
            },
        })
        .collect()
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
        assert_eq!(mbps(Kind::Forwarding, "hEX", 0, 0), 1972.2);
        assert_eq!(mbps(Kind::Forwarding, "RB1100AHx4", 3, 1), 3824.0);
        assert_eq!(mbps(Kind::Ipsec, "hEX", 0, 0), 469.3);
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
