//! Reads the configuration of DHCP clients.

use menu::{Item, Store, Value};
use schema::dhcp_option_bytes;
use service::dhcp::client::{Broadcast, Config};
use wire::Mac;

use crate::intent::Name;
use crate::read::name;
use crate::rib::Check;

/// Namespace of client options in the store.
const OPTIONS: &str = "dhcp-client-option";
/// Maximum number of options that a client sends.
const MOST: usize = 64;

/// `add-default-route`: the routes made from a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Routes {
    /// No routes.
    None,
    /// Classless routes (option 121), or without them the default route by the router option.
    Usual,
    /// Classless routes and the default route by the router option.
    Both,
}

/// Configuration of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) interface: Name,
    pub(super) disabled: bool,
    pub(super) routes: Routes,
    /// Routing tables for the routes, each with the distance.
    pub(super) tables: Vec<(Name, u8)>,
    pub(super) check: Check,
    pub(super) dns: bool,
    pub(super) ntp: bool,
    pub(super) script: String,
    /// Options to send: code, and value as configured.
    options: Vec<(u8, String)>,
    broadcast: Broadcast,
    dscp: u8,
}

/// Reads an item. Returns `None` without an interface.
pub(super) fn wish(item: &Item, store: &Store) -> Option<Wish> {
    let byte = |name: &str| {
        item.number(name)
            .and_then(|number| u8::try_from(number).ok())
    };
    let distance = byte("default-route-distance").unwrap_or(1);
    Some(Wish {
        interface: name(item, "interface")?,
        disabled: item.is("disabled"),
        routes: match item.text("add-default-route") {
            "no" => Routes::None,
            "special-classless" => Routes::Both,
            _ => Routes::Usual,
        },
        tables: tables(item, distance),
        check: check(item),
        dns: item.is("use-peer-dns"),
        ntp: item.is("use-peer-ntp"),
        script: item.text("script").to_owned(),
        options: options(item, store),
        broadcast: match item.text("use-broadcast") {
            "always" => Broadcast::Always,
            "never" => Broadcast::Never,
            _ => Broadcast::Unbound,
        },
        dscp: byte("dscp").unwrap_or(0) & 0x3f,
    })
}

/// Reads `check-gateway`.
pub(in crate::feature) fn check(item: &Item) -> Check {
    match item.text("check-gateway") {
        "arp" => Check::Arp,
        "ping" => Check::Ping,
        "bfd" => Check::Bfd,
        _ => Check::None,
    }
}

/// Returns the routing tables for a client's default route, each with the distance.
pub(in crate::feature) fn tables(item: &Item, distance: u8) -> Vec<(Name, u8)> {
    let listed = item.get("default-route-tables").map(Value::as_list);
    let tables = listed.unwrap_or_default().iter().filter_map(|value| {
        let Value::Parts(parts) = value else {
            return None;
        };
        let part = |before| {
            let found = parts.iter().find(|(own, _)| *own == before);
            found.map(|(_, value)| value.to_string())
        };
        let own = part(":").and_then(|number| number.parse().ok());
        let name = part("")?;
        let name = match &*name {
            "default" => "main",
            name => name,
        };
        Some((Name::from(name), own.unwrap_or(distance)))
    });
    let mut tables: Vec<_> = tables.collect();
    if tables.is_empty() {
        tables.push(("main".into(), distance));
    }
    tables
}

fn options(item: &Item, store: &Store) -> Vec<(u8, String)> {
    let named = item.get("dhcp-options").map(Value::as_list);
    let options = named.unwrap_or_default().iter().filter_map(|value| {
        let option = store.named(OPTIONS, value.as_str()?)?;
        let code = u8::try_from(option.number("code")?).ok()?;
        Some((code, option.text("value").to_owned()))
    });
    options.take(MOST).collect()
}

impl Wish {
    /// Returns the machine's configuration on an interface with this link address.
    pub(super) fn config(&self, mac: Mac, hostname: &str) -> Config {
        let variable = |name: &str| match name {
            "HOSTNAME" => Some(hostname.as_bytes().to_vec()),
            "CLIENT_MAC" => Some(mac.0.to_vec()),
            // RFC 4361, 6.1: the IAID and the DUID, both derived from the link address.
            "CLIENT_DUID" => Some([&mac.0[2..], &[0, 3, 0, 1], &mac.0].concat()),
            _ => None,
        };
        let options = self.options.iter().filter_map(|(code, value)| {
            let value = dhcp_option_bytes(value, &variable)?;
            (!value.is_empty()).then_some((*code, value))
        });
        Config {
            mac,
            options: options.collect(),
            broadcast: self.broadcast,
            dscp: self.dscp,
        }
    }

    /// Whether the settings give different objects for one lease.
    pub(super) fn tells_other(&self, before: &Self) -> bool {
        let of = |wish: &Self| {
            let routes = (wish.routes, wish.tables.clone(), wish.check);
            (routes, wish.dns, wish.ntp)
        };
        of(self) != of(before)
    }
}
