//! Lanes: the connections between switch chip and processor, and the ports that share them (block diagrams of
//! RouterOS's maker).

use std::collections::BTreeSet;

use crate::model::Board;

/// A lane in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shared<'a> {
    /// Number on the board, from 0.
    pub lane: usize,
    /// Rate in Mbps in each direction; `None` if unknown.
    pub mbps: Option<u32>,
    /// The ports that share it.
    pub ports: Vec<&'a str>,
}

impl Board {
    /// Returns the number of a port's lane, given the switched ports.
    pub fn lane_of(&self, port: &str, switched: &BTreeSet<&str>) -> Option<usize> {
        let own = { self.lanes.iter() }.position(|lane| lane.ports.contains(&port))?;
        // RouterOS, RB750Gr3: switched ports share one lane, and all other ports the second one.
        match self.moves_switched && !switched.is_empty() {
            true => Some(usize::from(!switched.contains(port))),
            false => Some(own),
        }
    }

    /// Returns all lanes with their ports, given the switched ports.
    pub fn shared<'a>(&'a self, switched: &BTreeSet<&str>) -> Vec<Shared<'a>> {
        let ports = || self.lanes.iter().flat_map(|lane| lane.ports);
        let lanes = self.lanes.iter().enumerate();
        let shared = lanes.map(|(lane, is)| Shared {
            lane,
            mbps: is.mbps,
            ports: { ports() }
                .filter(|port| self.lane_of(port, switched) == Some(lane))
                .copied()
                .collect(),
        });
        shared.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(board: &str, switched: &[&str]) -> Vec<(Option<u32>, String)> {
        let board = Board::named(board).expect("it is there");
        let lanes = board.shared(&switched.iter().copied().collect());
        let told = lanes.iter().map(|lane| (lane.mbps, lane.ports.join(" ")));
        told.collect()
    }

    #[test]
    fn a_hex_moves_its_switched_ports_to_a_lane_of_their_own() {
        let apart = [
            (Some(1_000), "ether1 ether3 ether5".to_owned()),
            (Some(1_000), "ether2 ether4".to_owned()),
        ];
        assert_eq!(shared("hEX", &[]), apart);

        let together = [
            (Some(1_000), "ether4 ether5".to_owned()),
            (Some(1_000), "ether1 ether2 ether3".to_owned()),
        ];
        let mut sorted = shared("hEX", &["ether4", "ether5"]);
        for (_, ports) in &mut sorted {
            let mut names: Vec<_> = ports.split(' ').collect();
            names.sort_unstable();
            *ports = names.join(" ");
        }
        assert_eq!(sorted, together);
    }

    #[test]
    fn other_boards_keep_their_lanes_whatever_is_switched() {
        assert_eq!(
            shared("hAP ac2", &["ether2", "ether3"]),
            shared("hAP ac2", &[])
        );
        assert_eq!(shared("CCR1036", &[]), []);
    }
}
