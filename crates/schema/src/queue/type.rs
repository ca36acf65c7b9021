//! `/queue/type`: queue types.

use menu::{Builtin, ExportSelector, Flag, Item, Kind, Menu, MenuShape, Property, Unique, Value};

use crate::declare::{list, named, no, number, span, within, words, yes};
use crate::fragment::COMMENT;

const KINDS: &[&str] = &[
    "bfifo", "cake", "codel", "fq-codel", "mq-pfifo", "none", "pcq", "pfifo", "red", "sfq",
];
const CLASSES: Kind = Kind::Words(&["dst-address", "dst-port", "src-address", "src-port"]);
const U32: i64 = 4_294_967_295;

const fn count(name: &'static str, default: &'static str, help: &'static str) -> Property {
    number(name, 0, U32, help).default(default)
}

const fn rate(name: &'static str, help: &'static str) -> Property {
    Property::new(name, Kind::Rate, help).default("0")
}

const SIMPLE: &[Property] = &[
    count("pfifo-limit", "50", "Queue length in packets"),
    count("bfifo-limit", "15000", "Queue length in bytes"),
    count(
        "mq-pfifo-limit",
        "50",
        "Queue length in packets, for each hardware queue",
    ),
    count("red-limit", "60", "Queue length in packets"),
    count(
        "red-min-threshold",
        "10",
        "Average queue length at which dropping begins",
    ),
    count(
        "red-max-threshold",
        "50",
        "Average queue length at which dropping is most likely",
    ),
    count("red-burst", "20", "Burst size in packets"),
    count("red-avg-packet", "1000", "Average packet size in bytes"),
    count(
        "sfq-perturb",
        "5",
        "Interval in seconds at which the flow hash changes",
    ),
    count("sfq-allot", "1514", "Bytes sent per round and flow"),
];

const PCQ: &[Property] = &[
    rate("pcq-rate", "Rate of each subqueue; 0: no limit"),
    Property::new("pcq-limit", Kind::Kib, "Length of each subqueue").default("50KiB"),
    list("pcq-classifier", &CLASSES, "Classifier of subqueues").default(""),
    Property::new(
        "pcq-total-limit",
        Kind::Kib,
        "Total length of all subqueues",
    )
    .default("2000KiB"),
    rate("pcq-burst-rate", "Burst rate of each subqueue"),
    rate("pcq-burst-threshold", "Average rate above which bursts end"),
    within(
        "pcq-burst-time",
        1_000,
        U32 * 1_000,
        "Averaging time of the burst threshold",
    )
    .default("10s"),
    number(
        "pcq-src-address-mask",
        0,
        32,
        "Prefix length of IPv4 sources",
    )
    .default("32"),
    number(
        "pcq-dst-address-mask",
        0,
        32,
        "Prefix length of IPv4 destinations",
    )
    .default("32"),
    number(
        "pcq-src-address6-mask",
        0,
        128,
        "Prefix length of IPv6 sources",
    )
    .default("128"),
    number(
        "pcq-dst-address6-mask",
        0,
        128,
        "Prefix length of IPv6 destinations",
    )
    .default("128"),
];

const CODEL: &[Property] = &[
    count("codel-limit", "1000", "Queue length in packets"),
    span("codel-target", "Target delay").default("5ms"),
    span(
        "codel-interval",
        "Interval in which the target delay may be exceeded",
    )
    .default("100ms"),
    no("codel-ecn", "Mark packets (ECN) before dropping them"),
    span("codel-ce-threshold", "Delay at which packets are marked").optional(),
    count("fq-codel-limit", "10240", "Queue length in packets"),
    count("fq-codel-flows", "1024", "Number of flow queues"),
    span("fq-codel-target", "Target delay").default("5ms"),
    span(
        "fq-codel-interval",
        "Interval in which the target delay may be exceeded",
    )
    .default("100ms"),
    count("fq-codel-quantum", "1514", "Bytes sent per round and flow"),
    yes("fq-codel-ecn", "Mark packets (ECN) before dropping them"),
    count("fq-codel-memlimit", "33554432", "Memory limit in bytes").unit("B"),
    span("fq-codel-ce-threshold", "Delay at which packets are marked").optional(),
];

