//! Matchers of bridge rules. `!` before a value negates the matcher.

use menu::{Draft, Family, Kind, Menu, MenuShape, Property, Reason, Shared, Store, Value};

use crate::declare::{
    INTERFACE, INTERFACE_LIST, PORTS, RULE_FLAGS, U32, between, no, optional, text, with_default,
};
use crate::firewall::{BYTE, COMMANDS, LIMIT, PROTOCOLS, STATS};
use crate::fragment::counter;
use crate::interface::MAC_PROTOCOL;

/// A MAC address with an optional mask.
const MASKED: Kind = Kind::Not(&Kind::Either(
    &Kind::Mac,
    &Kind::Tuple("/", &[Kind::Mac, Kind::Mac]),
));
const NOT_INTERFACE: Kind = Kind::Not(&INTERFACE);
const NOT_LIST: Kind = Kind::Not(&INTERFACE_LIST);
const NET4: Kind = Kind::Not(&Kind::Prefix(Family::V4));
const NET6: Kind = Kind::Not(&Kind::Prefix(Family::V6));
const PORT: Kind = Kind::Not(&PORTS);
const NEW_MARK: Kind = Kind::Or(&["no-mark"], &Kind::Name);
const MARK: Kind = Kind::Not(&NEW_MARK);
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

/// A rule table for bridged frames.
pub(crate) const fn table(path: &'static str, help: &'static str) -> Menu {
    Menu {
        flags: RULE_FLAGS,
        columns: &["chain", "action"],
        stats: STATS,
        commands: COMMANDS,
        check: Some(check),
        ..Menu::new(path, MenuShape::Ordered, help)
    }
}

/// Chain and action; `chains` holds built-in chains and those named in rules.
pub(crate) const fn head(
    chains: &'static Shared,
    actions: &'static [&'static str],
    default: &'static str,
) -> [Property; 2] {
    [
        Property::new("chain", Kind::Name, "The chain that the rule is in")
            .required()
            .shared(chains),
        with_default(
            "action",
            Kind::Words(actions),
            default,
            "Action for matching frames",
        ),
    ]
}

/// Target of the action `jump`.
pub(crate) const fn jump(chains: &'static Shared) -> Property {
    optional("jump-target", Kind::Name, "Target chain of the action jump").shared(chains)
}

/// Checks a rule as a whole. RouterOS: refuses ports without a protocol that has ports, and interfaces that
/// frames of the chain do not have (yet).
fn check(draft: &Draft<'_>, _: &Store) -> Result<(), Reason> {
    let any = |names: &[&str]| names.iter().any(|name| draft.get(name).is_some());
    let chain = draft.get("chain").and_then(Value::as_str);
    let said = match chain.unwrap_or_default() {
        "input" | "dstnat" if any(&OUT) => {
            "outgoing interface matching not possible in input and dstnat chains"
        }
        "output" if any(&IN) => "incoming interface matching not possible in output chain",
        _ if any(&["src-port", "dst-port"]) && !has_ports(draft) => {
            "ports can be specified if ip-protocol is tcp,udp,udp-lite,dccp,sctp"
        }
        _ => return Ok(()),
    };
    Err(Reason::failure(said))
}

fn has_ports(draft: &Draft<'_>) -> bool {
    match draft.get("ip-protocol") {
        Some(Value::Not(_)) => true,
        Some(Value::Number(number)) => [6, 17, 33, 132, 136].contains(number),
        Some(value) => {
            let word = value.as_str().unwrap_or_default();
            ["tcp", "udp", "udp-lite", "dccp", "sctp"].contains(&word)
        }
        None => false,
    }
}

const IN: [&str; 4] = [
    "in-interface",
    "in-interface-list",
    "in-bridge",
    "in-bridge-list",
];
const OUT: [&str; 4] = [
    "out-interface",
    "out-interface-list",
    "out-bridge",
    "out-bridge-list",
];

