//! Matchers of packets and connections, as property fragments that tables combine.

use menu::{Kind, Property};

use super::action::LISTS;
use super::kind::{
    ADDRESSES_V4, ADDRESSES_V6, ANY_INTERFACE, ANY_INTERFACE_LIST, BYTES, CLASSIFIER, DST_LIMIT,
    EXTENSIONS, HELPERS, HOPS, ICMP, IPSEC, LENGTHS, LIMIT, LIMIT_V4, LIMIT_V6, NAT_STATES,
    NOT_MARK, NOT_NAME, NTH, PORT_LIST, PRIORITY, PROTOCOL, RATES, STATES, TCP_FLAGS, TIME, TOS,
    TYPES_V4, TYPES_V6,
};
use super::names::{CONNECTION_MARKS, LIST_NAMES, PACKET_MARKS};
use crate::declare::{INTERFACE, between, no, optional, with_default};
use crate::fragment::{COMMENT_DISABLED, counter, join, length};

/// The common tail of the IPv4 tables with connection tracking: `filter`, `mangle`, `nat` and `calea`.
pub(crate) const TRACKED_V4: &[Property] = &join::<{ length(PARTS_V4) }>(PARTS_V4);
/// The common tail of the IPv6 tables with connection tracking: `filter`, `mangle` and `nat`.
pub(crate) const TRACKED_V6: &[Property] = &join::<{ length(PARTS_V6) }>(PARTS_V6);

const PARTS_V4: &[&[Property]] = &[
    &[connection_limit(&LIMIT_V4)],
    DEEP,
    &addresses(&ADDRESSES_V4),
    V4,
    &address_types(&TYPES_V4),
    ADDRESS_LISTS,
    HOTSPOT,
    LISTS,
    TTL,
    CONNECTION,
    ROUTING,
    INTERFACES,
    PACKET_MARK,
    PACKET,
    LOG,
    COUNTS,
    COMMENT_DISABLED,
];

const PARTS_V6: &[&[Property]] = &[
    STATE,
    &[connection_limit(&LIMIT_V6)],
    &addresses(&ADDRESSES_V6),
    ADDRESS_LISTS,
    LISTS,
    &address_types(&TYPES_V6),
    HEADERS,
    FLAGS,
    HOP_LIMIT,
    CONNECTION,
    ROUTING,
    INTERFACES,
    PACKET_MARK,
    PACKET,
    LOG,
    COUNTS,
    COMMENT_DISABLED,
];

/// Connection state.
pub(crate) const STATE: &[Property] = &[optional(
    "connection-state",
    STATES,
    "State of the packet's connection",
)];

/// NAT state of the connection.
pub(crate) const NAT_STATE: &[Property] = &[optional(
    "connection-nat-state",
    NAT_STATES,
    "NAT state of the connection",
)];

/// TCP flags that must be set or, with `!`, clear.
pub(crate) const FLAGS: &[Property] = &[optional(
    "tcp-flags",
    TCP_FLAGS,
    "TCP flags that must be set or clear",
)];

/// Number of connections per network; `bits` bounds the prefix length.
const fn connection_limit(bits: &'static Kind) -> Property {
    optional(
        "connection-limit",
        *bits,
        "Connections per network: count,prefix length",
    )
}

/// Protocol, source and destination address.
pub(crate) const fn addresses(kind: &'static Kind) -> [Property; 3] {
    [
        optional("protocol", Kind::Not(&PROTOCOL), "Protocol above IP"),
        optional("src-address", *kind, "Source address"),
        optional("dst-address", *kind, "Destination address"),
    ]
}

/// Address types; the words depend on the IP version.
pub(crate) const fn address_types(kinds: &'static Kind) -> [Property; 2] {
    [
        optional("src-address-type", *kinds, "Type of the source address"),
        optional(
            "dst-address-type",
            *kinds,
            "Type of the destination address",
        ),
    ]
}

/// Address lists that contain the source or destination.
pub(crate) const ADDRESS_LISTS: &[Property] = &[
    optional("src-address-list", NOT_NAME, "Address list with the source")
        .bare()
        .shared(LIST_NAMES),
    optional(
        "dst-address-list",
        NOT_NAME,
        "Address list with the destination",
    )
    .bare()
    .shared(LIST_NAMES),
];

/// Matchers on the tracked connection.
const CONNECTION: &[Property] = &[
    optional("connection-mark", NOT_MARK, "Mark of the connection")
        .bare()
        .shared(CONNECTION_MARKS),
    optional(
        "connection-type",
        HELPERS,
        "Connection tracking helper of the connection",
    )
    .inert_for(has_no_helper),
    optional(
        "connection-bytes",
        BYTES,
        "Bytes of the connection: from-to; to 0: no upper bound",
    ),
    optional(
        "connection-rate",
        RATES,
        "Rate of the connection in bits per second",
    ),
];

/// Connection helpers that are accepted but not implemented: a rule with one never matches.
fn has_no_helper(word: &str) -> bool {
    matches!(word, "h323" | "quake3")
}

/// Routing table of the packet.
const ROUTING: &[Property] = &[optional(
    "routing-mark",
    Kind::Not(&Kind::Reference("routing-table")),
    "Routing mark of the packet",
)];

