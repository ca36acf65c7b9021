//! Boards: switch chips and their ports, features of the chips, and lanes to the processor. This module contains data
//! and pure functions.
//!
//! ```text
//!   boards.rs  the boards: names, chips with their ports, lanes
//!   chip.rs    the chips: which features they switch with, how many hosts, VLANs and rules they hold
//!   lanes.rs   ports that share a connection to the processor
//!   offload_requests.rs  offload requests of a configuration
//!   plan.rs    which ports of bridges are switched, and why others are not
//! ```
//!
//! A machine that is not a board of RouterOS's maker has one chip: the kernel, which switches between all ports that
//! AF_XDP drives ([`Board::MACHINE`]).

mod boards;
mod chip;
mod lanes;
mod offload_requests;
mod plan;

pub use boards::BOARDS;
pub use chip::{Chip, Needs, Rules};
pub use lanes::{CpuLane, Shared};
pub use offload_requests::{Asks, Lacks};
pub use plan::{
    BondMode, BridgeRequest, Carrier, Plan, PortRequest, Reason, SpanningTree, SwitchPosition,
    TagType, plan,
};

/// A model of a board.
#[derive(Debug, PartialEq, Eq)]
pub struct Board {
    /// RouterOS's name (`board-name`).
    pub name: &'static str,
    /// The product code (`model`).
    pub model: &'static str,
    /// Its switch chips, in order: the first is `switch1`.
    pub chips: &'static [OnBoard],
    /// Lanes to its processor. A port without a lane has its own connection, or its connection is unknown.
    pub lanes: &'static [CpuLane],
    /// True if switched ports move to the first lane as soon as any port is switched, and all others to the second.
    pub moves_switched: bool,
}

/// A chip of a board.
#[derive(Debug, PartialEq, Eq)]
pub struct OnBoard {
    /// Model of the chip.
    pub chip: &'static Chip,
    /// Device names of its ports; `None`: all ports of the machine.
    pub ports: Option<&'static [&'static str]>,
}

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

    /// Whether it is a board of RouterOS's maker.
    pub fn is_routerboard(&self) -> bool {
        !self.model.is_empty()
    }

    /// Returns the board with this name or product code, or the only board with this prefix. Ignores case, spaces and
    /// punctuation: `hAP-ac2` is the hAP ac².
    ///
    /// # Errors
    /// The possible names: all names if none has the prefix.
    pub fn named(name: &str) -> Result<&'static Self, Vec<&'static str>> {
        let wanted = plain(name);
        let names = |board: &Self| [plain(board.name), plain(board.model)];
        let exact = { BOARDS.iter() }.find(|board| names(board).contains(&wanted));
        if let Some(board) = exact {
            return Ok(board);
        }
        let begins = |board: &&Self| names(board).iter().any(|name| name.starts_with(&wanted));
        let found: Vec<_> = BOARDS.iter().filter(begins).collect();
        match *found {
            [board] if !wanted.is_empty() => Ok(board),
            [] => Err(BOARDS.iter().map(|board| board.name).collect()),
            _ => Err(found.iter().map(|board| board.name).collect()),
        }
    }

    /// Returns the number of the chip of a device.
    pub fn chip_of(&self, port: &str) -> Option<usize> {
        let has = |on: &OnBoard| on.ports.is_none_or(|ports| ports.contains(&port));
        self.chips.iter().position(has)
    }
}

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
        ] {
            assert_eq!(Board::named(name).map(|board| board.model), Ok(model));
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
    fn the_kernel_is_the_chip_of_all_ports_unless_a_board_is_known() {
        assert_eq!(Board::MACHINE.chip_of("ether17"), Some(0));
        assert!(!Board::MACHINE.is_routerboard());

        let rb3011 = Board::named("RB3011").expect("it is there");
        assert_eq!(rb3011.chip_of("ether6"), Some(1));
        assert_eq!(rb3011.chip_of("sfp1"), None);
        assert!(rb3011.is_routerboard());
    }
}
