//! `/system/logging`: log rules and destinations.

use menu::{
    Builtin, Command, Effect, ExportSelector, Family, Flag, Item, Kind, Menu, MenuShape,
    OldProperty, Property, Value,
};

use crate::declare::{AS_VALUE, between, no, required_argument, text, yes};
use crate::fragment::{COMMENT, COMMENT_DISABLED};
use crate::spelling::HOST;

/// Log topics.
const TOPICS: &[&str] = &[
    "account",
    "acme-client",
    "amt",
    "async",
    "backup",
    "bfd",
    "bgp",
    "bridge",
    "calc",
    "caps",
    "certificate",
    "clock",
    "container",
    "critical",
    "ddns",
    "debug",
    "dhcp",
    "discover",
    "disk",
    "dns",
    "dot1x",
    "dude",
    "e-mail",
    "error",
    "event",
    "evpn",
    "fetch",
    "firewall",
    "gps",
    "gsm",
    "health",
    "hotspot",
    "igmp-proxy",
    "info",
    "interface",
    "ipsec",
    "iscsi",
    "isdn",
    "isis",
    "kvm",
    "l2tp",
    "ldp",
    "lora",
    "lte",
    "macsec",
    "manager",
    "mme",
    "mpls",
    "mqtt",
    "mvrp",
    "natpmp",
    "netinstall",
    "netwatch",
    "ntp",
    "ospf",
    "ospfv3",
    "ovpn",
    "packet",
    "pim",
    "poe-in",
    "poe-out",
    "ppp",
    "pppoe",
    "pptp",
    "ptp",
    "queue",
    "radius",
    "radvd",
    "raw",
    "read",
    "rip",
    "romon",
    "route",
    "rpki",
    "rproxy",
    "rsvp",
    "script",
    "sertcp",
    "simulator",
    "smb",
    "snmp",
    "socksify",
    "ssh",
    "ssld",
    "sstp",
    "state",
    "store",
    "stp",
    "system",
    "telephony",
    "tftp",
    "timer",
    "tr069",
    "update",
    "upnp",
    "ups",
    "vpls",
    "vrrp",
    "warning",
    "watchdog",
    "web-proxy",
    "wiliot",
    "wireguard",
    "wireless",
    "write",
    "zerotier",
];

