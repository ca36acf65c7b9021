//! What rules of bridges match frames by. `!` before a value turns the matcher around.

use menu::{Family, Flag, Kind, Property, Shared};

use crate::brief::{INTERFACE, INTERFACE_LIST, PORTS, U32, may, no, number, text, with};
use crate::firewall::{BYTE, LIMIT, PROTOCOLS, chains};
use crate::fragment::counter;
use crate::interface::MAC_PROTOCOL;

/// A hardware address with the bits of it that count.
const MASKED: Kind = Kind::Not(&Kind::Either(
    &Kind::Mac,
    &Kind::Tuple("/", &[Kind::Mac, Kind::Mac]),
));
const NOT_INTERFACE: Kind = Kind::Not(&INTERFACE);
const NOT_LIST: Kind = Kind::Not(&INTERFACE_LIST);
const NET4: Kind = Kind::Not(&Kind::Prefix(Family::V4));
const NET6: Kind = Kind::Not(&Kind::Prefix(Family::V6));
const PORT: Kind = Kind::Not(&PORTS);
const MARK: Kind = Kind::Not(&Kind::Or(&["no-mark"], &Kind::Name));
const PROTOCOL: Kind = Kind::Not(&Kind::Or(PROTOCOLS, &BYTE));
const ETHERTYPE: Kind = Kind::Not(&MAC_PROTOCOL);
const TYPES: Kind = Kind::Not(&Kind::Words(&[
    "broadcast",
    "host",
    "multicast",
    "other-host",
]));
const OPCODES: Kind = Kind::Not(&Kind::Or(
    &[
        "arp-nak",
        "drarp-error",
        "drarp-reply",
        "drarp-request",
        "inarp-reply",
        "inarp-request",
        "reply",
        "reply-reverse",
        "request",
        "request-reverse",
    ],
    &number(0, 65_535),
));
const WORD: Kind = Kind::Not(&number(0, 65_535));
const SAP: Kind = Kind::Not(&number(0, 255));
const STP_TIME: Kind = Kind::Not(&Kind::Range("-", &number(0, 65_535)));
const STP_FLAGS: Kind = Kind::Not(&Kind::List(&Kind::Words(&[
    "topology-change",
    "topology-change-ack",
])));
const STP_TYPES: Kind = Kind::Not(&Kind::Words(&["config", "tcn"]));
const PRIORITY: Kind = Kind::Not(&number(0, 63));

/// The chains that frames come to, and those that rules make.
const CHAINS: &Shared = &chains(&["forward", "input", "output"]);

/// The chain and what happens.
pub(crate) const fn head(actions: &'static [&'static str], default: &'static str) -> [Property; 2] {
    [
        Property::new("chain", Kind::Name, "The chain that the rule is in")
            .required()
            .shared(CHAINS),
        with(
            "action",
            Kind::Words(actions),
            default,
            "What happens to a frame that matches",
        ),
    ]
}

/// Where the frame comes from and goes to.
pub(crate) const PLACES: &[Property] = &[
    may("in-interface", NOT_INTERFACE, "Port that it came in by"),
    may("in-interface-list", NOT_LIST, "List with that port"),
    may("in-bridge", NOT_INTERFACE, "Bridge of that port"),
    may("in-bridge-list", NOT_LIST, "List with that bridge"),
    may("out-interface", NOT_INTERFACE, "Port that it goes out by"),
    may("out-interface-list", NOT_LIST, "List with that port"),
    may("out-bridge", NOT_INTERFACE, "Bridge of that port"),
    may("out-bridge-list", NOT_LIST, "List with that bridge"),
    may("src-mac-address", MASKED, "Hardware address of the sender"),
    may(
        "dst-mac-address",
        MASKED,
        "Hardware address of the receiver",
    ),
    may("mac-protocol", ETHERTYPE, "What the frame carries"),
];

