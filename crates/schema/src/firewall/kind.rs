//! Types of matcher values: protocols, ports, limits, times. Many accept `!` for negation.

use menu::{Absent, Family, Kind, Part};

use crate::declare::{INTERFACE, INTERFACE_LIST, PORTS, between};

/// Names of IP protocols.
pub(crate) const PROTOCOLS: &[&str] = &[
    "dccp",
    "ddp",
    "egp",
    "encap",
    "etherip",
    "ggp",
    "gre",
    "hmp",
    "icmp",
    "icmpv6",
    "idpr-cmtp",
    "igmp",
    "ipencap",
    "ipip",
    "ipsec-ah",
    "ipsec-esp",
    "ipv6",
    "ipv6-encap",
    "ipv6-frag",
    "ipv6-nonxt",
    "ipv6-opts",
    "ipv6-route",
    "iso-tp4",
    "l2tp",
    "ospf",
    "pim",
    "pup",
    "rdp",
    "rspf",
    "rsvp",
    "sctp",
    "st",
    "tcp",
    "udp",
    "udp-lite",
    "vmtp",
    "vrrp",
    "xns-idp",
    "xtp",
];

/// An IP protocol by name or number.
pub(crate) const PROTOCOL: Kind = Kind::Or(PROTOCOLS, &BYTE);

pub(crate) const BYTE: Kind = between(0, 255);

/// Lifetime of an address list entry.
pub(super) const LIST_TIMEOUT: Kind = Kind::Or(
    &["none-dynamic", "none-static"],
    &crate::declare::seconds(0, 21_474_836),
);

pub(super) const MARK: Kind = Kind::Or(&["no-mark"], &Kind::Name);
pub(super) const NOT_NAME: Kind = Kind::Not(&Kind::Name);
pub(super) const NOT_MARK: Kind = Kind::Not(&MARK);
pub(super) const PORT_LIST: Kind = Kind::Not(&Kind::List(&PORTS));
pub(super) const LENGTHS: Kind = Kind::Not(&PORTS);

pub(super) const ANY_INTERFACE: Kind = Kind::Not(&Kind::Or(
    &["all-ethernet", "all-ppp", "all-vlan", "all-wireless"],
    // RouterOS: a VRF is also an interface.
    &Kind::Either(&INTERFACE, &Kind::Reference("routing-table")),
));

pub(super) const ANY_INTERFACE_LIST: Kind = Kind::Not(&INTERFACE_LIST);
pub(super) const SIX_BITS: Kind = between(0, 63);
pub(super) const PRIORITY: Kind = Kind::Not(&SIX_BITS);

pub(super) const STATES: Kind = Kind::Not(&Kind::Set(&[
    "invalid",
    "established",
    "related",
    "new",
    "untracked",
]));

pub(super) const NAT_STATES: Kind =
    Kind::Not(&Kind::Set(&["srcnat", "dstnat", "ein-snat", "ein-dnat"]));

pub(super) const HELPERS: Kind = Kind::Not(&Kind::Words(&[
    "ftp", "h323", "irc", "pptp", "quake3", "sip", "tftp",
]));

pub(super) const TCP_FLAGS: Kind = Kind::List(&Kind::Not(&Kind::Words(&[
    "ack", "cwr", "ece", "fin", "psh", "rst", "syn", "urg",
])));

/// `0-0`: a maximum of 0 means no limit.
pub(super) const BYTES: Kind = Kind::Tuple("-", &[Kind::COUNTER, Kind::COUNTER]);

pub(super) const RATES: Kind = Kind::Not(&Kind::Tuple("-", &[Kind::Rate, Kind::Rate]));

/// `8:0-255`.
pub(super) const ICMP: Kind = Kind::Not(&Kind::Parts(&[
    Part::new("", BYTE),
    Part::new(":", Kind::Range("-", &BYTE)).or(Absent::Is("0-255")),
]));

/// `10/1m,5:packet`: rate, burst, and unit.
pub(crate) const LIMIT: Kind = Kind::Not(&Kind::Parts(&[
    Part::new("", Kind::Rate),
    Part::new("/", Kind::SPAN).or(Absent::Hidden("1s")),
    Part::new(",", Kind::Rate),
    Part::new(":", Kind::Words(&["bit", "packet"])).or(Absent::Is("packet")),
]));

