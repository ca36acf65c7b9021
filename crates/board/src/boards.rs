//! Known boards (block diagrams and "Switch Chip Features" of RouterOS's maker). A rate without a source is `None`.

use crate::chip::{self, Chip};
use crate::model::{Board, CpuLane, OnBoard};

const ETHER: &[&str] = &[
    "ether1", "ether2", "ether3", "ether4", "ether5", "ether6", "ether7", "ether8", "ether9",
    "ether10", "ether11", "ether12", "ether13", "ether14", "ether15", "ether16", "ether17",
    "ether18", "ether19", "ether20", "ether21", "ether22", "ether23", "ether24",
];
/// `ether` ports from `first` to `last`.
pub(crate) const fn ether(first: usize, last: usize) -> &'static [&'static str] {
    ETHER.split_at(last).0.split_at(first - 1).1
}

pub(crate) const SFP_PLUS_8: &[&str] = &[
    "sfp-sfpplus1",
    "sfp-sfpplus2",
    "sfp-sfpplus3",
    "sfp-sfpplus4",
    "sfp-sfpplus5",
    "sfp-sfpplus6",
    "sfp-sfpplus7",
    "sfp-sfpplus8",
];
pub(crate) const RB5009: &[&str] = &[
    "ether1",
    "ether2",
    "ether3",
    "ether4",
    "ether5",
    "ether6",
    "ether7",
    "ether8",
    "sfp-sfpplus1",
];
pub(crate) const L009: &[&str] = &[
    "ether2", "ether3", "ether4", "ether5", "ether6", "ether7", "ether8", "sfp1",
];
pub(crate) const RB2011: &[&str] = &["ether1", "ether2", "ether3", "ether4", "ether5", "sfp1"];
pub(crate) const CRS125: &[&str] = &[
    "ether1", "ether2", "ether3", "ether4", "ether5", "ether6", "ether7", "ether8", "ether9",
    "ether10", "ether11", "ether12", "ether13", "ether14", "ether15", "ether16", "ether17",
    "ether18", "ether19", "ether20", "ether21", "ether22", "ether23", "ether24", "sfp1",
];
pub(crate) const CRS326: &[&str] = &[
    "ether1",
    "ether2",
    "ether3",
    "ether4",
    "ether5",
    "ether6",
    "ether7",
    "ether8",
    "ether9",
    "ether10",
    "ether11",
    "ether12",
    "ether13",
    "ether14",
    "ether15",
    "ether16",
    "ether17",
    "ether18",
    "ether19",
    "ether20",
    "ether21",
    "ether22",
    "ether23",
    "ether24",
    "sfp-sfpplus1",
    "sfp-sfpplus2",
];
pub(crate) const CCR2116: &[&str] = &[
    "ether1",
    "ether2",
    "ether3",
    "ether4",
    "ether5",
    "ether6",
    "ether7",
    "ether8",
    "ether9",
    "ether10",
    "ether11",
    "ether12",
    "sfp-sfpplus1",
    "sfp-sfpplus2",
    "sfp-sfpplus3",
    "sfp-sfpplus4",
];
pub(crate) const CCR2004_12S: &[&str] = &[
    "ether1",
    "sfp-sfpplus1",
    "sfp-sfpplus2",
    "sfp-sfpplus3",
    "sfp-sfpplus4",
    "sfp-sfpplus5",
    "sfp-sfpplus6",
    "sfp-sfpplus7",
    "sfp-sfpplus8",
    "sfp-sfpplus9",
    "sfp-sfpplus10",
    "sfp-sfpplus11",
    "sfp-sfpplus12",
    "sfp28-1",
    "sfp28-2",
];

const fn on(chip: &'static Chip, ports: &'static [&'static str]) -> OnBoard {
    OnBoard {
        chip,
        ports: Some(ports),
    }
}

const fn lane(mbps: u32, ports: &'static [&'static str]) -> CpuLane {
    CpuLane {
        mbps: Some(mbps),
        ports,
        link_mbps: None,
    }
}

const fn unknown(ports: &'static [&'static str]) -> CpuLane {
    CpuLane {
        mbps: None,
        ports,
        link_mbps: None,
    }
}

/// Two links; which port uses which one is not published.
const fn two_links(link_mbps: u32, ports: &'static [&'static str]) -> CpuLane {
    CpuLane {
        link_mbps: Some(link_mbps),
        ..lane(2 * link_mbps, ports)
    }
}

const fn board(
    name: &'static str,
    model: &'static str,
    chips: &'static [OnBoard],
    lanes: &'static [CpuLane],
) -> Board {
    Board {
        name,
        model,
        chips,
        lanes,
        moves_switched: false,
    }
}

