//! Tests of the planner: the talks' cases, and recommendations for random traffic.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::boards::BOARDS;
use crate::hardware::{Connection, Hardware, Purpose};
use crate::model::Board;
use crate::rates::{SUITES, Suite};

fn flows(board: &str, texts: &[&str]) -> Vec<Flow> {
    let board = Board::named(board).expect(board);
    let ports: Vec<_> = board.hardware().expect("facts").port_names().collect();
    let parse = |text: &&str| Flow::parse(text, &ports, SUITES[0]).expect(text);
    texts.iter().map(parse).collect()
}

fn on(name: &str, texts: &[&str], setup: &Setup) -> (Evaluation, Advice) {
    let board = Board::named(name).expect(name);
    let hardware = board.hardware().expect(name);
    let flows = flows(name, texts);
    (
        evaluate(board, hardware, &flows, setup),
        advise(board, hardware, &flows, setup),
    )
}

fn share(loads: &Evaluation, name: &str) -> f64 {
    let part = loads.resources.iter().find(|part| part.name == name);
    part.and_then(|part| part.share).expect(name)
}

fn switched(ports: &[&str]) -> Setup {
    Setup {
        switched: ports.iter().map(|port| (*port).to_owned()).collect(),
        bridges: { ports.iter() }
            .map(|port| ((*port).to_owned(), String::from("bridge")))
            .collect(),
        ..Setup::default()
    }
}

/// Dave's first problem: ether2 and ether4 of a hEX share a lane.
#[test]
fn ports_on_one_lane_share_it_and_another_port_is_better() {
    let (loads, advice) = on("hEX", &["ether2-ether4=900M/900M"], &Setup::default());
    assert_eq!(share(&loads, "lane 1"), 1.8);
    assert!(loads.is_overloaded());
    let (moves, better) = advice.moves.expect("ether1, ether3 and ether5 are free");
    assert_eq!(moves.len(), 1);
    assert!(better.carries());
    assert_eq!(share(&better, "lane 1"), 0.9);
}

/// Dave's second problem: switched ports share one lane.
#[test]
fn switching_moves_ports_to_one_lane_and_the_cost_of_software_is_named() {
    let setup = switched(&["ether1", "ether2"]);
    let texts = [
        "ether1-ether4=900M",
        "ether5-ether2=900M",
        "ether2-ether3=90M",
    ];
    let (loads, advice) = on("hEX", &texts, &setup);
    let (up, down) = (0.9 + 0.09, 0.9);
    assert_eq!(share(&loads, "lane 0"), f64::max(up, down));
    let text = report(
        Board::named("hEX").expect("known"),
        Board::named("hEX")
            .expect("known")
            .hardware()
            .expect("known"),
        &loads,
        &advice,
    );
    assert!(text.contains("with hw=no"), "{text}");

    let (loads, advice) = on("hEX", &["ether3-ether1=800M", "ether4-ether2=800M"], &setup);
    assert_eq!(share(&loads, "lane 1"), 1.6);
    let hex = Board::named("hEX").expect("known");
    let text = report(hex, hex.hardware().expect("known"), &loads, &advice);
    assert!(text.contains("with hw=no it fits: "), "{text}");
    assert!(!text.contains("no assignment"), "{text}");

    let (loads, advice) = on("hEX", &["ether1-ether2=900M/900M"], &setup);
    assert_eq!(loads.processor(), None);
    let software = advice.without_switching.expect("it is a hEX");
    assert!(software.processor() > Some(0.9), "{software:?}");
}

/// Dave's third problem: the RB3011 has no engine.
#[test]
fn encryption_needs_a_board_with_published_rates() {
    let texts = ["ether1-ether2=400M,512,ipsec"];
    let (loads, advice) = on("RB3011UiAS-RM", &texts, &Setup::default());
    assert!(!loads.carries());
    let unknown: Vec<_> = loads.unknown.iter().collect();
    assert_eq!(
        unknown,
        ["the rate of IPsec with aes-128-cbc+sha1: the board has no engine"]
    );
    let boards: Vec<_> = { advice.boards.iter() }
        .map(|other| other.board.name)
        .collect();
    assert_eq!(boards, ["RB1100AHx4"]);
}

/// Dave's fourth problem: management and bypass ports.
#[test]
fn management_ports_are_named_and_never_recommended() {
    let texts = ["ether12-ether13=500M"];
    let (loads, advice) = on("RB1100AHx2", &texts, &Setup::default());
    let mut notes = loads.notes.iter();
    assert!(notes.any(|note| note.starts_with("ether12 is for management")));
    for other in &advice.boards {
        let facts = other.board.hardware().expect("known");
        let moved = other.moves.iter().map(|step| &*step.to);
        for port in moved {
            let group = facts.group_of(port).expect("a port");
            assert_eq!(group.purpose, Purpose::Traffic);
        }
    }
}

