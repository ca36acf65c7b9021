//! `/radius`: RADIUS servers.

use menu::{Family, Flag, Kind, Menu, MenuShape, Property};

use crate::declare::{MONITORED, MONITORED_ITEMS, PORT, command, nanoseconds, no, shown, text};
use crate::fragment::{COMMENT_DISABLED, SECOND};
use crate::spelling::HOST;

/// Services that send no requests have no effect.
fn asks_nothing(services: &str) -> bool {
    let mut services = services.split(',');
    services.any(|service| !matches!(service, "dhcp" | "ipsec" | "login" | "ppp"))
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new(
                "service",
                Kind::List(&Kind::Words(&[
                    "ppp", "login", "hotspot", "wireless", "dhcp", "ipsec", "dot1x",
                ])),
                "Services that use the server",
            )
            .required()
            .inert_for(asks_nothing),
            text("called-id", "Required called identifier"),
            text("domain", "Windows domain sent to the server"),
            Property::new("address", HOST, "The server").required(),
            text("secret", "Secret shared with the server").sensitive(),
            Property::new("authentication-port", PORT, "Port for authentication").default("1812"),
            Property::new("accounting-port", PORT, "Port for accounting").default("1813"),
            Property::new(
                "timeout",
                nanoseconds(SECOND / 100, 60 * SECOND),
                "Timeout of a request",
            )
            .default("1s100ms"),
            Property::new(
                "radsec-timeout",
                nanoseconds(SECOND / 100, 60 * SECOND),
                "Timeout of a request over TLS",
            )
            .default("3s300ms"),
            no(
                "accounting-backup",
                "Use the server only if others do not answer",
            ),
            text("realm", "Realm of the users"),
            Property::new(
                "src-address",
                Kind::Address(Family::Any),
                "Address to ask from",
            )
            .optional(),
            Property::new(
                "protocol",
                Kind::Words(&["udp", "radsec"]),
                "Protocol: UDP or TLS",
            )
            .default("udp"),
            Property::new(
                "certificate",
                Kind::Or(&["none"], &Kind::Reference("certificate")),
                "Own certificate",
            )
            .default("none"),
            Property::new(
                "require-message-auth",
                Kind::Words(&["no", "yes-for-request-resp"]),
                "Require a message authenticator in every answer",
            )
            .default("yes-for-request-resp"),
            shown("status", Kind::Text, "Status"),
        ],
        COMMENT_DISABLED,
    ],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["service", "address", "secret"],
    commands: &[
        command(
            "monitor",
            "Show what was asked and answered",
            MONITORED_ITEMS,
        )
        .repeating(),
        command("reset-counters", "Set the counters to zero", &[]),
    ],
    ..Menu::new("/radius", MenuShape::Ordered, "RADIUS servers")
};

pub(crate) static INCOMING: Menu = Menu {
    properties: &[&[
        no("accept", "Whether servers may end or change sessions"),
        Property::new("port", PORT, "Port of the requests").default("3799"),
        Property::new("vrf", Kind::Name, "The VRF of the servers")
            .default("main")
            .inert_for(|vrf| vrf != "main"),
    ]],
    commands: &[
        command("monitor", "Show statistics of requests", MONITORED).repeating(),
        command("reset-counters", "Set the counters to zero", &[]),
    ],
    ..Menu::new(
        "/radius/incoming",
        MenuShape::Settings,
        "Requests of RADIUS servers",
    )
};
