//! Names of boards and chips.

use crate::boards::BOARDS;
use crate::chip;
use crate::facts::HARDWARE;
use crate::hardware::Hardware;
use crate::model::{Board, OnBoard};

impl Board {
    /// A machine whose kernel switches between all ports.
    pub const MACHINE: Self = Self {
        name: "x86",
        model: "",
        chips: &[OnBoard {
            chip: &chip::KERNEL,
            ports: None,
        }],
        lanes: &[],
        moves_switched: false,
    };

    /// Returns the board with this name or product code, or the only board with this prefix. Ignores case, spaces and
    /// punctuation: `hAP-ac2` is the hAP ac². A suffix of the housing may follow: `RB3011UiAS-RM`.
    ///
    /// # Errors
    /// The possible names: all names if none has the prefix.
    pub fn named(name: &str) -> Result<&'static Self, Vec<&'static str>> {
        let wanted = plain(name);
        let exact = |wanted: &str| {
            let mut boards = BOARDS.iter();
            boards.find(|board| board.all_names().any(|name| name == wanted))
        };
        let begins = |board: &&Self| board.all_names().any(|name| name.starts_with(&wanted));
        let cut = |suffix: &&str| wanted.strip_suffix(suffix).and_then(exact);
        let known = exact(&wanted).or_else(|| HOUSINGS.iter().find_map(cut));
        if let Some(board) = known {
            return Ok(board);
        }
        let found: Vec<_> = BOARDS.iter().filter(begins).collect();
        match *found {
            [board] if !wanted.is_empty() => Ok(board),
            [] => Err(BOARDS.iter().map(|board| board.name).collect()),
            _ => Err(found.iter().map(|board| board.name).collect()),
        }
    }

    /// Returns the facts about the board's hardware. [`Board::MACHINE`] has none.
    pub fn hardware(&self) -> Option<&'static Hardware<'static>> {
        HARDWARE.iter().find(|facts| facts.board == self.name)
    }

    /// Returns all names, reduced to the characters that are compared.
    fn all_names(&self) -> impl Iterator<Item = String> {
        let aliases = self.hardware().map_or(&[][..], |facts| facts.aliases);
        let names = [self.name, self.model].into_iter();
        names.chain(aliases.iter().copied()).map(plain)
    }
}

/// Suffixes of names for the housing or the region: rack mount, indoor, tower case and others.
const HOUSINGS: &[&str] = &["rm", "in", "tc", "out", "pc", "us", "eu", "r2"];

/// Reduces a name to the characters that are compared.
fn plain(name: &str) -> String {
    let counts = |c: char| match c {
        '²' => Some('2'),
        '³' => Some('3'),
        c => c.is_ascii_alphanumeric().then_some(c.to_ascii_lowercase()),
    };
    name.chars().filter_map(counts).collect()
}

