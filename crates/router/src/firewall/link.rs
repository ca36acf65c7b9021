//! Reads items of bridge tables into rules: the only code that knows their property names.
//!
//! RouterOS: IP matchers imply that the frame carries an IP packet directly behind the link header. Contradictory
//! matchers make a rule invalid.

use std::sync::Arc;

use dataplane::firewall::Detour;
use dataplane::packet::link::ethertype;
use dataplane::rule::{
    Action, ArpMatch, Audience, Carries, Glob, Limit, LinkMatch, MacSet, Match, Priority,
    Readdress, StpMatch,
};
use menu::{Item, Store, Value};
use wire::Mac;

use super::rule::{Condition, MatchedInterface, Rule, UnresolvedAction, What};
use super::value;
use crate::intent::Name;

/// Menus of bridges that the firewall reads.
pub(super) const MENUS: [&str; 3] = [
    "/interface/bridge/filter",
    "/interface/bridge/nat",
    SETTINGS,
];
const SETTINGS: &str = "/interface/bridge/settings";

/// Returns which bridged packets pass the IP tables.
pub(super) fn detour(store: &Store) -> Detour {
    let item = store.settings(SETTINGS);
    let is = |name: &str| item.is_some_and(|item| item.is(name));
    let plain = is("use-ip-firewall");
    Detour {
        plain,
        vlan: plain && is("use-ip-firewall-for-vlan"),
        pppoe: plain && is("use-ip-firewall-for-pppoe"),
    }
}

/// Whether bridges must not use the fast path.
pub(super) fn is_slow(store: &Store) -> bool {
    let item = store.settings(SETTINGS);
    item.is_some_and(|item| !item.is("allow-fast-path"))
}

/// Reads a rule from its item.
pub(super) fn rule(item: &Item) -> Rule {
    let mut conditions: Vec<_> = item
        .values()
        .filter_map(|(property, value)| {
            let (negated, inner) = value::unturned(value);
            condition(property.name, inner).map(|what| Condition { negated, what })
        })
        .collect();
    let word = item.text("action");
    conditions.extend(implied(item, word));
    let logs = item.is("log") || word == "log";
    Rule {
        chain: Name::from(item.text("chain")),
        disabled: item.is("disabled"),
        conditions,
        deed: Some(deed(item, word)),
        passthrough: item.get("passthrough").and_then(Value::as_bool) != Some(false),
        log: logs.then(|| Arc::from(item.text("log-prefix"))),
    }
}

/// Reads a matcher; `None` if the property is not a matcher.
pub(super) fn condition(name: &str, value: &Value) -> Option<What> {
    if let Some(what) = named(name, value) {
        return Some(what);
    }
    let of_link = link(name, value)
        .or_else(|| arp(name, value))
        .or_else(|| stp(name, value));
    let what = match of_link {
        Some(what) => what.map(Match::Link),
        None => packet(name, value)?,
    };
    Some(what.map_or(What::Senseless, What::Plain))
}

/// Reads a matcher with a name.
fn named(name: &str, value: &Value) -> Option<What> {
    let text = || value.as_str().map(Name::from);
    let interface = |way| text().map(|name| What::Interface(way, name));
    let list = |way| text().map(|name| What::InterfaceList(way, name));
    match name {
        "in-interface" => interface(MatchedInterface::In),
        "out-interface" => interface(MatchedInterface::Out),
        "in-bridge" => interface(MatchedInterface::InOfPort),
        "out-bridge" => interface(MatchedInterface::OutOfPort),
        "in-interface-list" => list(MatchedInterface::In),
        "out-interface-list" => list(MatchedInterface::Out),
        "in-bridge-list" => list(MatchedInterface::InOfPort),
        "out-bridge-list" => list(MatchedInterface::OutOfPort),
        "packet-mark" => Some(What::PacketMark(match value {
            Value::Word(_) => None,
            _ => text(),
        })),
        _ => None,
    }
}

