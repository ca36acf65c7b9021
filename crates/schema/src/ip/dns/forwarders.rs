//! `/ip/dns/forwarders`: DNS servers for specific names.

use menu::{Family, Kind, Menu, MenuShape};

use crate::declare::{DISABLED, named, with_default, yes};
use crate::fragment::COMMENT_DISABLED;

/// Servers given by name have no effect.
fn by_name(servers: &str) -> bool {
    servers
        .split(',')
        .any(|server| server.parse::<core::net::IpAddr>().is_err() && !server.is_empty())
}

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[
            named("Name of the forwarder"),
            with_default(
                "dns-servers",
                Kind::List(&Kind::Either(&Kind::Address(Family::Any), &Kind::Host)),
                "",
                "DNS servers",
            )
            .inert_for(by_name),
            with_default(
                "doh-servers",
                Kind::List(&Kind::Name),
                "",
                "DNS over HTTPS servers",
            ),
            yes("verify-doh-cert", "Verify the certificates of DoH servers"),
        ],
        COMMENT_DISABLED,
    ],
    flags: DISABLED,
    columns: &["name", "dns-servers", "doh-servers", "verify-doh-cert"],
    space: Some("dns-forwarder"),
    key: Some("name"),
    ..Menu::new(
        "/ip/dns/forwarders",
        MenuShape::List,
        "Forwarders for static entries of type FWD",
    )
};
