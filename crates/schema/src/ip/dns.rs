//! `/ip/dns`: DNS resolver and server (RFC 1035).

pub(crate) mod adlist;
pub(crate) mod cache;
pub(crate) mod forwarders;
#[path = "dns/static.rs"]
pub(crate) mod statics;

use menu::{Family, Kind, Menu, Shape};

use crate::declare::{INTERFACE, between, no, shown, text, with_default};

const SERVERS: Kind = Kind::List(&Kind::Either(
    &Kind::Address(Family::Any),
    &Kind::Gateway(Family::V6),
));
const SPAN: Kind = Kind::SPAN;
const MANY: Kind = between(1, 4_294_967_295);

/// Servers with link-local addresses have no effect.
fn by_interface(servers: &str) -> bool {
    servers.contains('%')
}

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        with_default("servers", SERVERS, "", "The servers to ask").inert_for(by_interface),
        shown(
            "dynamic-servers",
            Kind::List(&Kind::Text),
            "Servers that others told of",
        ),
        text("use-doh-server", "The server to ask by HTTPS (RFC 8484)"),
        no(
            "verify-doh-cert",
            "Whether that server's certificate is checked",
        ),
        with_default(
            "doh-max-server-connections",
            MANY,
            "5",
            "Most connections to that server",
        ),
        with_default(
            "doh-max-concurrent-queries",
            MANY,
            "50",
            "Most questions to that server at a time",
        ),
        with_default("doh-timeout", SPAN, "5s", "How long that server may take"),
        no(
            "allow-remote-requests",
            "Whether others may ask this router",
        ),
        with_default(
            "max-udp-packet-size",
            between(50, 65_507),
            "4096",
            "Longest answer by UDP",
        ),
        with_default(
            "query-server-timeout",
            SPAN,
            "2s",
            "How long a server may take",
        ),
        with_default(
            "query-total-timeout",
            SPAN,
            "10s",
            "How long an answer may take",
        ),
        with_default(
            "max-concurrent-queries",
            MANY,
            "100",
            "Most questions at a time",
        ),
        with_default(
            "max-concurrent-tcp-sessions",
            MANY,
            "20",
            "Most connections at a time",
        ),
        with_default(
            "cache-size",
            Kind::Kib,
            "2048KiB",
            "Greatest size of the cache",
        ),
        with_default(
            "cache-max-ttl",
            SPAN,
            "1w",
            "Longest time that an answer is kept",
        ),
        with_default(
            "address-list-extra-time",
            SPAN,
            "0s",
            "How much longer addresses stay in lists",
        ),
        with_default(
            "vrf",
            Kind::Reference("routing-table"),
            "main",
            "The VRF that servers are reached in",
        )
        .inert(),
        with_default(
            "mdns-repeat-ifaces",
            Kind::List(&INTERFACE),
            "",
            "Interfaces that share mDNS",
        )
        .inert(),
        shown("cache-used", Kind::Kib, "Size of the cache"),
    ]],
    ..Menu::new("/ip/dns", Shape::Settings, "DNS settings")
};
