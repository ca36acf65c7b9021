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
    optional("remote.address", REMOTE, "Remote address or network"),
    optional("remote.as", OWN_AS, "Remote AS number"),
    list("remote.allowed-as", &RANGE, "Allowed remote AS numbers").optional(),
    optional("remote.port", PORT, "Remote TCP port"),
    optional(
        "remote.ttl",
        TTL,
        "Maximum number of hops to the remote router",
    ),
    optional("local.address", LOCAL, "Local address or interface"),
    optional("local.role", ROLES, "Local BGP role (RFC 9234)"),
    optional("local.port", PORT, "Local TCP port"),
    optional("local.ttl", TTL, "TTL of sent packets"),
    maybe("connect", "Open connections to the remote router"),
    maybe("listen", "Accept connections of the remote router"),
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
    ..idle_list("/routing/bgp/connection", "BGP connections")
};
