//! `/openflow`: OpenFlow switches.

use menu::{Effect, Flag, Kind, Menu, MenuShape, Property, Spelling};

use crate::declare::{PORT, U32, no, shown};
use crate::fragment::COMMENT_DISABLED;

/// `tcp/10.0.0.1/6653`.
const CONTROLLER: Spelling = Spelling {
    describe: "tcp|tls/ADDRESS/PORT    (controller)",
    canonical: |text| {
        let mut parts = text.splitn(3, '/');
        let known = matches!(parts.next()?, "tcp" | "tls");
        let address = parts.next()?.parse::<std::net::IpAddr>().is_ok();
        let port = parts.next()?.parse::<u16>().is_ok();
        (known && address && port).then(|| text.to_owned())
    },
};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the switch").required(),
            Property::new("datapath-id", Kind::Text, "Identifier of the switch").optional(),
            Property::new(
                "version",
                Kind::Words(&["default", "1", "1.3"]),
                "Version of the protocol",
            )
            .default("default"),
            Property::new("passive-port", PORT, "Port for controllers").default("6633"),
            Property::new(
                "controllers",
                Kind::List(&Kind::Spelled(&CONTROLLER)),
                "Controllers to connect to",
            )
            .default(""),
            Property::new(
                "certificate",
                Kind::Or(&["none"], &Kind::Reference("certificate")),
                "Certificate of the switch",
            )
            .default("none"),
            Property::new(
                "verify-peer",
                Kind::Words(&["required", "none", "if-cert-present"]),
                "Verification of controllers' certificates",
            )
            .default("none"),
            no("isolate-controllers", "Isolate controllers from each other"),
            shown("openflow-fast-path-packets", U32, "Packets by FastPath"),
            shown("openflow-fast-path-bytes", U32, "Bytes by FastPath"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["name", "version", "controllers"],
    space: Some("openflow"),
    key: Some("name"),
    effect: Effect::None,
    ..Menu::new("/openflow", MenuShape::List, "OpenFlow switches")
};

pub(crate) static FLOW: Menu = Menu {
    properties: &[&[
        shown("switch", Kind::Text, "Switch"),
        shown("version", U32, "Version"),
        shown("match", Kind::Text, "Match"),
        shown("actions", Kind::Text, "Actions"),
        shown("info", Kind::Text, "Info"),
        shown("table-id", U32, "Table identifier"),
        shown("bytes", U32, "Bytes"),
        shown("packets", U32, "Packets"),
        shown("duration", Kind::SPAN, "Duration"),
    ]],
    flags: &[Flag::new('I', "inactive", 1)],
    columns: &["switch", "match", "actions"],
    effect: Effect::None,
    ..Menu::new("/openflow/flow", MenuShape::Rows, "Flows")
};

pub(crate) static GROUP: Menu = Menu {
    properties: &[&[
        shown("switch", Kind::Text, "Switch"),
        shown("id", U32, "Identifier"),
        shown(
            "type",
            Kind::Words(&["all", "select", "indirect", "ff"]),
            "Type",
        ),
        shown("bucket-count", U32, "Bucket count"),
        shown("flow-count", U32, "Flow count"),
        shown("buckets", Kind::Text, "Buckets"),
        shown("bytes", U32, "Bytes"),
        shown("packets", U32, "Packets"),
        shown("duration", Kind::SPAN, "Duration"),
        shown("bucket-stats", Kind::Text, "Bucket statistics"),
        shown("group-id", Kind::Text, "Group identifier"),
    ]],
    flags: &[Flag::new('I', "inactive", 1)],
    columns: &["switch", "group-id", "type"],
    effect: Effect::None,
    ..Menu::new("/openflow/group", MenuShape::Rows, "Groups")
};

pub(crate) static METER: Menu = Menu {
    properties: &[&[
        shown("switch", Kind::Text, "Switch"),
        shown("id", U32, "Identifier"),
        shown("band-count", U32, "Band count"),
        shown("bands", Kind::Text, "Bands"),
        shown("bytes", U32, "Bytes"),
        shown("packets", U32, "Packets"),
        shown("duration", Kind::SPAN, "Duration"),
        shown("meter-id", Kind::Text, "Meter identifier"),
    ]],
    flags: &[Flag::new('I', "inactive", 1)],
    columns: &["switch", "meter-id", "bands"],
    effect: Effect::None,
    ..Menu::new("/openflow/meter", MenuShape::Rows, "Meters")
};

pub(crate) static PORTS: Menu = Menu {
    properties: &[
        &[
            Property::new("interface", Kind::Reference("interface"), "The interface").required(),
            Property::new("switch", Kind::Reference("openflow"), "The switch").required(),
            Property::new("port-id", U32, "Number of the port").optional(),
            shown("tx-bytes", U32, "Transmitted bytes"),
            shown("tx-packets", U32, "Transmitted packets"),
            shown("rx-bytes", U32, "Received bytes"),
            shown("rx-packets", U32, "Received packets"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('X', "disabled", 1),
        Flag::new('I', "inactive", 1),
        Flag::new('D', "dynamic", 0),
    ],
    columns: &["switch", "interface", "port-id"],
    effect: Effect::None,
    ..Menu::new("/openflow/port", MenuShape::List, "Ports of switches")
};
