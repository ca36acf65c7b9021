//! Reads items of IP tables into rules: the only code that knows their property names.
//!
//! The store has checked types and ranges. A rule that still makes no sense is shown as invalid and never matches: a
//! rule must neither do more than configured, nor fail silently.

use std::sync::Arc;

use dataplane::nat;
use dataplane::rule::{
    Action, ConnectionLimit, Dscp, DstLimit, Glob, Limit, Match, Mss, Npt, Nth, Priority, Psd,
    Reject, Sniff, Timeout, Ttl,
};
use machine::Duration;
use menu::{Item, Value};
use wire::Mac;

use super::rule::{Condition, MatchedInterface, Rule, Translation, UnresolvedAction, What};
use super::value;
use crate::intent::Name;

/// Default port of the collector of packet copies.
const SNIFF_PORT: u16 = 37_008;

/// Reads a rule from its item.
pub(super) fn rule(item: &Item, ipv6: bool) -> Rule {
    let conditions = item.values().filter_map(|(property, value)| {
        let (negated, inner) = value::unturned(value);
        condition(property.name, inner).map(|what| Condition { negated, what })
    });
    let word = item.text("action");
    let logs = item.is("log") || word == "log";
    Rule {
        chain: Name::from(item.text("chain")),
        disabled: item.is("disabled"),
        conditions: conditions.collect(),
        deed: deed(item, word, ipv6),
        passthrough: item.get("passthrough").and_then(Value::as_bool) != Some(false),
        log: logs.then(|| Arc::from(item.text("log-prefix"))),
    }
}

/// Reads a matcher; `None` if the property is not a matcher.
fn condition(name: &str, value: &Value) -> Option<What> {
    if let Some(what) = named(name, value) {
        return Some(what);
    }
    let of_packet = packet(name, value).or_else(|| header(name, value));
    let what = of_packet.or_else(|| connection(name, value));
    let what = what.or_else(|| remembered(name, value))?;
    Some(what.map_or(What::Senseless, What::Plain))
}

/// Reads a matcher with a name.
fn named(name: &str, value: &Value) -> Option<What> {
    let text = || value.as_str().map(Name::from);
    let interface = |way| match value {
        Value::Word(kind) => Some(What::Kind(way, kind)),
        _ => text().map(|name| What::Interface(way, name)),
    };
    let list = |way| text().map(|name| What::InterfaceList(way, name));
    let mark = || match value {
        Value::Word(_) => None,
        _ => text(),
    };
    match name {
        "in-interface" => interface(MatchedInterface::In),
        "out-interface" => interface(MatchedInterface::Out),
        "in-bridge-port" => interface(MatchedInterface::InBridge),
        "out-bridge-port" => interface(MatchedInterface::OutBridge),
        "in-interface-list" => list(MatchedInterface::In),
        "out-interface-list" => list(MatchedInterface::Out),
        "in-bridge-port-list" => list(MatchedInterface::InBridge),
        "out-bridge-port-list" => list(MatchedInterface::OutBridge),
        "src-address-list" => text().map(|name| What::AddressList(true, name)),
        "dst-address-list" => text().map(|name| What::AddressList(false, name)),
        "routing-mark" => text().map(What::RoutingMark),
        "packet-mark" => Some(What::PacketMark(mark())),
        "connection-mark" => Some(What::ConnectionMark(mark())),
        "layer7-protocol" => text().map(What::Layer7),
        _ => None,
    }
}

/// Reads a matcher of source or destination. The outer value is `None` for other properties; the inner value is `None`
/// if the value makes no sense.
fn packet(name: &str, value: &Value) -> Option<Option<Match>> {
    Some(match name {
        "src-address" => value::addresses(value).map(Match::Source),
        "dst-address" => value::addresses(value).map(Match::Destination),
        "src-address-type" => value::address_types(value).map(Match::SourceType),
        "dst-address-type" => value::address_types(value).map(Match::DestinationType),
        "protocol" => value::protocol(value).map(Match::Protocol),
        "src-port" => value::ranges(value).map(Match::SourcePort),
        "dst-port" => value::ranges(value).map(Match::DestinationPort),
        "port" => value::ranges(value).map(Match::Port),
        "src-mac-address" => value.as_mac().map(|mac| Match::SourceMac(Mac(mac))),
        "ipsec-policy" => {
            value::ipsec(value).map(|(inbound, protected)| Match::Ipsec { inbound, protected })
        }
        "p2p" => Some(Match::Never),
        _ => return None,
    })
}

