//! Local users of PPP, `/ppp/secret`, and the ends of their last sessions.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::{IpNet, Ipv6Net};
use menu::{Item, Row, Value};

use crate::intent::{ItemId, Name};
use crate::read;

/// Menu of local users.
pub(super) const MENU: &str = "/ppp/secret";

/// A local user.
#[derive(PartialEq, Eq)]
pub(super) struct Secret {
    /// The item.
    pub(super) item: ItemId,
    /// Name of the user.
    pub(super) name: Name,
    /// The service that the user may use; `None` is any.
    service: Option<Box<str>>,
    /// Address from which the user must call; empty is any.
    caller_id: Box<str>,
    /// Password.
    pub(super) password: Box<str>,
    /// Profile of the sessions.
    pub(super) profile: Name,
    /// Address of this end.
    pub(super) local: Option<Ipv4Addr>,
    /// Address of the user.
    pub(super) remote: Option<Ipv4Addr>,
    /// IPv6 prefix of the user.
    pub(super) prefix: Option<Ipv6Net>,
    /// Routes through the user, as entered.
    pub(super) routes: Box<str>,
    /// IPv6 routes through the user, as entered.
    pub(super) ipv6_routes: Box<str>,
    /// Maximum bytes from the user in one session; 0 is no limit.
    pub(super) limit_in: u64,
    /// Maximum bytes to the user in one session; 0 is no limit.
    pub(super) limit_out: u64,
    /// Short description of the user.
    pub(super) comment: Box<str>,
}

impl core::fmt::Debug for Secret {
    /// Omits the password.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Secret({} {})", self.item, self.name)
    }
}

/// End of the last session of a user.
#[derive(Debug)]
pub(super) struct LastSession {
    /// Date and time.
    pub(super) ended: Box<str>,
    /// Address from which the user called.
    pub(super) caller_id: Box<str>,
    /// Reason, as RouterOS names it.
    pub(super) reason: &'static str,
}

/// All local users, by name.
#[derive(Debug, Default)]
pub(super) struct Secrets {
    names: BTreeMap<ItemId, Name>,
    all: BTreeMap<Name, Vec<Arc<Secret>>>,
    last: BTreeMap<ItemId, LastSession>,
}

impl Secrets {
    /// Sets or removes the user of an item. A disabled user is unknown.
    pub(super) fn put(&mut self, id: ItemId, item: Option<&Item>) {
        if let Some(before) = self.names.remove(&id)
            && let Some(all) = self.all.get_mut(&before)
        {
            all.retain(|secret| secret.item != id);
            if all.is_empty() {
                self.all.remove(&before);
            }
        }
        if item.is_none() {
            self.last.remove(&id);
        }
        let secret = item.filter(|item| !item.is("disabled")).and_then(read);
        if let Some(secret) = secret {
            self.names.insert(id, secret.name.clone());
            let all = self.all.entry(secret.name.clone()).or_default();
            all.push(Arc::new(secret));
        }
    }

    /// Returns the user with this name who may use the service from this address. A user with a caller id comes before
    /// one without.
    pub(super) fn find(&self, name: &str, service: &str, caller_id: &str) -> Option<&Arc<Secret>> {
        let all = self.all.get(name)?.iter();
        let may = all.filter(|secret| secret.accepts(service, caller_id));
        may.max_by_key(|secret| (!secret.caller_id.is_empty(), secret.service.is_some()))
    }

    /// Records the end of a session of a user.
    pub(super) fn ended(&mut self, item: ItemId, last: LastSession) {
        if self.names.contains_key(&item) {
            self.last.insert(item, last);
        }
    }

    /// Adds the end of the last session to a row.
    pub(super) fn annotate(&self, item: ItemId, row: &mut Row) {
        let Some(last) = self.last.get(&item) else {
            return;
        };
        row.set("last-logged-out", Value::text(last.ended.clone()));
        row.set("last-caller-id", Value::text(last.caller_id.clone()));
        row.set("last-disconnect-reason", Value::text(last.reason));
    }
}

impl Secret {
    fn accepts(&self, service: &str, caller_id: &str) -> bool {
        let of_service = self.service.as_deref().is_none_or(|own| own == service);
        let from = &self.caller_id;
        of_service && (from.is_empty() || from.eq_ignore_ascii_case(caller_id))
    }
}

fn read(item: &Item) -> Option<Secret> {
    let four = |name| match item.get(name)?.as_address()? {
        IpAddr::V4(address) => Some(address).filter(|address| !address.is_unspecified()),
        IpAddr::V6(_) => None,
    };
    let limit = |name| u64::try_from(item.number(name).unwrap_or(0)).unwrap_or(0);
    let service = Some(item.text("service")).filter(|service| !matches!(*service, "" | "any"));
    let prefix = item.get("remote-ipv6-prefix").and_then(Value::as_prefix);
    Some(Secret {
        item: item.id.0,
        name: Name::from(item.name()?),
        service: service.map(Into::into),
        caller_id: item.text("caller-id").into(),
        password: item.text("password").into(),
        profile: read::name(item, "profile").unwrap_or_else(|| "default".into()),
        local: four("local-address"),
        remote: four("remote-address"),
        prefix: prefix.and_then(|prefix| match prefix {
            IpNet::V6(net) => Some(net.trunc()),
            IpNet::V4(_) => None,
        }),
        routes: item.text("routes").into(),
        ipv6_routes: item.text("ipv6-routes").into(),
        limit_in: limit("limit-bytes-in"),
        limit_out: limit("limit-bytes-out"),
        comment: item.text("comment").into(),
    })
}
