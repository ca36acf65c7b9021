//! `/app`: applications in containers.

use menu::{Effect, Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{
    DISABLED_SWITCH, NUMBERS, U32, argument, between, idle_command, no, shown, text, yes,
};

/// Application settings, as a list of texts.
const PAIRS: Kind = Kind::List(&Kind::Text);

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("container-command-lines", PAIRS, "Container command lines").default(""),
        no("auto-update", "Update the application automatically"),
        yes("use-https", "Serve the web page over TLS"),
        Property::new(
            "network",
            Kind::Or(
                &["default", "exclude-lan", "host", "internal", "lan"],
                &Kind::Name,
            ),
            "Network of the application",
        )
        .default("default"),
        Property::new("network-pvid", between(0, 4_095), "VLAN of untagged frames").optional(),
        yes("network-outgoing-access", "Network outgoing access"),
        Property::new("firewall-redirects", PAIRS, "Firewall redirects").default(""),
        Property::new(
            "yaml",
            Kind::Filled,
            "Description of a user-defined application, in YAML",
        )
        .optional(),
        Property::new("required-mounts", PAIRS, "Required mounts").default(""),
        Property::new("extra-mounts", PAIRS, "Extra mounts").default(""),
        Property::new("environment", PAIRS, "Variables").default(""),
        Property::new("secrets", PAIRS, "Secrets").default(""),
        Property::new("required-hw-devices", PAIRS, "Required hardware devices").default(""),
        Property::new("devices", PAIRS, "Devices").default(""),
        shown("app-store-url", Kind::Text, "App store URL"),
        shown("name", Kind::Text, "Name"),
        shown("description", Kind::Text, "Description"),
        shown("project-page", Kind::Text, "Project page"),
        shown("category", Kind::Text, "Category"),
        shown("ui-url", Kind::Text, "URL of the web interface"),
        shown("default-credentials", Kind::Text, "Default credentials"),
        shown("status", Kind::Text, "Status"),
        shown("default-network", Kind::Text, "Default network"),
        shown(
            "interface",
            Kind::Or(&["none"], &Kind::Reference("interface")),
            "Interface",
        ),
        shown("ip-address", Kind::Address(Family::V4), "IP address"),
        shown("cmds", Kind::List(&Kind::Text), "Cmds"),
        shown("cpu-usage", U32, "CPU usage"),
        shown("memory-current", U32, "Memory in use"),
        shown("app-size", U32, "App size"),
        shown("data-size", U32, "Data size"),
        shown("configs", Kind::Text, "Configs"),
        shown(
            "variables-to-use-in-environment",
            Kind::Text,
            "Variables to use in environment",
        ),
        DISABLED_SWITCH,
    ]],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('R', "running", 1),
        Flag::new('c', "custom", 2),
        Flag::new('s', "from-app-store", 3),
    ],
    key: Some("name"),
    parts: 256,
    columns: &["name", "category", "status"],
    commands: &[
        idle_command("cleanup", "Remove leftover data", &[NUMBERS]),
        idle_command("restart", "Stop and start again", &[NUMBERS]),
        idle_command("setup", "Set up applications", &[]),
        idle_command("update", "Fetch newer versions", &[NUMBERS]),
    ],
    effect: Effect::None,
    ..Menu::new("/app", MenuShape::List, "Applications")
};

pub(crate) static NETWORK: Menu = Menu {
    properties: &[&[
        shown("name", Kind::Text, "Name"),
        shown("allow-outgoing-access", Kind::Bool, "Allow outgoing access"),
        shown("network", Kind::Address(Family::V4), "Network"),
        shown("ip", Kind::Address(Family::V4), "IP"),
        shown("status", Kind::Text, "Status"),
        shown("used-ips", Kind::Text, "IP addresses in use"),
        shown(
            "bridge-interface",
            Kind::Or(&["none"], &Kind::Reference("interface")),
            "Bridge interface",
        ),
        shown("cmds", Kind::List(&Kind::Text), "Cmds"),
    ]],
    flags: &[Flag::new('e', "external", 1), Flag::new('I', "invalid", 1)],
    columns: &["name", "network", "ip"],
    commands: &[idle_command(
        "reset",
        "Reset item properties to their defaults",
        &[
            argument("allow-outgoing-access", Kind::Bool, "Allow outgoing access"),
            argument("name", Kind::Text, "Name"),
            NUMBERS,
        ],
    )],
    effect: Effect::None,
    ..Menu::new("/app/network", MenuShape::Rows, "Networks of applications")
};

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[
        Property::new(
            "disk",
            Kind::Or(&["none"], &Kind::Reference("disk")),
            "Disk of applications",
        )
        .default("none"),
        Property::new(
            "router-ip",
            Kind::Address(Family::V4),
            "Router address for applications",
        )
        .default("0.0.0.0"),
        Property::new(
            "lan-bridge",
            Kind::Or(&["none"], &Kind::Reference("interface")),
            "Bridge of the local network",
        )
        .default("none"),
        text("media-path", "Folder of media"),
        text("download-path", "Folder of downloads"),
        yes("show-in-webfig", "Show applications in WebFig"),
        no("auto-update", "Update the application automatically"),
        Property::new(
            "registry-mirrors",
            Kind::List(&Kind::Text),
            "Alternative image registry",
        )
        .default(""),
        Property::new(
            "app-store-urls",
            Kind::List(&Kind::Text),
            "URLs of additional application lists",
        )
        .default(""),
        shown(
            "assumed-router-ip",
            Kind::Address(Family::V4),
            "Assumed router IP",
        ),
        shown(
            "assumed-lan-bridge",
            Kind::Or(&["none"], &Kind::Reference("interface")),
            "Assumed lan bridge",
        ),
        shown("assumed-media-path", Kind::Text, "Assumed media path"),
        shown("assumed-download-path", Kind::Text, "Assumed download path"),
        shown("certificate-status", Kind::Text, "Certificate status"),
        shown("certificate", Kind::Words(&["none"]), "Certificate"),
    ]],
    effect: Effect::None,
    ..Menu::new(
        "/app/settings",
        MenuShape::Settings,
        "Settings of applications",
    )
};
