//! `/ip/dhcp-client`: DHCP clients (RFC 2131).

pub(crate) mod option;

use menu::{Kind, Menu, MenuShape, Property, Unique};

use crate::declare::{
    DISABLED_INVALID_DYNAMIC, IPV4, TABLES, between, on_items, optional, shown, with_default, yes,
};
use crate::fragment::{COMMENT_DISABLED, interface};

/// Methods to check the gateway.
pub(crate) const CHECK_GATEWAY: Kind = Kind::Words(&["none", "arp", "ping", "bfd"]);

const LEASE: &[Property] = &[
    shown("status", Kind::Text, "State of the client"),
    shown("address", Kind::Local(menu::Family::V4), "The address"),
    shown("gateway", IPV4, "The gateway"),
    shown("dhcp-server", IPV4, "The server"),
    shown("primary-dns", IPV4, "Primary DNS server"),
    shown("secondary-dns", IPV4, "Secondary DNS server"),
    shown("primary-ntp", IPV4, "Primary NTP server"),
    shown("secondary-ntp", IPV4, "Secondary NTP server"),
    shown("caps-managers", Kind::List(&IPV4), "CAPsMAN addresses"),
    shown("expires-after", Kind::SPAN, "Remaining lease time"),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            Property::new("name", Kind::Name, "Name of the client"),
            interface("Interface on which an address is requested"),
            with_default(
                "add-default-route",
                Kind::Words(&["no", "yes", "special-classless"]),
                "yes",
                "Add a default route",
            ),
            with_default(
                "default-route-distance",
                between(0, 255),
                "1",
                "Distance of the default route",
            ),
            with_default(
                "default-route-tables",
                TABLES,
                "default",
                "Routing tables in which the default route is installed",
            ),
            with_default(
                "check-gateway",
                CHECK_GATEWAY,
                "none",
                "Monitoring of the gateway",
            ),
            yes("use-peer-dns", "Use the DNS servers sent by the server"),
            yes("use-peer-ntp", "Use the NTP servers sent by the server"),
            with_default(
                "allow-reconfigure",
                Kind::Bool,
                "no",
                "Accept reconfigure messages of the server",
            )
            .inert(),
            with_default(
                "vlan-priority",
                between(0, 7),
                "0",
                "VLAN priority of requests",
            )
            .inert(),
            with_default("dscp", between(0, 63), "0", "DSCP of requests"),
            with_default(
                "use-broadcast",
                Kind::Words(&["always", "never", "both"]),
                "both",
                "Request answers by broadcast",
            ),
            with_default(
                "dhcp-options",
                Kind::List(&Kind::Reference("dhcp-client-option")),
                "hostname,clientid",
                "Options to send",
            ),
            with_default(
                "script",
                Kind::Text,
                "",
                "Script to run when the lease changes",
            )
            .script(),
        ],
        LEASE,
        COMMENT_DISABLED,
    ],
    flags: DISABLED_INVALID_DYNAMIC,
    columns: &[
        "interface",
        "use-peer-dns",
        "add-default-route",
        "status",
        "address",
    ],
    space: Some("dhcp-client"),
    key: Some("name"),
    kind: "client",
    unique: &[Unique {
        properties: &["interface"],
        failure: "dhcp-client on that interface already exists",
    }],
    commands: &[
        on_items("release", "Release the address and request a new one"),
        on_items("renew", "Renew the lease"),
    ],
    ..Menu::new("/ip/dhcp-client", MenuShape::List, "DHCP client settings")
};

/// The code of a DHCP option.
pub(crate) const OPTION_CODE: Property =
    optional("code", between(1, 254), "Number of the option (RFC 2132)");
