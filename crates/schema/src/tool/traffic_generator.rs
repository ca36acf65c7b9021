//! `/tool/traffic-generator`: generation of test traffic.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, Policies, Property};

use crate::declare::{
    APPEND, AS_VALUE, DISABLED_SWITCH, DO, DURATION, FILE, FREEZE, INTERVAL, ONCE, PORT, PROPLIST,
    U32, WITHOUT_PAGING, argument, between, command, idle_command, shown, yes,
};
use crate::fragment::COMMENT;

const OFFSETS: Kind = Kind::List(&between(0, 65_535));
const PORT_RANGES: Kind = Kind::List(&Kind::Range("-", &PORT));
const NUMBERS_RANGES: Kind = Kind::List(&Kind::Range("-", &U32));
const BYTES: Kind = Kind::List(&between(0, 255));
const V4_RANGES: Kind = Kind::List(&Kind::Addresses(Family::V4));
const V6_PREFIXES: Kind = Kind::List(&Kind::Prefix(Family::V6));
const MAC_MASKS: Kind = Kind::List(&Kind::Either(
    &Kind::Mac,
    &Kind::Tuple("/", &[Kind::Mac, Kind::Mac]),
));
const MAC_PROTOCOLS: Kind = Kind::List(&Kind::Or(
    &[
        "arp",
        "ip",
        "ipv6",
        "ipx",
        "mpls-multicast",
        "mpls-unicast",
        "pppoe",
        "rarp",
        "service-vlan",
        "vlan",
    ],
    &between(0, 65_535),
));
const IP_PROTOCOLS: Kind = Kind::List(&Kind::Or(
    &[
        "gre",
        "icmp",
        "icmpv6",
        "igmp",
        "ipip",
        "ipsec-ah",
        "ipsec-esp",
        "l2tp",
        "ospf",
        "pim",
        "sctp",
        "tcp",
        "udp",
        "vrrp",
    ],
    &between(0, 255),
));
const STREAMS: Kind = Kind::List(&Kind::Reference("traffic-generator-stream"));
const TEMPLATES: Kind = Kind::List(&Kind::Reference("packet-template"));
const TEST_PORTS: Kind = Kind::List(&Kind::Reference("traffic-generator-port"));
const TEST_PORT: Kind = Kind::Reference("traffic-generator-port");
const RANDOM_RANGES: Kind = Kind::List(&Kind::Tuple(
    ":",
    &[
        between(0, 256),
        Kind::Words(&["8", "16", "32"]),
        Kind::Range("-", &U32),
    ],
));
const OFFSETS_AND_MASKS: Kind = Kind::List(&Kind::Tuple("/", &[between(0, 65_535), Kind::Digits]));

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new(
            "test-id",
            between(0, 255),
            "Identifier in packets of this router",
        )
        .default("0"),
        yes("measure-out-of-order", "Count reordered packets"),
        Property::new(
            "latency-distribution-max",
            Kind::SPAN,
            "Maximum delay of the distribution",
        )
        .default("100us"),
        Property::new("stats-samples-to-keep", U32, "Number of samples kept")
            .default("100")
            .inert(),
        shown("running", Kind::Bool, "Running"),
        shown(
            "latency-distribution-samples",
            U32,
            "Latency distribution samples",
        ),
        shown(
            "latency-distribution-measure-interval",
            Kind::Text,
            "Latency distribution measure interval",
        ),
    ]],
    commands: &[
        command(
            "inject",
            "Send a packet",
            &[
                argument("data", Kind::Text, "Data"),
                argument("interface", Kind::Reference("interface"), "Interface"),
                argument("priority", U32, "Priority"),
            ],
        ),
        idle_command(
            "inject-pcap",
            "Send the packets of a file",
            &[
                APPEND,
                AS_VALUE,
                DO,
                DURATION,
                FILE,
                FREEZE,
                argument("interface", Kind::Reference("interface"), "Interface"),
                INTERVAL,
                argument("loop", Kind::Bool, "Loop"),
                ONCE,
                argument("pcap-file", Kind::Text, "Capture file"),
                PROPLIST,
                argument("speed-multiplier", U32, "Speed multiplier"),
                WITHOUT_PAGING,
            ],
        ),
        command(
            "quick",
            "Send packets and show the packets received",
            &[
                AS_VALUE,
                argument("cpu-core", NUMBERS_RANGES, "CPU core"),
                DURATION,
                argument("entries-to-show", U32, "Entries to show"),
                FREEZE,
                argument("id", Kind::List(&between(0, 255)), "Identifier"),
                argument(
                    "interface",
                    Kind::List(&Kind::Reference("interface")),
                    "Interface",
                ),
                argument("mbps", Kind::List(&U32), "Mbps"),
                argument("measure-out-of-order", Kind::Bool, "Measure out of order"),
                argument("packet-count", Kind::List(&U32), "Packet count"),
                argument("packet-size", NUMBERS_RANGES, "Packet size"),
                argument("port", TEST_PORTS, "Port"),
                argument("pps", Kind::List(&U32), "Pps"),
                PROPLIST,
                argument("stream", STREAMS, "Stream"),
                argument("test-id", U32, "Test identifier"),
                argument("tx-template", TEMPLATES, "Packet template to send"),
                WITHOUT_PAGING,
            ],
        )
        .repeating(),
        command(
            "start",
            "Start sending",
            &[
                argument("cpu-core", NUMBERS_RANGES, "CPU core"),
                argument("id", Kind::List(&between(0, 255)), "Identifier"),
                argument(
                    "interface",
                    Kind::List(&Kind::Reference("interface")),
                    "Interface",
                ),
                argument("mbps", Kind::List(&U32), "Mbps"),
                argument("measure-out-of-order", Kind::Bool, "Measure out of order"),
                argument("packet-count", Kind::List(&U32), "Packet count"),
                argument("packet-size", NUMBERS_RANGES, "Packet size"),
                argument("port", TEST_PORTS, "Port"),
                argument("pps", Kind::List(&U32), "Pps"),
                argument("stream", STREAMS, "Stream"),
                argument("test-id", U32, "Test identifier"),
                argument("tx-template", TEMPLATES, "Packet template to send"),
            ],
        ),
        command("stop", "Stop sending", &[]),
    ],
    // Frames of any sender and content leave the router.
    command_policies: &[
        ("inject", Policies::TEST.or(Policies::WRITE)),
        ("quick", Policies::TEST),
        ("start", Policies::TEST.or(Policies::WRITE)),
        ("stop", Policies::TEST.or(Policies::WRITE)),
    ],
    ..Menu::new(
        "/tool/traffic-generator",
        MenuShape::Settings,
        "Traffic generator",
    )
};