/// Reads a matcher of the packet in a frame. The outer value is `None` for other properties; the inner value is `None`
/// if the value makes no sense.
fn packet(name: &str, value: &Value) -> Option<Option<Match>> {
    let ports = || value::range(value).map(|range| Box::from([range]));
    Some(match name {
        "src-address" | "src-address6" => value::addresses(value).map(Match::Source),
        "dst-address" | "dst-address6" => value::addresses(value).map(Match::Destination),
        "ip-protocol" => value::protocol(value).map(Match::Protocol),
        "src-port" => ports().map(Match::SourcePort),
        "dst-port" => ports().map(Match::DestinationPort),
        "tls-host" => value.as_str().map(|glob| Match::TlsHost(Glob::new(glob))),
        "ingress-priority" => value::small(value).map(Match::IngressPriority),
        "limit" => value::rate(value).map(|rate| Match::Limit(Arc::new(Limit::new(rate)))),
        _ => return None,
    })
}

/// Reads a matcher of the link header; `None` as in `packet`.
fn link(name: &str, value: &Value) -> Option<Option<LinkMatch>> {
    let word = || value.as_str().unwrap_or_default();
    Some(match name {
        "src-mac-address" => macs(value).map(LinkMatch::Source),
        "dst-mac-address" => macs(value).map(LinkMatch::Destination),
        "mac-protocol" => kinds(value).map(|(first, last)| LinkMatch::Kind(first, last)),
        "packet-type" => match word() {
            "broadcast" => Some(LinkMatch::For(Audience::Broadcast)),
            "host" => Some(LinkMatch::For(Audience::Host)),
            "multicast" => Some(LinkMatch::For(Audience::Multicast)),
            "other-host" => Some(LinkMatch::For(Audience::OtherHost)),
            _ => None,
        },
        "vlan-id" => value::range(value).map(|(first, last)| LinkMatch::VlanId(first, last)),
        "vlan-priority" => value::small(value).map(LinkMatch::VlanPriority),
        "vlan-encap" => kinds(value).map(|(first, last)| LinkMatch::VlanEncap(first, last)),
        "802.3-sap" => value::small(value).map(LinkMatch::Sap),
        "802.3-type" => value::small(value).map(LinkMatch::SnapType),
        _ => return None,
    })
}

/// Reads a matcher of ARP; `None` as in `packet`.
fn arp(name: &str, value: &Value) -> Option<Option<LinkMatch>> {
    let addresses = |make: fn(u32, u32) -> ArpMatch| {
        let range = value::addresses(value)?;
        Some(make(range.first as u32, range.last as u32))
    };
    let what = match name {
        "arp-opcode" => opcode(value).map(ArpMatch::Opcode),
        "arp-hardware-type" => value::small(value).map(ArpMatch::Hardware),
        "arp-packet-type" => kinds(value).map(|(first, last)| ArpMatch::Protocol(first, last)),
        "arp-gratuitous" => value.as_bool().map(ArpMatch::Gratuitous),
        "arp-src-address" => addresses(ArpMatch::Source),
        "arp-dst-address" => addresses(ArpMatch::Destination),
        "arp-src-mac-address" => macs(value).map(ArpMatch::SourceMac),
        "arp-dst-mac-address" => macs(value).map(ArpMatch::DestinationMac),
        _ => return None,
    };
    Some(what.map(LinkMatch::Arp))
}

/// Reads a matcher of spanning tree messages; `None` as in `packet`.
fn stp(name: &str, value: &Value) -> Option<Option<LinkMatch>> {
    let range = |make: fn(u16, u16) -> StpMatch| value::range(value).map(|(a, b)| make(a, b));
    let time = |which: u8| value::range(value).map(|(a, b)| StpMatch::Time(which, a, b));
    let what = match name {
        "stp-type" => match value.as_str() {
            Some("config") => Some(StpMatch::Kind(0)),
            Some("tcn") => Some(StpMatch::Kind(0x80)),
            _ => None,
        },
        "stp-flags" => flags(value).map(StpMatch::Flags),
        "stp-root-priority" => range(StpMatch::RootPriority),
        "stp-root-address" => macs(value).map(StpMatch::Root),
        "stp-root-cost" => value::range(value).map(|(a, b)| StpMatch::RootCost(a, b)),
        "stp-sender-priority" => range(StpMatch::SenderPriority),
        "stp-sender-address" => macs(value).map(StpMatch::Sender),
        "stp-port" => range(StpMatch::Port),
        "stp-msg-age" => time(0),
        "stp-max-age" => time(1),
        "stp-hello-time" => time(2),
        "stp-forward-delay" => time(3),
        _ => return None,
    };
    Some(what.map(LinkMatch::Stp))
}

