//! `/routing/bgp/instance`: BGP instances.

pub(crate) mod vrf;

use menu::{Builtin, Family, Flag, Kind, Menu, Property, Unique};

use super::{AS, OWN_AS};
use crate::declare::{VRF, list, maybe, named, optional, reference};
use crate::dynamic_routing::{ROUTER_ID, chain};
use crate::fragment::{COMMENT_SAID, idle_list};

const OWN: &[Property] = &[
    optional("as", OWN_AS, "Local AS number"),
    optional("router-id", ROUTER_ID, "Router ID"),
    optional("vrf", VRF, "The VRF"),
    reference(
        "routing-table",
        "routing-table",
        "Routing table of the routes",
    )
    .optional(),
    optional(
        "cluster-id",
        Kind::Address(Family::V4),
        "Cluster ID of the route reflectors",
    ),
    optional("multipath", Kind::Bool, "Use several paths"),
    maybe("ignore-as-path-len", "Ignore the length of the AS path"),
];

/// Properties of RouterOS 6, stored unchanged.
const SIX: &[Property] = &[
    maybe(
        "client-to-client-reflection",
        "Version 6: reflect routes between clients",
    ),
    optional("confederation", AS, "Version 6: confederation identifier"),
    list(
        "confederation-peers",
        &AS,
        "Version 6: AS numbers of the confederation",
    )
    .optional(),
    chain(
        "out-filter",
        "Version 6: filter chain for advertised routes",
    ),
    maybe(
        "redistribute-connected",
        "Version 6: redistribute connected networks",
    ),
    maybe(
        "redistribute-static",
        "Version 6: redistribute static routes",
    ),
    maybe("redistribute-rip", "Version 6: redistribute RIP routes"),
    maybe("redistribute-ospf", "Version 6: redistribute OSPF routes"),
    maybe(
        "redistribute-other-bgp",
        "Version 6: redistribute routes of other BGP instances",
    ),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[named("Name of the instance")], OWN, SIX, COMMENT_SAID],
    flags: &[
        Flag::new('X', "disabled", 0),
        Flag::new('I', "inactive", 0),
        Flag::new('*', "default", 1),
    ],
    columns: &["name", "as", "router-id"],
    space: Some("bgp-instance"),
    key: Some("name"),
    unique: &[Unique {
        properties: &["name"],
        failure: "already have instance with such name",
    }],
    supposed: &[Builtin {
        values: &[("name", "default"), ("as", "65530")],
    }],
    ..idle_list("/routing/bgp/instance", "BGP instances")
};
