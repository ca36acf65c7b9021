//! Converts property values into values of matchers.

use std::net::IpAddr;

use dataplane::rule::{
    AddressRange, AddressTypes, Compare, FlowKey, Headers, Hotspot, Icmp, Ipv4Option, Rate, State,
    States, Tos, Unit, When,
};
use dataplane::rule::{Helper, NatState};
use machine::Duration;
use menu::Value;

/// Splits a value into its negation and the plain value.
pub(super) fn unturned(value: &Value) -> (bool, &Value) {
    match value {
        Value::Not(inner) => (true, inner),
        value => (false, value),
    }
}

/// Returns the elements of a structured value.
fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Tuple(_, values) => values,
        single => std::slice::from_ref(single),
    }
}

/// Returns the part of a value behind the word `before`, searching from index `from`.
fn part<'a>(value: &'a Value, before: &str, from: usize) -> Option<&'a Value> {
    let Value::Parts(parts) = value else {
        return None;
    };
    let mut parts = parts.iter().skip(from);
    parts
        .find(|(own, _)| *own == before)
        .map(|(_, value)| value)
}

/// Converts a number, if it fits the type.
pub(super) fn small<T: TryFrom<i64>>(value: &Value) -> Option<T> {
    T::try_from(value.as_number()?).ok()
}

fn span(value: &Value) -> Option<Duration> {
    let nanos = u64::try_from(value.as_nanos()?).ok()?;
    Some(Duration::from_nanos(nanos))
}

/// Returns the bits of an address; IPv4 in the low 32 bits.
pub(super) fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// Parses `10.0.0.1`, `10.0.0.0/8`, `10.0.0.1-10.0.0.9`.
pub(crate) fn addresses(value: &Value) -> Option<AddressRange> {
    if let Value::Tuple(_, ends) = value {
        let [first, last] = &**ends else { return None };
        return Some(AddressRange {
            first: bits(first.as_address()?),
            last: bits(last.as_address()?),
        });
    }
    let net = value.as_prefix()?;
    Some(AddressRange::prefix(
        bits(net.network()),
        net.prefix_len(),
        net.max_prefix_len(),
    ))
}

/// Parses `80`, `80-90`: returns both ends.
pub(super) fn range<T: TryFrom<i64> + Copy>(value: &Value) -> Option<(T, T)> {
    let ends = elements(value);
    Some((small(ends.first()?)?, small(ends.last()?)?))
}

/// Parses `80,443,8000-8080`.
pub(super) fn ranges(value: &Value) -> Option<Box<[(u16, u16)]>> {
    value.as_list().iter().map(range).collect()
}

/// Returns the bits for the words of a list.
fn set<'a>(value: &'a Value, bit: impl Fn(&'a str) -> Option<u8>) -> Option<u8> {
    let words = value.as_list().iter();
    words
        .map(|word| bit(word.as_str()?))
        .try_fold(0, |all, bit| Some(all | bit?))
}

/// Returns the bits for the words of a list, and the bits for its negated words.
fn sets<'a>(value: &'a Value, bit: impl Fn(&'a str) -> Option<u8>) -> Option<(u8, u8)> {
    let (mut is, mut is_not) = (0, 0);
    for word in value.as_list() {
        let (negated, word) = unturned(word);
        let bit = bit(word.as_str()?)?;
        if negated {
            is_not |= bit;
        } else {
            is |= bit;
        }
    }
    Some((is, is_not))
}

/// Returns the required TCP flags, and the flags that must be clear.
pub(crate) fn tcp_flags(value: &Value) -> Option<(u8, u8)> {
    const FLAGS: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
    sets(value, |word| {
        let place = FLAGS.iter().position(|flag| *flag == word)?;
        Some(1 << place)
    })
}

/// Returns the required hotspot states, and the excluded hotspot states.
pub(super) fn hotspot(value: &Value) -> Option<(Hotspot, Hotspot)> {
    let bit = |word: &str| {
        Some(match word {
            "from-client" => Hotspot::FROM_CLIENT.0,
            "auth" => Hotspot::AUTH.0,
            "local-dst" => Hotspot::LOCAL_DST.0,
            "to-client" => Hotspot::TO_CLIENT.0,
            "http" => Hotspot::HTTP.0,
            _ => return None,
        })
    };
    let (set, clear) = sets(value, bit)?;
    Some((Hotspot(set), Hotspot(clear)))
}

/// `src-address-type` and the like.
pub(super) fn address_types(value: &Value) -> Option<AddressTypes> {
    let bit = |word: &str| {
        Some(match word {
            "unicast" => AddressTypes::UNICAST.0,
            "local" => AddressTypes::LOCAL.0,
            "broadcast" => AddressTypes::BROADCAST.0,
            "multicast" => AddressTypes::MULTICAST.0,
            "blackhole" => AddressTypes::BLACKHOLE.0,
            "anycast" => AddressTypes::ANYCAST.0,
            "unreachable" => AddressTypes::UNREACHABLE.0,
            _ => return None,
        })
    };
    set(value, bit).map(AddressTypes)
}

