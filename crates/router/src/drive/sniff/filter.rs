//! Filters of torch and sniffer, read from command arguments and from the properties of `/tool/sniffer`.

use core::ops::RangeInclusive;

use ipnet::IpNet;
use menu::{Reason, Value};
use sniff::{Columns, Filter, List};
use wire::Mac;

use super::ports;
use crate::firewall::{kinds_of, protocol_of};

/// Interfaces to capture on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CaptureInterfaces {
    /// All interfaces.
    All,
    /// Interfaces with these names.
    Named(Vec<Box<str>>),
}

/// Looks up an argument or property by name.
pub(super) type Said<'a> = dyn Fn(&str) -> Option<Value> + 'a;

/// Returns the interfaces of a list value; all interfaces if the list is empty.
pub(super) fn places(value: Option<&Value>) -> CaptureInterfaces {
    let names = value.map(Value::as_list).unwrap_or_default();
    let names: Vec<Box<str>> = names
        .iter()
        .filter_map(Value::as_str)
        .map(Into::into)
        .collect();
    match names.is_empty() || names.iter().any(|name| **name == *"all") {
        true => CaptureInterfaces::All,
        false => CaptureInterfaces::Named(names),
    }
}

/// Reads the filter of `/tool/sniffer`; `said` knows values by name without `filter-`.
///
/// # Errors
/// A word has no meaning.
pub(super) fn sniffed(said: &Said<'_>) -> Result<Filter, Reason> {
    let nets = |names: [&'static str; 2]| -> Result<List<IpNet>, Reason> {
        let [mut four, six] = [list(said, names[0], net)?, list(said, names[1], net)?];
        four.0.extend(six.0);
        Ok(four)
    };
    let word = |name| said(name).and_then(|value| value.as_str().map(str::to_owned));
    Ok(Filter {
        all: word("operator-between-entries").as_deref() == Some("and"),
        sent: match word("direction").as_deref() {
            Some("tx") => Some(true),
            Some("rx") => Some(false),
            _ => None,
        },
        macs: list(said, "mac-address", mac)?,
        src_macs: list(said, "src-mac-address", mac)?,
        dst_macs: list(said, "dst-mac-address", mac)?,
        kinds: list(said, "mac-protocol", kind)?,
        addresses: nets(["ip-address", "ipv6-address"])?,
        src_addresses: nets(["src-ip-address", "src-ipv6-address"])?,
        dst_addresses: nets(["dst-ip-address", "dst-ipv6-address"])?,
        protocols: list(said, "ip-protocol", protocol_of)?,
        ports: list(said, "port", port)?,
        src_ports: list(said, "src-port", port)?,
        dst_ports: list(said, "dst-port", port)?,
        // The argument of the command has another name than the setting.
        vlans: list(
            said,
            if said("vlan-id").is_some() {
                "vlan-id"
            } else {
                "vlan"
            },
            small,
        )?,
        dscps: List::default(),
        cpus: list(said, "cpu", small)?,
        sizes: list(said, "size", size)?,
    })
}

/// Reads the filter of `/tool/torch`, and the columns that distinguish flows: one for each given argument. Sources are
/// hosts behind the interface.
///
/// # Errors
/// A word has no meaning.
pub(super) fn lit(said: &Said<'_>) -> Result<(Columns, Filter), Reason> {
    let given = |name| said(name).is_some();
    let columns = Columns {
        kind: given("mac-protocol"),
        protocol: given("ip-protocol") || given("port"),
        src4: given("src-address"),
        dst4: given("dst-address"),
        src6: given("src-address6"),
        dst6: given("dst-address6"),
        ports: given("port"),
        vlan: given("vlan-id"),
        dscp: given("dscp"),
    };
    let any = |value: &Value| value.as_str() == Some("any");
    let wanted = |name: &str| said(name).filter(|value| !any(value));
    let wanted: &Said<'_> = &wanted;
    let nets = |names: [&'static str; 2]| -> Result<List<IpNet>, Reason> {
        let [mut four, six] = [list(wanted, names[0], net)?, list(wanted, names[1], net)?];
        four.0.extend(six.0);
        // Without a prefix longer than 0 there is no address filter.
        let narrow = four.0.iter().any(|(_, net)| net.prefix_len() > 0);
        Ok(if narrow { four } else { List::default() })
    };
    let filter = Filter {
        kinds: list(wanted, "mac-protocol", kind)?,
        src_addresses: nets(["src-address", "src-address6"])?,
        dst_addresses: nets(["dst-address", "dst-address6"])?,
        protocols: list(wanted, "ip-protocol", protocol_of)?,
        ports: list(wanted, "port", port)?,
        vlans: list(wanted, "vlan-id", small)?,
        dscps: list(wanted, "dscp", small)?,
        cpus: list(wanted, "cpu", small)?,
        ..Filter::default()
    };
    Ok((columns, filter))
}

fn list<T>(
    said: &Said<'_>,
    name: &'static str,
    read: impl Fn(&Value) -> Option<T>,
) -> Result<List<T>, Reason> {
    let Some(value) = said(name) else {
        return Ok(List::default());
    };
    let entries = match &value {
        Value::List(entries) => &entries[..],
        single => core::slice::from_ref(single),
    };
    let entries = entries.iter().map(|entry| {
        let (not, entry) = match entry {
            Value::Not(entry) => (true, &**entry),
            entry => (false, entry),
        };
        read(entry).map(|entry| (not, entry))
    });
    let entries: Option<Vec<_>> = entries.collect();
    Ok(List(entries.ok_or_else(|| Reason::no_match(name))?))
}

fn small<T: TryFrom<i64>>(value: &Value) -> Option<T> {
    T::try_from(value.as_number()?).ok()
}

fn mac(value: &Value) -> Option<Mac> {
    value.as_mac().map(Mac)
}

fn net(value: &Value) -> Option<IpNet> {
    match value {
        Value::Prefix(net) => Some(net.trunc()),
        value => value.as_address().map(IpNet::from),
    }
}

fn kind(value: &Value) -> Option<RangeInclusive<u16>> {
    kinds_of(value).map(|(first, last)| first..=last)
}

fn port(value: &Value) -> Option<u16> {
    small(value).or_else(|| ports::number(value.as_str()?))
}

fn size(value: &Value) -> Option<RangeInclusive<usize>> {
    match value {
        Value::Tuple(_, ends) => match &**ends {
            [first, last] => Some(small(first)?..=small(last)?),
            _ => None,
        },
        value => small(value).map(|size| size..=size),
    }
}