pub(crate) static PACKET_TEMPLATE: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the template"),
        Property::new(
            "header-stack",
            Kind::List(&Kind::Words(&[
                "ip", "ipv6", "mac", "raw", "tcp", "udp", "vlan",
            ])),
            "Headers, outermost first",
        )
        .optional(),
        Property::new("port", TEST_PORT, "Port").optional(),
        Property::new("interface", Kind::Reference("interface"), "Interface").optional(),
        Property::new("mac-src", MAC_MASKS, "MAC source").optional(),
        Property::new("mac-dst", MAC_MASKS, "MAC destination").optional(),
        Property::new("mac-protocol", MAC_PROTOCOLS, "MAC protocol").optional(),
        Property::new("vlan-priority", Kind::List(&between(0, 7)), "VLAN priority").optional(),
        Property::new("vlan-id", Kind::List(&between(0, 4_095)), "VLAN identifier").optional(),
        Property::new("vlan-protocol", MAC_PROTOCOLS, "VLAN protocol").optional(),
        Property::new("ip-dscp", BYTES, "IP DSCP").optional(),
        Property::new("ip-id", OFFSETS, "IP identifier").optional(),
        Property::new("ip-frag-off", OFFSETS, "IP fragment offset").optional(),
        Property::new("ip-ttl", BYTES, "IP TTL").optional(),
        Property::new("ip-src", V4_RANGES, "IP source").optional(),
        Property::new("ip-dst", V4_RANGES, "IP destination").optional(),
        Property::new("ip-protocol", IP_PROTOCOLS, "IP protocol").optional(),
        Property::new("ip-gateway", Kind::Address(Family::V4), "IP gateway").optional(),
        Property::new("udp-src-port", PORT_RANGES, "UDP source port").optional(),
        Property::new("udp-dst-port", PORT_RANGES, "UDP destination port").optional(),
        Property::new("udp-checksum", OFFSETS, "UDP checksum").optional(),
        Property::new("raw-header", Kind::List(&Kind::Digits), "Raw header").optional(),
        Property::new("ipv6-src", V6_PREFIXES, "IPv6 source").optional(),
        Property::new("ipv6-dst", V6_PREFIXES, "IPv6 destination").optional(),
        Property::new("ipv6-next-header", IP_PROTOCOLS, "IPv6 next header").optional(),
        Property::new("ipv6-gateway", Kind::Address(Family::V6), "IPv6 gateway").optional(),
        Property::new("ipv6-traffic-class", BYTES, "IPv6 traffic class").optional(),
        Property::new(
            "ipv6-flow-label",
            Kind::List(&between(0, 0xf_ffff)),
            "IPv6 flow label",
        )
        .optional(),
        Property::new("ipv6-hop-limit", BYTES, "IPv6 hop limit").optional(),
        Property::new("tcp-src-port", PORT_RANGES, "TCP source port").optional(),
        Property::new("tcp-dst-port", PORT_RANGES, "TCP destination port").optional(),
        Property::new("tcp-syn", NUMBERS_RANGES, "TCP sequence number").optional(),
        Property::new("tcp-ack", NUMBERS_RANGES, "TCP acknowledgement number").optional(),
        Property::new(
            "tcp-data-offset",
            Kind::List(&between(0, 15)),
            "TCP data offset",
        )
        .optional(),
        Property::new(
            "tcp-flags",
            Kind::List(&Kind::Words(&[
                "ack", "cwr", "ece", "fin", "ns", "psh", "res0", "res1", "res2", "rst", "syn",
                "urg",
            ])),
            "TCP flags",
        )
        .optional(),
        Property::new("tcp-window-size", OFFSETS, "TCP window size").optional(),
        Property::new("tcp-urgent-pointer", OFFSETS, "TCP urgent pointer").optional(),
        Property::new(
            "data",
            Kind::Words(&["uninitialized", "random", "specific-byte", "incrementing"]),
            "Fill of the data after the headers",
        )
        .default("uninitialized"),
        Property::new(
            "data-byte",
            between(0, 255),
            "Byte that fills the data after the headers",
        )
        .default("0"),
        Property::new(
            "random-byte-offsets-and-masks",
            OFFSETS_AND_MASKS,
            "Random byte offsets and masks",
        )
        .optional(),
        Property::new("random-ranges", RANDOM_RANGES, "Random ranges").optional(),
        yes(
            "special-footer",
            "Append the fields for measuring delay and loss",
        ),
        Property::new("compute-checksum-from-offset", U32, "Start of the checksum").optional(),
        shown("assumed-port", Kind::Words(&["none"]), "Assumed port"),
        shown(
            "assumed-interface",
            Kind::Reference("interface"),
            "Assumed interface",
        ),
        shown(
            "assumed-mac-src",
            Kind::List(&Kind::Mac),
            "Assumed MAC source",
        ),
        shown(
            "assumed-mac-dst",
            Kind::List(&Kind::Mac),
            "Assumed MAC destination",
        ),
        shown("assumed-mac-protocol", Kind::Text, "Assumed MAC protocol"),
        shown(
            "assumed-vlan-priority",
            Kind::List(&U32),
            "Assumed VLAN priority",
        ),
        shown(
            "assumed-vlan-id",
            Kind::List(&U32),
            "Assumed VLAN identifier",
        ),
        shown("assumed-vlan-protocol", Kind::Text, "Assumed VLAN protocol"),
        shown("assumed-ip-dscp", Kind::List(&U32), "Assumed IP DSCP"),
        shown("assumed-ip-id", Kind::List(&U32), "Assumed IP identifier"),
        shown(
            "assumed-ip-frag-off",
            Kind::List(&U32),
            "Assumed IP fragment offset",
        ),
        shown("assumed-ip-ttl", Kind::List(&U32), "Assumed IP TTL"),
        shown(
            "assumed-ip-src",
            Kind::List(&Kind::Address(Family::V4)),
            "Assumed IP source",
        ),
        shown(
            "assumed-ip-dst",
            Kind::List(&Kind::Address(Family::V4)),
            "Assumed IP destination",
        ),
        shown("assumed-ip-protocol", Kind::Text, "Assumed IP protocol"),
        shown(
            "assumed-udp-src-port",
            Kind::List(&U32),
            "Assumed UDP source port",
        ),
        shown(
            "assumed-udp-dst-port",
            Kind::List(&U32),
            "Assumed UDP destination port",
        ),
        shown(
            "assumed-udp-checksum",
            Kind::List(&U32),
            "Assumed UDP checksum",
        ),
        shown(
            "assumed-raw-header",
            Kind::List(&Kind::Text),
            "Assumed raw header",
        ),
        shown(
            "assumed-ipv6-src",
            Kind::List(&Kind::Address(Family::V6)),
            "Assumed IPv6 source",
        ),
        shown(
            "assumed-ipv6-dst",
            Kind::List(&Kind::Address(Family::V6)),
            "Assumed IPv6 destination",
        ),
        shown(
            "assumed-ipv6-next-header",
            Kind::Text,
            "Assumed IPv6 next header",
        ),
        shown(
            "assumed-ipv6-traffic-class",
            Kind::List(&U32),
            "Assumed IPv6 traffic class",
        ),
        shown(
            "assumed-ipv6-flow-label",
            Kind::List(&U32),
            "Assumed IPv6 flow label",
        ),
        shown(
            "assumed-ipv6-hop-limit",
            Kind::List(&U32),
            "Assumed IPv6 hop limit",
        ),
        shown(
            "assumed-tcp-src-port",
            Kind::List(&U32),
            "Assumed TCP source port",
        ),
        shown(
            "assumed-tcp-dst-port",
            Kind::List(&U32),
            "Assumed TCP destination port",
        ),
        shown(
            "assumed-tcp-syn",
            Kind::List(&U32),
            "Assumed TCP sequence number",
        ),
        shown(
            "assumed-tcp-ack",
            Kind::List(&U32),
            "Assumed TCP acknowledgement number",
        ),
        shown(
            "assumed-tcp-data-offset",
            Kind::List(&U32),
            "Assumed TCP data offset",
        ),
        shown("assumed-tcp-flags", Kind::List(&U32), "Assumed TCP flags"),
        shown(
            "assumed-tcp-window-size",
            Kind::List(&U32),
            "Assumed TCP window size",
        ),
        shown(
            "assumed-tcp-urgent-pointer",
            Kind::List(&U32),
            "Assumed TCP urgent pointer",
        ),
        COMMENT,
    ]],
    columns: &["name", "header-stack"],
    space: Some("packet-template"),
    key: Some("name"),
    kind: "template",
    ..Menu::new(
        "/tool/traffic-generator/packet-template",
        MenuShape::List,
        "Templates of packets, by their headers",
    )
};

