//! `/routing/filter`: what becomes of routes, as version 6 said it. Version 7 has rules of text.

pub(crate) mod chain;
pub(crate) mod community_ext_list;
pub(crate) mod community_large_list;
pub(crate) mod community_list;
pub(crate) mod num_list;
pub(crate) mod rule;
pub(crate) mod select_rule;

use menu::{Family, Kind, Menu, Property};

use crate::brief::{U32, may, number};
use crate::fragment::{COMMENT_DISABLED, DISABLED_INVALID, idle_rules};
use crate::terms::{list, maybe, note, words};

const ACTIONS: &[&str] = &[
    "accept",
    "discard",
    "jump",
    "log",
    "passthrough",
    "reject",
    "return",
];
const LENGTHS: Kind = Kind::Range("-", &number(0, 128));
const NUMBERS: Kind = Kind::Range("-", &U32);
const BYTES: Kind = Kind::Range("-", &number(0, 255));
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
    note("chain", "The chain that the rule is in"),
    may("prefix", Kind::Prefix(Family::Any), "Destination"),
    may(
        "prefix-length",
        LENGTHS,
        "Length of the destination's prefix",
    ),
    note("match-chain", "Chain that must accept the route"),
    may("protocol", PROTOCOLS, "Where the route comes from"),
    may("distance", BYTES, "Distance"),
    may("scope", BYTES, "Scope"),
    may("target-scope", BYTES, "Target scope"),
    may("pref-src", ADDRESS, "Preferred source"),
    note("routing-mark", "Table"),
    may("route-tag", NUMBERS, "Tag"),
    note("route-comment", "Comment"),
    note("bgp-as-path", "Way, as a regular expression"),
    may("bgp-as-path-length", NUMBERS, "Length of the way"),
    may(
        "bgp-atomic-aggregate",
        Kind::Words(&["absent", "present"]),
        "Whether parts are left out",
    ),
    list("bgp-communities", &Kind::Name, "Communities").optional(),
    may("bgp-local-pref", NUMBERS, "Preference"),
    may("bgp-med", NUMBERS, "Metric"),
    may("bgp-origin", ORIGINS, "Origin"),
    may("bgp-weight", NUMBERS, "Weight"),
    may("ospf-type", OSPF, "Kind of OSPF route"),
    maybe("locally-originated-bgp", "Made here"),
    maybe("invert-match", "The rule is for other routes"),
    may(
        "address-family",
        Kind::List(&Kind::Words(FAMILIES)),
        "Family",
    ),
];

const ACTION: &[Property] = &[
    words("action", ACTIONS, "What happens").default("passthrough"),
    note("jump-target", "Chain of jump"),
    may("set-distance", number(0, 255), "New distance"),
    may("set-scope", number(0, 255), "New scope"),
    may("set-target-scope", number(0, 255), "New target scope"),
    may("set-pref-src", ADDRESS, "New preferred source"),
    list("set-in-nexthop", &ADDRESS, "New gateways").optional(),
    list(
        "set-in-nexthop-direct",
        &Kind::Reference("interface"),
        "New interfaces",
    )
    .optional(),
    may(
        "set-in-nexthop-ipv6",
        Kind::Address(Family::V6),
        "New IPv6 gateways",
    ),
    may("set-out-nexthop", ADDRESS, "Gateway that others are told"),
    may(
        "set-out-nexthop-ipv6",
        Kind::Address(Family::V6),
        "IPv6 gateway that others are told",
    ),
    note("set-routing-mark", "New table"),
    note("set-route-comment", "New comment"),
    may("set-route-tag", U32, "New tag"),
    may(
        "set-check-gateway",
        Kind::Words(&["arp", "none", "ping"]),
        "How the gateway is watched",
    ),
    maybe("set-disabled", "Does not use the route"),
    may("set-type", TYPES, "New kind"),
    maybe("set-use-te-nexthop", "Uses tunnels of traffic engineering"),
    may("set-bgp-local-pref", U32, "New preference"),
    may("set-bgp-med", Kind::Or(&["absent"], &U32), "New metric"),
    may(
        "set-bgp-prepend",
        number(0, 16),
        "How often the own number is put before",
    ),
    list("set-bgp-prepend-path", &U32, "Numbers that are put before").optional(),
    may("set-bgp-weight", U32, "New weight"),
    list("set-bgp-communities", &Kind::Name, "New communities").optional(),
    list("append-bgp-communities", &Kind::Name, "Further communities").optional(),
    list("set-mpls-te-nexthop", &ADDRESS, "New tunnels").optional(),
];

pub(crate) static MENU: Menu = Menu {
    properties: &[MATCHERS, ACTION, COMMENT_DISABLED],
    flags: DISABLED_INVALID,
    columns: &["chain", "prefix", "prefix-length", "protocol", "action"],
    ..idle_rules("/routing/filter", "Version 6: filters of routes")
};
