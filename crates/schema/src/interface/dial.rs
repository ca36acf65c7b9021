//! Property fragments of PPP clients and servers.

use menu::{Flag, Item, Kind, Menu, MenuShape, Property};

use super::RESET_COUNTERS;
use super::pppoe_client::MONITOR;
use super::sstp_client::CIPHERS;
use crate::declare::{HOST, PPP_AUTHENTICATION, list, no, number, reference, secret, text, words};
use crate::fragment::{COMMENT_DISABLED, INTERFACE_COUNTERS, INTERFACE_STATS, LINK_TIMES};

/// Interface name.
pub(crate) const NAME: &[Property] = &[Property::new("name", Kind::Name, "Name of the interface")];

/// Server to connect to.
pub(crate) const CONNECT_TO: Property =
    Property::new("connect-to", HOST, "Address or name of the server").required();

/// User name and password of a client.
pub(crate) const USER: &[Property] = &[
    text("user", "User name"),
    secret("password", "Password of the user"),
];

/// MTU, MRU and MRRU.
pub(crate) const fn units(kind: Kind, default: &'static str) -> [Property; 3] {
    [
        Property::new("max-mtu", kind, "Maximum transmit unit").default(default),
        Property::new("max-mru", kind, "Maximum receive unit").default(default),
        Property::new(
            "mrru",
            Kind::Or(
                &["disabled"],
                &Kind::Number {
                    min: 512,
                    max: 65_535,
                },
            ),
            "Maximum reconstructed receive unit (RFC 1990)",
        )
        .default("disabled"),
    ]
}

/// An MTU.
pub(crate) const UNIT: Kind = Kind::Number {
    min: 512,
    max: 65_535,
};
/// An MTU, or the value derived from the interface below.
pub(crate) const UNIT_OR_AUTO: Kind = Kind::Or(
    &["auto"],
    &Kind::Number {
        min: 512,
        max: 65_535,
    },
);

/// PPP profile of a session.
pub(crate) const fn profile(name: &'static str, default: &'static str) -> Property {
    reference(name, "ppp-profile", "Profile of the session").default(default)
}

/// Keepalive timeout in seconds.
pub(crate) const fn keepalive(default: &'static str) -> Property {
    Property::new(
        "keepalive-timeout",
        Kind::Or(
            &["disabled"],
            &Kind::Number {
                min: 1,
                max: 65_535,
            },
        ),
        "Keepalive timeout in seconds",
    )
    .default(default)
}

/// Dial on demand, not supported by the client, and default route.
pub(crate) const ROUTES: &[Property] = &routes(ON_DEMAND.inert());

/// Dial on demand.
pub(crate) const ON_DEMAND: Property = no(
    "dial-on-demand",
    "Connect when the first packet is routed to the interface",
);

/// Dial on demand and default route.
pub(crate) const fn routes(on_demand: Property) -> [Property; 3] {
    [
        on_demand,
        no("add-default-route", "Add a default route to the peer"),
        number(
            "default-route-distance",
            0,
            255,
            "Distance of the default route",
        )
        .default("1"),
    ]
}

/// Use of the peer's DNS servers.
pub(crate) const PEER_DNS: Property = words(
    "use-peer-dns",
    &["exclusively", "no", "yes"],
    "Use the peer's DNS servers",
)
.default("no");

/// Authentication methods that a client offers.
pub(crate) const ALLOW: Property =
    list("allow", &PPP_AUTHENTICATION, "Authentication types").default("pap,chap,mschap1,mschap2");

/// Authentication methods that a server accepts.
pub(crate) const fn authentication(default: &'static str) -> Property {
    list(
        "authentication",
        &PPP_AUTHENTICATION,
        "Authentication types",
    )
    .default(default)
}

/// Whether the server is enabled.
pub(crate) const ENABLED: Property = no("enabled", "Whether the server runs");

/// TLS versions.
pub(crate) const TLS: Property =
    words("tls-version", &["any", "only-1.2"], "TLS versions").default("any");

/// Ciphers of SSTP.
pub(crate) const fn ciphers() -> Property {
    list(
        "ciphers",
        &CIPHERS,
        "TLS ciphers; aes256-sha alone is refused, as TLS here has no CBC suites",
    )
    .default("aes256-sha,aes256-gcm-sha384")
}

/// Perfect forward secrecy of SSTP.
pub(crate) const fn pfs() -> Property {
    words(
        "pfs",
        &["no", "required", "yes"],
        "Perfect forward secrecy; always in force, as TLS here has no key exchange without",
    )
    .default("no")
}

/// A server interface for the sessions of one user.
pub(crate) const BINDING: &[Property] = &[
    Property::new("name", Kind::Name, "Name of the interface"),
    text("user", "User of the session"),
    Property::new("mtu", Kind::COUNTER, "The transmission unit in force").read_only(),
    Property::new("mru", Kind::COUNTER, "Maximum receive unit").read_only(),
    Property::new("client-address", Kind::Text, "Address of the client").read_only(),
    Property::new("uptime", Kind::SPAN, "Uptime of the session").read_only(),
    Property::new("encoding", Kind::Text, "Encryption and compression").read_only(),
];

/// Verification of the server certificate.
pub(crate) const VERIFY: Property = no(
    "verify-server-certificate",
    "Checks the server's certificate",
);

/// Commands of the menus of tunnel protocols.
const COMMANDS: &[menu::Command] = &[MONITOR, RESET_COUNTERS];

const CLIENT_FLAGS: &[Flag] = &[Flag::new('X', "disabled", 0), Flag::new('R', "running", 0)];
const BINDING_FLAGS: &[Flag] = &[
    Flag::new('X', "disabled", 0),
    Flag::new('D', "dynamic", 0),
    Flag::new('R', "running", 0),
];

/// The distance of the default route is meaningless without `add-default-route`.
fn of_no_route(item: &Item, name: &str) -> bool {
    name == "default-route-distance" && !item.is("add-default-route")
}

/// A menu of clients of a tunnel protocol. `kind` is also the beginning of their names.
pub(crate) const fn tunnel_clients(
    path: &'static str,
    kind: &'static str,
    help: &'static str,
) -> Menu {
    Menu {
        columns: &["name", "connect-to", "user", "profile"],
        flags: CLIENT_FLAGS,
        stats: INTERFACE_STATS,
        space: Some("interface"),
        key: Some("name"),
        kind,
        naming: kind,
        moot: Some(of_no_route),
        commands: COMMANDS,
        ..Menu::new(path, MenuShape::List, help)
    }
}

/// A menu of server interfaces of a tunnel protocol: bindings, and dynamic interfaces.
pub(crate) const fn tunnel_bindings(
    path: &'static str,
    kind: &'static str,
    help: &'static str,
) -> Menu {
    Menu {
        properties: &[BINDING, LINK_TIMES, INTERFACE_COUNTERS, COMMENT_DISABLED],
        columns: &[
            "name",
            "user",
            "mtu",
            "client-address",
            "uptime",
            "encoding",
        ],
        flags: BINDING_FLAGS,
        stats: INTERFACE_STATS,
        space: Some("interface"),
        key: Some("name"),
        kind,
        naming: kind,
        commands: COMMANDS,
        ..Menu::new(path, MenuShape::List, help)
    }
}