/// `10/1s,5,src-address/1m40s`: rate, burst, flow key, and expiry.
pub(super) const DST_LIMIT: Kind = Kind::Not(&Kind::Parts(&[
    Part::new("", Kind::Rate),
    Part::new("/", Kind::SPAN).or(Absent::Hidden("1s")),
    Part::new(",", Kind::Rate),
    Part::new(
        ",",
        Kind::Words(&[
            "addresses-and-dst-port",
            "dst-address",
            "dst-address-and-port",
            "src-address",
            "src-and-dst-addresses",
        ]),
    ),
    Part::new("/", Kind::SPAN).or(Absent::Left),
]));

/// `8h-17h,mon,tue`.
pub(crate) const TIME: Kind = Kind::Not(&Kind::Parts(&[
    Part::new("", crate::declare::seconds(0, 86_400)),
    Part::new("-", crate::declare::seconds(0, 86_400)),
    Part::new(
        ",",
        Kind::Set(&["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
    ),
]));

/// `2,1`: the first of every two packets.
pub(super) const NTH: Kind = Kind::Not(&Kind::Parts(&[
    Part::new("", between(1, 4_294_967_295)),
    Part::new(",", between(0, 4_294_967_295)).or(Absent::Left),
]));

/// `both-addresses:3/0`.
pub(super) const CLASSIFIER: Kind = Kind::Not(&Kind::Parts(&[
    Part::new(
        "",
        Kind::Words(&[
            "both-addresses",
            "both-addresses-and-ports",
            "both-ports",
            "dst-address",
            "dst-address-and-port",
            "dst-port",
            "src-address",
            "src-address-and-port",
            "src-port",
        ]),
    ),
    Part::new(":", between(1, 4_294_967_295)),
    Part::new("/", between(0, 4_294_967_295)),
]));

pub(super) const IPSEC: Kind = Kind::Tuple(
    ",",
    &[Kind::Words(&["in", "out"]), Kind::Words(&["ipsec", "none"])],
);

pub(super) const TOS: Kind = Kind::Not(&Kind::Parts(&[
    Part::new("", BYTE),
    Part::new("/", BYTE).or(Absent::Left),
]));

/// `equal:1`.
pub(crate) const HOPS: Kind = Kind::Tuple(
    ":",
    &[
        Kind::Words(&["equal", "greater-than", "less-than", "not-equal"]),
        BYTE,
    ],
);

/// `set:64`.
pub(crate) const NEW_HOPS: Kind = Kind::Tuple(
    ":",
    &[Kind::Words(&["decrement", "increment", "set"]), BYTE],
);

pub(crate) const LIMIT_V4: Kind = Kind::Not(&Kind::Tuple(
    ",",
    &[between(0, 4_294_967_295), between(0, 32)],
));

pub(crate) const LIMIT_V6: Kind = Kind::Not(&Kind::Tuple(
    ",",
    &[between(0, 4_294_967_295), between(0, 128)],
));

pub(crate) const TYPES_V4: Kind = Kind::Not(&Kind::Set(&[
    "unicast",
    "local",
    "broadcast",
    "multicast",
    "blackhole",
]));

pub(crate) const TYPES_V6: Kind = Kind::Not(&Kind::Set(&[
    "unicast",
    "local",
    "anycast",
    "multicast",
    "unreachable",
]));

pub(crate) const ADDRESSES_V4: Kind = Kind::Not(&Kind::Addresses(Family::V4));
pub(crate) const ADDRESSES_V6: Kind = Kind::Not(&Kind::Prefix(Family::V6));
/// `hop,frag:contains`.
pub(super) const EXTENSIONS: Kind = Kind::Not(&Kind::Parts(&[
    Part::new(
        "",
        Kind::Set(&["hop", "dst", "route", "frag", "ah", "esp", "none", "proto"]),
    ),
    Part::new(":", Kind::Words(&["contains", "exact"])).or(Absent::Is("contains")),
]));