/// `connection-state`.
pub(super) fn states(value: &Value) -> Option<States> {
    let state = |word: &Value| {
        Some(match word.as_str()? {
            "new" => State::New,
            "established" => State::Established,
            "related" => State::Related,
            "invalid" => State::Invalid,
            "untracked" => State::Untracked,
            _ => return None,
        })
    };
    value.as_list().iter().map(state).collect()
}

/// `connection-nat-state`.
pub(crate) fn nat_states(value: &Value) -> Option<NatState> {
    let bit = |word: &str| {
        Some(match word {
            "srcnat" => NatState::SRCNAT.0,
            "dstnat" => NatState::DSTNAT.0,
            "ein-snat" => NatState::EIN_SNAT.0,
            "ein-dnat" => NatState::EIN_DNAT.0,
            _ => return None,
        })
    };
    set(value, bit).map(NatState)
}

/// `connection-type`, and the names of `/ip/firewall/service-port`.
pub(crate) fn helper(word: &str) -> Option<Helper> {
    Some(match word {
        "ftp" => Helper::Ftp,
        "pptp" => Helper::Pptp,
        "h323" => Helper::H323,
        "sip" => Helper::Sip,
        "irc" => Helper::Irc,
        "quake3" => Helper::Quake3,
        "rtsp" => Helper::Rtsp,
        "tftp" => Helper::Tftp,
        _ => return None,
    })
}

/// `equal:64`.
pub(super) fn compare(value: &Value) -> Option<Compare> {
    let [word, number] = elements(value) else {
        return None;
    };
    let number = small(number)?;
    Some(match word.as_str()? {
        "equal" => Compare::Equal(number),
        "not-equal" => Compare::NotEqual(number),
        "less-than" => Compare::Less(number),
        "greater-than" => Compare::Greater(number),
        _ => return None,
    })
}

/// `64/0xff`.
pub(super) fn tos(value: &Value) -> Option<Tos> {
    let mask = part(value, "/", 0).map_or(Some(u8::MAX), small)?;
    let value: u8 = small(part(value, "", 0)?)?;
    Some(Tos {
        value: value & mask,
        mask,
    })
}

/// `8:0-255`.
pub(super) fn icmp(value: &Value) -> Option<Icmp> {
    let (first, last) = part(value, ":", 0).map_or(Some((0, u8::MAX)), range)?;
    let kind = small(part(value, "", 0)?)?;
    Some(Icmp { kind, first, last })
}

/// `ipv4-options`.
pub(super) fn ipv4_option(word: &str) -> Option<Ipv4Option> {
    Some(match word {
        "any" => Ipv4Option::Any,
        "none" => Ipv4Option::None,
        "loose-source-routing" => Ipv4Option::LooseSourceRouting,
        "strict-source-routing" => Ipv4Option::StrictSourceRouting,
        "no-source-routing" => Ipv4Option::NoSourceRouting,
        "record-route" => Ipv4Option::RecordRoute,
        "no-record-route" => Ipv4Option::NoRecordRoute,
        "timestamp" => Ipv4Option::Timestamp,
        "no-timestamp" => Ipv4Option::NoTimestamp,
        "router-alert" => Ipv4Option::RouterAlert,
        "no-router-alert" => Ipv4Option::NoRouterAlert,
        _ => return None,
    })
}

/// `hop,dst:contains`.
pub(super) fn headers(value: &Value) -> Option<Headers> {
    const HEADERS: [&str; 8] = ["hop", "dst", "route", "frag", "ah", "esp", "none", "proto"];
    let bit = |word: &str| {
        let place = HEADERS.iter().position(|header| *header == word)?;
        Some(1 << place)
    };
    let exact = part(value, ":", 0).and_then(Value::as_str) == Some("exact");
    Some(Headers {
        bits: set(part(value, "", 0)?, bit)?,
        exact,
    })
}

/// `8h-17h,mon,tue`.
pub(crate) fn time(value: &Value) -> Option<When> {
    const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
    let second = |value: &Value| Some(span(value)?.as_secs().min(86_399) as u32);
    let bit = |word: &str| {
        let place = DAYS.iter().position(|day| *day == word)?;
        Some(1 << place)
    };
    Some(When {
        first: second(part(value, "", 0)?)?,
        last: second(part(value, "-", 0)?)?,
        days: set(part(value, ",", 0)?, bit)?,
    })
}

/// Parses `10/1m,5:packet`: rate and burst.
pub(super) fn rate(value: &Value) -> Option<Rate> {
    let number = |value: &Value| small::<u64>(value);
    let unit = match part(value, ":", 0).and_then(Value::as_str) {
        Some("bit") => Unit::Bits,
        _ => Unit::Packets,
    };
    Some(Rate {
        count: number(part(value, "", 0)?)?.max(1),
        per: per(value)?,
        burst: number(part(value, ",", 0)?)?,
        unit,
    })
}

/// Returns the period of a rate: the part between `/` and the burst.
fn per(value: &Value) -> Option<Duration> {
    let Value::Parts(parts) = value else {
        return None;
    };
    let span_of = parts
        .get(1)
        .filter(|(before, _)| *before == "/")
        .map(|(_, span)| span);
    let per = span_of.map_or(Some(Duration::from_secs(1)), span)?;
    Some(per.max(Duration::from_nanos(1)))
}