pub(crate) static PORTS: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the port"),
        Property::new("interface", Kind::Reference("interface"), "The interface").required(),
        shown(
            "first-header",
            Kind::Words(&["mac", "vlan", "ip", "udp", "raw", "ipv6", "tcp"]),
            "First header",
        ),
        DISABLED_SWITCH,
    ]],
    flags: &[
        Flag::new('X', "disabled", 1),
        Flag::new('I', "invalid", 1),
        Flag::new('D', "dynamic", 0),
    ],
    columns: &["name", "interface"],
    space: Some("traffic-generator-port"),
    key: Some("name"),
    kind: "port",
    ..Menu::new(
        "/tool/traffic-generator/port",
        MenuShape::List,
        "Interfaces for sending and receiving",
    )
};

pub(crate) static RAW_TEMPLATE: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the template"),
        Property::new("port", TEST_PORT, "Port").optional(),
        Property::new("header", Kind::Digits, "The header's bytes").optional(),
        Property::new(
            "data",
            Kind::Words(&["uninitialized", "random", "specific-byte", "incrementing"]),
            "Fill of the data after the header",
        )
        .default("uninitialized"),
        Property::new(
            "data-byte",
            between(0, 255),
            "Byte that fills the data after the header",
        )
        .default("0"),
        Property::new(
            "random-byte-offsets-and-masks",
            OFFSETS_AND_MASKS,
            "Random byte offsets and masks",
        )
        .optional(),
        Property::new("random-ranges", RANDOM_RANGES, "Random ranges").optional(),
        Property::new("ip-header-offset", OFFSETS, "IP header offset").optional(),
        Property::new("ipv6-header-offset", OFFSETS, "IPv6 header offset").optional(),
        Property::new("udp-header-offset", OFFSETS, "UDP header offset").optional(),
        Property::new(
            "udp-compute-checksum",
            Kind::List(&Kind::Bool),
            "UDP compute checksum",
        )
        .optional(),
        Property::new("tcp-header-offset", OFFSETS, "TCP header offset").optional(),
        yes(
            "special-footer",
            "Append the fields for measuring delay and loss",
        ),
        Property::new("compute-checksum-from-offset", U32, "Start of the checksum").optional(),
        shown("header-length", U32, "Header length"),
        COMMENT,
    ]],
    flags: &[Flag::new('D', "dynamic", 0)],
    columns: &["name", "port"],
    space: Some("packet-template"),
    key: Some("name"),
    kind: "raw-template",
    ..Menu::new(
        "/tool/traffic-generator/raw-packet-template",
        MenuShape::List,
        "Templates of packets, by their bytes",
    )
};

