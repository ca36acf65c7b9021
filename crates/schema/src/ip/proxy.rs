//! `/ip/proxy`: HTTP proxy.

pub(crate) mod access;
pub(crate) mod cache;
pub(crate) mod cache_contents;
pub(crate) mod connections;
pub(crate) mod direct;
pub(crate) mod inserts;
pub(crate) mod lookups;
pub(crate) mod refreshes;

use menu::{Effect, Family, Kind, Menu, MenuShape, Property};

use crate::declare::{PORT, U32, between, command, no, optional, text, with_default};
use crate::fragment::{COMMENT_DISABLED, counter};
use crate::ip::hotspot::walled_garden::{METHODS, PATTERN, WEB_PORTS};

const ANY: Kind = Kind::Address(Family::Any);
const WHO: Kind = Kind::Not(&Kind::Addresses(Family::Any));

/// Matchers of requests.
pub(crate) const REQUEST: &[Property] = &[
    optional("src-address", WHO, "Address of the client"),
    optional("dst-address", WHO, "Address of the server"),
    optional("dst-port", WEB_PORTS, "Port of the server"),
    optional("local-port", Kind::Not(&PORT), "Port of the proxy"),
    optional("dst-host", PATTERN, "Name of the server"),
    optional("path", PATTERN, "Name of the page"),
    optional("method", METHODS, "Method of the request"),
];

/// Action for matching requests.
pub(crate) const ALLOW: &[Property] = &[with_default(
    "action",
    Kind::Words(&["allow", "deny"]),
    "allow",
    "Action for requests that match",
)];

/// A rule menu for requests.
pub(crate) const fn rules(path: &'static str, help: &'static str) -> Menu {
    Menu {
        properties: &[REQUEST, ALLOW, HITS, COMMENT_DISABLED],
        flags: crate::declare::DISABLED,
        stats: &["dst-host", "path", "action", "hits"],
        commands: crate::ip::hotspot::walled_garden::COMMANDS,
        effect: Effect::None,
        ..Menu::new(path, MenuShape::Ordered, help)
    }
}

/// Number of matching requests.
pub(crate) const HITS: &[Property] = &[counter("hits", "Requests that matched")];

const CACHE: &[Property] = &[
    with_default(
        "max-cache-size",
        Kind::Or(&["none", "unlimited"], &Kind::Kib),
        "unlimited",
        "Maximum size of the cache",
    ),
    with_default(
        "max-cache-object-size",
        Kind::Kib,
        "2048KiB",
        "Maximum size of a page in the cache",
    ),
    no("cache-on-disk", "Keep the cache on disk"),
    with_default(
        "max-client-connections",
        U32,
        "600",
        "Maximum number of connections of clients",
    ),
    with_default(
        "max-server-connections",
        U32,
        "600",
        "Maximum number of connections to servers",
    ),
    with_default(
        "max-fresh-time",
        Kind::SPAN,
        "3d",
        "Maximum age of a page considered fresh",
    ),
    no(
        "serialize-connections",
        "Use one connection for several requests",
    ),
    no(
        "always-from-cache",
        "Ignore clients' requests to bypass the cache",
    ),
    with_default(
        "cache-hit-dscp",
        between(0, 63),
        "4",
        "DSCP of pages from the cache",
    ),
    with_default(
        "cache-path",
        Kind::Text,
        "web-proxy",
        "Location of the cache",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            no("enabled", "Enable the HTTP proxy"),
            with_default(
                "src-address",
                Kind::List(&ANY),
                "::",
                "The router's address",
            ),
            with_default("port", Kind::List(&PORT), "8080", "The proxy's ports"),
            no("anonymous", "Hide the client's address from servers"),
            with_default("parent-proxy", ANY, "::", "Address of the parent proxy"),
            with_default("parent-proxy-port", PORT, "0", "Port of the parent proxy"),
            text("cache-administrator", "Mail address of the administrator").default("webmaster"),
        ],
        CACHE,
    ],
    commands: &[
        command("clear-cache", "Clear the cache", &[]),
        command("monitor", "Monitor the proxy", &[crate::interface::ONCE]).repeating(),
        command("reset-html", "Reset the error pages to their defaults", &[]),
    ],
    effect: Effect::None,
    off: Some(("enabled", "no")),
    ..Menu::new("/ip/proxy", MenuShape::Settings, "HTTP proxy")
};
