//! `/routing/bgp/connection`: BGP connections.

use menu::{Family, Kind, Menu, OldProperty, Property};

use super::{AS, INPUT, OUTPUT, OWN_AS, WHOLE};
use crate::declare::{PORT, between, list, maybe, optional, reference};
use crate::fragment::{COMMENT_SAID, DISABLED_INVALID, idle_list};

const ROLES: Kind = Kind::Words(&[
    "ebgp",
    "ebgp-customer",
    "ebgp-peer",
    "ebgp-provider",
    "ebgp-rs",
    "ebgp-rs-client",
    "ibgp",
    "ibgp-rr",
    "ibgp-rr-client",
]);
const LOCAL: Kind = Kind::Either(&Kind::Address(Family::Any), &Kind::Reference("interface"));
const REMOTE: Kind = Kind::Either(&Kind::Prefix(Family::Any), &Kind::Gateway(Family::Any));
const RANGE: Kind = Kind::Range("-", &AS);
const TTL: Kind = Kind::Or(&["default"], &between(1, 255));
const KEY: Kind = Kind::Sized { min: 0, max: 80 };

const ENDS: &[Property] = &[
    Property::new("name", Kind::Name, "Name of the connection"),
    reference("instance", "bgp-instance", "The instance").optional(),
    optional(
        "remote.address",
        REMOTE,
        "Address of the other end, or its network",
    ),
    optional("remote.as", OWN_AS, "AS number of the other end"),
    list(
        "remote.allowed-as",
        &RANGE,
        "Allowed AS numbers of the other end",
    )
    .optional(),
    optional("remote.port", PORT, "TCP port of the other end"),
    optional("remote.ttl", TTL, "Maximum number of hops to the other end"),
    optional(
        "local.address",
        LOCAL,
        "Address of this end, or its interface",
    ),
    optional("local.role", ROLES, "BGP role of this end"),
    optional("local.port", PORT, "TCP port of this end"),
    optional("local.ttl", TTL, "Time to live of packets"),
    maybe("connect", "Open connections to the other end"),
    maybe("listen", "Accept connections of the other end"),
    optional("tcp-md5-key", KEY, "Key for TCP MD5 signatures").sensitive(),
];

const fn old(name: &'static str, becomes: &'static str) -> OldProperty {
    OldProperty::renamed(name, becomes)
}

const REFLECT: OldProperty = old("route-reflect", "local.role");

pub(crate) static MENU: Menu = Menu {
    properties: &[ENDS, WHOLE, INPUT, OUTPUT, COMMENT_SAID],
    flags: DISABLED_INVALID,
    columns: &[
        "name",
        "instance",
        "remote.address",
        "remote.as",
        "local.role",
    ],
    // RouterOS: several connections may have the same name.
    key: Some("name"),
    kind: "peer",
    old: &[
        old("address-families", "afi"),
        old("remote-address", "remote.address"),
        old("remote-as", "remote.as"),
        old("remote-port", "remote.port"),
        old("update-source", "local.address"),
        OldProperty {
            value: Some("yes"),
            with: Some("ibgp-rr"),
            ..REFLECT
        },
        OldProperty {
            value: Some("no"),
            becomes: "",
            ..REFLECT
        },
        old("in-filter", "input.filter"),
        old("out-filter", "output.filter-chain"),
        old("default-originate", "output.default-originate"),
        old("as-override", "output.as-override"),
        old("remove-private-as", "output.remove-private-as"),
        old("ttl", "local.ttl"),
        old("allow-as-in", "input.allow-as"),
        old("max-prefix-limit", "input.limit-process-routes-ipv4"),
        OldProperty::gone("max-prefix-restart-time"),
        OldProperty {
            value: Some("yes"),
            with: Some("no"),
            ..old("passive", "connect")
        },
        OldProperty::gone("passive"),
        OldProperty::gone("add-path-out"),
        OldProperty::gone("input.accept-unknown"),
        OldProperty::gone("input.ignore-as-path-len"),
    ],
    old_paths: &["/routing/bgp/peer"],
    ..idle_list("/routing/bgp/connection", "Connections of BGP")
};