/// A default rule.
const fn rule(topics: &'static str, action: &'static str) -> [(&'static str, &'static str); 2] {
    [("topics", topics), ("action", action)]
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new(
                "topics",
                Kind::List(&Kind::Not(&Kind::Words(TOPICS))),
                "Topics that a message must have; ! excludes a topic",
            )
            .default("info"),
            text("prefix", "Text to put before the message"),
            text("regex", "Expression that the message must match"),
            Property::new(
                "action",
                Kind::Reference("logging-action"),
                "Action for messages",
            )
            .default("memory"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[
        Flag::new('*', "default", 0),
        Flag::new('D', "dynamic", 0),
        Flag::new('X', "disabled", 1),
        Flag::new('I', "invalid", 1),
    ],
    columns: &["topics", "action", "prefix"],
    pick: ExportSelector::Number,
    builtin: &[
        Builtin {
            values: &rule("info", "memory"),
        },
        Builtin {
            values: &rule("error", "memory"),
        },
        Builtin {
            values: &rule("warning", "memory"),
        },
        Builtin {
            values: &rule("critical", "echo"),
        },
    ],
    ..Menu::new("/system/logging", MenuShape::List, "Logging rules")
};

/// `remember` is meaningless for messages sent to a remote server.
fn of_a_console(item: &Item, name: &str) -> bool {
    name == "remember" && item.get("target").and_then(Value::as_str) == Some("remote")
}

pub(crate) static ACTION: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the action").required(),
        Property::new(
            "target",
            Kind::Words(&["disk", "echo", "email", "memory", "remote", "script"]),
            "Type of the action",
        )
        .default("memory"),
        Property::new(
            "memory-lines",
            between(1, 65_535),
            "Number of messages kept in memory",
        )
        .default("1000"),
        no(
            "memory-stop-on-full",
            "Stop at the limit instead of discarding the oldest messages",
        ),
        Property::new("disk-file-name", Kind::Text, "Prefix of the file names").default("log"),
        Property::new(
            "disk-lines-per-file",
            between(1, 65_535),
            "Number of messages per file",
        )
        .default("1000"),
        Property::new("disk-file-count", between(1, 65_535), "Number of files").default("2"),
        no(
            "disk-stop-on-full",
            "Stop at the limit instead of discarding the oldest files",
        ),
        Property::new("remote", HOST, "Address of the log server").default("0.0.0.0"),
        Property::new("remote-port", between(1, 65_535), "The server's port").default("514"),
        Property::new(
            "src-address",
            Kind::Address(Family::Any),
            "Source address of messages",
        )
        .default("0.0.0.0"),
        Property::new(
            "remote-log-format",
            Kind::Words(&["default", "syslog", "cef"]),
            "Format of messages to a log server",
        )
        .default("default"),
        Property::new(
            "remote-protocol",
            Kind::Words(&["udp", "tcp", "tls"]),
            "Protocol of messages to a log server",
        )
        .default("udp"),
        no("check-certificate", "Verify the server's certificate"),
        Property::new(
            "cef-event-delimiter",
            Kind::Text,
            "Separator of messages in CEF",
        )
        .inert(),
        Property::new(
            "syslog-time-format",
            Kind::Words(&["bsd-syslog", "iso8601"]),
            "Format of the time",
        )
        .default("bsd-syslog"),
        Property::new(
            "syslog-facility",
            Kind::Words(&[
                "kern", "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron",
                "authpriv", "ftp", "ntp", "local0", "local1", "local2", "local3", "local4",
                "local5", "local6", "local7",
            ]),
            "Facility of messages",
        )
        .default("daemon"),
        Property::new(
            "syslog-severity",
            Kind::Words(&[
                "auto",
                "emergency",
                "alert",
                "critical",
                "error",
                "warning",
                "notice",
                "info",
                "debug",
            ]),
            "Severity of messages",
        )
        .default("auto"),
        text("email-to", "Recipient of messages by mail"),
        Property::new(
            "email-cc",
            Kind::List(&Kind::Text),
            "Further recipients of messages by mail",
        )
        .default(""),
        no("email-start-tls", "Send mail over TLS"),
        yes("remember", "Keep messages until a console is opened").inert(),
        no("add-topics-string", "Prefix the message with its topics"),
        Property::new("script", Kind::Name, "Script to run for a message")
            .optional()
            .inert(),
        Property::new("vrf", Kind::Name, "The VRF of the server")
            .default("main")
            .inert(),
        COMMENT,
    ]],
    flags: &[Flag::new('*', "default", 0)],
    columns: &["name", "target"],
    space: Some("logging-action"),
    key: Some("name"),
    old: &[
        OldProperty {
            name: "bsd-syslog",
            value: Some("yes"),
            becomes: "remote-log-format",
            with: Some("syslog"),
            makes: None,
        },
        OldProperty::gone("bsd-syslog"),
    ],
    moot: Some(of_a_console),
    pick: ExportSelector::Number,
    builtin: &[
        Builtin {
            values: &[("name", "memory"), ("target", "memory")],
        },
        Builtin {
            values: &[("name", "disk"), ("target", "disk")],
        },
        Builtin {
            values: &[("name", "echo"), ("target", "echo")],
        },
        Builtin {
            values: &[("name", "remote"), ("target", "remote")],
        },
    ],
    commands: &[Command {
        name: "clear",
        help: "Clear the messages kept in memory",
        arguments: &[
            required_argument("action", Kind::Reference("logging-action"), "Action"),
            AS_VALUE,
        ],
        effect: Effect::Full,
        repeats: false,
    }],
    idle: Some(in_vain),
    ..Menu::new("/system/logging/action", MenuShape::List, "Logging actions")
};

/// Returns the missing feature: script targets, or a remote format that is not implemented.
fn in_vain(item: &Item) -> Option<&'static str> {
    let is = |name: &str, words: &[&str]| words.contains(&item.text(name));
    match item.text("target") {
        "script" => Some("logging to a script"),
        "remote" if is("remote-log-format", &["cef"]) => Some("remote-log-format=cef"),
        _ => None,
    }
}
