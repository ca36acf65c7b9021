//! Report on a RouterBOARD model and a configuration: ports of bridges that its chips switch, and ports that
//! share a lane to its processor.

use board::{Board, Plan, Shared, switch_name};
use menu::{Store, json, visible};
use router::board::Asks;

/// Result for one board and configuration.
pub(crate) struct BoardReport {
    board: &'static Board,
    asks: Asks,
    plan: Plan,
    /// Functions that the switch chips lack.
    beyond: Vec<String>,
}

impl BoardReport {
    /// Examines a configuration.
    pub(crate) fn of(store: &Store, board: &'static Board) -> Self {
        let asks = Asks::of(store);
        let plan = asks.plan(board, None);
        Self {
            board,
            asks,
            plan,
            beyond: router::beyond_chips(store, board),
        }
    }

    /// Returns the lanes to the processor that several ports share.
    fn shared(&self) -> impl Iterator<Item = Shared<'_>> {
        let lanes = self.board.shared(&self.asks.switched(&self.plan));
        lanes.into_iter().filter(|lane| lane.ports.len() > 1)
    }

    /// Returns the report as text: a line per bridge port and per shared lane.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let ports = self.asks.ports().zip(&self.plan);
        let ports = ports.map(|((port, bridge), planned)| {
            let (port, bridge) = (visible(port), visible(bridge));
            match planned {
                Ok(place) => {
                    let (name, chip) = self.chip(place.chip);
                    format!("{port} of {bridge}: switched by {name} ({chip})")
                }
                Err(reason) => format!("{port} of {bridge}: by the processor: {reason}"),
            }
        });
        let lanes = self.shared().map(|lane| {
            let rate = match lane.mbps {
                Some(mbps) => format!("{mbps} Mbit/s"),
                None => String::from("one way"),
            };
            let ports = lane.ports.join(", ");
            format!("{ports}: share {rate} to the processor")
        });
        let beyond = self.beyond.iter().map(|said| visible(said).into_owned());
        let lines = ports.chain(lanes).chain(beyond);
        lines
            .map(|line| format!("{}: {line}", self.board.name))
            .collect()
    }

    fn chip(&self, number: usize) -> (String, &'static str) {
        let chip = self.board.chips.get(number).map(|on| on.chip.name);
        (switch_name(number), chip.unwrap_or_default())
    }

    /// Returns the report as members of a JSON object.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::from("\"board\":");
        json::string(self.board.name, &mut out);
        out.push_str(",\"ports\":[");
        for (at, ((port, bridge), planned)) in self.asks.ports().zip(&self.plan).enumerate() {
            out.push_str(if at > 0 { ",{" } else { "{" });
            let (key, text) = match planned {
                Ok(place) => ("switch", self.chip(place.chip).0),
                Err(reason) => ("reason", reason.to_string()),
            };
            for (begin, text) in [
                ("\"interface\":", &**port),
                (",\"bridge\":", bridge),
                (&format!(",\"{key}\":"), &text),
            ] {
                out.push_str(begin);
                json::string(text, &mut out);
            }
            out.push('}');
        }
        out.push_str("],\"lanes\":[");
        for (at, lane) in self.shared().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let mbps = lane
                .mbps
                .map_or(String::from("null"), |mbps| mbps.to_string());
            out.push_str(&format!("{comma}{{\"mbps\":{mbps},\"ports\":["));
            for (at, port) in lane.ports.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                json::string(port, &mut out);
            }
            out.push_str("]}");
        }
        out.push_str("],\"beyond\":[");
        for (at, said) in self.beyond.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            json::string(said, &mut out);
        }
        out.push(']');
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bridging two ports of a hEX moves them to one lane.
    const JOINED: &str = "/interface/bridge add name=data
/interface/bridge/port add bridge=data interface=ether2
/interface/bridge/port add bridge=data interface=ether4
";

    fn judge(config: &str) -> BoardReport {
        let mut store = schema::store();
        script::check(&mut store, config);
        BoardReport::of(&store, Board::named("hEX").expect("it is there"))
    }

    #[test]
    fn ports_of_a_hex_share_a_lane_once_they_are_switched() {
        let wrong = judge(JOINED).in_words();
        assert_eq!(
            wrong,
            [
                "hEX: ether2 of data: switched by switch1 (MediaTek-MT7621)",
                "hEX: ether4 of data: switched by switch1 (MediaTek-MT7621)",
                "hEX: ether2, ether4: share 1000 Mbit/s to the processor",
                "hEX: ether1, ether3, ether5: share 1000 Mbit/s to the processor",
            ]
        );

        let right = judge(&JOINED.replace("interface=ether", "hw=no interface=ether"));
        assert_eq!(
            right.to_json(),
            "\"board\":\"hEX\",\"ports\":[\
             {\"interface\":\"ether2\",\"bridge\":\"data\",\"reason\":\"hw=no\"},\
             {\"interface\":\"ether4\",\"bridge\":\"data\",\"reason\":\"hw=no\"}],\
             \"lanes\":[{\"mbps\":1000,\"ports\":[\"ether1\",\"ether3\",\"ether5\"]},\
             {\"mbps\":1000,\"ports\":[\"ether2\",\"ether4\"]}],\"beyond\":[]"
        );
    }
    #[test]
    fn functions_that_a_chip_lacks_are_reported() {
        let config = format!(
            "{JOINED}/interface/ethernet/switch/port set ether2 vlan-mode=secure\n\
             /interface/ethernet/switch/vlan add switch=switch1 vlan-id=10 ports=ether2\n"
        );
        let said = judge(&config).in_words();
        assert_eq!(
            said[4..],
            [
                "hEX: ether2: MediaTek-MT7621 cannot do vlan-mode",
                "hEX: switch1: MediaTek-MT7621 has no room for VLAN 10 in a table of its own",
            ]
        );
    }
}
