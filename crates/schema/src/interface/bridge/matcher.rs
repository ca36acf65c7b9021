//! What rules of bridges match frames by. `!` before a value turns the matcher around.

use menu::{Family, Flag, Kind, Property, Shared};

use crate::declare::{
    INTERFACE, INTERFACE_LIST, PORTS, U32, between, no, optional, text, with_default,
};
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
    &between(0, 65_535),
));
const WORD: Kind = Kind::Not(&between(0, 65_535));
const SAP: Kind = Kind::Not(&between(0, 255));
const STP_TIME: Kind = Kind::Not(&Kind::Range("-", &between(0, 65_535)));
const STP_FLAGS: Kind = Kind::Not(&Kind::List(&Kind::Words(&[
    "topology-change",
    "topology-change-ack",
])));
const STP_TYPES: Kind = Kind::Not(&Kind::Words(&["config", "tcn"]));
const PRIORITY: Kind = Kind::Not(&between(0, 63));

/// The chains that frames come to, and those that rules make.
const CHAINS: &Shared = &chains(&["forward", "input", "output"]);

/// The chain and what happens.
pub(crate) const fn head(actions: &'static [&'static str], default: &'static str) -> [Property; 2] {
    [
        Property::new("chain", Kind::Name, "The chain that the rule is in")
            .required()
            .shared(CHAINS),
        with_default(
            "action",
            Kind::Words(actions),
            default,
            "What happens to a frame that matches",
        ),
    ]
}

/// Where the frame comes from and goes to.
pub(crate) const PLACES: &[Property] = &[
    optional("in-interface", NOT_INTERFACE, "Port that it came in by"),
    optional("in-interface-list", NOT_LIST, "List with that port"),
    optional("in-bridge", NOT_INTERFACE, "Bridge of that port"),
    optional("in-bridge-list", NOT_LIST, "List with that bridge"),
    optional("out-interface", NOT_INTERFACE, "Port that it goes out by"),
    optional("out-interface-list", NOT_LIST, "List with that port"),
    optional("out-bridge", NOT_INTERFACE, "Bridge of that port"),
    optional("out-bridge-list", NOT_LIST, "List with that bridge"),
    optional("src-mac-address", MASKED, "Hardware address of the sender"),
    optional(
        "dst-mac-address",
        MASKED,
        "Hardware address of the receiver",
    ),
    optional("mac-protocol", ETHERTYPE, "What the frame carries"),
];

/// What a packet within says.
pub(crate) const PACKETS: &[Property] = &[
    optional("src-address", NET4, "Source network"),
    optional("src-address6", NET6, "IPv6 source network"),
    optional("src-port", PORT, "Source port"),
    optional("dst-address", NET4, "Destination network"),
    optional("dst-address6", NET6, "IPv6 destination network"),
    optional("dst-port", PORT, "Destination port"),
    optional("ip-protocol", PROTOCOL, "IP protocol"),
    optional("tls-host", Kind::Not(&Kind::Name), "Host name of TLS"),
    optional("packet-mark", MARK, "Mark of the packet"),
    optional("packet-type", TYPES, "Whom it is for"),
    optional("ingress-priority", PRIORITY, "Priority that it came with"),
    optional("limit", LIMIT, "How many match"),
];

/// What a tag, ARP or IEEE 802.2 within says.
pub(crate) const TAGS: &[Property] = &[
    optional(
        "vlan-id",
        Kind::Not(&Kind::Range("-", &between(0, 4_095))),
        "VLAN of the tag",
    ),
    optional(
        "vlan-priority",
        Kind::Not(&between(0, 7)),
        "Priority of the tag",
    ),
    optional("vlan-encap", ETHERTYPE, "What is behind the tag"),
    optional("802.3-sap", SAP, "Service access point"),
    optional("802.3-type", WORD, "Type behind SNAP"),
    optional("arp-hardware-type", WORD, "Hardware type of ARP"),
    optional("arp-opcode", OPCODES, "What ARP says"),
    optional("arp-packet-type", ETHERTYPE, "Protocol of ARP"),
    optional("arp-src-address", NET4, "Sender's network of ARP"),
    optional(
        "arp-src-mac-address",
        MASKED,
        "Sender's hardware address of ARP",
    ),
    optional("arp-dst-address", NET4, "Target's network of ARP"),
    optional(
        "arp-dst-mac-address",
        MASKED,
        "Target's hardware address of ARP",
    ),
    optional("arp-gratuitous", Kind::Bool, "Whether nobody asked"),
];

/// What a message of the spanning tree says.
pub(crate) const TREE: &[Property] = &[
    optional("stp-type", STP_TYPES, "Kind of message"),
    optional("stp-flags", STP_FLAGS, "Flags"),
    optional("stp-root-priority", STP_TIME, "Priority of the root"),
    optional("stp-root-address", MASKED, "Address of the root"),
    optional(
        "stp-root-cost",
        Kind::Not(&Kind::Range("-", &U32)),
        "Cost of the way to the root",
    ),
    optional("stp-sender-priority", STP_TIME, "Priority of the sender"),
    optional("stp-sender-address", MASKED, "Address of the sender"),
    optional("stp-port", STP_TIME, "Port of the sender"),
    optional("stp-msg-age", STP_TIME, "Age of the message"),
    optional("stp-max-age", STP_TIME, "Longest age"),
    optional("stp-hello-time", STP_TIME, "Time between messages"),
    optional("stp-forward-delay", STP_TIME, "How long a port listens"),
];

/// What rules do with marks, priorities and other chains.
pub(crate) const CHANGES: &[Property] = &[
    optional("jump-target", Kind::Name, "Chain of jump").shared(CHAINS),
    optional("new-packet-mark", Kind::Name, "New mark"),
    optional(
        "new-priority",
        Kind::Or(&["from-ingress"], &between(0, 63)),
        "New priority",
    ),
    with_default(
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
pub(crate) const FLAGS: &[Flag] = crate::declare::RULE_FLAGS;

/// The columns of `print stats`.
pub(crate) const STATS: &[&str] = crate::firewall::STATS;
