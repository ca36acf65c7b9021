//! Test results of RouterOS's maker, as its talks of 2018 and 2019 and a brochure print them.

use crate::rates::{Forwarding, SUITES, SoftwareRate, SuiteRates, Tunnels};

pub(crate) static HEX: Forwarding = Forwarding {
    bridging: [162.4, 443.7, 1039.1],
    bridge_filter: [162.4, 168.1, 174.3],
    routing: [162.4, 444.4, 1035.0],
    queues: [162.4, 179.6, 171.4],
    filter: [92.9, 94.1, 93.8],
    rules_are_guessed: false,
};
pub(crate) static RB3011: Forwarding = Forwarding {
    bridging: [325.0, 939.8, 1530.2],
    bridge_filter: [325.0, 384.2, 348.6],
    routing: [325.0, 939.8, 1437.6],
    queues: [325.0, 419.6, 419.7],
    filter: [202.0, 204.1, 188.4],
    rules_are_guessed: false,
};
pub(crate) static RB1100AHX2: Forwarding = Forwarding {
    bridging: [406.0, 704.0, 1690.0],
    bridge_filter: [308.0, 396.0, 412.0],
    routing: [345.0, 704.0, 1495.0],
    queues: [258.0, 616.0, 654.0],
    filter: [243.0, 262.0, 278.0],
    rules_are_guessed: false,
};
pub(crate) static RB1100AHX4: Forwarding = Forwarding {
    bridging: [606.5, 1736.4, 5509.7],
    bridge_filter: [606.5, 1107.8, 1153.2],
    routing: [606.5, 1736.4, 5092.3],
    queues: [606.5, 933.6, 960.3],
    filter: [543.7, 561.8, 564.6],
    rules_are_guessed: true,
};
pub(crate) static HAP_AC: Forwarding = Forwarding {
    bridging: [161.9, 345.5, 435.6],
    bridge_filter: [125.5, 126.5, 128.8],
    routing: [161.9, 334.2, 397.9],
    queues: [161.9, 183.9, 203.3],
    filter: [78.1, 77.8, 77.5],
    rules_are_guessed: false,
};
pub(crate) static RB4011: Forwarding = Forwarding {
    bridging: [806.4, 2312.9, 5509.7],
    bridge_filter: [806.4, 1037.4, 1153.2],
    routing: [806.4, 1923.3, 5092.3],
    queues: [806.4, 1046.6, 960.3],
    filter: [593.7, 625.2, 564.6],
    rules_are_guessed: false,
};

const fn one(kpps: [f64; 3]) -> SuiteRates {
    SuiteRates {
        tunnels: Tunnels::One,
        suite: SUITES[0],
        kpps,
        is_guessed: false,
    }
}

const fn many(suite: usize, kpps: [f64; 3]) -> SuiteRates {
    SuiteRates {
        tunnels: Tunnels::Many,
        suite: SUITES[suite],
        kpps,
        is_guessed: false,
    }
}

const fn guessed(suite: usize, kpps: [f64; 3]) -> SuiteRates {
    SuiteRates {
        is_guessed: true,
        ..many(suite, kpps)
    }
}

pub(crate) static HEX_IPSEC: &[SuiteRates] = &[
    one([41.9, 42.3, 41.5]),
    many(0, [41.9, 43.7, 42.7]),
    many(1, [42.2, 44.4, 42.7]),
    many(2, [32.0, 40.0, 40.5]),
    many(3, [32.1, 39.7, 40.5]),
];
pub(crate) static RB1100AHX2_IPSEC: &[SuiteRates] = &[
    one([74.0, 83.9, 89.1]),
    many(0, [86.9, 93.5, 95.7]),
    many(1, [86.9, 93.5, 95.7]),
    many(2, [85.7, 92.5, 95.6]),
    many(3, [85.7, 92.5, 95.6]),
];
/// The source prints the last rows without their names; this assignment is the most plausible one.
pub(crate) static RB1100AHX4_IPSEC: &[SuiteRates] = &[
    one([122.0, 124.9, 127.0]),
    many(0, [192.7, 200.5, 203.4]),
    many(1, [192.4, 200.5, 203.4]),
    guessed(2, [180.0, 188.2, 190.3]),
    guessed(3, [180.0, 188.2, 190.3]),
    guessed(4, [192.7, 202.2, 203.4]),
];

const fn software(tunnel: &'static str, mbps: f64, processor_percent: u32) -> SoftwareRate {
    SoftwareRate {
        tunnel,
        mbps,
        processor_percent,
    }
}

/// hAP ac, SMB over TCP (talk on VPNs, 2016).
pub(crate) static HAP_AC_SOFTWARE: &[SoftwareRate] = &[
    software("PPTP with MPPE-128", 97.44, 99),
    software("IPsec with aes-128-cbc+sha1", 47.19, 99),
    software("IPsec with aes-256-cbc+sha1", 39.32, 99),
    software("OpenVPN with aes-128-cbc+sha1", 24.56, 65),
    software("OpenVPN with aes-256-cbc+sha1", 22.35, 70),
    software("SSTP with aes-256-cbc", 15.0, 50),
];
