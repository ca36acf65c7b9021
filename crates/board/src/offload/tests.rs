//! The feature matrix of RouterOS's manual, and further cases.

use super::*;
use crate::boards::BOARDS;

fn board(name: &str) -> &'static Board {
    Board::named(name).expect("it is there")
}

fn port(name: &str) -> PortRequest<'_> {
    PortRequest {
        bridge: 0,
        carrier: Carrier::Port(name),
        hw: true,
        wants: Needs::default(),
        lacks: None,
    }
}

fn bridge(name: &str) -> BridgeRequest<'_> {
    BridgeRequest {
        name,
        ..BridgeRequest::default()
    }
}

fn words(plan: Plan) -> Vec<String> {
    let words = plan.into_iter().map(|port| match port {
        Ok(place) => format!("{} {}", switch_name(place.chip), place.group.number()),
        Err(reason) => reason.to_string(),
    });
    words.collect()
}

/// Rows of the matrix: the requested feature, and its support in the seven families of chips.
const MATRIX: [(&str, [bool; 7]); 11] = [
    ("STP/RSTP", [true, true, true, true, true, true, false]),
    ("MSTP", [true, true, true, false, false, false, false]),
    (
        "VLAN filtering",
        [true, true, true, false, false, false, false],
    ),
    (
        "IGMP snooping",
        [true, true, false, true, false, false, false],
    ),
    (
        "DHCP snooping",
        [true, true, false, true, true, false, false],
    ),
    (
        "ARP inspection",
        [true, false, false, false, false, false, false],
    ),
    (
        "IP source guard",
        [true, false, false, false, false, false, false],
    ),
    (
        "DHCPv6 snooping",
        [true, false, false, false, false, false, false],
    ),
    ("RA guard", [true, false, false, false, false, false, false]),
    ("Bonding", [true, true, false, false, false, false, false]),
    ("Horizon", [false; 7]),
];

/// Boards of each family, with two ports on one chip.
const FAMILIES: [&[(&str, [&str; 2])]; 7] = [
    &[
        ("CRS309", ["sfp-sfpplus1", "sfp-sfpplus2"]),
        ("CRS326", ["ether1", "sfp-sfpplus2"]),
        ("CCR2116", ["ether1", "ether2"]),
    ],
    &[
        ("RB5009", ["ether1", "sfp-sfpplus1"]),
        ("L009", ["ether2", "sfp1"]),
        ("CCR2004-16G", ["ether9", "ether16"]),
    ],
    &[
        ("RB750Gr3", ["ether1", "ether5"]),
        ("hEX S", ["ether1", "ether5"]),
        ("hEX refresh", ["ether1", "ether5"]),
        ("hAP ax lite", ["ether1", "ether4"]),
        ("RB4011", ["ether6", "ether10"]),
        ("RB1100AHx4", ["ether11", "ether13"]),
    ],
    &[("CRS125", ["ether1", "sfp1"])],
    &[
        ("RB3011", ["ether1", "ether5"]),
        ("RB1100AHx2", ["ether6", "ether10"]),
        ("hAP ac2", ["ether1", "ether5"]),
        ("hAP ac", ["ether1", "ether5"]),
        ("CCR1009-8G", ["ether1", "ether4"]),
        ("RB450G", ["ether1", "ether5"]),
        ("RB850Gx2", ["ether1", "ether5"]),
    ],
    &[
        ("hAP lite", ["ether1", "ether4"]),
        ("RB2011", ["ether6", "ether10"]),
        ("RB750", ["ether2", "ether5"]),
    ],
    &[
        ("hAP ax2", ["ether1", "ether5"]),
        ("hAP ax3", ["ether1", "ether5"]),
        ("CCR2004-1G", ["ether1", "sfp28-1"]),
    ],
];