/// Reads a matcher of header fields; `None` as in `packet`.
fn header(name: &str, value: &Value) -> Option<Option<Match>> {
    let lengths = |make: fn(u16, u16) -> Match| value::range(value).map(|(a, b)| make(a, b));
    Some(match name {
        "ttl" | "hop-limit" => value::compare(value).map(Match::Ttl),
        "dscp" => value::small(value).map(Match::Dscp),
        "tos" => value::tos(value).map(Match::Tos),
        "packet-size" => lengths(Match::PacketSize),
        "tcp-mss" => lengths(Match::TcpMss),
        "tcp-flags" => value::tcp_flags(value)
            .filter(|(set, clear)| set & clear == 0)
            .map(|(set, clear)| Match::TcpFlags { set, clear }),
        "icmp-options" => value::icmp(value).map(Match::Icmp),
        "fragment" => value.as_bool().map(Match::Fragment),
        "ipv4-options" => value
            .as_str()
            .and_then(value::ipv4_option)
            .map(Match::Ipv4Options),
        "headers" => value::headers(value).map(Match::Headers),
        "ingress-priority" => value::small(value).map(Match::IngressPriority),
        "priority" => value::small(value).map(Match::Priority),
        "realm" => value::small(value).map(Match::Realm),
        "hotspot" => value::hotspot(value)
            .filter(|(set, clear)| set.0 & clear.0 == 0)
            .map(|(set, clear)| Match::Hotspot { set, clear }),
        "content" => value
            .as_str()
            .map(|text| Match::Content(menu::bytes::to_bytes(text).into())),
        "tls-host" => value.as_str().map(|glob| Match::TlsHost(Glob::new(glob))),
        "time" => value::time(value).map(Match::Time),
        _ => return None,
    })
}

/// Reads a matcher of the connection; `None` as in `packet`.
fn connection(name: &str, value: &Value) -> Option<Option<Match>> {
    Some(match name {
        "connection-state" => value::states(value).map(Match::ConnectionState),
        "connection-nat-state" => value::nat_states(value).map(Match::ConnectionNatState),
        "connection-type" => value
            .as_str()
            .and_then(value::helper)
            .map(Match::ConnectionType),
        // RouterOS: an upper bound of 0 means no bound.
        "connection-bytes" => value::pair(value)
            .filter(|(first, last)| *last == 0 || first <= last)
            .map(|(first, last)| Match::ConnectionBytes { first, last }),
        "connection-rate" => value::pair(value)
            .filter(|(first, last)| first <= last)
            .map(|(first, last)| Match::ConnectionRate { first, last }),
        "per-connection-classifier" => value::classifier(value)
            .filter(|(_, denominator, remainder)| remainder < denominator)
            .map(|(key, denominator, remainder)| Match::PerConnection {
                key,
                denominator,
                remainder,
            }),
        _ => return None,
    })
}

/// Reads a matcher with state between packets. It never matches if there is no memory for its state.
fn remembered(name: &str, value: &Value) -> Option<Option<Match>> {
    Some(match name {
        "limit" => value::rate(value).map(|rate| Match::Limit(Arc::new(Limit::new(rate)))),
        "dst-limit" => value::flow_rate(value).and_then(|(rate, key, expire)| {
            let limit = DstLimit::new(rate, key, expire).ok()?;
            Some(Match::DstLimit(Arc::new(limit)))
        }),
        "connection-limit" => value::pair(value).and_then(|(count, len)| {
            let limit = ConnectionLimit::new(count as u32, len as u8).ok()?;
            Some(Match::ConnectionLimit(Arc::new(limit)))
        }),
        "psd" => value::psd(value).and_then(|(threshold, delay, low, high)| {
            let psd = Psd::new(threshold, delay, low, high).ok()?;
            Some(Match::Psd(Arc::new(psd)))
        }),
        "nth" => value::nth(value)
            .map(|(every, packet)| Match::Nth(Arc::new(Nth::new(every.max(1), packet.max(1))))),
        "random" => value::small(value).map(Match::Random),
        _ => return None,
    })
}

