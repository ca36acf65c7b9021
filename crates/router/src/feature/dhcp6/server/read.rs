//! Reads the configuration of DHCPv6 servers and their static bindings.

use ipnet::IpNet;
use machine::Duration;
use menu::{Item, Store, Value};
use schema::dhcp_option_bytes;
use service::dhcp6::server::{Config, Static};

use super::super::read::digits;
use super::Server;
use crate::read::{name, span};

/// Lifetime of bindings without a configured one.
const LIFETIME: Duration = Duration::from_secs(3 * 86_400);
/// Maximum number of options of an item.
const MAX_OPTIONS: usize = 32;

/// Reads a server.
pub(super) fn server(store: &Store, item: &Item) -> Server {
    let pool = |property| match item.text(property) {
        "" | "static-only" => None,
        pool => Some(pool.into()),
    };
    let byte = |property, default| {
        let number = item
            .number(property)
            .and_then(|number| u8::try_from(number).ok());
        number.unwrap_or(default)
    };
    let config = Config {
        name: item.name().unwrap_or_default().into(),
        prefix_pool: pool("prefix-pool"),
        address_pool: pool("address-pool"),
        prefixes: Vec::new(),
        lifetime: span(item, "lease-time").unwrap_or(LIFETIME),
        rapid_commit: item.is("rapid-commit"),
        preference: byte("preference", u8::MAX),
        ignores_addresses: item.is("ignore-ia-na-bindings"),
        options: options(store, item),
        user: None,
        max_bindings: None,
    };
    Server {
        name: item.name().unwrap_or_default().into(),
        interface: name(item, "interface").unwrap_or_default(),
        disabled: item.is("disabled"),
        script: item.text("binding-script").to_owned(),
        distance: byte("route-distance", 1),
        config,
    }
}

/// Reads a static binding. Returns `None` if its server does not exist.
pub(super) fn binding(store: &Store, item: &Item) -> Option<Static> {
    let server = match item.text("server") {
        "" | "all" => None,
        name => Some(store.named("dhcp6-server", name)?.id.0),
    };
    let subnet = match item.get("address").and_then(Value::as_prefix) {
        Some(IpNet::V6(net)) if !net.addr().is_unspecified() => {
            Some((net.network(), net.prefix_len()))
        }
        _ => None,
    };
    Some(Static {
        server,
        duid: digits(item.text("duid")).into(),
        iaid: u32::try_from(item.number("iaid")?).ok()?,
        is_prefix: item.text("ia-type") != "na",
        subnet,
        pool: name(item, "prefix-pool").as_deref().map(Into::into),
        lifetime: span(item, "life-time").unwrap_or(LIFETIME),
        options: options(store, item),
    })
}

/// Reads the options and the options of the sets that an item names.
fn options(store: &Store, item: &Item) -> Vec<(u16, Vec<u8>)> {
    let names = |item: &Item, property| -> Vec<Box<str>> {
        let list = item.get(property).map(Value::as_list).unwrap_or_default();
        list.iter()
            .filter_map(Value::as_str)
            .map(Into::into)
            .collect()
    };
    let members = names(item, "dhcp-option").into_iter().flat_map(|name| {
        match store.named("dhcp6-option-set", &name) {
            Some(set) => names(set, "options"),
            None => vec![name],
        }
    });
    let option = |name: Box<str>| {
        let option = store.named("dhcp6-option", &name)?;
        let code = u16::try_from(option.number("code")?).ok()?;
        Some((code, dhcp_option_bytes(option.text("value"), &|_| None)?))
    };
    members.filter_map(option).take(MAX_OPTIONS).collect()
}
