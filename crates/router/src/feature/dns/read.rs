//! Reads the menus of `/ip/dns`.

use core::net::IpAddr;
use std::sync::Arc;

use machine::Duration;
use menu::{Item, Store, Value};
use service::dns::{Config, Data, Entry, Names, Secure, Servers};
use service::resolver;
use wire::dns::Name;

use super::server;

/// Maximum number of connections to a forwarder's server.
const CONNECTIONS: usize = 5;

/// Reads the settings without servers.
pub(super) fn settings(item: Option<&Item>) -> Config {
    let usual = Config::default();
    let number = |name: &str, usual: usize| {
        let number = item.and_then(|item| item.number(name));
        number.map_or(usual, |number| {
            usize::try_from(number).unwrap_or(usize::MAX)
        })
    };
    // Shorter timeouts would leave servers no time to answer.
    let least = Duration::from_millis(100);
    let span = |name: &str, usual| span(item, name).unwrap_or(usual);
    Config {
        cache_size: number("cache-size", usual.cache_size >> 10).saturating_mul(1024),
        longest: span("cache-max-ttl", usual.longest),
        datagram_max: number("max-udp-packet-size", usual.datagram_max),
        patience: span("query-server-timeout", usual.patience).max(least),
        secure_patience: span("doh-timeout", usual.secure_patience).max(least),
        total: span("query-total-timeout", usual.total).max(least),
        questions_max: number("max-concurrent-queries", usual.questions_max),
        secure_max: number("doh-max-concurrent-queries", usual.secure_max),
        ..usual
    }
}

/// Returns the lifetimes of addresses in lists.
pub(crate) fn watching(item: Option<&Item>) -> resolver::Config {
    let usual = resolver::Config::default();
    let span = |name: &str, usual| span(item, name).unwrap_or(usual);
    resolver::Config {
        total: span("query-total-timeout", usual.total),
        longest: span("cache-max-ttl", usual.longest),
        extra: span("address-list-extra-time", usual.extra),
    }
}

fn span(item: Option<&Item>, name: &str) -> Option<Duration> {
    let nanos = item?.get(name)?.as_nanos()?;
    Some(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

/// Returns the configured servers in order. Leaves out link-local addresses with an interface,
/// which a warning reports as without effect.
pub(crate) fn servers(item: Option<&Item>) -> Vec<IpAddr> {
    let servers = item.and_then(|item| item.get("servers"));
    let servers = servers.map(Value::as_list).unwrap_or_default();
    servers.iter().filter_map(Value::as_address).collect()
}

/// Returns the DoH server.
pub(super) fn secure(item: &Item) -> Option<Arc<Secure>> {
    let url = Some(item.text("use-doh-server")).filter(|url| !url.is_empty())?;
    let connections = item.number("doh-max-server-connections").unwrap_or(5);
    let connections = usize::try_from(connections).unwrap_or(usize::MAX);
    Some(secure_at(url, item.is("verify-doh-cert"), connections))
}

fn secure_at(url: &str, verify: bool, connections: usize) -> Arc<Secure> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    };
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let name = if is_address { None } else { wire(host) };
    Arc::new(Secure {
        url: url.into(),
        name: name.unwrap_or_default(),
        verify,
        connections,
    })
}

/// Whether the router has a way to the internet (a default route, a DHCP client or a PPPoE client)
/// and no rule of `input` that blocks.
pub(super) fn is_exposed(store: &Store) -> bool {
    let some = |path: &str| store.items(path).any(|item| !item.is("disabled"));
    let leads_out = |item: &Arc<Item>| {
        let to = item.get("dst-address").and_then(Value::as_prefix);
        to.is_some_and(|to| to.prefix_len() == 0) && !item.is("disabled")
    };
    let mut routes = store.items("/ip/route");
    let has_way = routes.any(leads_out)
        || ["/ip/dhcp-client", "/interface/pppoe-client"]
            .into_iter()
            .any(some);
    let stops = |item: &Arc<Item>| {
        let stops = matches!(item.text("action"), "drop" | "reject" | "tarpit" | "jump");
        item.text("chain") == "input" && stops && !item.is("disabled")
    };
    has_way && !store.items("/ip/firewall/filter").any(stops)
}

/// Reads a forwarder and its name.
pub(super) fn forwarder(item: &Item) -> Option<(Arc<str>, Servers)> {
    if item.is("disabled") {
        return None;
    }
    let secure = item.get("doh-servers").map(Value::as_list);
    let secure = secure.unwrap_or_default().iter().filter_map(Value::as_str);
    let secure = secure.map(|url| secure_at(url, item.is("verify-doh-cert"), CONNECTIONS));
    let plain = item.get("dns-servers").map(Value::as_list);
    let plain = plain.unwrap_or_default().iter();
    let servers = Servers {
        plain: plain.filter_map(Value::as_address).map(server).collect(),
        secure: secure.collect(),
    };
    Some((item.text("name").into(), servers))
}

/// Reads a static entry. Returns `None` if it is disabled or incomplete.
pub(super) fn entry(item: &Item) -> Option<Entry> {
    if item.is("disabled") {
        return None;
    }
    let names = match (item.get("regexp"), wire(item.text("name"))) {
        (Some(pattern), _) => Names::Matching(pattern.as_str()?.into()),
        (None, Some(name)) if item.is("match-subdomain") => Names::Below(name),
        (None, Some(name)) => Names::One(name),
        (None, None) => return None,
    };
    let number = |name: &str| {
        let number = item.number(name).unwrap_or(0);
        u16::try_from(number).unwrap_or(u16::MAX)
    };
    let data = match item.text("type") {
        "CNAME" => Data::Alias(wire(item.text("cname"))?),
        "FWD" => Data::Forward(
            Some(item.text("forward-to"))
                .filter(|to| !to.is_empty())
                .map(Into::into),
        ),
        "MX" => Data::mail(number("mx-preference"), &wire(item.text("mx-exchange"))?),
        "NS" => Data::name_server(&wire(item.text("ns"))?),
        "NXDOMAIN" => Data::NoName,
        "SRV" => {
            let numbers = ["srv-priority", "srv-weight", "srv-port"].map(number);
            Data::service(numbers, &wire(item.text("srv-target"))?)
        }
        "TXT" => Data::text(item.text("text").as_bytes()),
        _ => Data::Address(item.get("address")?.as_address()?),
    };
    let ttl = span(Some(item), "ttl").map_or(0, |ttl| ttl.as_secs());
    let list = Some(item.text("address-list")).filter(|list| !list.is_empty());
    Some(Entry {
        names,
        data,
        // RFC 2181, 8: a TTL has 31 bits.
        ttl: u32::try_from(ttl).unwrap_or(u32::MAX).min(i32::MAX as u32),
        list: list.map(Into::into),
    })
}

pub(super) fn wire(text: &str) -> Option<Box<[u8]>> {
    Some(Name::new(text)?.as_bytes().into())
}