/// Returns the name of a chip by number, as in the switch menu.
pub fn switch_name(chip: usize) -> String {
    format!("switch{}", chip + 1)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::hardware::Connection;

    #[test]
    fn boards_are_found_by_any_spelling_of_their_names() {
        for (name, model) in [
            ("hAP-ac2", "RBD52G-5HacD2HnD"),
            ("hap ac²", "RBD52G-5HacD2HnD"),
            ("hAP ac", "RB962UiGS-5HacT2HnT"),
            ("hex", "RB750Gr3"),
            ("rb750gr3", "RB750Gr3"),
            ("RB3011", "RB3011UiAS"),
            ("CRS309", "CRS309-1G-8S+"),
            ("RB1100AHx4", "RB1100x4"),
            ("RB3011UiAS-RM", "RB3011UiAS"),
            ("RBD52G-5HacD2HnD-TC", "RBD52G-5HacD2HnD"),
            ("RB2011UiAS-2HnD", "RB2011UiAS"),
            ("RB2011UiAS-2HnD-IN", "RB2011UiAS"),
            ("CRS309-1G-8S+IN", "CRS309-1G-8S+"),
            ("RB962UiGS-5HacT2HnT", "RB962UiGS-5HacT2HnT"),
            ("RB850Gx2", "RB850Gx2"),
            ("RB850", "RB850Gx2"),
            ("RB750Gx3", "RB750Gr3"),
            ("RB1100AHx2", "RB1100Hx2"),
            ("RBwAPG-5HacT2HnT", "RBwAPG-5HacT2HnD"),
            ("wAP ac", "RBwAPG-5HacT2HnD"),
            ("SXT-LTE", "RBSXTLTE3-7"),
            ("CCR1036", "CCR1036-8G-2S+"),
            ("CCR-10368G-2S+", "CCR1036-8G-2S+"),
            ("CCR 1072", "CCR1072-1G-8S+"),
        ] {
            assert_eq!(Board::named(name).map(|board| board.model), Ok(model));
        }

        // Other boards begin with the name of a known one.
        for other in ["hEX PoE", "hAP ac lite", "RB750Gr2"] {
            assert!(Board::named(other).is_err(), "{other}");
        }
        let many = Board::named("CCR1009").expect_err("two boards");
        assert_eq!(many, ["CCR1009-8G-1S-1S+", "CCR1009-7G-1C-1S+"]);
        assert_eq!(
            Board::named("C64").expect_err("no board").len(),
            BOARDS.len()
        );
        assert_eq!(Board::named("").expect_err("no board").len(), BOARDS.len());
    }

    #[test]
    fn board_names_are_unique_and_each_port_is_on_one_chip() {
        let mut names = BTreeSet::new();
        for board in BOARDS {
            assert!(names.insert(plain(board.name)), "{}", board.name);
            if plain(board.model) != plain(board.name) {
                assert!(names.insert(plain(board.model)), "{}", board.model);
            }
            let mut ports = BTreeSet::new();
            for port in board.chips.iter().flat_map(|on| on.ports.unwrap_or(&[])) {
                assert!(ports.insert(port), "{}: {port}", board.name);
            }
            let lanes = board.lanes.iter().flat_map(|lane| lane.ports);
            let on_lanes: Vec<_> = lanes.collect();
            let once: BTreeSet<_> = on_lanes.iter().collect();
            assert_eq!(once.len(), on_lanes.len(), "{}", board.name);
        }
    }

    #[test]
    fn every_board_has_facts_that_agree_with_its_lanes() {
        assert_eq!(BOARDS.len(), HARDWARE.len());
        for board in BOARDS {
            let facts = board.hardware().expect(board.name);
            let mut names = BTreeSet::new();
            for group in facts.ports {
                for port in group.names {
                    assert!(names.insert(*port), "{}: {port}", board.name);
                    let on_lane = board.lanes.iter().any(|lane| lane.ports.contains(port));
                    assert_eq!(
                        on_lane,
                        group.connection == Connection::Lane,
                        "{}: {port}",
                        board.name
                    );
                }
            }
            let chips = board.chips.iter().flat_map(|on| on.ports.unwrap_or(&[]));
            for port in chips {
                assert!(names.contains(port), "{}: {port}", board.name);
            }
            for exclusion in facts.exclusions {
                assert!(names.contains(exclusion.port));
                assert!(board.lanes[exclusion.lane].mbps > Some(exclusion.mbps));
            }
        }
    }

    #[test]
    fn boards_of_the_talks_have_rates_or_name_what_is_unknown() {
        for (name, unknown) in [
            ("hEX", vec![]),
            ("RB1100AHx4", vec![]),
            ("RB3011UiAS-RM", vec!["IPsec rates"]),
            ("RB2011UiAS-2HnD", vec!["forwarding rates", "IPsec rates"]),
            ("CCR1072", vec!["forwarding rates", "IPsec rates"]),
            (
                "SXT LTE",
                vec![
                    "processor",
                    "ports",
                    "forwarding rates",
                    "encryption engine",
                    "IPsec rates",
                ],
            ),
        ] {
            let board = Board::named(name).expect(name);
            let facts = board.hardware().expect(name);
            assert_eq!(facts.unknown(), unknown, "{name}");
        }
    }

    #[test]
    fn the_kernel_is_the_chip_of_all_ports_unless_a_board_is_known() {
        assert_eq!(Board::MACHINE.chip_of("ether17"), Some(0));
        assert!(!Board::MACHINE.is_routerboard());

        let rb3011 = Board::named("RB3011").expect("it is there");
        assert_eq!(rb3011.chip_of("ether6"), Some(1));
        assert_eq!(rb3011.chip_of("sfp1"), None);
        assert!(rb3011.is_routerboard());
    }
}
