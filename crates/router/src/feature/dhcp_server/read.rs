//! Converts items to the configuration of the DHCP server machine.

use core::net::{IpAddr, Ipv4Addr};

use machine::Duration;
use menu::{Item, Store, Value};
use service::dhcp::server::{
    Assigned, Authoritative, Bootp, Config, Identifiers, MatchedPool, Matcher, Network,
    OptionValue, Part, ServerId, Static, client_id,
};
use wire::Mac;

use super::{DNS, NTP};
use crate::intent::Name;
use crate::read::span;

/// Returns an IPv4 address property, or `None` if it is unspecified.
pub(super) fn address(item: &Item, property: &str) -> Option<Ipv4Addr> {
    match item.get(property)?.as_address()? {
        IpAddr::V4(address) if !address.is_unspecified() => Some(address),
        _ => None,
    }
}

fn addresses(item: &Item, property: &str) -> Vec<Ipv4Addr> {
    let list = item.get(property).map(Value::as_list).unwrap_or_default();
    let four = |value: &Value| match value.as_address()? {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    };
    list.iter().filter_map(four).collect()
}

/// Returns a property that is a list of names.
pub(super) fn names(item: &Item, property: &str) -> Vec<Name> {
    let list = item.get(property).map(Value::as_list).unwrap_or_default();
    list.iter()
        .filter_map(Value::as_str)
        .map(Name::from)
        .collect()
}

fn pool(text: &str) -> Option<Box<str>> {
    (!matches!(text, "" | "static-only")).then(|| text.into())
}

/// Reads a server.
pub(super) fn server(store: &Store, item: &Item) -> Config {
    let identifiers = item.get("dynamic-lease-identifiers").map(Value::as_list);
    let identifiers = identifiers.unwrap_or_default();
    let has = |word: &str| identifiers.iter().any(|one| one.as_str() == Some(word));
    let lease_time = span(item, "lease-time").unwrap_or(Duration::from_secs(1_800));
    Config {
        name: item.name().unwrap_or_default().into(),
        relay: address(item, "relay").unwrap_or(Ipv4Addr::UNSPECIFIED),
        lease_time,
        pool: pool(item.text("address-pool")),
        identifiers: Identifiers {
            mac: has("client-mac"),
            client_id: has("client-id"),
            agent: has("opt-82"),
        },
        bootp: match item.text("bootp-support") {
            "none" => Bootp::None,
            "dynamic" => Bootp::Dynamic,
            _ => Bootp::Static,
        },
        bootp_lease_time: match item.text("bootp-lease-time") {
            "lease-time" => Some(lease_time),
            _ => span(item, "bootp-lease-time"),
        },
        delay_threshold: span(item, "delay-threshold").unwrap_or_default(),
        server_address: address(item, "server-address"),
        authoritative: match item.text("authoritative") {
            "no" => Authoritative::No,
            "after-2sec-delay" => Authoritative::After(Duration::from_secs(2)),
            "after-10sec-delay" => Authoritative::After(Duration::from_secs(10)),
            _ => Authoritative::Yes,
        },
        always_broadcast: item.is("always-broadcast"),
        mac_limit: { item.number("client-mac-limit") }.and_then(|most| u32::try_from(most).ok()),
        conflict_detection: item.is("conflict-detection"),
        options: set(store, item, "dhcp-option-set").into(),
        is_authorized: item.text("use-radius") == "yes",
    }
}

/// Reads a static lease. Returns `None` if its server does not exist.
pub(super) fn lease(
    store: &Store,
    item: &Item,
    server: impl Fn(&str) -> Option<ServerId>,
) -> Option<Static> {
    let whose = match item.text("server") {
        "" | "all" => None,
        name => Some(server(name)?),
    };
    let value = item.get("address")?;
    let assigned = match value.as_address() {
        Some(IpAddr::V4(address)) => Assigned::Address(address),
        Some(IpAddr::V6(_)) => return None,
        None => Assigned::Pool(value.as_str()?.into()),
    };
    let mut options = named(store, item, "dhcp-option");
    options.extend(set(store, item, "dhcp-option-set"));
    Some(Static {
        address: assigned,
        mac: item.get("mac-address").and_then(Value::as_mac).map(Mac),
        use_src_mac: item.is("use-src-mac"),
        client_id: client_id(item.text("client-id")),
        agent: (
            digits(item, "agent-circuit-id"),
            digits(item, "agent-remote-id"),
        ),
        server: whose,
        is_blocked: item.is("block-access"),
        lease_time: span(item, "lease-time").filter(|time| !time.is_zero()),
        always_broadcast: item.get("always-broadcast").and_then(Value::as_bool),
        options,
    })
}

/// Parses the hexadecimal digits of a value.
fn digits(item: &Item, property: &str) -> Box<[u8]> {
    let text = item.get(property).map(ToString::to_string);
    let text = text.unwrap_or_default();
    let (pairs, _) = text
        .strip_prefix("0x")
        .unwrap_or(&text)
        .as_bytes()
        .as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().filter_map(byte).collect()
}