pub(crate) static STREAM: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the stream"),
        Property::new("port", TEST_PORT, "The port").optional(),
        Property::new("id", between(0, 255), "Number of the stream").default("0"),
        Property::new("packet-size", Kind::Range("-", &PORT), "Size of packets").default("64"),
        Property::new("pps", U32, "Packets per second; 0: as many as possible").default("0"),
        Property::new("mbps", U32, "Megabits per second; 0: as many as possible").default("0"),
        Property::new("packet-count", U32, "Number of packets; 0 for no limit").default("0"),
        Property::new("cpu-core", Kind::Range("-", &PORT), "Processor for sending").optional(),
        Property::new(
            "tx-template",
            Kind::Reference("packet-template"),
            "Template of packets",
        )
        .required(),
        shown("default-port", Kind::Text, "Default port"),
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('X', "disabled", 1), Flag::new('I', "invalid", 1)],
    columns: &[
        "name",
        "port",
        "id",
        "packet-size",
        "pps",
        "mbps",
        "tx-template",
    ],
    space: Some("traffic-generator-stream"),
    key: Some("name"),
    kind: "str",
    ..Menu::new(
        "/tool/traffic-generator/stream",
        MenuShape::List,
        "Streams of packets",
    )
};

pub(crate) static LATENCY: Menu = Menu {
    properties: &[&[
        shown("stream-id", U32, "Stream identifier"),
        shown("port", Kind::Text, "Port"),
        shown("seq", Kind::Text, "Seq"),
        shown("latency", Kind::Text, "Latency"),
        shown("count", U32, "Count"),
        shown("share", U32, "Share"),
        shown("graph", Kind::Text, "Graph"),
    ]],
    columns: &["latency", "count", "share"],
    ..Menu::new(
        "/tool/traffic-generator/stats/latency-distribution",
        MenuShape::Rows,
        "Distribution of delays",
    )
};