/// What a packet within says.
pub(crate) const PACKETS: &[Property] = &[
    may("src-address", NET4, "Source network"),
    may("src-address6", NET6, "IPv6 source network"),
    may("src-port", PORT, "Source port"),
    may("dst-address", NET4, "Destination network"),
    may("dst-address6", NET6, "IPv6 destination network"),
    may("dst-port", PORT, "Destination port"),
    may("ip-protocol", PROTOCOL, "IP protocol"),
    may("tls-host", Kind::Not(&Kind::Name), "Host name of TLS"),
    may("packet-mark", MARK, "Mark of the packet"),
    may("packet-type", TYPES, "Whom it is for"),
    may("ingress-priority", PRIORITY, "Priority that it came with"),
    may("limit", LIMIT, "How many match"),
];

/// What a tag, ARP or IEEE 802.2 within says.
pub(crate) const TAGS: &[Property] = &[
    may(
        "vlan-id",
        Kind::Not(&Kind::Range("-", &number(0, 4_095))),
        "VLAN of the tag",
    ),
    may(
        "vlan-priority",
        Kind::Not(&number(0, 7)),
        "Priority of the tag",
    ),
    may("vlan-encap", ETHERTYPE, "What is behind the tag"),
    may("802.3-sap", SAP, "Service access point"),
    may("802.3-type", WORD, "Type behind SNAP"),
    may("arp-hardware-type", WORD, "Hardware type of ARP"),
    may("arp-opcode", OPCODES, "What ARP says"),
    may("arp-packet-type", ETHERTYPE, "Protocol of ARP"),
    may("arp-src-address", NET4, "Sender's network of ARP"),
    may(
        "arp-src-mac-address",
        MASKED,
        "Sender's hardware address of ARP",
    ),
    may("arp-dst-address", NET4, "Target's network of ARP"),
    may(
        "arp-dst-mac-address",
        MASKED,
        "Target's hardware address of ARP",
    ),
    may("arp-gratuitous", Kind::Bool, "Whether nobody asked"),
];

/// What a message of the spanning tree says.
pub(crate) const TREE: &[Property] = &[
    may("stp-type", STP_TYPES, "Kind of message"),
    may("stp-flags", STP_FLAGS, "Flags"),
    may("stp-root-priority", STP_TIME, "Priority of the root"),
    may("stp-root-address", MASKED, "Address of the root"),
    may(
        "stp-root-cost",
        Kind::Not(&Kind::Range("-", &U32)),
        "Cost of the way to the root",
    ),
    may("stp-sender-priority", STP_TIME, "Priority of the sender"),
    may("stp-sender-address", MASKED, "Address of the sender"),
    may("stp-port", STP_TIME, "Port of the sender"),
    may("stp-msg-age", STP_TIME, "Age of the message"),
    may("stp-max-age", STP_TIME, "Longest age"),
    may("stp-hello-time", STP_TIME, "Time between messages"),
    may("stp-forward-delay", STP_TIME, "How long a port listens"),
];

/// What rules do with marks, priorities and other chains.
pub(crate) const CHANGES: &[Property] = &[
    may("jump-target", Kind::Name, "Chain of jump").shared(CHAINS),
    may("new-packet-mark", Kind::Name, "New mark"),
    may(
        "new-priority",
        Kind::Or(&["from-ingress"], &number(0, 63)),
        "New priority",
    ),
    with(
        "passthrough",
        Kind::Bool,
        "yes",
        "Goes on with the next rule",
    ),
];

/// The log, and what was counted.
pub(crate) const TAIL: &[Property] = &[
    no("log", "Writes to the log"),
    text("log-prefix", "How such a line begins"),
    counter("bytes", "Bytes that matched"),
    counter("packets", "Frames that matched"),
];

/// The letters of rules.
pub(crate) const FLAGS: &[Flag] = crate::brief::RULE_FLAGS;

/// The columns of `print stats`.
pub(crate) const STATS: &[&str] = crate::firewall::STATS;
