//! `/ip/dhcp-relay`: DHCP relays (RFC 3046).

use menu::{Argument, Command, Kind, Menu, MenuShape, Property};

use crate::declare::{
    DISABLED_INVALID, IPV4, NONE_OR_SPAN, command, no, on_items, text, with_default,
};
use crate::fragment::{COMMENT_DISABLED, counter, interface};

/// Commands to monitor relays and to reset their counters.
pub(crate) const COMMANDS: &[Command] = &[
    const { command("monitor", "Monitor requests and answers", MONITOR).repeating() },
    on_items("reset-counters", "Reset counters"),
];
const MONITOR: &[Argument] = &[crate::interface::NUMBERS, crate::interface::ONCE];
/// Minimum time that a client must have been waiting before the relay forwards its requests.
pub(crate) const THRESHOLD: Property = with_default(
    "delay-threshold",
    NONE_OR_SPAN,
    "none",
    "Minimum time since the client's first request",
);

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the relay"),
            interface("The interface on which requests are received"),
            Property::new("dhcp-server", Kind::List(&IPV4), "DHCP servers").required(),
            with_default(
                "dhcp-server-vrf",
                Kind::Reference("routing-table"),
                "main",
                "The VRF of the servers",
            )
            .inert(),
            THRESHOLD,
            with_default("local-address", IPV4, "0.0.0.0", "The relay's address"),
            no("add-relay-info", "Add relay agent information (option 82)"),
            text("relay-info-remote-id", "Remote ID of option 82"),
            no(
                "local-address-as-src-ip",
                "Send requests from the relay's local address",
            ),
            counter("requests", "Number of forwarded requests"),
            counter("responses", "Number of forwarded replies"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID,
    columns: &["name", "interface", "dhcp-server", "local-address"],
    stats: &["name", "requests", "responses"],
    space: Some("dhcp-relay"),
    key: Some("name"),
    kind: "relay",
    commands: COMMANDS,
    ..Menu::new("/ip/dhcp-relay", MenuShape::List, "DHCP relay settings")
};