fn flags(value: &Value) -> Option<u8> {
    let bit = |word: &Value| match word.as_str()? {
        "topology-change" => Some(1),
        "topology-change-ack" => Some(0x80),
        _ => None,
    };
    let bits = value.as_list().iter().map(bit);
    bits.reduce(|all, bit| Some(all? | bit?)).flatten()
}

/// `00:0C:42:00:00:00/FF:FF:FF:00:00:00`, or one address.
fn macs(value: &Value) -> Option<MacSet> {
    match value {
        Value::Tuple(_, parts) => {
            let [like, mask] = &**parts else { return None };
            Some(MacSet::new(Mac(like.as_mac()?), Mac(mask.as_mac()?)))
        }
        value => Some(MacSet::new(Mac(value.as_mac()?), Mac::BROADCAST)),
    }
}

/// RouterOS's names of payload types, with their ranges of type numbers (IEEE 802 numbers).
const KINDS: [(&str, u16, u16); 24] = [
    // IEEE 802.2 frames have a length in place of the EtherType.
    ("802.2", 0, ethertype::FIRST - 1),
    ("arp", ethertype::ARP, ethertype::ARP),
    ("capsman", 0x88bb, 0x88bb),
    ("dot1x", 0x888e, 0x888e),
    ("homeplug-av", 0x88e1, 0x88e1),
    ("ip", ethertype::IPV4, ethertype::IPV4),
    ("ipv6", ethertype::IPV6, ethertype::IPV6),
    ("ipx", 0x8137, 0x8137),
    ("lacp", 0x8809, 0x8809),
    ("length", 0, 0x5dc),
    ("lldp", 0x88cc, 0x88cc),
    ("loop-protect", 0x9003, 0x9003),
    ("macsec", 0x88e5, 0x88e5),
    ("mpls-multicast", 0x8848, 0x8848),
    ("mpls-unicast", 0x8847, 0x8847),
    ("mvrp", 0x88f5, 0x88f5),
    ("packing-compr", 0x9001, 0x9001),
    ("packing-simple", 0x9000, 0x9000),
    ("pppoe", ethertype::PPPOE, ethertype::PPPOE),
    (
        "pppoe-discovery",
        ethertype::PPPOE_DISCOVERY,
        ethertype::PPPOE_DISCOVERY,
    ),
    ("rarp", ethertype::RARP, ethertype::RARP),
    ("romon", 0x88bf, 0x88bf),
    (
        "service-vlan",
        ethertype::SERVICE_VLAN,
        ethertype::SERVICE_VLAN,
    ),
    ("vlan", ethertype::VLAN, ethertype::VLAN),
];

/// Returns RouterOS's name of an EtherType, if a name stands for this number alone.
pub(crate) fn kind_name(number: u16) -> Option<&'static str> {
    let mut known = KINDS.iter();
    known
        .find(|(_, first, last)| first == last && *first == number)
        .map(|(name, ..)| *name)
}

/// Parses a name or number of payload types; returns the first and last number.
pub(crate) fn kinds(value: &Value) -> Option<(u16, u16)> {
    if let Some(number) = value::small(value) {
        return Some((number, number));
    }
    let word = value.as_str()?;
    let found = KINDS.iter().find(|(name, ..)| *name == word);
    found.map(|(_, first, last)| (*first, *last))
}

/// IANA, Address Resolution Protocol Parameters.
fn opcode(value: &Value) -> Option<u16> {
    const OPCODES: [&str; 10] = [
        "request",
        "reply",
        "request-reverse",
        "reply-reverse",
        "drarp-request",
        "drarp-reply",
        "drarp-error",
        "inarp-request",
        "inarp-reply",
        "arp-nak",
    ];
    if let Some(number) = value::small(value) {
        return Some(number);
    }
    let word = value.as_str()?;
    let place = OPCODES.iter().position(|name| *name == word)?;
    Some(place as u16 + 1)
}

