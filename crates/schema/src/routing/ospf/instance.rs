//! `/routing/ospf/instance`: OSPF instances.

use menu::{Builtin, Family, Kind, Menu, OldProperty, Property, Unique};

use crate::declare::{U32, VRF, list, maybe, named, optional, words};
use crate::dynamic_routing::{ORIGINATE, ROUTER_ID, SOURCES, as_type, chain, metric};
use crate::fragment::{COMMENT_SAID, idle_list};

const SEVEN: &[Property] = &[
    optional("version", Kind::Words(&["2", "3"]), "Version of OSPF").default("2"),
    optional("vrf", VRF, "The VRF").default("main"),
    optional("router-id", ROUTER_ID, "Router ID").default("main"),
    optional(
        "routing-table",
        Kind::Reference("routing-table"),
        "Routing table of the routes",
    ),
    optional("domain-id", Kind::Text, "Domain ID of OSPF routes in VPNs"),
    optional("domain-tag", U32, "Route tag for redistribution in VPNs"),
    maybe("use-dn", "Honour the down bit"),
    chain("in-filter-chain", "Filter chain for received routes"),
    chain("out-filter-chain", "Filter chain for advertised routes"),
    chain(
        "out-filter-select",
        "Filter chain that selects advertised routes",
    ),
    optional(
        "mpls-te-area",
        Kind::Address(Family::V4),
        "Area of traffic engineering",
    ),
    optional(
        "mpls-te-address",
        ROUTER_ID,
        "Address of traffic engineering",
    ),
    optional(
        "originate-default",
        Kind::Words(ORIGINATE),
        "Distribution of a default route",
    ),
    list("redistribute", &SOURCES, "Redistributed routes").optional(),
];

/// Properties of RouterOS 6, stored unchanged.
const SIX: &[Property] = &[
    words(
        "distribute-default",
        &[
            "always-as-type-1",
            "always-as-type-2",
            "if-installed-as-type-1",
            "if-installed-as-type-2",
            "never",
        ],
        "Version 6: distribution of a default route",
    )
    .optional(),
    as_type(
        "redistribute-connected",
        "Version 6: redistribute connected networks",
    ),
    as_type(
        "redistribute-static",
        "Version 6: redistribute static routes",
    ),
    as_type("redistribute-rip", "Version 6: redistribute RIP routes"),
    as_type("redistribute-bgp", "Version 6: redistribute BGP routes"),
    as_type(
        "redistribute-other-ospf",
        "Version 6: redistribute routes of other OSPF instances",
    ),
    metric("metric-default", "Version 6: metric of the default route"),
    metric(
        "metric-connected",
        "Version 6: metric of connected networks",
    ),
    metric("metric-static", "Version 6: metric of static routes"),
    metric("metric-rip", "Version 6: metric of RIP routes"),
    metric("metric-bgp", "Version 6: metric of BGP routes"),
    metric(
        "metric-other-ospf",
        "Version 6: metric of routes of other instances",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the instance")], SEVEN, SIX, COMMENT_SAID],
    flags: crate::fragment::INVALID_DEFAULT,
    columns: &["name", "version", "vrf", "router-id"],
    space: Some("ospf-instance"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have instance with such name",
    }],
    supposed: &[Builtin {
        values: &[("name", "default")],
    }],
    old: &[
        OldProperty::renamed("in-filter", "in-filter-chain"),
        OldProperty::renamed("out-filter", "out-filter-chain"),
        OldProperty::renamed("mpls-te-router-id", "mpls-te-address"),
    ],
    ..idle_list("/routing/ospf/instance", "OSPF instances")
};
