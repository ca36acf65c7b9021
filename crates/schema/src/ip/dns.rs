//! `/ip/dns`: DNS resolver and server (RFC 1035).

pub(crate) mod adlist;
pub(crate) mod cache;
pub(crate) mod forwarders;
#[path = "dns/static.rs"]
pub(crate) mod statics;

use menu::{Family, Kind, Menu, MenuShape};

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
        with_default("servers", SERVERS, "", "DNS servers").inert_for(by_interface),
        shown(
            "dynamic-servers",
            Kind::List(&Kind::Text),
            "DNS servers learned from DHCP, PPP and IPv6 ND",
        ),
        text("use-doh-server", "DNS over HTTPS server (RFC 8484)"),
        no(
            "verify-doh-cert",
            "Verify the certificate of the DoH server",
        ),
        with_default(
            "doh-max-server-connections",
            MANY,
            "5",
            "Maximum number of connections to the DoH server",
        ),
        with_default(
            "doh-max-concurrent-queries",
            MANY,
            "50",
            "Maximum number of concurrent queries to the DoH server",
        ),
        with_default("doh-timeout", SPAN, "5s", "Timeout of the DoH server"),
        no("allow-remote-requests", "Answer queries of other hosts"),
        with_default(
            "max-udp-packet-size",
            between(50, 65_507),
            "4096",
            "Maximum size of an answer by UDP",
        ),
        with_default(
            "query-server-timeout",
            SPAN,
            "2s",
            "Timeout of a query to one server",
        ),
        with_default(
            "query-total-timeout",
            SPAN,
            "10s",
            "Total timeout of a query",
        ),
        with_default(
            "max-concurrent-queries",
            MANY,
            "100",
            "Maximum number of concurrent queries",
        ),
        with_default(
            "max-concurrent-tcp-sessions",
            MANY,
            "20",
            "Maximum number of concurrent connections",
        ),
        with_default(
            "cache-size",
            Kind::Kib,
            "2048KiB",
            "Maximum size of the cache",
        ),
        with_default(
            "cache-max-ttl",
            SPAN,
            "1w",
            "Maximum time to live in the cache",
        ),
        with_default(
            "address-list-extra-time",
            SPAN,
            "0s",
            "Additional time for which addresses stay in address lists",
        ),
        with_default(
            "vrf",
            Kind::Reference("routing-table"),
            "main",
            "The VRF of the servers",
        )
        .inert(),
        with_default(
            "mdns-repeat-ifaces",
            Kind::List(&INTERFACE),
            "",
            "Interfaces between which mDNS is repeated",
        )
        .inert(),
        shown("cache-used", Kind::Kib, "Size of the cache"),
    ]],
    ..Menu::new("/ip/dns", MenuShape::Settings, "DNS settings")
};