/// All known boards.
pub static BOARDS: &[Board] = &[
    Board {
        moves_switched: true,
        ..board(
            "hEX",
            "RB750Gr3",
            &[on(&chip::MT7621, ether(1, 5))],
            &[
                lane(1_000, &["ether1", "ether3", "ether5"]),
                lane(1_000, &["ether2", "ether4"]),
            ],
        )
    },
    board("hEX S", "RB760iGS", &[on(&chip::MT7621, ether(1, 5))], &[]),
    board(
        "RB3011UiAS",
        "RB3011UiAS",
        &[
            on(&chip::QCA8337, ether(1, 5)),
            on(&chip::QCA8337, ether(6, 10)),
        ],
        // A module in sfp1 halves the rate of the second chip.
        &[two_links(1_000, ether(1, 5)), lane(2_000, ether(6, 10))],
    ),
    board(
        "RB1100AHx2",
        "RB1100Hx2",
        &[
            on(&chip::AR8327, ether(1, 5)),
            on(&chip::AR8327, ether(6, 10)),
        ],
        &[
            unknown(ether(1, 5)),
            unknown(ether(6, 10)),
            unknown(ether(12, 13)),
        ],
    ),
    board(
        "RB1100AHx4",
        "RB1100x4",
        &[
            on(&chip::RTL8367, ether(1, 5)),
            on(&chip::RTL8367, ether(6, 10)),
            on(&chip::RTL8367, ether(11, 13)),
        ],
        &[
            lane(2_500, ether(1, 5)),
            lane(2_500, ether(6, 10)),
            lane(2_500, ether(11, 13)),
        ],
    ),
    board(
        "RB4011iGS+",
        "RB4011iGS+",
        &[
            on(&chip::RTL8367, ether(1, 5)),
            on(&chip::RTL8367, ether(6, 10)),
        ],
        &[lane(2_500, ether(1, 5)), lane(2_500, ether(6, 10))],
    ),
    board(
        "RB2011UiAS",
        "RB2011UiAS",
        &[on(&chip::AR8327, RB2011), on(&chip::AR8227, ether(6, 10))],
        &[lane(1_000, RB2011), unknown(ether(6, 10))],
    ),
    board(
        "RB5009UG+S+",
        "RB5009UG+S+IN",
        &[on(&chip::E6393X, RB5009)],
        &[],
    ),
    board("L009UiGS", "L009UiGS-RM", &[on(&chip::E6190, L009)], &[]),
    board(
        "hAP lite",
        "RB941-2nD",
        &[on(&chip::AR8227, ether(1, 4))],
        &[],
    ),
    board(
        "hAP ac",
        "RB962UiGS-5HacT2HnT",
        &[on(&chip::QCA8337, ether(1, 5))],
        // Measurements show two lanes of 1 Gbps; their ports are not known.
        &[two_links(1_000, ether(1, 5))],
    ),
    board(
        "hAP ac^2",
        "RBD52G-5HacD2HnD",
        &[on(&chip::AR8327, ether(1, 5))],
        &[lane(2_000, ether(1, 5))],
    ),
    board(
        "hAP ax lite",
        "L41G-2axD",
        &[on(&chip::MT7531, ether(1, 4))],
        &[],
    ),
    board(
        "hEX refresh",
        "E50UG",
        &[on(&chip::EN7523, ether(1, 5))],
        &[],
    ),
    board(
        "hAP ax^2",
        "C52iG-5HaxD2HaxD",
        &[on(&chip::IPQ_PPE, ether(1, 5))],
        &[],
    ),
    board(
        "hAP ax^3",
        "C53UiG+5HPaxD2HPaxD",
        &[on(&chip::IPQ_PPE, ether(1, 5))],
        &[],
    ),
    board("RB750", "RB750", &[on(&chip::AR7240, ether(2, 5))], &[]),
    board("RB450G", "RB450G", &[on(&chip::AR8316, ether(1, 5))], &[]),
    board(
        "CRS125-24G-1S",
        "CRS125-24G-1S-RM",
        &[on(&chip::QCA8519, CRS125)],
        &[],
    ),
    board(
        "CRS309-1G-8S+",
        "CRS309-1G-8S+",
        &[on(&chip::DX8208, SFP_PLUS_8)],
        &[],
    ),
    board(
        "CRS326-24G-2S+",
        "CRS326-24G-2S+RM",
        &[on(&chip::DX3236, CRS326)],
        &[],
    ),
    board(
        "CCR2116-12G-4S+",
        "CCR2116-12G-4S+",
        &[on(&chip::DX3255, CCR2116)],
        &[],
    ),
    board(
        "CCR2004-16G-2S+",
        "CCR2004-16G-2S+",
        &[
            on(&chip::E6191X, ether(1, 8)),
            on(&chip::E6191X, ether(9, 16)),
        ],
        &[],
    ),
    board(
        "CCR2004-1G-12S+2XS",
        "CCR2004-1G-12S+2XS",
        &[on(&chip::PX1012, CCR2004_12S)],
        &[],
    ),
    board("CCR1036-8G-2S+", "CCR1036-8G-2S+", &[], &[]),
    board("CCR1072-1G-8S+", "CCR1072-1G-8S+", &[], &[]),
    board(
        "CCR1009-8G-1S-1S+",
        "CCR1009-8G-1S-1S+",
        &[on(&chip::AR8327, ether(1, 4))],
        &[unknown(ether(1, 4))],
    ),
    board("CCR1009-7G-1C-1S+", "CCR1009-7G-1C-1S+", &[], &[]),
    board(
        "RB850Gx2",
        "RB850Gx2",
        &[on(&chip::AR8327, ether(1, 5))],
        &[unknown(ether(1, 5))],
    ),
    board("wAP ac", "RBwAPG-5HacT2HnD", &[], &[]),
    board("SXT LTE", "RBSXTLTE3-7", &[], &[]),
];