/// Builds a bridge and two of its ports; the bridge or the first port requests the feature of the row.
fn asks<'a>(row: &str, [first, second]: [&'a str; 2]) -> (BridgeRequest<'a>, Vec<PortRequest<'a>>) {
    let mut asks = BridgeRequest {
        tree: SpanningTree::None,
        ..bridge("bridge1")
    };
    let mut ports = vec![port(first), port(second)];
    match row {
        "STP/RSTP" => asks.tree = SpanningTree::One,
        "MSTP" => asks.tree = SpanningTree::Many,
        "VLAN filtering" => asks.vlans = Some(TagType::Customer),
        "IGMP snooping" => asks.wants = Needs::IGMP_SNOOPING,
        "DHCP snooping" => asks.wants = Needs::DHCP_SNOOPING,
        "ARP inspection" => asks.wants = Needs::ARP_INSPECTION,
        "IP source guard" => asks.wants = Needs::IP_SOURCE_GUARD,
        "DHCPv6 snooping" => asks.wants = Needs::DHCPV6_SNOOPING,
        "RA guard" => asks.wants = Needs::RA_GUARD,
        "Bonding" => {
            ports[0].carrier = Carrier::Bond(BondMode::Plain, vec![first, second]);
            ports.pop();
        }
        "Horizon" => ports[0].wants = Needs::HORIZON,
        other => panic!("no row {other}"),
    }
    (asks, ports)
}

#[test]
fn every_board_switches_exactly_with_the_features_of_the_matrix() {
    for (row, does) in MATRIX {
        for (family, boards) in FAMILIES.iter().enumerate() {
            for (name, names) in *boards {
                let (bridge, ports) = asks(row, *names);
                let plan = plan(board(name), &[bridge], &ports);
                assert_eq!(plan[0].is_ok(), does[family], "{name}: {row}: {plan:?}");
            }
        }
    }
}

#[test]
fn every_board_with_a_chip_stands_in_the_matrix() {
    let tested: Vec<_> = { FAMILIES.iter().flat_map(|boards| boards.iter()) }
        .map(|(name, _)| board(name).name)
        .collect();
    for board in BOARDS.iter().filter(|board| !board.chips.is_empty()) {
        assert!(tested.contains(&board.name), "{}", board.name);
    }
}

#[test]
fn only_prestera_switches_other_tag_types_and_stacked_tags() {
    for (name, names, switches) in [
        ("CRS326", ["ether1", "ether2"], true),
        ("RB5009", ["ether1", "ether2"], false),
        ("hEX", ["ether1", "ether2"], false),
    ] {
        let other = BridgeRequest {
            vlans: Some(TagType::Other),
            ..bridge("bridge1")
        };
        let ports = names.map(port);
        let planned = plan(board(name), &[other], &ports);
        assert_eq!(planned[0].is_ok(), switches, "{name}");

        let filters = BridgeRequest {
            vlans: Some(TagType::Customer),
            ..bridge("bridge1")
        };
        let mut ports = names.map(port);
        ports[0].wants = Needs::TAG_STACKING;
        let planned = plan(board(name), &[filters], &ports);
        assert_eq!(planned[0].is_ok(), switches, "{name}");
        assert!(planned[1].is_ok(), "the other port does not stack");
    }
}

#[test]
fn bonds_of_other_modes_and_across_chips_are_never_switched() {
    let bond = |mode, names: &[&'static str]| PortRequest {
        carrier: Carrier::Bond(mode, names.to_vec()),
        ..port("")
    };
    let planned = plan(
        board("CCR2004-16G"),
        &[bridge("bridge1")],
        &[
            bond(BondMode::Plain, &["ether1", "ether2"]),
            bond(BondMode::Other, &["ether1", "ether2"]),
            bond(BondMode::Plain, &["ether1", "ether9"]),
            bond(BondMode::Plain, &[]),
        ],
    );
    assert_eq!(
        words(planned),
        [
            "switch1 1",
            "Marvell-88E6191X cannot do bonding of this mode",
            "the ports of the bond are not on one switch chip",
            "the ports of the bond are not on one switch chip",
        ]
    );
}