/// Reads the action; `None` if this router does not support it.
fn deed(item: &Item, word: &str, ipv6: bool) -> Option<UnresolvedAction> {
    let text = |name: &str| Name::from(item.text(name));
    let plain = |action: Option<Action>| match action {
        Some(action) => UnresolvedAction::Plain(action),
        None => UnresolvedAction::Incomplete(needed(item, word)),
    };
    if let Some(translation) = translation(item, word) {
        return Some(match untold(&translation, item) {
            None => UnresolvedAction::Translate(translation),
            Some(name) => UnresolvedAction::Incomplete(name),
        });
    }
    if let Some(change) = change(item, word) {
        return Some(plain(change));
    }
    Some(match word {
        "" | "accept" => UnresolvedAction::Plain(Action::Accept),
        "drop" => UnresolvedAction::Plain(Action::Drop),
        "reject" => UnresolvedAction::Plain(Action::Reject(reject(item.text("reject-with"), ipv6))),
        "tarpit" => UnresolvedAction::Plain(Action::Tarpit),
        "passthrough" => UnresolvedAction::Plain(Action::Passthrough),
        "log" => UnresolvedAction::Plain(Action::Log),
        "return" => UnresolvedAction::Plain(Action::Return),
        "fasttrack-connection" => UnresolvedAction::Plain(Action::Fasttrack),
        "notrack" => UnresolvedAction::Plain(Action::Notrack),
        "jump" => UnresolvedAction::Jump(text("jump-target")),
        "add-src-to-address-list" | "add-dst-to-address-list" => UnresolvedAction::AddToList {
            list: text("address-list"),
            source: word.starts_with("add-src"),
            timeout: list_timeout(item.get("address-list-timeout")),
        },
        "mark-packet" => new_mark(item, "new-packet-mark", UnresolvedAction::MarkPacket),
        "mark-connection" => new_mark(
            item,
            "new-connection-mark",
            UnresolvedAction::MarkConnection,
        ),
        "mark-routing" => UnresolvedAction::MarkRouting(text("new-routing-mark")),
        "sniff-tzsp" | "sniff-pc" => plain(sniff(item, word).map(Action::Sniff)),
        _ => return None,
    })
}

/// Returns the argument that an action requires and that is missing or invalid.
fn needed(item: &Item, word: &str) -> &'static str {
    let first_unset = |names: [&'static str; 2]| {
        let unset = names.into_iter().find(|name| item.get(name).is_none());
        unset.unwrap_or(names[0])
    };
    match word {
        "change-mss" => "new-mss",
        "change-dscp" => "new-dscp",
        "set-priority" => "new-priority",
        "change-ttl" => "new-ttl",
        "change-hop-limit" => "new-hop-limit",
        "route" => "route-dst",
        "snpt" | "dnpt" => first_unset(["src-prefix", "dst-prefix"]),
        _ => "sniff-target",
    }
}

fn new_mark(
    item: &Item,
    property: &'static str,
    deed: fn(Option<Name>) -> UnresolvedAction,
) -> UnresolvedAction {
    match item.get(property) {
        Some(Value::Text(name)) => deed(Some(Name::from(&**name))),
        Some(Value::Word("no-mark")) => deed(None),
        _ => UnresolvedAction::Incomplete(property),
    }
}

/// Reads an action that changes the packet. The outer value is `None` for other actions; the inner value is `None` for
/// invalid arguments.
fn change(item: &Item, word: &str) -> Option<Option<Action>> {
    let number = |name: &str| item.get(name).and_then(value::small::<u8>);
    Some(match word {
        "change-mss" => match item.get("new-mss") {
            Some(Value::Word(_)) => Some(Action::ChangeMss(Mss::ClampToPmtu)),
            value => value
                .and_then(value::small)
                .map(|bytes| Action::ChangeMss(Mss::Bytes(bytes))),
        },
        "change-dscp" => match item.text("new-dscp") {
            "from-priority" => Some(Action::ChangeDscp(Dscp::FromPriority)),
            "from-priority-to-high-3-bits" => Some(Action::ChangeDscp(Dscp::FromPriorityToHigh3)),
            _ => number("new-dscp").map(|code| Action::ChangeDscp(Dscp::Set(code))),
        },
        "set-priority" => match item.text("new-priority") {
            "from-dscp" => Some(Action::SetPriority(Priority::FromDscp)),
            "from-dscp-high-3-bits" => Some(Action::SetPriority(Priority::FromDscpHigh3)),
            "from-ingress" => Some(Action::SetPriority(Priority::FromIngress)),
            _ => number("new-priority").map(|to| Action::SetPriority(Priority::Set(to))),
        },
        "change-ttl" => new_ttl(item.get("new-ttl")),
        "change-hop-limit" => new_ttl(item.get("new-hop-limit")),
        "strip-ipv4-options" => Some(Action::StripOptions),
        "clear-df" => Some(Action::ClearDf),
        "route" => {
            let gateway = item.get("route-dst").and_then(Value::as_address);
            gateway.map(|gateway| Action::Route(value::bits(gateway)))
        }
        "snpt" => prefixes(item).map(Action::SourcePrefix),
        "dnpt" => prefixes(item).map(Action::DestinationPrefix),
        _ => return None,
    })
}

/// `set:64`.
fn new_ttl(value: Option<&Value>) -> Option<Action> {
    let Value::Tuple(_, parts) = value? else {
        return None;
    };
    let [word, number] = &**parts else {
        return None;
    };
    let number = value::small(number)?;
    Some(Action::ChangeTtl(match word.as_str()? {
        "set" => Ttl::Set(number),
        "increment" => Ttl::Increment(number),
        "decrement" => Ttl::Decrement(number),
        _ => return None,
    }))
}

