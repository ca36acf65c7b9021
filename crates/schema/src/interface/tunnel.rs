//! Property fragments and checks of tunnel interfaces.

use std::sync::Arc;

use menu::{Draft, Family, Item, Kind, Menu, MenuShape, Property, Reason, Store, Value};

use super::{FLAGS, RESET_COUNTERS};
use crate::declare::{HOST, no, secret, shown, words, yes};
use crate::fragment::{INTERFACE_STATS, name_mtu};

/// Name and MTU.
pub(crate) const NAME: &[Property] = &name_mtu("auto");

/// Actual MTU.
pub(crate) const ACTUAL: &[Property] = &[
    shown("actual-mtu", Kind::COUNTER, "Effective MTU of layer 3"),
    shown(
        "l2mtu",
        Kind::COUNTER,
        "Maximum transmission unit of layer 2",
    ),
];

/// Local and remote address of a tunnel.
pub(crate) const fn ends(family: Family, nowhere: &'static str) -> [Property; 3] {
    [
        Property::new(
            "local-address",
            Kind::Address(family),
            "Local address of the tunnel",
        )
        .default(nowhere),
        Property::new("remote-address", HOST, "Remote address or DNS name").default(nowhere),
        shown(
            "current-remote-address",
            Kind::Address(family),
            "Remote address in use",
        ),
    ]
}

/// Local and remote address of a tunnel over IPv4.
pub(crate) const ENDS4: &[Property] = &ends(Family::V4, "0.0.0.0");
/// Local and remote address of a tunnel over IPv6.
pub(crate) const ENDS6: &[Property] = &ends(Family::V6, "::");

/// Outer header fields and keepalive.
pub(crate) const OUTER: &[Property] = &[
    Property::new(
        "keepalive",
        Kind::Tuple(",", &[Kind::SPAN, Kind::COUNTER]),
        "Keepalive interval and retries",
    )
    .default("10s,10")
    .optional(),
    Property::new(
        "dscp",
        Kind::Or(&["inherit"], &Kind::Number { min: 0, max: 63 }),
        "DSCP of the outer header",
    )
    .default("inherit"),
    yes("clamp-tcp-mss", "Clamp the TCP MSS to the MTU"),
    words(
        "dont-fragment",
        &["inherit", "no"],
        "Don't Fragment bit of the outer header",
    )
    .default("no"),
    secret("ipsec-secret", "Secret for IPsec encryption of the tunnel"),
];

/// FastPath, allowed by default.
pub(crate) const FAST: &[Property] = &[yes("allow-fast-path", "Allow FastPath")];

/// FastPath, not allowed by default.
pub(crate) const SLOW: &[Property] = &[no("allow-fast-path", "Allow FastPath")];

/// A tunnel menu.
pub(crate) const fn tunnels(path: &'static str, kind: &'static str, help: &'static str) -> Menu {
    Menu {
        flags: FLAGS,
        stats: INTERFACE_STATS,
        space: Some("interface"),
        key: Some("name"),
        kind,
        commands: &[RESET_COUNTERS],
        idle: Some(has_no_end),
        check: Some(check_fast_path),
        ..Menu::new(path, MenuShape::List, help)
    }
}

/// Returns the missing part of a tunnel without effect.
fn has_no_end(item: &Item) -> Option<&'static str> {
    let remote = item.get("remote-address");
    let is_end = |remote: &Value| match remote.as_address() {
        Some(address) => !address.is_unspecified(),
        None => !remote.is_empty(),
    };
    match remote.is_some_and(is_end) {
        true => None,
        false => Some("a tunnel without a remote-address"),
    }
}

/// RouterOS: refuses FastPath together with `ipsec-secret`, because FastPath bypasses the IPsec policy. An
/// existing item of an older version with both may still be changed.
fn check_fast_path(draft: &Draft<'_>, store: &Store) -> Result<(), Reason> {
    let secret = draft.get("ipsec-secret").and_then(Value::as_str);
    if secret.is_none_or(str::is_empty) || !draft.is("allow-fast-path") {
        return Ok(());
    }
    let name = draft.get("name").and_then(Value::as_str);
    let had_both =
        |item: &&Arc<Item>| !item.text("ipsec-secret").is_empty() && item.is("allow-fast-path");
    let before = name.and_then(|name| store.named("interface", name));
    match before.filter(had_both) {
        Some(_) => Ok(()),
        None => Err(Reason::failure(
            "ipsec-secret can not be used with fast path, set allow-fast-path=no",
        )),
    }
}