#[test]
fn a_chip_switches_for_one_bridge_and_its_ports_elsewhere_are_another_group() {
    let ports = [
        port("ether1"),
        port("ether2"),
        port("ether6"),
        port("sfp1"),
        PortRequest {
            bridge: 1,
            ..port("ether3")
        },
        PortRequest {
            bridge: 1,
            ..port("ether7")
        },
        PortRequest {
            hw: false,
            ..port("ether4")
        },
        PortRequest {
            carrier: Carrier::Software,
            ..port("")
        },
    ];
    let bridges = [bridge("bridge"), bridge("guests")];
    assert_eq!(
        words(plan(board("RB3011"), &bridges, &ports)),
        [
            "switch1 1",
            "switch1 1",
            "switch2 2",
            "not on a switch chip of this board",
            "switch1 switches for bridge",
            "switch2 switches for bridge",
            "hw=no",
            "not a port of a switch chip",
        ]
    );
}

#[test]
fn the_first_bridge_that_can_be_switched_gets_the_chip() {
    let filters = BridgeRequest {
        vlans: Some(TagType::Customer),
        ..bridge("vlans")
    };
    let ports = [
        PortRequest {
            bridge: 2,
            ..port("ether5")
        },
        port("ether1"),
        PortRequest {
            bridge: 1,
            ..port("ether2")
        },
    ];
    let bridges = [filters, bridge("lan"), bridge("guests")];
    assert_eq!(
        words(plan(board("hAP ac2"), &bridges, &ports)),
        [
            "switch1 switches for lan",
            "Atheros-8327 cannot do vlan-filtering",
            "switch1 1",
        ]
    );
}

#[test]
fn a_crs1_keeps_seven_bridges_apart() {
    let names = ["b1", "b2", "b3", "b4", "b5", "b6", "b7", "b8"];
    let bridges = names.map(bridge);
    let ports: Vec<_> = { board("CRS125").chips[0].ports.expect("its ports").iter() }
        .zip(0..8)
        .map(|(name, bridge)| PortRequest {
            bridge,
            ..port(name)
        })
        .collect();
    let planned = plan(board("CRS125"), &bridges, &ports);
    assert_eq!(planned.iter().filter(|port| port.is_ok()).count(), 7);
    assert_eq!(words(planned)[7], "switch1 switches for b1");
}

#[test]
fn the_kernel_switches_several_bridges_with_supported_features() {
    let snoops = BridgeRequest {
        wants: Needs::DHCP_SNOOPING,
        ..bridge("snoops")
    };
    let filters = BridgeRequest {
        tree: SpanningTree::Many,
        vlans: Some(TagType::Customer),
        wants: Needs::IGMP_SNOOPING,
        ..bridge("filters")
    };
    let on = |bridge, name| PortRequest {
        bridge,
        ..port(name)
    };
    let ports = [
        on(0, "ether1"),
        on(1, "ether2"),
        on(2, "ether3"),
        PortRequest {
            lacks: Some("its device is not driven by XDP"),
            ..on(2, "ether4")
        },
        PortRequest {
            wants: Needs::HORIZON,
            ..on(2, "ether5")
        },
    ];
    let bridges = [bridge("lan"), snoops, filters];
    assert_eq!(
        words(plan(&Board::MACHINE, &bridges, &ports)),
        [
            "switch1 1",
            "Linux-XDP cannot do dhcp-snooping",
            "switch1 2",
            "its device is not driven by XDP",
            "Linux-XDP cannot do horizon",
        ]
    );
}

#[test]
fn groups_and_ports_stay_within_the_limits_of_the_data_plane() {
    let names: Vec<_> = (0..20).map(|n| format!("bridge{n}")).collect();
    let bridges: Vec<_> = names.iter().map(|name| bridge(name)).collect();
    let one_each: Vec<_> = (0..20)
        .map(|bridge| PortRequest {
            bridge,
            ..port("ether1")
        })
        .collect();
    let planned = plan(&Board::MACHINE, &bridges, &one_each);
    assert_eq!(
        planned.iter().filter(|port| port.is_ok()).count(),
        Group::MOST
    );

    let many: Vec<_> = (0..70).map(|_| port("ether1")).collect();
    let planned = plan(&Board::MACHINE, &bridges, &many);
    assert_eq!(
        planned.iter().filter(|port| port.is_ok()).count(),
        SwitchPort::MOST
    );
    assert_eq!(planned[69], Err(Reason::Full));
}
