//! Types shared by the wireless packages.

use menu::Kind;

/// Bands and standards of the older packages.
pub(crate) const BANDS: &[&str] = &[
    "2ghz-10mhz",
    "2ghz-5mhz",
    "2ghz-b",
    "2ghz-b/g",
    "2ghz-b/g/n",
    "2ghz-g/n",
    "2ghz-g-turbo",
    "2ghz-onlyg",
    "2ghz-onlyn",
    "5ghz-10mhz",
    "5ghz-5mhz",
    "5ghz-a",
    "5ghz-a/n",
    "5ghz-a/n/ac",
    "5ghz-n/ac",
    "5ghz-onlyac",
    "5ghz-onlyn",
    "5ghz-turbo",
];

/// Channel widths; `C` marks the control channel.
pub(crate) const WIDTHS: &[&str] = &[
    "5mhz",
    "10mhz",
    "20mhz",
    "40mhz-turbo",
    "20/40mhz-Ce",
    "20/40mhz-eC",
    "20/40mhz-XX",
    "20/40mhz-ht-above",
    "20/40mhz-ht-below",
    "20/40/80mhz-Ceee",
    "20/40/80mhz-eCee",
    "20/40/80mhz-eeCe",
    "20/40/80mhz-eeeC",
    "20/40/80mhz-XXXX",
    "20/40/80/160mhz-Ceeeeeee",
    "20/40/80/160mhz-eCeeeeee",
    "20/40/80/160mhz-eeCeeeee",
    "20/40/80/160mhz-eeeCeeee",
    "20/40/80/160mhz-eeeeCeee",
    "20/40/80/160mhz-eeeeeCee",
    "20/40/80/160mhz-eeeeeeCe",
    "20/40/80/160mhz-eeeeeeeC",
    "20/40/80/160mhz-XXXXXXXX",
];

/// Antenna chains; also priorities.
pub(crate) const CHAINS: Kind = Kind::Number { min: 0, max: 7 };

/// 802.11b rates.
pub(crate) const RATES_B: Kind = Kind::Words(&["1Mbps", "2Mbps", "5.5Mbps", "11Mbps"]);

/// 802.11a and 802.11g rates.
pub(crate) const RATES_AG: Kind = Kind::Words(&[
    "6Mbps", "9Mbps", "12Mbps", "18Mbps", "24Mbps", "36Mbps", "48Mbps", "54Mbps",
]);

/// 802.11a, b and g rates.
pub(crate) const RATES: Kind = Kind::Words(&[
    "1Mbps", "2Mbps", "5.5Mbps", "11Mbps", "6Mbps", "9Mbps", "12Mbps", "18Mbps", "24Mbps",
    "36Mbps", "48Mbps", "54Mbps",
]);

/// 802.11n rates.
pub(crate) const MCS: Kind = Kind::Words(&[
    "mcs-0", "mcs-1", "mcs-2", "mcs-3", "mcs-4", "mcs-5", "mcs-6", "mcs-7", "mcs-8", "mcs-9",
    "mcs-10", "mcs-11", "mcs-12", "mcs-13", "mcs-14", "mcs-15", "mcs-16", "mcs-17", "mcs-18",
    "mcs-19", "mcs-20", "mcs-21", "mcs-22", "mcs-23", "mcs-24", "mcs-25", "mcs-26", "mcs-27",
    "mcs-28", "mcs-29", "mcs-30", "mcs-31",
]);

/// 802.11ac rates, for one stream or for up to four streams.
pub(crate) const VHT_MCS: Kind = Kind::Either(&Kind::Words(VHT), &Kind::List(&Kind::Words(VHT)));
/// CAPsMAN spells the rates differently, without a hyphen after `mcs`.
const VHT: &[&str] = &[
    "mcs-0-7", "mcs-0-8", "mcs-0-9", "mcs0-7", "mcs0-8", "mcs0-9", "none",
];

/// Signal strength range in dBm.
pub(crate) const SIGNAL: Kind = Kind::Range(
    "..",
    &Kind::Number {
        min: -128,
        max: 127,
    },
);

/// IPv4 availability (IEEE 802.11u).
pub(crate) const IPV4: &[&str] = &[
    "double-nated",
    "not-available",
    "port-restricted",
    "port-restricted-double-nated",
    "port-restricted-single-nated",
    "public",
    "single-nated",
    "unknown",
];

/// IPv6 availability (IEEE 802.11u).
pub(crate) const IPV6: &[&str] = &["available", "not-available", "unknown"];

/// Network types (IEEE 802.11u).
pub(crate) const NETWORKS: &[&str] = &[
    "emergency-only",
    "experimental",
    "free-public",
    "personal-device",
    "private",
    "private-with-guest",
    "chargeable-public",
    "public-chargeable",
    "public-free",
    "test",
    "wildcard",
];