/// Default time until an idle flow is forgotten.
// RouterOS: its manual gives no value.
const EXPIRE: Duration = Duration::from_secs(100);

/// Parses `10/1s,5,src-address/1m40s`: rate, flow key, and time until idle flows are forgotten.
pub(super) fn flow_rate(value: &Value) -> Option<(Rate, FlowKey, Duration)> {
    let rate = rate(value)?;
    let Value::Parts(parts) = value else {
        return None;
    };
    let mode = parts.iter().rposition(|(before, _)| *before == ",")?;
    let FlowKey(source) = FlowKey::SOURCE;
    let FlowKey(destination) = FlowKey::DESTINATION;
    let FlowKey(port) = FlowKey::DESTINATION_PORT;
    let key = match parts[mode].1.as_str()? {
        "dst-address" => destination,
        "dst-address-and-port" => destination | port,
        "src-address" => source,
        "src-and-dst-addresses" => source | destination,
        "addresses-and-dst-port" => source | destination | port,
        _ => return None,
    };
    let expire = part(value, "/", mode + 1).map_or(Some(EXPIRE), span)?;
    Some((rate, FlowKey(key), expire))
}

/// Parses `2,1`: period and packet within the period.
pub(super) fn nth(value: &Value) -> Option<(u32, u32)> {
    let every = small(part(value, "", 0)?)?;
    let packet = part(value, ",", 0).map_or(Some(1), small)?;
    Some((every, packet))
}

/// `both-addresses:3/0`.
pub(super) fn classifier(value: &Value) -> Option<(FlowKey, u32, u32)> {
    let key = match part(value, "", 0)?.as_str()? {
        "src-address" => 1,
        "dst-address" => 2,
        "both-addresses" => 3,
        "src-port" => 4,
        "src-address-and-port" => 5,
        "dst-port" => 8,
        "dst-address-and-port" => 10,
        "both-ports" => 12,
        "both-addresses-and-ports" => 15,
        _ => return None,
    };
    let denominator: u32 = small(part(value, ":", 0)?)?;
    let remainder = small(part(value, "/", 0)?)?;
    Some((FlowKey(key), denominator.max(1), remainder))
}

/// `21,3s,3,1`: weight, delay, weight of low and of high ports.
pub(super) fn psd(value: &Value) -> Option<(u16, Duration, u16, u16)> {
    let [threshold, delay, low, high] = elements(value) else {
        return None;
    };
    Some((small(threshold)?, span(delay)?, small(low)?, small(high)?))
}

/// Returns two numbers.
pub(super) fn pair(value: &Value) -> Option<(u64, u64)> {
    let [first, second] = elements(value) else {
        return None;
    };
    Some((small(first)?, small(second)?))
}

/// Parses `in,ipsec`: true for packets that came out of IPsec, false for packets to send; and whether IPsec protection
/// is required.
pub(super) fn ipsec(value: &Value) -> Option<(bool, bool)> {
    let [way, policy] = elements(value) else {
        return None;
    };
    Some((way.as_str()? == "in", policy.as_str()? == "ipsec"))
}

/// A protocol above IP by its name or number (IANA, Assigned Internet Protocol Numbers).
pub fn protocol(value: &Value) -> Option<u8> {
    if let Some(number) = small(value) {
        return Some(number);
    }
    let word = value.as_str()?;
    PROTOCOLS
        .iter()
        .find(|(name, _)| *name == word)
        .map(|(_, number)| *number)
}

/// The name of a protocol above IP, where RouterOS has one.
pub fn protocol_name(number: u8) -> Option<&'static str> {
    let mut known = PROTOCOLS.iter();
    known
        .find(|(_, other)| *other == number)
        .map(|(name, _)| *name)
}

const PROTOCOLS: &[(&str, u8)] = &[
    ("dccp", 33),
    ("ddp", 37),
    ("egp", 8),
    ("encap", 98),
    ("etherip", 97),
    ("ggp", 3),
    ("gre", 47),
    ("hmp", 20),
    ("icmp", 1),
    ("icmpv6", 58),
    ("idpr-cmtp", 38),
    ("igmp", 2),
    ("ipencap", 4),
    ("ipip", 94),
    ("ipsec-ah", 51),
    ("ipsec-esp", 50),
    ("ipv6-encap", 41),
    ("ipv6", 41),
    ("ipv6-frag", 44),
    ("ipv6-nonxt", 59),
    ("ipv6-opts", 60),
    ("ipv6-route", 43),
    ("iso-tp4", 29),
    ("l2tp", 115),
    ("ospf", 89),
    ("pim", 103),
    ("pup", 12),
    ("rdp", 27),
    ("rspf", 73),
    ("rsvp", 46),
    ("sctp", 132),
    ("st", 5),
    ("tcp", 6),
    ("udp", 17),
    ("udp-lite", 136),
    ("vmtp", 81),
    ("vrrp", 112),
    ("xns-idp", 22),
    ("xtp", 36),
];