const CAKE: &[Property] = &[
    rate("cake-bandwidth", "Rate of the shaper; 0: no limit"),
    no(
        "cake-autorate-ingress",
        "Estimate the rate from received traffic",
    )
    .inert(),
    words(
        "cake-atm",
        &["atm", "none", "ptm"],
        "Cell compensation of the line (ATM or PTM)",
    )
    .default("none"),
    number("cake-overhead", -64, 256, "Overhead of the line in bytes").default("0"),
    number("cake-mpu", 0, 256, "Minimum packet size in bytes").default("0"),
    list(
        "cake-overhead-scheme",
        &Kind::Words(OVERHEAD),
        "Preset for the line type and its overhead",
    )
    .optional(),
    span("cake-rtt", "Expected round-trip time").default("100ms"),
    words("cake-rtt-scheme", RTT, "Preset of the round-trip time").optional(),
    words("cake-diffserv", DIFFSERV, "Priority scheme").default("diffserv3"),
    words("cake-flowmode", FLOWS, "Flow isolation mode").default("triple-isolate"),
    no("cake-nat", "Isolate hosts by their addresses before NAT").inert(),
    no("cake-wash", "Clear the DSCP"),
    words(
        "cake-ack-filter",
        &["aggressive", "filter", "none"],
        "Drop redundant acknowledgements",
    )
    .default("none"),
    count("cake-memlimit", "0", "Memory limit in bytes; 0: automatic").unit("B"),
];

const OVERHEAD: &[&str] = &[
    "bridged-llcsnap",
    "bridged-ptm",
    "bridged-vcmux",
    "conservative",
    "docsis",
    "ether-vlan",
    "ethernet",
    "ipoa-llcsnap",
    "ipoa-vcmux",
    "none",
    "pppoa-llc",
    "pppoa-vcmux",
    "pppoe-llcsnap",
    "pppoe-ptm",
    "pppoe-vcmux",
    "raw",
];
const RTT: &[&str] = &[
    "datacentre",
    "internet",
    "interplanetary",
    "lan",
    "metro",
    "none",
    "oceanic",
    "regional",
    "satellite",
];
const DIFFSERV: &[&str] = &[
    "besteffort",
    "diffserv3",
    "diffserv4",
    "diffserv8",
    "precedence",
];
const FLOWS: &[&str] = &[
    "dsthost",
    "dual-dsthost",
    "dual-srchost",
    "flowblind",
    "flows",
    "hosts",
    "srchost",
    "triple-isolate",
];

const fn kind(values: &'static [(&'static str, &'static str)]) -> Builtin {
    Builtin { values }
}

/// True for properties with the prefix of another kind.
fn of_another_kind(item: &Item, name: &str) -> bool {
    let begins = |kind: &&&str| {
        name.strip_prefix(**kind)
            .is_some_and(|rest| rest.starts_with('-'))
    };
    let kind = KINDS.iter().filter(begins).max_by_key(|kind| kind.len());
    kind.is_some_and(|kind| item.get("kind").and_then(Value::as_str) != Some(kind))
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the type"),
            words("kind", KINDS, "Queue discipline").required(),
        ],
        SIMPLE,
        PCQ,
        CODEL,
        CAKE,
        &[COMMENT],
    ],
    flags: &[Flag::new('*', "default", 0)],
    columns: &["name", "kind"],
    moot: Some(of_another_kind),
    space: Some("queue-type"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "queue type with such name already exists",
    }],
    builtin: &[
        kind(&[("name", "default"), ("kind", "pfifo")]),
        kind(&[("name", "ethernet-default"), ("kind", "pfifo")]),
        kind(&[("name", "wireless-default"), ("kind", "sfq")]),
        kind(&[("name", "synchronous-default"), ("kind", "red")]),
        kind(&[("name", "hotspot-default"), ("kind", "sfq")]),
        kind(&[
            ("name", "pcq-upload-default"),
            ("kind", "pcq"),
            ("pcq-classifier", "src-address"),
        ]),
        kind(&[
            ("name", "pcq-download-default"),
            ("kind", "pcq"),
            ("pcq-classifier", "dst-address"),
        ]),
        kind(&[("name", "only-hardware-queue"), ("kind", "none")]),
        kind(&[
            ("name", "multi-queue-ethernet-default"),
            ("kind", "mq-pfifo"),
        ]),
        kind(&[
            ("name", "default-small"),
            ("kind", "pfifo"),
            ("pfifo-limit", "10"),
        ]),
    ],
    pick: ExportSelector::Number,
    ..Menu::new("/queue/type", MenuShape::List, "Types of queues")
};