#[test]
fn parallel_links_with_unknown_ports_are_never_taken_for_one() {
    let texts = ["ether1-ether2=900M/900M"];
    let (loads, _) = on("hAP ac", &texts, &Setup::default());
    assert_eq!(share(&loads, "lane 0"), 0.9);
    let unknown: Vec<_> = loads.unknown.iter().collect();
    assert_eq!(
        unknown,
        ["which ports of lane 0 share one of its links of 1000 Mbps"]
    );
    assert!(!loads.carries());
    let (loads, _) = on("hAP ac", &["ether1-ether2=400M/400M"], &Setup::default());
    assert!(loads.carries());
}

#[test]
fn a_module_in_sfp1_of_an_rb3011_halves_the_second_chips_lane() {
    let texts = ["ether6-ether1=900M", "ether7-ether2=900M"];
    let (loads, _) = on("RB3011", &texts, &Setup::default());
    assert_eq!(share(&loads, "lane 1"), 0.9);
    let texts = ["ether6-ether1=900M", "ether7-ether2=900M", "sfp1-ether3=1M"];
    let (loads, _) = on("RB3011", &texts, &Setup::default());
    assert_eq!(share(&loads, "lane 1"), 1.8);
}

#[test]
fn rules_and_lengths_of_packets_decide_about_the_processor() {
    let plain = Setup::default();
    let ruled = Setup {
        rules: 5,
        ..Setup::default()
    };
    let many = Setup {
        rules: 50,
        ..Setup::default()
    };
    let cost = |texts: &[&str], setup: &Setup| {
        let (loads, _) = on("hEX", texts, setup);
        loads.processor().expect("known")
    };
    let long = ["ether1-ether2=500M"];
    let short = ["ether1-ether2=50M,64"];
    // 500 Mbps of 1518 bytes are 41.2 kpps of 162.4, and of 92.9 with rules.
    assert!((cost(&long, &plain) - 41.17 / 162.4).abs() < 0.001);
    assert!((cost(&long, &ruled) - 41.17 / 92.9).abs() < 0.001);
    assert!(cost(&long, &many) > cost(&long, &ruled));
    assert!((cost(&short, &plain) - 97.66 / 1035.0).abs() < 0.001);
}

#[test]
fn the_table_of_chips_has_the_talks_rows_beside_todays() {
    let table = chips();
    let row = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name));
        line.expect(name).to_owned()
    };
    assert!(row("MT7621").contains("- → +"), "{table}");
    assert!(row("AR8227").contains("RB2011UiAS"), "{table}");
    assert!(row("ICPlus175D").contains("- → ?"), "{table}");
    assert!(row("Marvell-88E6393X").contains("· → +"), "{table}");
}

#[test]
fn the_diagram_shows_every_port_and_the_loads() {
    let board = Board::named("hEX").expect("known");
    let hardware = board.hardware().expect("known");
    let loads = evaluate(
        board,
        hardware,
        &flows("hEX", &["ether2-ether4=900M/900M"]),
        &Setup::default(),
    );
    let picture = svg(board, hardware, &loads);
    for word in ["ether1", "ether5", "lane 1", "180 %", "MT7621A", "</svg>"] {
        assert!(picture.contains(word), "{word}: {picture}");
    }
}