/// Ingress and egress interfaces.
pub(crate) const INTERFACES: &[Property] = &[
    optional("in-interface", ANY_INTERFACE, "Ingress interface"),
    optional("out-interface", ANY_INTERFACE, "Egress interface"),
    optional(
        "in-interface-list",
        ANY_INTERFACE_LIST,
        "Interface list with the ingress interface",
    ),
    optional(
        "out-interface-list",
        ANY_INTERFACE_LIST,
        "Interface list with the egress interface",
    ),
    optional(
        "in-bridge-port",
        Kind::Not(&INTERFACE),
        "Ingress bridge port",
    ),
    optional(
        "out-bridge-port",
        Kind::Not(&INTERFACE),
        "Egress bridge port",
    ),
    optional(
        "in-bridge-port-list",
        ANY_INTERFACE_LIST,
        "Interface list with the ingress bridge port",
    ),
    optional(
        "out-bridge-port-list",
        ANY_INTERFACE_LIST,
        "Interface list with the egress bridge port",
    ),
];

/// Packet mark.
pub(crate) const PACKET_MARK: &[Property] =
    &[optional("packet-mark", NOT_MARK, "Mark of the packet")
        .bare()
        .shared(PACKET_MARKS)];

/// Header fields and limits.
pub(crate) const PACKET: &[Property] = &[
    optional("src-port", PORT_LIST, "Source ports"),
    optional("dst-port", PORT_LIST, "Destination ports"),
    optional("port", PORT_LIST, "Source or destination ports"),
    optional("icmp-options", ICMP, "ICMP type and codes"),
    optional(
        "src-mac-address",
        Kind::Not(&Kind::Mac),
        "Hardware address of the sender",
    ),
    optional("content", Kind::Not(&Kind::Text), "Text within the packet"),
    optional(
        "ingress-priority",
        PRIORITY,
        "Priority of the received frame",
    ),
    optional("priority", PRIORITY, "Priority of the packet"),
    optional("dscp", PRIORITY, "Differentiated services code point"),
    optional("tos", TOS, "Type of service, with mask"),
    optional("limit", LIMIT, "Matches up to a rate: rate/time,burst:mode"),
    optional(
        "dst-limit",
        DST_LIMIT,
        "Matches each flow up to a rate: rate/time,burst,mode/expire",
    ),
    optional("time", TIME, "Time of day and days of the week"),
    optional(
        "random",
        between(1, 99),
        "Matches this percentage of packets",
    ),
    optional("nth", NTH, "Matches one of every n packets: every,packet"),
    optional("tcp-mss", LENGTHS, "TCP maximum segment size"),
    optional(
        "per-connection-classifier",
        CLASSIFIER,
        "Matches one of n groups of flows",
    ),
    optional("packet-size", LENGTHS, "Length of the packet"),
];

/// TLS server name (SNI).
pub(crate) const TLS: &[Property] =
    &[optional("tls-host", NOT_NAME, "TLS server name (SNI)").bare()];

/// Logging, and the IPsec policy of the packet.
pub(crate) const LOG: &[Property] = &[
    no("log", "Log matching packets"),
    with_default(
        "log-prefix",
        Kind::Sized { min: 0, max: 31 },
        "",
        "Prefix of log entries",
    ),
    optional(
        "ipsec-policy",
        IPSEC,
        "Whether IPsec was or will be applied",
    ),
];

/// Counters.
pub(crate) const COUNTS: &[Property] = &[
    counter("bytes", "Bytes of matching packets"),
    counter("packets", "Matching packets"),
    Property::new("last-hit", Kind::Text, "Time of the last match").stats(),
];

/// IPv4 only, before the address types.
pub(crate) const V4: &[Property] = &[
    optional("fragment", Kind::Bool, "Matches fragments except the first"),
    optional(
        "psd",
        Kind::Tuple(
            ",",
            &[
                between(0, 65_535),
                Kind::SPAN,
                between(0, 65_535),
                between(0, 65_535),
            ],
        ),
        "Port scan: weight,delay,low port weight,high port weight",
    ),
    optional(
        "ipv4-options",
        Kind::Words(&[
            "any",
            "loose-source-routing",
            "no-record-route",
            "no-router-alert",
            "no-source-routing",
            "no-timestamp",
            "none",
            "record-route",
            "router-alert",
            "strict-source-routing",
            "timestamp",
        ]),
        "IPv4 options of the packet",
    ),
];

/// IPv4 only, after the address lists.
pub(crate) const HOTSPOT: &[Property] = &[optional(
    "hotspot",
    Kind::List(&Kind::Not(&Kind::Words(&[
        "auth",
        "from-client",
        "http",
        "local-dst",
        "to-client",
    ]))),
    "Hotspot state of the packet",
)];

/// TTL of IPv4 packets.
pub(crate) const TTL: &[Property] = &[optional("ttl", HOPS, "Time to live")];

/// IPv4 only, for tracked connections.
const DEEP: &[Property] = &[
    optional(
        "layer7-protocol",
        Kind::Not(&Kind::Reference("layer7-protocol")),
        "Layer 7 pattern of the connection",
    ),
    optional(
        "realm",
        Kind::Not(&between(0, 4_294_967_295)),
        "Realm of the route",
    ),
];

/// IPv6 extension headers.
pub(crate) const HEADERS: &[Property] = &[optional(
    "headers",
    EXTENSIONS,
    "Extension headers of the packet",
)];

/// Hop limit of IPv6 packets.
pub(crate) const HOP_LIMIT: &[Property] = &[optional("hop-limit", HOPS, "Hop limit")];

/// Peer-to-peer protocols of older versions: accepted, never matched.
pub(crate) const P2P: &[Property] = &[optional(
    "p2p",
    Kind::Words(&[
        "all-p2p",
        "bit-torrent",
        "blubster",
        "direct-connect",
        "edonkey",
        "fasttrack",
        "gnutella",
        "soulseek",
        "warez",
        "winmx",
    ]),
    "Peer-to-peer protocol; never matches",
)
.inert()];