/// A network, and whether the router's learned DNS and NTP servers apply: they do if neither the
/// network nor the router has configured servers, unless `dns-none` or `ntp-none` is set.
#[derive(Debug)]
pub(super) struct NetworkSettings {
    pub(super) network: Network,
    pub(super) learned_dns: bool,
    pub(super) learned_ntp: bool,
}

/// Reads a network.
pub(super) fn network(store: &Store, item: &Item) -> Option<NetworkSettings> {
    let ipnet::IpNet::V4(prefix) = item.get("address")?.as_prefix()? else {
        return None;
    };
    let servers = |property, none, menu: &str| {
        let own = addresses(item, property);
        if !own.is_empty() || item.is(none) {
            return own;
        }
        let settings = store.settings(menu);
        { settings.map(|settings| addresses(settings, "servers")) }.unwrap_or_default()
    };
    let mut options = named(store, item, "dhcp-option");
    options.extend(set(store, item, "dhcp-option-set"));
    let network = Network {
        prefix: (prefix.network().to_bits(), prefix.prefix_len()),
        mask: { item.number("netmask") }.and_then(|mask| u8::try_from(mask).ok()),
        gateways: addresses(item, "gateway"),
        dns: servers("dns-server", "dns-none", DNS),
        ntp: servers("ntp-server", "ntp-none", NTP),
        wins: addresses(item, "wins-server"),
        caps: addresses(item, "caps-manager"),
        domain: item.text("domain").into(),
        next_server: address(item, "next-server"),
        boot_file: item.text("boot-file-name").into(),
        options,
    };
    Some(NetworkSettings {
        learned_dns: network.dns.is_empty() && !item.is("dns-none"),
        learned_ntp: network.ntp.is_empty() && !item.is("ntp-none"),
        network,
    })
}

/// Reads a matcher. Returns `None` if it is disabled or its server does not exist.
pub(super) fn matcher(store: &Store, item: &Item) -> Option<Matcher> {
    if item.is("disabled") {
        return None;
    }
    let server = match item.text("server") {
        "" | "all" => None,
        name => Some(store.named("dhcp-server", name)?.id.0),
    };
    let value = item.text("value");
    Some(Matcher {
        server,
        code: u8::try_from(item.number("code")?).ok()?,
        value: bytes(value).unwrap_or_else(|| value.as_bytes().to_vec()),
        is_substring: item.text("matching-type") == "substring",
        pool: match item.text("address-pool") {
            "" | "none" => MatchedPool::Servers,
            "static-only" => MatchedPool::StaticOnly,
            pool => MatchedPool::Pool(pool.into()),
        },
        options: set(store, item, "option-set"),
    })
}

/// Returns the options that a property names.
fn named(store: &Store, item: &Item, property: &str) -> Vec<OptionValue> {
    let named = names(item, property);
    let found = named
        .iter()
        .filter_map(|name| store.named("dhcp-option", name));
    found.filter_map(|item| option(item)).collect()
}

/// Returns the options of the set that a property names.
fn set(store: &Store, item: &Item, property: &str) -> Vec<OptionValue> {
    let set = store.named("dhcp-option-set", item.text(property));
    set.map(|set| named(store, set, "options"))
        .unwrap_or_default()
}

fn option(item: &Item) -> Option<OptionValue> {
    Some(OptionValue {
        code: u8::try_from(item.number("code")?).ok()?,
        value: parts(item.text("value"))?,
        force: item.is("force"),
    })
}

/// Returns the bytes of a value without variables.
fn bytes(text: &str) -> Option<Vec<u8>> {
    schema::dhcp_option_bytes(text, &|_| None)
}

/// Parses an option's value into bytes and variables that are filled in when the option is sent.
fn parts(mut text: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    while let Some((before, rest)) = text.split_once("$(") {
        let (variable, behind) = rest.split_once(')')?;
        if !before.is_empty() {
            parts.push(Part::Bytes(bytes(before)?));
        }
        match variable {
            "HOSTNAME" => parts.push(Part::HostName),
            "REMOTE_ID" => parts.push(Part::RemoteId),
            "NETWORK_GATEWAY" => parts.push(Part::Gateway),
            // Variables of RADIUS, which are always empty.
            _ => {}
        }
        text = behind;
    }
    if !text.is_empty() {
        parts.push(Part::Bytes(bytes(text)?));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_stand_between_bytes() {
        let bytes = |bytes: &[u8]| Part::Bytes(bytes.to_vec());
        let text = "0x01$(NETWORK_GATEWAY)'x'$(HOSTNAME)";
        let expected = [bytes(&[1]), Part::Gateway, bytes(b"x"), Part::HostName];
        assert_eq!(parts(text).as_deref(), Some(&expected[..]));
        assert_eq!(parts("'open"), None);
        assert_eq!(parts("$(HOSTNAME"), None);
    }
}