/// The prefixes of a translation get one length, the longer of both (RFC 6296, 3.1).
fn prefixes(item: &Item) -> Option<Npt> {
    let prefix = |name: &str| item.get(name).and_then(Value::as_prefix);
    let (from, to) = (prefix("src-prefix")?, prefix("dst-prefix")?);
    Some(Npt {
        from: value::bits(from.network()),
        to: value::bits(to.network()),
        len: from.prefix_len().max(to.prefix_len()),
    })
}

/// Reads the collector of packet copies; `None` without a target.
fn sniff(item: &Item, word: &str) -> Option<Sniff> {
    let target = item.get("sniff-target").and_then(Value::as_address)?;
    let port = item.get("sniff-target-port").and_then(value::small);
    let id = item.get("sniff-id").and_then(value::small);
    Some(Sniff {
        target: value::bits(target),
        ipv6: target.is_ipv6(),
        port: port.unwrap_or(SNIFF_PORT),
        id: (word == "sniff-pc").then(|| id.unwrap_or(0)),
    })
}

fn list_timeout(value: Option<&Value>) -> Timeout {
    match value {
        Some(Value::Time(nanos)) => match u64::try_from(*nanos) {
            Ok(nanos @ 1..) => Timeout::After(Duration::from_nanos(nanos)),
            // RouterOS: a timeout of 0 is `none-dynamic`.
            _ => Timeout::Dynamic,
        },
        Some(Value::Word("none-static")) => Timeout::Static,
        _ => Timeout::Dynamic,
    }
}

/// Returns the ICMP error or reset that the sender gets (RFC 792; RFC 1812, 5.2.7.1; RFC 4443, 3.1; RFC 6550, 20.18;
/// RFC 8883, 3).
fn reject(word: &str, ipv6: bool) -> Reject {
    if word == "tcp-reset" {
        return Reject::TcpReset;
    }
    if ipv6 {
        return Reject::Icmpv6(match word {
            "icmp-admin-prohibited" => 1,
            "icmp-not-neighbour" => 2,
            "icmp-address-unreachable" => 3,
            "icmp-port-unreachable" => 4,
            "icmp-err-src-routing-header" => 7,
            "icmp-headers-too-long" => 8,
            _ => 0,
        });
    }
    Reject::Icmp(match word {
        "icmp-host-unreachable" => 1,
        "icmp-protocol-unreachable" => 2,
        "icmp-port-unreachable" => 3,
        "icmp-net-prohibited" => 9,
        "icmp-host-prohibited" => 10,
        "icmp-admin-prohibited" => 13,
        // RouterOS: the default is network unreachable.
        _ => 0,
    })
}

/// Reads the translation of an action; `None` if the action does not translate.
fn translation(item: &Item, word: &str) -> Option<Translation> {
    use nat::{Action as How, Side};
    let (side, action) = match word {
        "src-nat" => (Some(Side::Source), How::Translate),
        "dst-nat" => (Some(Side::Destination), How::Translate),
        "masquerade" => (Some(Side::Source), How::Own),
        "redirect" => (Some(Side::Destination), How::Own),
        "netmap" => (None, How::Netmap { from: None }),
        "endpoint-independent-nat" => (None, How::EndpointIndependent),
        "same" => {
            let by_destination = !item.is("same-not-by-dst");
            (Some(Side::Source), How::Same { by_destination })
        }
        _ => return None,
    };
    let addresses = item.get("to-addresses").or_else(|| item.get("to-address"));
    let addresses = addresses.and_then(value::addresses);
    let ports = item.get("to-ports").and_then(value::range);
    Some(Translation {
        side,
        action,
        addresses: addresses.and_then(|range| nat::Addresses::new(range.first, range.last)),
        ports: ports.and_then(|(first, last)| nat::Ports::new(first, last)),
        randomise: item.is("randomise-ports"),
    })
}

/// Returns the argument that a translation requires for its new addresses or ports, if it is missing.
fn untold(translation: &Translation, item: &Item) -> Option<&'static str> {
    let Translation {
        action,
        addresses,
        ports,
        ..
    } = translation;
    let told = match action {
        nat::Action::Translate => addresses.is_some() || ports.is_some(),
        nat::Action::Netmap { .. } | nat::Action::Same { .. } => addresses.is_some(),
        nat::Action::Own | nat::Action::EndpointIndependent => true,
    };
    // IPv6 tables have one prefix instead.
    let has = |name| item.menu.property(name).is_some();
    let name = if has("to-addresses") {
        "to-addresses"
    } else {
        "to-address"
    };
    (!told).then_some(name)
}
