//! `/routing/bgp`: BGP (RFC 4271).

pub(crate) mod advertisements;
pub(crate) mod aggregate;
pub(crate) mod connection;
pub(crate) mod evpn;
pub(crate) mod instance;
pub(crate) mod network;
pub(crate) mod session;
pub(crate) mod template;
pub(crate) mod vpls;
pub(crate) mod vpn;

use menu::{Family, Kind, Property};

use crate::declare::{U32, VRF, between, list, maybe, optional, optional_text, reference, seconds};
use crate::dynamic_routing::{FAMILIES, ROUTER_ID, SOURCES, chain};

/// An AS number.
pub(crate) const AS: Kind = between(0, 4_294_967_295);
/// The local AS number; in a confederation after the confederation's number: `65550/5`.
pub(crate) const OWN_AS: Kind = Kind::Either(&AS, &Kind::Tuple("/", &[AS, AS]));
/// Address families.
const CARRIED: Kind = Kind::Words(&[
    "evpn",
    "ip",
    "ipv6",
    "l2vpn",
    "l2vpn-cisco",
    "vpnv4",
    "vpnv6",
]);
/// Process affinity of a connection.
const AFFINITY: Kind = Kind::Or(
    &[
        "afi",
        "alone",
        "input",
        "instance",
        "main",
        "remote-as",
        "vrf",
    ],
    &U32,
);
const HOLD: Kind = Kind::Or(&["infinity"], &seconds(0, 65_535));
const NEXT_HOP: Kind = Kind::Words(&["default", "force-self", "propagate"]);
const ERRORS: Kind = Kind::Words(&["default", "disable", "notification", "revised", "withdraw"]);
const PREPEND: Kind = between(0, 255);
/// A route target or distinguisher: `65000:1`, `10.0.0.1:1`.
pub(crate) const TARGET: Kind =
    Kind::Tuple(":", &[Kind::Either(&U32, &Kind::Address(Family::V4)), U32]);

/// Properties of the whole connection.
pub(crate) const WHOLE: &[Property] = &[
    optional("as", OWN_AS, "Number of the own autonomous system"),
    optional("router-id", ROUTER_ID, "Number of the router"),
    optional(
        "cluster-id",
        Kind::Address(Family::V4),
        "Number of the reflectors' group",
    ),
    list("afi", &CARRIED, "What is carried").optional(),
    reference("routing-table", "routing-table", "Table of its routes").optional(),
    optional("vrf", VRF, "The VRF that it is in"),
    list("templates", &Kind::Reference("bgp-template"), "Templates").optional(),
    maybe(
        "multihop",
        "The other end is farther away than the next router",
    ),
    maybe("use-bfd", "Watches the other end by BFD"),
    optional("hold-time", HOLD, "After which silence it is gone"),
    optional(
        "keepalive-time",
        seconds(1, 1_800),
        "How often it is greeted",
    ),
    optional("nexthop-choice", NEXT_HOP, "Which next hop others are told"),
    optional(
        "cisco-vpls-nlri-len-fmt",
        Kind::Words(&["auto-bits", "auto-bytes", "bits", "bytes"]),
        "Of VPLS",
    ),
    optional_text("save-to", "File that messages are saved to"),
];

/// Properties of received routes.
pub(crate) const INPUT: &[Property] = &[
    chain(
        "input.filter",
        "Chain that routes pass before they are used",
    ),
    chain("input.accept-nlri", "List of networks that are taken early"),
    chain(
        "input.accept-communities",
        "List of communities that are taken early",
    ),
    chain(
        "input.accept-ext-communities",
        "List of extended communities that are taken early",
    ),
    chain(
        "input.accept-large-communities",
        "List of large communities that are taken early",
    ),
    list("input.add-path", &FAMILIES, "Takes several ways").optional(),
    optional(
        "input.affinity",
        AFFINITY,
        "What its work is done together with",
    ),
    optional(
        "input.allow-as",
        between(0, 10),
        "How often the own number may be on the way",
    ),
    optional(
        "input.attr-error-handling",
        ERRORS,
        "What becomes of damaged routes",
    ),
    chain("input.filter-unknown", "Attributes that are left out"),
    chain("input.filter-communities", "Communities that are left out"),
    chain(
        "input.filter-ext-communities",
        "Extended communities that are left out",
    ),
    chain(
        "input.filter-large-communities",
        "Large communities that are left out",
    ),
    chain("input.filter-nlri", "Networks that are left out"),
    optional("input.limit-process-routes-ipv4", U32, "Most routes"),
    optional("input.limit-process-routes-ipv6", U32, "Most IPv6 routes"),
];

/// Properties of advertised routes.
pub(crate) const OUTPUT: &[Property] = &[
    list("output.add-path", &FAMILIES, "Tells several ways").optional(),
    optional(
        "output.affinity",
        AFFINITY,
        "What its work is done together with",
    ),
    maybe(
        "output.as-override",
        "Puts the own number in place of the other's",
    ),
    optional(
        "output.default-originate",
        Kind::Words(&["always", "if-installed", "never"]),
        "Default",
    ),
    optional(
        "output.default-prepend",
        PREPEND,
        "How often the own number is put before",
    ),
    chain(
        "output.filter-chain",
        "Chain that routes pass before others are told",
    ),
    chain("output.filter-select", "Chain that chooses such routes"),
    maybe(
        "output.keep-sent-attributes",
        "Remembers what others were told",
    ),
    chain(
        "output.network",
        "Address list of networks that others are told",
    ),
    maybe(
        "output.network-blackhole",
        "Drops what is for such a network as a whole",
    ),
    maybe(
        "output.no-client-to-client-reflection",
        "Does not tell clients of each other",
    ),
    maybe("output.no-early-cut", "Tells others of what they know"),
    list(
        "output.redistribute",
        &SOURCES,
        "Routes that others are told",
    )
    .optional(),
    maybe("output.remove-private-as", "Leaves out private numbers"),
];
