//! `/routing/filter`: route filters of RouterOS 6. Version 7 has rules in text form.

pub(crate) mod chain;
pub(crate) mod community_ext_list;
pub(crate) mod community_large_list;
pub(crate) mod community_list;
pub(crate) mod num_list;
pub(crate) mod rule;
pub(crate) mod select_rule;

use menu::{Family, Kind, Menu, Property};

use crate::declare::{U32, between, list, maybe, optional, optional_text, words};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_rules};

const ACTIONS: &[&str] = &[
    "accept",
    "discard",
    "jump",
    "log",
    "passthrough",
    "reject",
    "return",
];
const LENGTHS: Kind = Kind::Range("-", &between(0, 128));
const NUMBERS: Kind = Kind::Range("-", &U32);
const BYTES: Kind = Kind::Range("-", &between(0, 255));
const PROTOCOLS: Kind = Kind::List(&Kind::Words(&[
    "bgp", "connect", "ospf", "rip", "static", "ldp",
]));
const FAMILIES: &[&str] = &["ip", "ipv6", "l2vpn", "l2vpn-cisco", "vpnv4"];
const ORIGINS: Kind = Kind::Words(&["egp", "igp", "incomplete"]);
const ADDRESS: Kind = Kind::Address(Family::Any);
const TYPES: Kind = Kind::Words(&["blackhole", "prohibit", "unicast", "unreachable"]);
const OSPF: Kind = Kind::Words(&[
    "external-type-1",
    "external-type-2",
    "inter-area",
    "intra-area",
    "nssa-type-1",
    "nssa-type-2",
]);

const MATCHERS: &[Property] = &[
    optional_text("chain", "Chain of the rule"),
    optional("prefix", Kind::Prefix(Family::Any), "Destination"),
    optional(
        "prefix-length",
        LENGTHS,
        "Length of the destination's prefix",
    ),
    optional_text("match-chain", "Chain that must accept the route"),
    optional("protocol", PROTOCOLS, "Origin of the route"),
    optional("distance", BYTES, "Distance"),
    optional("scope", BYTES, "Scope"),
    optional("target-scope", BYTES, "Target scope"),
    optional("pref-src", ADDRESS, "Preferred source"),
    optional_text("routing-mark", "Table"),
    optional("route-tag", NUMBERS, "Tag"),
    optional_text("route-comment", "Comment"),
    optional_text("bgp-as-path", "AS path, as a regular expression"),
    optional("bgp-as-path-length", NUMBERS, "Length of the AS path"),
    optional(
        "bgp-atomic-aggregate",
        Kind::Words(&["absent", "present"]),
        "Presence of the atomic aggregate attribute",
    ),
    list("bgp-communities", &Kind::Name, "Communities").optional(),
    optional("bgp-local-pref", NUMBERS, "Preference"),
    optional("bgp-med", NUMBERS, "Metric"),
    optional("bgp-origin", ORIGINS, "Origin"),
    optional("bgp-weight", NUMBERS, "Weight"),
    optional("ospf-type", OSPF, "Type of the OSPF route"),
    maybe("locally-originated-bgp", "Route originated by this router"),
    maybe("invert-match", "Invert the match"),
    optional(
        "address-family",
        Kind::List(&Kind::Words(FAMILIES)),
        "Family",
    ),
];

const ACTION: &[Property] = &[
    words("action", ACTIONS, "Action").default("passthrough"),
    optional_text("jump-target", "Target chain of the action jump"),
    optional("set-distance", between(0, 255), "New distance"),
    optional("set-scope", between(0, 255), "New scope"),
    optional("set-target-scope", between(0, 255), "New target scope"),
    optional("set-pref-src", ADDRESS, "New preferred source"),
    list("set-in-nexthop", &ADDRESS, "New gateways").optional(),
    list(
        "set-in-nexthop-direct",
        &Kind::Reference("interface"),
        "New interfaces",
    )
    .optional(),
    optional(
        "set-in-nexthop-ipv6",
        Kind::Address(Family::V6),
        "New IPv6 gateways",
    ),
    optional("set-out-nexthop", ADDRESS, "Advertised gateway"),
    optional(
        "set-out-nexthop-ipv6",
        Kind::Address(Family::V6),
        "Advertised IPv6 gateway",
    ),
    optional_text("set-routing-mark", "New routing mark"),
    optional_text("set-route-comment", "New comment"),
    optional("set-route-tag", U32, "New tag"),
    optional(
        "set-check-gateway",
        Kind::Words(&["arp", "none", "ping"]),
        "Monitoring of the gateway",
    ),
    maybe("set-disabled", "Do not use the route"),
    optional("set-type", TYPES, "New route type"),
    maybe("set-use-te-nexthop", "Use traffic engineering tunnels"),
    optional("set-bgp-local-pref", U32, "New local preference"),
    optional("set-bgp-med", Kind::Or(&["absent"], &U32), "New MED"),
    optional(
        "set-bgp-prepend",
        between(0, 16),
        "How many times the local AS number is prepended",
    ),
    list("set-bgp-prepend-path", &U32, "AS numbers to prepend").optional(),
    optional("set-bgp-weight", U32, "New weight"),
    list("set-bgp-communities", &Kind::Name, "New communities").optional(),
    list(
        "append-bgp-communities",
        &Kind::Name,
        "Communities to append",
    )
    .optional(),
    list(
        "set-mpls-te-nexthop",
        &ADDRESS,
        "New traffic engineering tunnels",
    )
    .optional(),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[MATCHERS, ACTION, COMMENT_DISABLED],
    flags: DISABLED_INVALID,
    columns: &["chain", "prefix", "prefix-length", "protocol", "action"],
    ..idle_rules("/routing/filter", "Version 6: filters of routes")
};
