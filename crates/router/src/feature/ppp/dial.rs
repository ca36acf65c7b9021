//! Settings of PPP clients that all services share: user, profile, routes, DNS.

use machine::Duration;
use menu::{Item, Value};
use ppp::{Keepalive, Method, Methods};

use crate::intent::{ItemId, Name};
use crate::read;

/// Settings of a client item.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::feature) struct Dial {
    /// The item.
    pub(in crate::feature::ppp) item: ItemId,
    /// Name of its interface.
    pub(in crate::feature::ppp) name: Name,
    /// User name.
    pub(in crate::feature::ppp) user: Box<str>,
    /// Password.
    pub(in crate::feature::ppp) password: Box<str>,
    /// Profile of the session.
    pub(in crate::feature::ppp) profile: Name,
    /// Authentication methods that the client accepts.
    pub(in crate::feature::ppp) methods: Methods,
    /// Distance of the default route; `None` without one.
    pub(in crate::feature::ppp) default_route: Option<u8>,
    /// Use of the DNS servers of the other end.
    pub(in crate::feature::ppp) dns: PeerDns,
}

/// Use of the DNS servers of the other end (`use-peer-dns`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::feature::ppp) enum PeerDns {
    /// Not used.
    No,
    /// Used beside others.
    Yes,
    /// Used alone.
    Exclusively,
}

impl core::fmt::Debug for Dial {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Dial")
            .field("item", &self.item)
            .field("name", &self.name)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

impl Dial {
    /// Reads a client item; `None` for an item without a name.
    pub(in crate::feature) fn read(item: &Item) -> Option<Self> {
        let distance = item.number("default-route-distance").unwrap_or(1);
        // RouterOS: distance 0 counts as 1.
        let distance = u8::try_from(distance).unwrap_or(u8::MAX).max(1);
        Some(Self {
            item: item.id.0,
            name: Name::from(item.name()?),
            user: item.text("user").into(),
            password: item.text("password").into(),
            profile: read::name(item, "profile").unwrap_or_else(|| "default".into()),
            methods: methods(item, "allow"),
            default_route: item.is("add-default-route").then_some(distance),
            dns: match item.text("use-peer-dns") {
                "yes" => PeerDns::Yes,
                "exclusively" => PeerDns::Exclusively,
                _ => PeerDns::No,
            },
        })
    }
}

/// Reads a list of authentication methods.
pub(in crate::feature::ppp) fn methods(item: &Item, property: &str) -> Methods {
    let words = item.get(property).map(Value::as_list).unwrap_or_default();
    let named = |word: &Value| {
        let word = word.to_string();
        Method::ALL.into_iter().find(|method| method.name() == word)
    };
    words.iter().filter_map(named).collect()
}

/// Reads a packet size; `None` for a word such as `auto` or `disabled`.
pub(in crate::feature::ppp) fn unit(item: &Item, property: &str) -> Option<u16> {
    item.number(property)
        .and_then(|unit| u16::try_from(unit).ok())
}

/// Reads `max-mtu` or `max-mru` of a tunnel, in bytes.
pub(in crate::feature::ppp) fn tunnel_unit(item: &Item, property: &str) -> u16 {
    unit(item, property).unwrap_or(1450)
}

/// Reads `keepalive-timeout` of a tunnel; `None` for `disabled`.
pub(in crate::feature::ppp) fn tunnel_keepalive(item: &Item) -> Option<Keepalive> {
    let seconds = u64::try_from(item.number("keepalive-timeout")?).ok()?;
    Some(Keepalive::tunnel(Duration::from_secs(seconds)))
}