pub(crate) static STATS_PORT: Menu = Menu {
    properties: &[&[
        shown("seq", Kind::Words(&["TOT"]), "Seq"),
        shown("port", Kind::Text, "Port"),
        shown("rx-unk-packet", U32, "Received unknown packets"),
        shown("rx-unk-byte", U32, "Received unknown bytes"),
        shown("rx-unk-rate", U32, "Rate of received unknown packets"),
        shown("tx-packet", U32, "Transmitted packets"),
        shown("tx-byte", U32, "Transmitted bytes"),
        shown("tx-rate", U32, "Transmit rate"),
        shown("rx-packet", U32, "Received packets"),
        shown("rx-byte", U32, "Received bytes"),
        shown("rx-rate", U32, "Receive rate"),
        shown("rx-ooo", U32, "Packets received out of order"),
        shown("rx-bad-csum", U32, "Packets received with a bad checksum"),
        shown("lost-packet", U32, "Lost packets"),
        shown("lost-byte", U32, "Lost bytes"),
        shown("lost-rate", U32, "Lost rate"),
        shown("lost-ratio", Kind::Text, "Lost ratio"),
        shown("lat-min", Kind::Text, "Minimum latency"),
        shown("lat-avg", Kind::Text, "Average latency"),
        shown("lat-max", Kind::Text, "Maximum latency"),
        shown("jitter", Kind::Text, "Jitter"),
    ]],
    columns: &["seq", "port", "tx-packet", "rx-packet", "lost-packet"],
    effect: Effect::None,
    ..Menu::new(
        "/tool/traffic-generator/stats/port",
        MenuShape::Rows,
        "Statistics of ports",
    )
};

