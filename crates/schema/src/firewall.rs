//! What the tables of the IPv4 and the IPv6 firewall share: matchers, actions and their order.
//!
//! A table's properties are fragments in the order of `print detail`. `!` before a matcher's value
//! turns it around; a matcher that is not given matches everything.

use menu::{
    Absent, Command, Draft, Family, Kind, Old, Part, Property, Reason, Shared, Store, Value,
};

use crate::brief::{INTERFACE, INTERFACE_LIST, PORT, PORTS, may, no, number, on_items, some, with};
use crate::fragment::counter;

/// Names of protocols above IP.
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
/// A protocol above IP by name or number.
pub(crate) const PROTOCOL: Kind = Kind::Or(PROTOCOLS, &BYTE);
pub(crate) const BYTE: Kind = number(0, 255);
/// How long an address stays in a list.
pub(crate) const LIST_TIMEOUT: Kind = Kind::Or(
    &["none-dynamic", "none-static"],
    &crate::brief::seconds(0, 21_474_836),
);

const MARK: Kind = Kind::Or(&["no-mark"], &Kind::Name);
const NOT_NAME: Kind = Kind::Not(&Kind::Name);
const NOT_MARK: Kind = Kind::Not(&MARK);
const PORT_LIST: Kind = Kind::Not(&Kind::List(&PORTS));
const LENGTHS: Kind = Kind::Not(&PORTS);
const ANY_INTERFACE: Kind = Kind::Not(&Kind::Or(
    &["all-ethernet", "all-ppp", "all-vlan", "all-wireless"],
    // RouterOS: a VRF is an interface, too.
    &Kind::Either(&INTERFACE, &Kind::Reference("routing-table")),
));
const ANY_INTERFACE_LIST: Kind = Kind::Not(&INTERFACE_LIST);
const SIX_BITS: Kind = number(0, 63);
const PRIORITY: Kind = Kind::Not(&SIX_BITS);
const STATES: Kind = Kind::Not(&Kind::Set(&[
    "invalid",
    "established",
    "related",
    "new",
    "untracked",
]));
const NAT_STATES: Kind = Kind::Not(&Kind::Set(&["srcnat", "dstnat", "ein-snat", "ein-dnat"]));
const HELPERS: Kind = Kind::Not(&Kind::Words(&[
    "ftp", "h323", "irc", "pptp", "quake3", "sip", "tftp",
]));
const TCP_FLAGS: Kind = Kind::List(&Kind::Not(&Kind::Words(&[
    "ack", "cwr", "ece", "fin", "psh", "rst", "syn", "urg",
])));
/// `0-0`: the second number is 0 where there is no bound.
const BYTES: Kind = Kind::Tuple("-", &[Kind::COUNTER, Kind::COUNTER]);
const RATES: Kind = Kind::Not(&Kind::Tuple("-", &[Kind::Rate, Kind::Rate]));
/// `8:0-255`.
const ICMP: Kind = Kind::Not(&Kind::Parts(&[
    Part::new("", BYTE),
    Part::new(":", Kind::Range("-", &BYTE)).or(Absent::Is("0-255")),
]));
/// `10/1m,5:packet`: a rate, the burst, and what is counted.
pub(crate) const LIMIT: Kind = Kind::Not(&Kind::Parts(&[
    Part::new("", Kind::Rate),
    Part::new("/", Kind::SPAN).or(Absent::Hidden("1s")),
    Part::new(",", Kind::Rate),
    Part::new(":", Kind::Words(&["bit", "packet"])).or(Absent::Is("packet")),
]));
/// `10/1s,5,src-address/1m40s`: a rate, the burst, what tells flows apart, when they are forgotten.
const DST_LIMIT: Kind = Kind::Not(&Kind::Parts(&[
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
    Part::new("", crate::brief::seconds(0, 86_400)),
    Part::new("-", crate::brief::seconds(0, 86_400)),
    Part::new(
        ",",
        Kind::Set(&["sun", "mon", "tue", "wed", "thu", "fri", "sat"]),
    ),
]));
/// `2,1`: of every two the first.
const NTH: Kind = Kind::Not(&Kind::Parts(&[
    Part::new("", number(1, 4_294_967_295)),
    Part::new(",", number(0, 4_294_967_295)).or(Absent::Left),
]));
/// `both-addresses:3/0`.
const CLASSIFIER: Kind = Kind::Not(&Kind::Parts(&[
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
    Part::new(":", number(1, 4_294_967_295)),
    Part::new("/", number(0, 4_294_967_295)),
]));
const IPSEC: Kind = Kind::Tuple(
    ",",
    &[Kind::Words(&["in", "out"]), Kind::Words(&["ipsec", "none"])],
);
const TOS: Kind = Kind::Not(&Kind::Parts(&[
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

/// Actions that are known, and not done here.
fn is_idle_action(word: &str) -> bool {
    matches!(word, "sniff-pc" | "socksify")
}

/// The chains of a table: those that packets come to, and those that rules make.
pub(crate) const fn chains(words: &'static [&'static str]) -> Shared {
    Shared {
        words,
        used: &[("", "chain"), ("", "jump-target")],
    }
}

/// The lists of addresses, and what rules call so.
pub(crate) const LIST_NAMES: &Shared = &Shared {
    words: &[],
    used: &[
        ("address-list", "list"),
        ("filter", "address-list"),
        ("mangle", "address-list"),
        ("nat", "address-list"),
        ("raw", "address-list"),
    ],
};

/// Marks of connections.
const CONNECTION_MARKS: &Shared = &Shared {
    words: &[],
    used: &[("mangle", "new-connection-mark")],
};

/// Marks of packets.
const PACKET_MARKS: &Shared = &Shared {
    words: &[],
    used: &[("mangle", "new-packet-mark")],
};

/// The chain and the action; chains and words are the table's.
pub(crate) const fn head(
    chains: &'static Shared,
    actions: &'static [&'static str],
) -> [Property; 3] {
    [
        some("chain", Kind::Name, "The chain that the rule is in")
            .required()
            .bare()
            .shared(chains),
        some(
            "action",
            Kind::Words(actions),
            "What happens to a packet that matches",
        )
        .inert_for(is_idle_action),
        may("jump-target", Kind::Name, "The chain that jump goes to")
            .bare()
            .shared(chains),
    ]
}

/// State of the packet's connection.
pub(crate) const STATE: &[Property] = &[may(
    "connection-state",
    STATES,
    "State of the packet's connection",
)];
/// How the packet's connection is translated.
pub(crate) const NAT_STATE: &[Property] = &[may(
    "connection-nat-state",
    NAT_STATES,
    "How the connection is translated",
)];

/// TCP flags that are set, and with `!` those that are not.
pub(crate) const FLAGS: &[Property] =
    &[may("tcp-flags", TCP_FLAGS, "TCP flags that are set or not")];

/// How many connections there are from a network; at most `bits` bits tell networks apart.
pub(crate) const fn connection_limit(bits: &'static Kind) -> Property {
    may(
        "connection-limit",
        *bits,
        "Number of connections of a network: count,length of prefix",
    )
}

pub(crate) const LIMIT_V4: Kind = Kind::Not(&Kind::Tuple(
    ",",
    &[number(0, 4_294_967_295), number(0, 32)],
));
pub(crate) const LIMIT_V6: Kind = Kind::Not(&Kind::Tuple(
    ",",
    &[number(0, 4_294_967_295), number(0, 128)],
));

/// Where a packet comes from and goes to.
pub(crate) const fn addresses(kind: &'static Kind) -> [Property; 3] {
    [
        may("protocol", Kind::Not(&PROTOCOL), "Protocol above IP"),
        may("src-address", *kind, "Source address"),
        may("dst-address", *kind, "Destination address"),
    ]
}

/// What kind of address it is; the kinds are the family's.
pub(crate) const fn address_types(kinds: &'static Kind) -> [Property; 2] {
    [
        may(
            "src-address-type",
            *kinds,
            "What kind of address the source is",
        ),
        may(
            "dst-address-type",
            *kinds,
            "What kind of address the destination is",
        ),
    ]
}

/// The lists that addresses are in.
pub(crate) const ADDRESS_LISTS: &[Property] = &[
    may("src-address-list", NOT_NAME, "A list that the source is in")
        .bare()
        .shared(LIST_NAMES),
    may(
        "dst-address-list",
        NOT_NAME,
        "A list that the destination is in",
    )
    .bare()
    .shared(LIST_NAMES),
];

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

/// The list that an action adds an address to.
pub(crate) const LISTS: &[Property] = &[
    may(
        "address-list",
        Kind::Name,
        "The list that the address is added to",
    )
    .bare()
    .shared(LIST_NAMES),
    may(
        "address-list-timeout",
        LIST_TIMEOUT,
        "How long the address stays in the list",
    ),
];

/// What connection tracking remembers.
pub(crate) const CONNECTION: &[Property] = &[
    may("connection-mark", NOT_MARK, "Mark of the connection")
        .bare()
        .shared(CONNECTION_MARKS),
    may(
        "connection-type",
        HELPERS,
        "The helper that expected the connection",
    ),
    may(
        "connection-bytes",
        BYTES,
        "Bytes of the connection so far; 0 at the end is no bound",
    ),
    may("connection-rate", RATES, "Bits a second of the connection"),
];

/// The table that routes the packet.
pub(crate) const ROUTING: &[Property] = &[may(
    "routing-mark",
    Kind::Not(&Kind::Reference("routing-table")),
    "The routing table that the packet is marked for",
)];

/// The ways in and out.
pub(crate) const INTERFACES: &[Property] = &[
    may(
        "in-interface",
        ANY_INTERFACE,
        "The interface that got the packet",
    ),
    may(
        "out-interface",
        ANY_INTERFACE,
        "The interface that sends the packet",
    ),
    may(
        "in-interface-list",
        ANY_INTERFACE_LIST,
        "A list that the interface of arrival is in",
    ),
    may(
        "out-interface-list",
        ANY_INTERFACE_LIST,
        "A list that the interface of departure is in",
    ),
    may(
        "in-bridge-port",
        Kind::Not(&INTERFACE),
        "The port of a bridge that got the packet",
    )
    .inert(),
    may(
        "out-bridge-port",
        Kind::Not(&INTERFACE),
        "The port of a bridge that sends the packet",
    )
    .inert(),
    may(
        "in-bridge-port-list",
        ANY_INTERFACE_LIST,
        "A list that the port of arrival is in",
    )
    .inert(),
    may(
        "out-bridge-port-list",
        ANY_INTERFACE_LIST,
        "A list that the port of departure is in",
    )
    .inert(),
];

/// The packet's own mark.
pub(crate) const PACKET_MARK: &[Property] = &[may("packet-mark", NOT_MARK, "Mark of the packet")
    .bare()
    .shared(PACKET_MARKS)];

/// What the packet's headers say, and limits.
pub(crate) const PACKET: &[Property] = &[
    may("src-port", PORT_LIST, "Source ports"),
    may("dst-port", PORT_LIST, "Destination ports"),
    may(
        "port",
        PORT_LIST,
        "Ports, of which the source's or the destination's is one",
    ),
    may("icmp-options", ICMP, "ICMP type and codes"),
    may(
        "src-mac-address",
        Kind::Not(&Kind::Mac),
        "Hardware address of the sender",
    ),
    may("content", Kind::Not(&Kind::Text), "Text within the packet"),
    may(
        "ingress-priority",
        PRIORITY,
        "Priority that the packet came with",
    ),
    may("priority", PRIORITY, "Priority of the packet"),
    may("dscp", PRIORITY, "Differentiated services code point"),
    may("tos", TOS, "Type of service, and the bits of it that count"),
    may("limit", LIMIT, "Matches up to a rate: rate/time,burst:mode"),
    may(
        "dst-limit",
        DST_LIMIT,
        "Matches each flow up to a rate: rate/time,burst,mode/expire",
    ),
    may("time", TIME, "Time of day and days of the week"),
    may(
        "random",
        number(1, 99),
        "Matches this percentage of packets",
    ),
    may("nth", NTH, "Matches one of so many packets: every,packet"),
    may("tcp-mss", LENGTHS, "TCP maximum segment size"),
    may(
        "per-connection-classifier",
        CLASSIFIER,
        "Matches one of so many groups of flows",
    ),
    may("packet-size", LENGTHS, "Length of the packet"),
];

/// The name of the server that a TLS client asks for.
pub(crate) const TLS: &[Property] =
    &[
        may("tls-host", NOT_NAME, "Name of the server that TLS asks for")
            .bare()
            .inert(),
    ];

/// What is logged, and what IPsec does.
pub(crate) const LOG: &[Property] = &[
    no("log", "Logs packets that match"),
    with(
        "log-prefix",
        Kind::Sized { min: 0, max: 31 },
        "",
        "What entries of the log begin with",
    ),
    may(
        "ipsec-policy",
        IPSEC,
        "Whether IPsec was or will be applied",
    ),
];

/// What has been counted.
pub(crate) const COUNTS: &[Property] = &[
    counter("bytes", "Bytes of packets that matched"),
    counter("packets", "Packets that matched"),
    Property::new("last-hit", Kind::Text, "When a packet matched last").stats(),
];

/// What IPv4 has alone, before the kinds of address.
pub(crate) const V4: &[Property] = &[
    may("fragment", Kind::Bool, "Whether it is a later fragment"),
    may(
        "psd",
        Kind::Tuple(
            ",",
            &[
                number(0, 65_535),
                Kind::SPAN,
                number(0, 65_535),
                number(0, 65_535),
            ],
        ),
        "Detects port scans: weight,delay,weight of low ports,weight of high ports",
    ),
    may(
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
        "Options of the IPv4 header",
    ),
];

/// What IPv4 has alone, after the lists of addresses.
pub(crate) const HOTSPOT: &[Property] = &[may(
    "hotspot",
    Kind::List(&Kind::Not(&Kind::Words(&[
        "auth",
        "from-client",
        "http",
        "local-dst",
        "to-client",
    ]))),
    "What the hotspot knows of the packet",
)
.inert()];

/// The hops that an IPv4 packet has left.
pub(crate) const TTL: &[Property] = &[may("ttl", HOPS, "Time to live")];

/// What connection tracking gives to IPv4 alone.
pub(crate) const DEEP: &[Property] = &[
    may(
        "layer7-protocol",
        Kind::Not(&Kind::Reference("layer7-protocol")),
        "Pattern within the stream",
    ),
    may(
        "realm",
        Kind::Not(&number(0, 4_294_967_295)),
        "Realm of the route",
    )
    .inert(),
];

/// Extension headers, which IPv6 has alone.
pub(crate) const HEADERS: &[Property] = &[may(
    "headers",
    Kind::Not(&Kind::Parts(&[
        Part::new(
            "",
            Kind::Set(&["hop", "dst", "route", "frag", "ah", "esp", "none", "proto"]),
        ),
        Part::new(":", Kind::Words(&["contains", "exact"])).or(Absent::Is("contains")),
    ])),
    "Extension headers of the packet",
)];
/// The hops that an IPv6 packet has left.
pub(crate) const HOP_LIMIT: &[Property] = &[may("hop-limit", HOPS, "Hop limit")];

/// File sharing of the past: taken, never matched.
pub(crate) const P2P: &[Property] = &[may(
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
    "File sharing programs of the past; never matches",
)
.inert()];

/// Marks and changes of the mangle table; `hops` is the family's name and help for its counter.
pub(crate) const fn changes(hops: (&'static str, &'static str)) -> [Property; 11] {
    [
        may("new-packet-mark", MARK, "Mark for the packet")
            .bare()
            .shared(PACKET_MARKS),
        may("new-connection-mark", MARK, "Mark for the connection")
            .bare()
            .shared(CONNECTION_MARKS),
        may(
            "new-routing-mark",
            Kind::Reference("routing-table"),
            "Table that routes the packet",
        ),
        may(
            "new-mss",
            Kind::Or(&["clamp-to-pmtu"], &PORT),
            "TCP maximum segment size",
        ),
        may(
            "new-dscp",
            Kind::Or(
                &["from-priority", "from-priority-to-high-3-bits"],
                &SIX_BITS,
            ),
            "Differentiated services code point",
        ),
        may(
            "new-priority",
            Kind::Or(
                &["from-dscp", "from-dscp-high-3-bits", "from-ingress"],
                &SIX_BITS,
            ),
            "Priority for queues and tags",
        ),
        may(hops.0, NEW_HOPS, hops.1),
        may(
            "passthrough",
            Kind::Bool,
            "Whether later rules see the packet too",
        ),
        may("sniff-id", crate::brief::U32, "Number of the case").inert(),
        may(
            "sniff-target",
            Kind::Address(Family::V4),
            "Where copies of packets go",
        ),
        may(
            "sniff-target-port",
            PORT,
            "The port that copies of packets go to",
        ),
    ]
}

/// The columns of a table of rules.
pub(crate) const STATS: &[&str] = &["chain", "action", "bytes", "packets"];

/// The same of a table that says when a rule matched last.
pub(crate) const HITS: &[&str] = &["chain", "action", "bytes", "packets", "last-hit"];

/// The commands of a table of rules.
pub(crate) const COMMANDS: &[Command] = &[
    on_items("reset-counters", "Reset statistics for rules"),
    crate::brief::command("reset-counters-all", "Reset statistics for all rules", &[]),
];

/// Version 6 made the table of a mark by itself, and could ask for the table as such.
pub(crate) const OLD: &[Old] = &[OLD_MARK, OLD_TABLE];
/// The same for a table that sets marks.
pub(crate) const OLD_MARKS: &[Old] = &[
    mark("new-routing-mark", "new-routing-mark"),
    OLD_MARK,
    OLD_TABLE,
];
/// The same for a table that looks into no stream.
pub(crate) const OLD_NAT: &[Old] = &[OLD_MARK, OLD_TABLE, Old::gone("tls-host")];

const OLD_MARK: Old = mark("routing-mark", "routing-mark");
const OLD_TABLE: Old = mark("routing-table", "routing-mark");

const fn mark(name: &'static str, becomes: &'static str) -> Old {
    Old {
        name,
        value: None,
        becomes,
        with: None,
        makes: Some(&[("fib", "yes")]),
    }
}

/// What a rule has that is not given: an action, and what the action needs.
pub(crate) fn complete(draft: &mut Draft<'_>) {
    if draft.get("action").is_none() {
        draft.set("action", Some(Value::Word("accept")));
    }
    let action = draft
        .get("action")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let marks = action.starts_with("mark-")
        || action.starts_with("change-")
        || ["set-priority", "strip-ipv4-options", "clear-df"].contains(&action);
    let adds = action.starts_with("add-");
    let same = action == "same";
    let mut imply = |needed: bool, name: &str, value: Value| {
        if needed && draft.get(name).is_none() {
            draft.set(name, Some(value));
        }
    };
    imply(marks, "passthrough", Value::Bool(true));
    imply(adds, "address-list-timeout", Value::Word("none-dynamic"));
    imply(same, "same-not-by-dst", Value::Bool(false));
}

/// RouterOS: a rule that asks for ports has to say a protocol that has some; `to-ports` does not ask.
/// One that is turned around (`!icmp`) leaves protocols with ports and without: the packet decides.
pub(crate) fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let asks = ["src-port", "dst-port", "port"]
        .iter()
        .any(|name| draft.get(name).is_some());
    let has_ports = match draft.get("protocol") {
        Some(Value::Word(word)) => WITH_PORTS.iter().any(|(name, _)| name == word),
        Some(Value::Number(number)) => WITH_PORTS.iter().any(|(_, known)| known == number),
        Some(_) => true,
        None => false,
    };
    if asks && !has_ports {
        let names = WITH_PORTS.map(|(name, _)| name).join(",");
        return Err(Reason::failure(format!(
            "ports can be specified if proto is {names}"
        )));
    }
    Ok(())
}

/// The protocols that have ports, in the order in which RouterOS says them.
const WITH_PORTS: [(&str, i64); 5] = [
    ("tcp", 6),
    ("udp", 17),
    ("udp-lite", 136),
    ("dccp", 33),
    ("sctp", 132),
];
