//! `/ip/ipsec/mode-config`: configuration that peers send or request: addresses, DNS servers.

use menu::{Builtin, ExportSelector, Family, Flag, Kind, Menu, MenuShape, Property};

use super::ADDRESS;
use crate::declare::{IPV4, between, optional, with_default, yes};
use crate::ip::hotspot::POOL;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the configuration"),
        with_default("responder", Kind::Bool, "yes", "Act as responder"),
        yes("system-dns", "Send the router's DNS servers to peers"),
        with_default(
            "static-dns",
            Kind::List(&ADDRESS),
            "",
            "DNS servers sent to peers",
        ),
        optional("address", IPV4, "Address assigned to a peer"),
        with_default("address-pool", POOL, "none", "Pool of peers' addresses").quiet(),
        optional(
            "address-prefix-length",
            between(1, 32),
            "Prefix length sent to a peer",
        ),
        with_default(
            "split-include",
            Kind::List(&Kind::Prefix(Family::Any)),
            "",
            "Networks that peers reach through the tunnel",
        ),
        with_default(
            "split-dns",
            Kind::List(&Kind::Name),
            "",
            "Domains that peers resolve through the tunnel",
        ),
        optional(
            "src-address-list",
            Kind::Name,
            "Address list of translated sources",
        ),
        optional(
            "connection-mark",
            Kind::Or(&["no-mark"], &Kind::Name),
            "Connection mark of translated packets",
        ),
        with_default(
            "use-responder-dns",
            Kind::Words(&["no", "yes", "exclusively"]),
            "exclusively",
            "Use of the peer's DNS servers",
        ),
    ]],
    flags: &[Flag::new('*', "default", 0), Flag::new('R', "responder", 1)],
    columns: &["name", "responder", "use-responder-dns"],
    space: Some("ipsec-mode-config"),
    key: Some("name"),
    kind: "cfg",
    pick: ExportSelector::Default,
    builtin: &[Builtin {
        values: &[("name", "request-only"), ("responder", "no")],
    }],
    ..Menu::new(
        "/ip/ipsec/mode-config",
        MenuShape::List,
        "Configuration sent to peers",
    )
};
