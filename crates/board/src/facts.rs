//! Facts about the hardware of all boards: block diagrams, brochures and test results of RouterOS's maker, and its
//! price list of 25 March 2026.

use crate::boards::{self, ether};
use crate::hardware::Connection::{self, Direct, Lane, Unknown};
use crate::hardware::Purpose::{self, Management, Radio, Traffic};
use crate::hardware::{Encryption, Exclusion, Hardware, PortGroup, Price, Processor};
use crate::test_results as results;

const fn group(
    names: &'static [&'static str],
    mbps: u32,
    connection: Connection,
    purpose: Purpose,
) -> PortGroup<'static> {
    PortGroup {
        names,
        mbps: Some(mbps),
        connection,
        purpose,
    }
}

const fn processor(name: &'static str, cores: u32, mhz: Option<u32>) -> Option<Processor> {
    Some(Processor { name, cores, mhz })
}

const fn price(cents: u32) -> Option<Price> {
    Some(Price {
        cents,
        date: "2026-03-25",
    })
}

const NO_RATES: Encryption = Encryption {
    engine: None,
    rates: &[],
    software: &[],
};

/// Hardware without known facts; rows below add theirs.
const UNKNOWN: Hardware<'static> = Hardware {
    board: "",
    aliases: &[],
    processor: None,
    ports: &[],
    exclusions: &[],
    forwarding: None,
    encryption: NO_RATES,
    smart_card: None,
    price: None,
};

