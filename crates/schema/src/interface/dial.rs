//! Property fragments of PPP clients and servers.

use menu::{Kind, Property};

use crate::declare::{HOST, PPP_AUTHENTICATION, list, no, number, reference, secret, text, words};

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
        Property::new("max-mtu", kind, "Largest packet that is sent").default(default),
        Property::new("max-mru", kind, "Largest packet that is received").default(default),
        Property::new(
            "mrru",
            Kind::Or(
                &["disabled"],
                &Kind::Number {
                    min: 512,
                    max: 65_535,
                },
            ),
            "Largest packet that is received in pieces (RFC 1990)",
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
        "Seconds of silence after which the session is over",
    )
    .default(default)
}

/// Dial on demand and default route.
pub(crate) const ROUTES: &[Property] = &[
    no("dial-on-demand", "Connects when there is something to send"),
    no("add-default-route", "Adds a default route to the other end"),
    number("default-route-distance", 0, 255, "Distance of that route").default("1"),
];

/// Use of the peer's DNS servers.
pub(crate) const PEER_DNS: Property = words(
    "use-peer-dns",
    &["exclusively", "no", "yes"],
    "Asks the other end's DNS servers",
)
.default("no");

/// Authentication methods that a client offers.
pub(crate) const ALLOW: Property = list("allow", &PPP_AUTHENTICATION, "Ways of authentication")
    .default("pap,chap,mschap1,mschap2");

/// Authentication methods that a server accepts.
pub(crate) const fn authentication(default: &'static str) -> Property {
    list(
        "authentication",
        &PPP_AUTHENTICATION,
        "Ways of authentication",
    )
    .default(default)
}

/// Whether the server is enabled.
pub(crate) const ENABLED: Property = no("enabled", "Whether the server runs");

/// TLS versions.
pub(crate) const TLS: Property =
    words("tls-version", &["any", "only-1.2"], "TLS versions").default("any");

/// A server interface for the sessions of one user.
pub(crate) const BINDING: &[Property] = &[
    Property::new("name", Kind::Name, "Name of the interface"),
    text("user", "The user whose sessions it is for"),
    Property::new("mtu", Kind::COUNTER, "The transmission unit in force").read_only(),
    Property::new("mru", Kind::COUNTER, "The largest packet that is received").read_only(),
    Property::new("client-address", Kind::Text, "Where the session comes from").read_only(),
    Property::new("uptime", Kind::SPAN, "How long the session has been up").read_only(),
    Property::new("encoding", Kind::Text, "Encryption and compression").read_only(),
];

/// Verification of the server certificate.
pub(crate) const VERIFY: Property = no(
    "verify-server-certificate",
    "Checks the server's certificate",
);
