//! Model of a board: its chips, lanes and ports.

use crate::chip::Chip;

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

/// A connection to the processor that several ports share.
#[derive(Debug, PartialEq, Eq)]
pub struct CpuLane {
    /// Rate in Mbps in each direction; `None` if unknown.
    pub mbps: Option<u32>,
    /// Device names of its ports in the default assignment.
    pub ports: &'static [&'static str],
    /// Rate in Mbps of each of the parallel links that the lane consists of, if their ports are not published.
    pub link_mbps: Option<u32>,
}

impl Board {
    /// Whether it is a board of RouterOS's maker.
    pub fn is_routerboard(&self) -> bool {
        !self.model.is_empty()
    }

    /// Returns the number of the chip of a device.
    pub fn chip_of(&self, port: &str) -> Option<usize> {
        let has = |on: &OnBoard| on.ports.is_none_or(|ports| ports.contains(&port));
        self.chips.iter().position(has)
    }
}