/// Ingress and egress ports and bridges, and addresses.
pub(crate) const PLACES: &[Property] = &[
    optional("in-interface", NOT_INTERFACE, "Ingress port"),
    optional(
        "in-interface-list",
        NOT_LIST,
        "Interface list with the ingress port",
    ),
    optional("in-bridge", NOT_INTERFACE, "Bridge of the ingress port"),
    optional("in-bridge-list", NOT_LIST, "Interface list with the bridge"),
    optional("out-interface", NOT_INTERFACE, "Egress port"),
    optional(
        "out-interface-list",
        NOT_LIST,
        "Interface list with the egress port",
    ),
    optional("out-bridge", NOT_INTERFACE, "Bridge of the egress port"),
    optional(
        "out-bridge-list",
        NOT_LIST,
        "Interface list with the bridge",
    ),
    optional("src-mac-address", MASKED, "Hardware address of the sender"),
    optional(
        "dst-mac-address",
        MASKED,
        "Hardware address of the receiver",
    ),
    optional("mac-protocol", ETHERTYPE, "EtherType"),
];

/// Fields of the encapsulated IP packet.
pub(crate) const PACKETS: &[Property] = &[
    optional("src-address", NET4, "Source network"),
    optional("src-address6", NET6, "IPv6 source network"),
    optional("src-port", PORT, "Source port"),
    optional("dst-address", NET4, "Destination network"),
    optional("dst-address6", NET6, "IPv6 destination network"),
    optional("dst-port", PORT, "Destination port"),
    optional("ip-protocol", PROTOCOL, "IP protocol"),
    optional("tls-host", Kind::Not(&Kind::Name), "TLS server name (SNI)"),
    optional("packet-mark", MARK, "Mark of the packet"),
    optional(
        "packet-type",
        TYPES,
        "Packet type: host, broadcast, multicast, other host",
    ),
    optional(
        "ingress-priority",
        PRIORITY,
        "Priority of the received frame",
    ),
    optional("limit", LIMIT, "Matches up to a rate"),
];

/// Fields of VLAN tags, ARP and IEEE 802.2 headers.
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
    optional("vlan-encap", ETHERTYPE, "EtherType after the VLAN tag"),
    optional("802.3-sap", SAP, "Service access point"),
    optional("802.3-type", WORD, "Type behind SNAP"),
    optional("arp-hardware-type", WORD, "ARP hardware type"),
    optional("arp-opcode", OPCODES, "ARP operation"),
    optional("arp-packet-type", ETHERTYPE, "ARP protocol type"),
    optional("arp-src-address", NET4, "ARP sender network"),
    optional("arp-src-mac-address", MASKED, "ARP sender hardware address"),
    optional("arp-dst-address", NET4, "ARP target network"),
    optional("arp-dst-mac-address", MASKED, "ARP target hardware address"),
    optional("arp-gratuitous", Kind::Bool, "Gratuitous ARP"),
];

/// Fields of spanning tree messages.
pub(crate) const TREE: &[Property] = &[
    optional("stp-type", STP_TYPES, "Spanning tree message type"),
    optional("stp-flags", STP_FLAGS, "Flags"),
    optional("stp-root-priority", STP_TIME, "Priority of the root bridge"),
    optional("stp-root-address", MASKED, "Address of the root bridge"),
    optional(
        "stp-root-cost",
        Kind::Not(&Kind::Range("-", &U32)),
        "Root path cost",
    ),
    optional(
        "stp-sender-priority",
        STP_TIME,
        "Priority of the sending bridge",
    ),
    optional(
        "stp-sender-address",
        MASKED,
        "Address of the sending bridge",
    ),
    optional("stp-port", STP_TIME, "Port of the sending bridge"),
    optional("stp-msg-age", STP_TIME, "Age of the spanning tree message"),
    optional(
        "stp-max-age",
        STP_TIME,
        "Maximum age of spanning tree messages",
    ),
    optional(
        "stp-hello-time",
        STP_TIME,
        "Hello time of spanning tree messages",
    ),
    optional("stp-forward-delay", STP_TIME, "Forward delay"),
];

/// New marks and priorities.
pub(crate) const CHANGES: &[Property] = &[
    optional("new-packet-mark", NEW_MARK, "New packet mark"),
    optional(
        "new-priority",
        Kind::Or(&["from-ingress"], &between(0, 63)),
        "New priority of the packet",
    ),
    with_default(
        "passthrough",
        Kind::Bool,
        "yes",
        "Continue with the next rule",
    ),
];

/// Logging and counters.
pub(crate) const TAIL: &[Property] = &[
    no("log", "Log matching frames"),
    text("log-prefix", "Prefix of log entries"),
    counter("bytes", "Matching bytes"),
    counter("packets", "Matching frames"),
];
