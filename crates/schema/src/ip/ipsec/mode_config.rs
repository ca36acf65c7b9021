//! `/ip/ipsec/mode-config`: configuration that peers send or request: addresses, DNS servers.

use menu::{Builtin, Family, Flag, Kind, Menu, Pick, Property, Shape};

use super::ADDRESS;
use crate::declare::{IPV4, between, optional, with_default, yes};
use crate::ip::hotspot::POOL;

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the configuration"),
        with_default(
            "responder",
            Kind::Bool,
            "yes",
            "Whether peers are told, or tell",
        ),
        yes(
            "system-dns",
            "Whether peers are told the router's DNS servers",
        ),
        with_default(
            "static-dns",
            Kind::List(&ADDRESS),
            "",
            "DNS servers that peers are told",
        ),
        optional("address", IPV4, "The address that a peer gets"),
        with_default(
            "address-pool",
            POOL,
            "none",
            "The pool that peers' addresses come from",
        )
        .quiet(),
        optional(
            "address-prefix-length",
            between(1, 32),
            "Length of the prefix that a peer is told",
        ),
        with_default(
            "split-include",
            Kind::List(&Kind::Prefix(Family::Any)),
            "",
            "Networks that peers reach this way",
        ),
        with_default(
            "split-dns",
            Kind::List(&Kind::Name),
            "",
            "Domains that peers ask this way",
        ),
        optional(
            "src-address-list",
            Kind::Name,
            "A list whose addresses are translated",
        ),
        optional(
            "connection-mark",
            Kind::Or(&["no-mark"], &Kind::Name),
            "Mark of what is translated",
        ),
        with_default(
            "use-responder-dns",
            Kind::Words(&["no", "yes", "exclusively"]),
            "exclusively",
            "Whether the peer's DNS servers are used",
        ),
    ]],
    flags: &[Flag::new('*', "default", 0), Flag::new('R', "responder", 1)],
    columns: &["name", "responder", "use-responder-dns"],
    space: Some("ipsec-mode-config"),
    key: Some("name"),
    kind: "cfg",
    pick: Pick::Default,
    builtin: &[Builtin {
        values: &[("name", "request-only"), ("responder", "no")],
    }],
    ..Menu::new("/ip/ipsec/mode-config", Shape::List, "What peers are told")
};