pub(crate) static STATS_RAW: Menu = Menu {
    properties: &[&[
        shown("seq", Kind::Words(&["TOT"]), "Seq"),
        shown("port", Kind::Text, "Port"),
        shown("id", Kind::Words(&["TOT"]), "Identifier"),
        shown("tx-packet", U32, "Transmitted packets"),
        shown("tx-byte", U32, "Transmitted bytes"),
        shown("tx-rate", U32, "Transmit rate"),
        shown("rx-packet", U32, "Received packets"),
        shown("rx-byte", U32, "Received bytes"),
        shown("rx-rate", U32, "Receive rate"),
        shown("rx-ooo", U32, "Packets received out of order"),
        shown("rx-bad-csum", U32, "Packets received with a bad checksum"),
        shown("lost-packet", U32, "Lost packets"),
        shown("lost-byte", U32, "Lost bytes"),
        shown("lost-rate", U32, "Lost rate"),
        shown("lost-ratio", Kind::Text, "Lost ratio"),
        shown("lat-min", Kind::Text, "Minimum latency"),
        shown("lat-avg", Kind::Text, "Average latency"),
        shown("lat-max", Kind::Text, "Maximum latency"),
        shown("jitter", Kind::Text, "Jitter"),
    ]],
    columns: &["seq", "port", "id", "tx-packet", "rx-packet", "lost-packet"],
    effect: Effect::None,
    ..Menu::new(
        "/tool/traffic-generator/stats/raw",
        MenuShape::Rows,
        "Statistics of streams at each port",
    )
};

pub(crate) static STATS_STREAM: Menu = Menu {
    properties: &[&[
        shown("seq", Kind::Words(&["TOT"]), "Seq"),
        shown("id", Kind::Words(&["TOT"]), "Identifier"),
        shown("tx-packet", U32, "Transmitted packets"),
        shown("tx-byte", U32, "Transmitted bytes"),
        shown("tx-rate", U32, "Transmit rate"),
        shown("rx-packet", U32, "Received packets"),
        shown("rx-byte", U32, "Received bytes"),
        shown("rx-rate", U32, "Receive rate"),
        shown("rx-ooo", U32, "Packets received out of order"),
        shown("rx-bad-csum", U32, "Packets received with a bad checksum"),
        shown("lost-packet", U32, "Lost packets"),
        shown("lost-byte", U32, "Lost bytes"),
        shown("lost-rate", U32, "Lost rate"),
        shown("lost-ratio", Kind::Text, "Lost ratio"),
        shown("lat-min", Kind::Text, "Minimum latency"),
        shown("lat-avg", Kind::Text, "Average latency"),
        shown("lat-max", Kind::Text, "Maximum latency"),
        shown("jitter", Kind::Text, "Jitter"),
    ]],
    columns: &["seq", "id", "tx-packet", "rx-packet", "lost-packet"],
    ..Menu::new(
        "/tool/traffic-generator/stats/stream",
        MenuShape::Rows,
        "Statistics of streams",
    )
};