/// Returns the implied conditions: matchers of a protocol need frames of that protocol.
pub(super) fn implied(item: &Item, word: &str) -> Vec<Condition> {
    let plain = |what: LinkMatch| Condition {
        negated: false,
        what: What::Plain(Match::Link(what)),
    };
    let mut conditions = Vec::new();
    if word == "arp-reply" {
        let asks = [
            ArpMatch::Opcode(1),
            ArpMatch::Hardware(1),
            ArpMatch::Protocol(ethertype::IPV4, ethertype::IPV4),
        ];
        conditions.extend(asks.map(|what| plain(LinkMatch::Arp(what))));
    }
    let has = |names: &[&str]| names.iter().any(|name| item.get(name).is_some());
    let v4 = has(&["src-address", "dst-address"]);
    let v6 = has(&["src-address6", "dst-address6"]);
    let any = has(&[
        "ip-protocol",
        "protocol",
        "src-port",
        "dst-port",
        "dscp",
        "tls-host",
    ]);
    let (carries, fits): (_, &[u16]) = match (v4, v6, any) {
        (false, false, false) => return conditions,
        (true, true, _) => (Carries::Ip, &[]),
        (true, false, _) => (Carries::Ipv4, &[ethertype::IPV4]),
        (false, true, _) => (Carries::Ipv6, &[ethertype::IPV6]),
        (false, false, true) => (Carries::Ip, &[ethertype::IPV4, ethertype::IPV6]),
    };
    let said = item.get("mac-protocol").map(value::unturned);
    let can = |kind: u16| {
        said.is_none_or(|(negated, value)| {
            kinds(value).is_some_and(|(first, last)| (first..=last).contains(&kind) != negated)
        })
    };
    conditions.push(match fits.iter().any(|kind| can(*kind)) {
        true => plain(LinkMatch::Carries(carries)),
        false => Condition {
            negated: false,
            what: What::Senseless,
        },
    });
    conditions
}

/// Reads the action.
fn deed(item: &Item, word: &str) -> UnresolvedAction {
    let readdress = |name: &'static str, make: fn(Mac) -> Readdress| {
        let mac = item.get(name).and_then(Value::as_mac);
        mac.map_or(UnresolvedAction::Incomplete(name), |mac| {
            UnresolvedAction::Plain(Action::Readdress(make(Mac(mac))))
        })
    };
    match word {
        "drop" => UnresolvedAction::Plain(Action::Drop),
        "jump" => UnresolvedAction::Jump(Name::from(item.text("jump-target"))),
        "return" => UnresolvedAction::Plain(Action::Return),
        "log" => UnresolvedAction::Plain(Action::Log),
        "passthrough" => UnresolvedAction::Plain(Action::Passthrough),
        "mark-packet" => match item.get("new-packet-mark") {
            Some(Value::Text(name)) => UnresolvedAction::MarkPacket(Some(Name::from(&**name))),
            Some(Value::Word(_)) => UnresolvedAction::MarkPacket(None),
            _ => UnresolvedAction::Incomplete("new-packet-mark"),
        },
        "set-priority" => match (item.text("new-priority"), item.get("new-priority")) {
            ("from-ingress", _) => {
                UnresolvedAction::Plain(Action::SetPriority(Priority::FromIngress))
            }
            (_, value) => value
                .and_then(value::small)
                .map_or(UnresolvedAction::Incomplete("new-priority"), |number| {
                    UnresolvedAction::Plain(Action::SetPriority(Priority::Set(number)))
                }),
        },
        "src-nat" => readdress("to-src-mac-address", Readdress::Source),
        "dst-nat" => readdress("to-dst-mac-address", Readdress::Destination),
        "arp-reply" => readdress("to-arp-reply-mac-address", Readdress::ArpReply),
        "redirect" => UnresolvedAction::Plain(Action::Readdress(Readdress::Redirect)),
        _ => UnresolvedAction::Plain(Action::Accept),
    }
}