/// Checks a recommendation by sums of its own: ports, lanes, processor and encryption.
fn assert_carried(board: &Board, hardware: &Hardware<'_>, flows: &[Flow], setup: &Setup) {
    let (mut ports, mut lanes) = (BTreeMap::new(), BTreeMap::new());
    let (mut processor, mut encrypted) = (0.0, 0.0);
    let switched = setup.switched.iter().map(String::as_str).collect();
    for flow in flows {
        let grown = flow.growth();
        let same_chip = board.chip_of(&flow.from).is_some()
            && board.chip_of(&flow.from) == board.chip_of(&flow.to);
        let by_chip = same_chip
            && flow.suite.is_none()
            && setup.switched.contains(&flow.from)
            && setup.switched.contains(&flow.to)
            && setup.bridges.get(&flow.from) == setup.bridges.get(&flow.to);
        let ends = [
            (&flow.from, flow.bps, flow.back_bps),
            (&flow.to, flow.back_bps * grown, flow.bps * grown),
        ];
        for (port, up, down) in ends {
            let group = hardware.group_of(port).expect("a port of the board");
            assert_eq!(group.purpose, Purpose::Traffic, "{}: {port}", board.name);
            let entry: &mut (f64, f64, f64) = ports.entry(port.clone()).or_default();
            *entry = (
                entry.0 + up,
                entry.1 + down,
                f64::from(group.mbps.expect("published")) * 1e6,
            );
            if by_chip {
                continue;
            }
            assert_ne!(group.connection, Connection::Unknown, "{port}");
            if let Some(lane) = board.lane_of(port, &switched) {
                let entry: &mut (f64, f64) = lanes.entry(lane).or_default();
                *entry = (entry.0 + up, entry.1 + down);
            }
        }
        if !by_chip {
            let rates = hardware.forwarding.expect("published");
            // No published rate of a configuration without rules is lower for longer frames.
            let kpps = rates.routing[0].min(rates.bridging[0]);
            processor += flow.packets_per_second() / (kpps * 1e3);
        }
        if flow.suite.is_some() {
            let best = hardware.encryption.rates.iter().map(|table| table.kpps[2]);
            encrypted += flow.packets_per_second() / (best.fold(0.0, f64::max) * 1e3);
        }
    }
    for (port, (up, down, most)) in ports {
        assert!(up <= most && down <= most, "{}: {port}", board.name);
    }
    for (lane, (up, down)) in lanes {
        let most = board.lanes[lane].mbps.expect("published");
        let most = f64::from(most) * 1e6;
        assert!(up <= most && down <= most, "{}: lane {lane}", board.name);
    }
    // Lower bounds: the rates of short frames, and of the longest ones.
    let rates = hardware.forwarding.map_or(0.0, |rates| rates.routing[2]);
    let packets: f64 = flows.iter().map(Flow::packets_per_second).sum();
    if processor > 0.0 && setup.switched.is_empty() {
        assert!(packets <= rates * 1e3, "{}", board.name);
    }
    assert!(encrypted <= 1.0, "{}", board.name);
}

fn random_flow()
-> impl Strategy<Value = (prop::sample::Index, prop::sample::Index, u32, u32, u32, u8)> {
    (
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        1..2_000_u32,
        0..1_000_u32,
        64..1_519_u32,
        0..10_u8,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_recommendation_carries_the_traffic(
        at in 0..BOARDS.len(),
        wanted in prop::collection::vec(random_flow(), 1..4),
        bridged in any::<bool>(),
        rules in 0..60_u32,
    ) {
        let board = &BOARDS[at];
        let hardware = board.hardware().expect("every board has facts");
        let ports: Vec<&str> = hardware.port_names().collect();
        prop_assume!(ports.len() > 1);
        let mut flows = Vec::new();
        for (from, to, mbps, back, frame, secret) in wanted {
            let (from, to) = (*from.get(&ports), *to.get(&ports));
            if from == to {
                continue;
            }
            let suite: Option<Suite> = SUITES.get(usize::from(secret)).copied();
            flows.push(Flow {
                from: from.to_owned(),
                to: to.to_owned(),
                bps: f64::from(mbps) * 1e6,
                back_bps: f64::from(back) * 1e6,
                frame,
                suite,
            });
        }
        let mut setup = Setup { rules, ..Setup::default() };
        if bridged {
            for port in ports.iter().filter(|port| board.chip_of(port).is_some()) {
                setup.bridges.insert((*port).to_owned(), String::from("bridge"));
                setup.switched.insert((*port).to_owned());
            }
        }
        let advice = advise(board, hardware, &flows, &setup);
        if let Some((moves, loads)) = &advice.moves {
            prop_assert!(loads.carries());
            prop_assert!(!moves.is_empty());
            let moved = renamed(&flows, moves);
            assert_carried(board, hardware, &moved, &setup);
        }
        for other in &advice.boards {
            let facts = other.board.hardware().expect("every board has facts");
            let moved = renamed(&flows, &other.moves);
            let bridges = { other.switched.iter() }
                .map(|port| (port.clone(), String::from("bridge")))
                .collect();
            let setup = Setup {
                switched: other.switched.clone(),
                bridges,
                ..Setup::default()
            };
            assert_carried(other.board, facts, &moved, &setup);
        }
    }
}

fn renamed(flows: &[Flow], moves: &[Move]) -> Vec<Flow> {
    let name = |port: &String| {
        let step = moves.iter().find(|step| step.from == *port);
        step.map_or_else(|| port.clone(), |step| step.to.clone())
    };
    let renamed = flows.iter().map(|flow| Flow {
        from: name(&flow.from),
        to: name(&flow.to),
        ..flow.clone()
    });
    renamed.collect()
}
