//! `/ip/hotspot/profile`: hotspot server profiles.

use menu::{Builtin, Effect, ExportSelector, Kind, Menu, MenuShape, Property};

use crate::declare::{DEFAULT, IPV4, no, text, with_default, yes};
use crate::ip::dhcp_server::USE_RADIUS;

const PAGES: &[Property] = &[
    Property::new("name", Kind::Name, "Name of the profile"),
    with_default("hotspot-address", IPV4, "0.0.0.0", "The server's address"),
    text("dns-name", "The server's name"),
    with_default(
        "html-directory",
        Kind::Text,
        "flash/hotspot",
        "Folder of the pages",
    ),
    text(
        "html-directory-override",
        "Folder of pages that override the default pages",
    ),
    no(
        "install-hotspot-queue",
        "Add a queue for unauthenticated hosts",
    ),
    text("rate-limit", "Rate limit of unauthenticated hosts"),
    with_default(
        "http-proxy",
        Kind::Tuple(":", &[IPV4, crate::declare::PORT]),
        "0.0.0.0:0",
        "HTTP proxy for requests",
    ),
    with_default(
        "smtp-server",
        IPV4,
        "0.0.0.0",
        "SMTP server to which mail is redirected",
    ),
];

const LOGIN: &[Property] = &[
    with_default(
        "login-by",
        Kind::Set(&[
            "mac",
            "cookie",
            "http-chap",
            "https",
            "http-pap",
            "trial",
            "mac-cookie",
        ]),
        "cookie,http-chap",
        "Login methods",
    ),
    with_default(
        "mac-auth-mode",
        Kind::Words(&["mac-as-username", "mac-as-username-and-password"]),
        "mac-as-username",
        "User name and password format of hardware address logins",
    ),
    text("mac-auth-password", "Password for MAC address logins").sensitive(),
    with_default(
        "http-cookie-lifetime",
        Kind::SPAN,
        "3d",
        "Lifetime of a cookie",
    ),
    with_default(
        "ssl-certificate",
        Kind::Or(&["none"], &Kind::Name),
        "none",
        "The server's certificate",
    ),
    no("split-user-domain", "Split the domain from user names"),
    with_default("trial-uptime-limit", Kind::SPAN, "30m", "Length of a trial"),
    with_default(
        "trial-uptime-reset",
        Kind::SPAN,
        "1d",
        "Time after which a new trial is possible",
    ),
    with_default(
        "trial-user-profile",
        Kind::Name,
        "default",
        "User profile of trial users",
    ),
];

const RADIUS: &[Property] = &[
    with_default("use-radius", USE_RADIUS, "no", "Use RADIUS"),
    yes("radius-accounting", "Account guests by RADIUS"),
    with_default(
        "radius-interim-update",
        Kind::Or(&["received"], &Kind::SPAN),
        "received",
        "Interim update interval of RADIUS accounting",
    ),
    with_default(
        "nas-port-type",
        Kind::Words(&["ethernet", "cable", "wireless-802.11"]),
        "wireless-802.11",
        "Port type sent to RADIUS",
    ),
    text("radius-default-domain", "Default domain of users"),
    text("radius-location-id", "Location identifier sent to RADIUS"),
    text("radius-location-name", "Location name sent to RADIUS"),
    with_default(
        "radius-mac-format",
        Kind::Words(&[
            "XX:XX:XX:XX:XX:XX",
            "XXXX:XXXX:XXXX",
            "XXXXXX:XXXXXX",
            "XX-XX-XX-XX-XX-XX",
            "XXXXXX-XXXXXX",
            "XXXXXXXXXXXX",
            "XX XX XX XX XX XX",
        ]),
        "XX:XX:XX:XX:XX:XX",
        "Format of hardware addresses sent to RADIUS",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[PAGES, LOGIN, RADIUS],
    flags: DEFAULT,
    columns: &["name", "hotspot-address", "dns-name", "login-by"],
    space: Some("hotspot-profile"),
    key: Some("name"),
    kind: "hsprof",
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[("name", "default")],
    }],
    effect: Effect::None,
    ..Menu::new("/ip/hotspot/profile", MenuShape::List, "HotSpot profiles")
};
