//! Reads the configuration of DHCPv6 clients.

use core::net::Ipv6Addr;

use ipnet::IpNet;
use menu::{Item, Store, Value};
use schema::dhcp_option_bytes;
use service::dhcp6::client::Config;

use crate::feature::dhcp_client::{check, tables};
use crate::intent::Name;
use crate::read::name;
use crate::rib::Check;

/// Namespace of client options in the store.
const OPTIONS: &str = "dhcp6-client-option";
/// Maximum number of options that a client sends.
const MOST: usize = 32;

/// Configuration of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) interface: Name,
    pub(super) disabled: bool,
    pub(super) address: bool,
    pub(super) prefix: bool,
    pub(super) default_route: bool,
    pub(super) tables: Vec<(Name, u8)>,
    pub(super) check: Check,
    pub(super) dns: bool,
    /// Name of the pool made from a delegated prefix, and the length of its pieces.
    pub(super) pool: Option<(Name, u8)>,
    pub(super) script: String,
    interface_duid: bool,
    custom_duid: Vec<u8>,
    numbers: (Option<u32>, Option<u32>),
    hint: Option<(Ipv6Addr, u8)>,
    prefix_will_do: bool,
    rapid_commit: bool,
    options: Vec<(u16, Vec<u8>)>,
}

/// Reads an item. Returns `None` without an interface.
pub(super) fn wish(item: &Item, store: &Store) -> Option<Wish> {
    let asks = |word: &str| {
        let words = item.get("request").map(Value::as_list).unwrap_or_default();
        words.iter().any(|value| value.to_string() == word)
    };
    let byte = |name: &str| {
        item.number(name)
            .and_then(|number| u8::try_from(number).ok())
    };
    let number = |name: &str| {
        item.number(name)
            .and_then(|number| u32::try_from(number).ok())
    };
    let hint = item.get("prefix-hint").and_then(Value::as_prefix);
    let pool = name(item, "pool-name");
    Some(Wish {
        interface: name(item, "interface")?,
        disabled: item.is("disabled"),
        address: asks("address"),
        prefix: asks("prefix"),
        default_route: item.is("add-default-route"),
        tables: tables(item, byte("default-route-distance").unwrap_or(1)),
        check: check(item),
        dns: item.is("use-peer-dns"),
        pool: pool.map(|pool| (pool, byte("pool-prefix-length").unwrap_or(64))),
        script: item.text("script").to_owned(),
        interface_duid: item.is("use-interface-duid"),
        custom_duid: digits(item.text("custom-duid")),
        numbers: (number("custom-iana-id"), number("custom-iapd-id")),
        hint: match hint {
            Some(IpNet::V6(net)) if net.prefix_len() > 0 => Some((net.network(), net.prefix_len())),
            _ => None,
        },
        prefix_will_do: item.is("accept-prefix-without-address"),
        rapid_commit: item.is("rapid-commit"),
        options: options(item, store),
    })
}

fn options(item: &Item, store: &Store) -> Vec<(u16, Vec<u8>)> {
    let named = item.get("dhcp-options").map(Value::as_list);
    let options = named.unwrap_or_default().iter().filter_map(|value| {
        let option = store.named(OPTIONS, value.as_str()?)?;
        let code = u16::try_from(option.number("code")?).ok()?;
        let value = dhcp_option_bytes(option.text("value"), &|_| None)?;
        Some((code, value))
    });
    options.take(MOST).collect()
}

/// Parses hexadecimal digits, with or without `0x`.
pub(super) fn digits(text: &str) -> Vec<u8> {
    let text = text.strip_prefix("0x").unwrap_or(text);
    let pairs = text.as_bytes().chunks(2).map(|pair| {
        let pair = core::str::from_utf8(pair).ok()?;
        u8::from_str_radix(pair, 16).ok()
    });
    pairs.collect::<Option<Vec<u8>>>().unwrap_or_default()
}

/// Returns the DUID-LL of a link address (RFC 8415, 11.4).
pub(super) fn duid_of(mac: wire::Mac) -> Vec<u8> {
    [&[0, 3, 0, 1][..], &mac.0].concat()
}

impl Wish {
    /// Returns the machine's configuration. `mac` and `number` are those of the client's interface;
    /// `duid` is the router's DUID.
    pub(super) fn config(&self, mac: wire::Mac, number: u32, duid: &[u8]) -> Config {
        let duid = match (self.custom_duid.is_empty(), self.interface_duid) {
            (false, _) => self.custom_duid.clone(),
            (true, true) => duid_of(mac),
            (true, false) => duid.to_vec(),
        };
        let (addresses, prefixes) = self.numbers;
        Config {
            duid,
            addresses: self.address.then(|| addresses.unwrap_or(number)),
            prefixes: self.prefix.then(|| prefixes.unwrap_or(number)),
            hint: self.hint,
            prefix_will_do: self.prefix_will_do,
            rapid_commit: self.rapid_commit,
            options: self.options.clone(),
        }
    }
}