/// All boards, in the order of `boards::BOARDS`.
pub(crate) static HARDWARE: &[Hardware<'static>] = &[
    Hardware {
        board: "hEX",
        aliases: &["RB750Gx3"],
        processor: processor("MT7621A", 2, Some(880)),
        ports: &[group(ether(1, 5), 1_000, Lane, Traffic)],
        forwarding: Some(&results::HEX),
        encryption: Encryption {
            engine: Some(true),
            rates: results::HEX_IPSEC,
            ..NO_RATES
        },
        price: price(5_995),
        ..UNKNOWN
    },
    Hardware {
        board: "hEX S",
        processor: processor("MT7621A", 2, Some(880)),
        ports: &[
            group(ether(1, 5), 1_000, Unknown, Traffic),
            group(&["sfp1"], 1_000, Unknown, Traffic),
        ],
        price: price(7_900),
        ..UNKNOWN
    },
    Hardware {
        board: "RB3011UiAS",
        processor: processor("IPQ-8064", 2, Some(1_400)),
        ports: &[
            group(ether(1, 10), 1_000, Lane, Traffic),
            group(&["sfp1"], 1_000, Direct, Traffic),
        ],
        exclusions: &[Exclusion {
            port: "sfp1",
            lane: 1,
            mbps: 1_000,
        }],
        forwarding: Some(&results::RB3011),
        encryption: Encryption {
            engine: Some(false),
            ..NO_RATES
        },
        ..UNKNOWN
    },
    Hardware {
        board: "RB1100AHx2",
        processor: processor("P2020", 2, None),
        ports: &[
            group(ether(1, 10), 1_000, Lane, Traffic),
            group(ether(11, 11), 1_000, Unknown, Traffic),
            group(ether(12, 13), 1_000, Lane, Management),
        ],
        forwarding: Some(&results::RB1100AHX2),
        encryption: Encryption {
            engine: Some(true),
            rates: results::RB1100AHX2_IPSEC,
            ..NO_RATES
        },
        ..UNKNOWN
    },
    Hardware {
        board: "RB1100AHx4",
        processor: processor("AL21400", 4, Some(1_400)),
        ports: &[group(ether(1, 13), 1_000, Lane, Traffic)],
        forwarding: Some(&results::RB1100AHX4),
        encryption: Encryption {
            engine: Some(true),
            rates: results::RB1100AHX4_IPSEC,
            ..NO_RATES
        },
        price: price(32_900),
        ..UNKNOWN
    },
    Hardware {
        board: "RB4011iGS+",
        processor: processor("AL21400", 4, Some(1_400)),
        ports: &[
            group(ether(1, 10), 1_000, Lane, Traffic),
            group(&["sfp-sfpplus1"], 10_000, Direct, Traffic),
        ],
        forwarding: Some(&results::RB4011),
        encryption: Encryption {
            engine: Some(true),
            ..NO_RATES
        },
        price: price(21_900),
        ..UNKNOWN
    },
    Hardware {
        board: "RB2011UiAS",
        aliases: &["RB2011UiAS-2HnD"],
        processor: processor("AR9344", 1, Some(600)),
        ports: &[
            group(boards::RB2011, 1_000, Lane, Traffic),
            group(ether(6, 10), 100, Lane, Traffic),
            group(&["wlan1"], 300, Direct, Radio),
        ],
        encryption: Encryption {
            engine: Some(false),
            ..NO_RATES
        },
        ..UNKNOWN
    },
    Hardware {
        board: "RB5009UG+S+",
        processor: processor("88F7040", 4, Some(1_400)),
        ports: &[
            group(ether(1, 1), 2_500, Unknown, Traffic),
            group(ether(2, 8), 1_000, Unknown, Traffic),
            group(&["sfp-sfpplus1"], 10_000, Unknown, Traffic),
        ],
        price: price(21_900),
        ..UNKNOWN
    },
    Hardware {
        board: "L009UiGS",
        processor: processor("IPQ-5018", 2, Some(800)),
        ports: &[
            group(ether(1, 8), 1_000, Unknown, Traffic),
            group(&["sfp1"], 2_500, Unknown, Traffic),
        ],
        price: price(11_900),
        ..UNKNOWN
    },
    Hardware {
        board: "hAP lite",
        processor: processor("QCA9533", 1, Some(650)),
        ports: &[
            group(ether(1, 4), 100, Unknown, Traffic),
            group(&["wlan1"], 300, Direct, Radio),
        ],
        encryption: Encryption {
            engine: Some(false),
            ..NO_RATES
        },
        price: price(2_495),
        ..UNKNOWN
    },
    Hardware {
        board: "hAP ac",
        processor: processor("QCA9558", 1, Some(720)),
        ports: &[
            group(ether(1, 5), 1_000, Lane, Traffic),
            group(&["sfp1"], 1_000, Unknown, Traffic),
            group(&["wlan1"], 450, Direct, Radio),
            group(&["wlan2"], 1_300, Direct, Radio),
        ],
        forwarding: Some(&results::HAP_AC),
        encryption: Encryption {
            engine: Some(false),
            software: results::HAP_AC_SOFTWARE,
            ..NO_RATES
        },
        price: price(12_900),
        ..UNKNOWN
    },
    Hardware {
        board: "hAP ac^2",
        processor: processor("IPQ-4018", 4, Some(716)),
        ports: &[
            group(ether(1, 5), 1_000, Lane, Traffic),
            group(&["wlan1"], 300, Direct, Radio),
            group(&["wlan2"], 867, Direct, Radio),
        ],
        encryption: Encryption {
            engine: Some(true),
            ..NO_RATES
        },
        price: price(7_900),
        ..UNKNOWN
    },
    Hardware {
        board: "hAP ax lite",
        processor: processor("IPQ-5010", 2, Some(800)),
        ports: &[group(ether(1, 4), 1_000, Unknown, Traffic)],
        price: price(5_900),
        ..UNKNOWN
    },
    Hardware {
        board: "hEX refresh",
        processor: processor("EN7562CT", 2, Some(950)),
        ports: &[group(ether(1, 5), 1_000, Unknown, Traffic)],
        price: price(5_995),
        ..UNKNOWN
    },
    Hardware {
        board: "hAP ax^2",
        processor: processor("IPQ-6010", 4, Some(864)),
        ports: &[group(ether(1, 5), 1_000, Unknown, Traffic)],
        price: price(9_900),
        ..UNKNOWN
    },
    Hardware {
        board: "hAP ax^3",
        processor: processor("IPQ-6010", 4, Some(1_800)),
        ports: &[
            group(ether(1, 1), 2_500, Unknown, Traffic),
            group(ether(2, 5), 1_000, Unknown, Traffic),
        ],
        price: price(13_900),
        ..UNKNOWN
    },
    Hardware {
        board: "RB750",
        ports: &[group(ether(1, 5), 100, Unknown, Traffic)],
        encryption: Encryption {
            engine: Some(false),
            ..NO_RATES
        },
        ..UNKNOWN
    },
    Hardware {
        board: "RB450G",
        ports: &[group(ether(1, 5), 1_000, Unknown, Traffic)],
        encryption: Encryption {
            engine: Some(false),
            ..NO_RATES
        },
        ..UNKNOWN
    },
    Hardware {
        board: "CRS125-24G-1S",
        ports: &[group(boards::CRS125, 1_000, Unknown, Traffic)],
        encryption: Encryption {
            engine: Some(false),
            ..NO_RATES
        },
        ..UNKNOWN
    },
    Hardware {
        board: "CRS309-1G-8S+",
        processor: processor("98DX8208", 2, Some(800)),
        ports: &[
            group(boards::SFP_PLUS_8, 10_000, Unknown, Traffic),
            group(ether(1, 1), 1_000, Unknown, Management),
        ],
        price: price(26_900),
        ..UNKNOWN
    },
    Hardware {
        board: "CRS326-24G-2S+",
        processor: processor("98DX3236", 2, Some(800)),
        ports: &[
            group(ether(1, 24), 1_000, Unknown, Traffic),
            group(&["sfp-sfpplus1", "sfp-sfpplus2"], 10_000, Unknown, Traffic),
        ],
        price: price(20_900),
        ..UNKNOWN
    },
    Hardware {
        board: "CCR2116-12G-4S+",
        processor: processor("AL73400", 16, Some(2_000)),
        ports: &[
            group(ether(1, 12), 1_000, Unknown, Traffic),
            group(ether(13, 13), 1_000, Unknown, Management),
            group(boards::SFP_PLUS_8.split_at(4).0, 10_000, Unknown, Traffic),
        ],
        price: price(99_500),
        ..UNKNOWN
    },
    Hardware {
        board: "CCR2004-16G-2S+",
        processor: processor("AL32400", 4, Some(1_700)),
        ports: &[
            group(ether(1, 16), 1_000, Unknown, Traffic),
            group(&["sfp-sfpplus1", "sfp-sfpplus2"], 10_000, Unknown, Traffic),
        ],
        price: price(46_500),
        ..UNKNOWN
    },
    Hardware {
        board: "CCR2004-1G-12S+2XS",
        processor: processor("AL32400", 4, Some(1_700)),
        ports: &[
            group(ether(1, 1), 1_000, Unknown, Traffic),
            group(
                boards::CCR2004_12S.split_at(1).1.split_at(12).0,
                10_000,
                Unknown,
                Traffic,
            ),
            group(&["sfp28-1", "sfp28-2"], 25_000, Unknown, Traffic),
        ],
        price: price(59_500),
        ..UNKNOWN
    },
    Hardware {
        board: "CCR1036-8G-2S+",
        aliases: &["CCR1036-8G-2S+EM", "CCR-10368G-2S+"],
        processor: processor("TLR4-03680", 36, Some(1_200)),
        ports: &[
            group(ether(1, 8), 1_000, Direct, Traffic),
            group(&["sfp-sfpplus1", "sfp-sfpplus2"], 10_000, Direct, Traffic),
        ],
        encryption: Encryption {
            engine: Some(true),
            ..NO_RATES
        },
        ..UNKNOWN
    },
    Hardware {
        board: "CCR1072-1G-8S+",
        processor: processor("TILE-Gx8072", 72, None),
        ports: &[
            group(boards::SFP_PLUS_8, 10_000, Direct, Traffic),
            group(ether(1, 1), 1_000, Unknown, Management),
        ],
        encryption: Encryption {
            engine: Some(true),
            ..NO_RATES
        },
        smart_card: Some("full size"),
        ..UNKNOWN
    },
    Hardware {
        board: "CCR1009-8G-1S-1S+",
        processor: processor("TILE-Gx8009", 9, None),
        ports: &[
            group(ether(1, 4), 1_000, Lane, Traffic),
            group(ether(5, 8), 1_000, Direct, Traffic),
            group(&["sfp1"], 1_000, Direct, Traffic),
            group(&["sfp-sfpplus1"], 10_000, Direct, Traffic),
        ],
        encryption: Encryption {
            engine: Some(true),
            ..NO_RATES
        },
        smart_card: Some("SIM size"),
        ..UNKNOWN
    },
    Hardware {
        board: "CCR1009-7G-1C-1S+",
        processor: processor("TILE-Gx8009", 9, None),
        ports: &[
            group(ether(1, 7), 1_000, Direct, Traffic),
            group(&["combo1"], 1_000, Direct, Traffic),
            group(&["sfp-sfpplus1"], 10_000, Direct, Traffic),
        ],
        encryption: Encryption {
            engine: Some(true),
            ..NO_RATES
        },
        smart_card: Some("SIM size"),
        ..UNKNOWN
    },
    Hardware {
        board: "RB850Gx2",
        aliases: &["RB850"],
        ports: &[group(ether(1, 5), 1_000, Lane, Traffic)],
        encryption: Encryption {
            engine: Some(true),
            ..NO_RATES
        },
        ..UNKNOWN
    },
    Hardware {
        board: "wAP ac",
        aliases: &["RBwAPG-5HacT2HnT"],
        ports: &[
            group(ether(1, 1), 1_000, Direct, Traffic),
            group(&["wlan1"], 300, Direct, Radio),
            group(&["wlan2"], 1_300, Direct, Radio),
        ],
        ..UNKNOWN
    },
    Hardware {
        board: "SXT LTE",
        ..UNKNOWN
    },
];
