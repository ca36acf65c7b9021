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
    optional("as", OWN_AS, "Local AS number"),
    optional("router-id", ROUTER_ID, "Router ID"),
    optional(
        "cluster-id",
        Kind::Address(Family::V4),
        "Cluster ID of the route reflectors",
    ),
    list("afi", &CARRIED, "Address families").optional(),
    reference(
        "routing-table",
        "routing-table",
        "Routing table of the routes",
    )
    .optional(),
    optional("vrf", VRF, "The VRF"),
    list("templates", &Kind::Reference("bgp-template"), "Templates").optional(),
    maybe("multihop", "Allow a remote router more than one hop away"),
    maybe("use-bfd", "Monitor the remote router by BFD"),
    optional("hold-time", HOLD, "Hold time"),
    optional(
        "keepalive-time",
        seconds(1, 1_800),
        "Interval of keepalive messages",
    ),
    optional(
        "nexthop-choice",
        NEXT_HOP,
        "Choice of the advertised next hop",
    ),
    optional(
        "cisco-vpls-nlri-len-fmt",
        Kind::Words(&["auto-bits", "auto-bytes", "bits", "bytes"]),
        "Encoding of the length in VPLS NLRI (Cisco)",
    ),
    optional_text("save-to", "File to which messages are saved"),
];

/// Properties of received routes.
pub(crate) const INPUT: &[Property] = &[
    chain("input.filter", "Filter chain for received routes"),
    chain(
        "input.accept-nlri",
        "Address list of networks accepted before filtering",
    ),
    chain(
        "input.accept-communities",
        "List of communities accepted before filtering",
    ),
    chain(
        "input.accept-ext-communities",
        "List of extended communities accepted before filtering",
    ),
    chain(
        "input.accept-large-communities",
        "List of large communities accepted before filtering",
    ),
    list("input.add-path", &FAMILIES, "Accept several paths").optional(),
    optional(
        "input.affinity",
        AFFINITY,
        "Process that handles the session",
    ),
    optional(
        "input.allow-as",
        between(0, 10),
        "Maximum occurrences of the local AS number in the path",
    ),
    optional(
        "input.attr-error-handling",
        ERRORS,
        "Handling of malformed routes",
    ),
    chain("input.filter-unknown", "Attributes to remove"),
    chain("input.filter-communities", "Communities to remove"),
    chain(
        "input.filter-ext-communities",
        "Extended communities to remove",
    ),
    chain(
        "input.filter-large-communities",
        "Large communities to remove",
    ),
    chain("input.filter-nlri", "Networks to remove"),
    optional(
        "input.limit-process-routes-ipv4",
        U32,
        "Maximum number of IPv4 routes",
    ),
    optional(
        "input.limit-process-routes-ipv6",
        U32,
        "Maximum number of IPv6 routes",
    ),
];

/// Properties of advertised routes.
pub(crate) const OUTPUT: &[Property] = &[
    list("output.add-path", &FAMILIES, "Advertise several paths").optional(),
    optional(
        "output.affinity",
        AFFINITY,
        "Process that handles the session",
    ),
    maybe(
        "output.as-override",
        "Replace the remote AS number by the local one",
    ),
    optional(
        "output.default-originate",
        Kind::Words(&["always", "if-installed", "never"]),
        "Default",
    ),
    optional(
        "output.default-prepend",
        PREPEND,
        "How many times the local AS number is prepended",
    ),
    chain("output.filter-chain", "Filter chain for advertised routes"),
    chain(
        "output.filter-select",
        "Filter chain that selects advertised routes",
    ),
    maybe(
        "output.keep-sent-attributes",
        "Keep a copy of sent attributes",
    ),
    chain("output.network", "Address list of advertised networks"),
    maybe(
        "output.network-blackhole",
        "Add a blackhole route for the advertised networks",
    ),
    maybe(
        "output.no-client-to-client-reflection",
        "Do not reflect routes between clients",
    ),
    maybe(
        "output.no-early-cut",
        "Send routes that the remote router has already advertised",
    ),
    list("output.redistribute", &SOURCES, "Redistributed routes").optional(),
    maybe("output.remove-private-as", "Remove private AS numbers"),
];
