//! Pools of prefixes, `/ipv6/pool`: the configured ones, and those that clients make of what they get.

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use ipnet::{IpNet, Ipv6Net};
use machine::Instant;
use menu::{Id, Item, Row, RowFilter, Value};
use service::dhcp6::pool::{Pool, User};

use crate::intent::{ItemId, Name};
use crate::live::{DYNAMIC, give};
use crate::read::name;

/// Where the prefix of a pool comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: Name,
    pub(super) prefix: (Ipv6Addr, u8),
    /// The length of its pieces.
    pub(super) len: u8,
    /// Until when it should be used, and until when it may be; none is for ever.
    pub(super) until: (Option<Instant>, Option<Instant>),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pools {
    configured: BTreeMap<ItemId, Source>,
    /// By the client that made it.
    made: BTreeMap<ItemId, Source>,
    /// By name: the pool, and what its users are called.
    pools: BTreeMap<Name, (Pool, BTreeMap<User, String>)>,
    /// Pools that may be others.
    touched: BTreeSet<Name>,
}

impl Pools {
    /// A configured pool is other, or gone.
    pub(super) fn configure(&mut self, id: ItemId, item: Option<&Item>) {
        let source = item.and_then(source);
        let before = match source.clone() {
            Some(source) => self.configured.insert(id, source),
            None => self.configured.remove(&id),
        };
        let both = [before, source].into_iter().flatten();
        self.touched.extend(both.map(|source| source.name));
    }

    /// A client makes a pool, or has none any more.
    pub(super) fn make(&mut self, client: ItemId, source: Option<Source>) {
        let before = match source.clone() {
            Some(source) => self.made.insert(client, source),
            None => self.made.remove(&client),
        };
        let both = [before, source].into_iter().flatten();
        self.touched.extend(both.map(|source| source.name));
    }

    /// Takes over what has changed; gives the names of the pools that have other prefixes.
    pub(super) fn settle(&mut self) -> BTreeSet<Name> {
        let mut others = BTreeSet::new();
        for name in core::mem::take(&mut self.touched) {
            let mut sources = self.configured.values().chain(self.made.values());
            let source = sources.find(|source| source.name == name);
            let wanted =
                source.and_then(|source| Pool::new(source.prefix.0, source.prefix.1, source.len));
            let before = self.pools.get(&name).map(|(pool, _)| pool);
            let of = |pool: &Pool| (pool.prefix(), pool.piece());
            if before.map(of) == wanted.as_ref().map(of) {
                continue;
            }
            match wanted {
                Some(pool) => drop(self.pools.insert(name.clone(), (pool, BTreeMap::new()))),
                None => drop(self.pools.remove(&name)),
            }
            others.insert(name);
        }
        others
    }

    /// The piece of a user, with its length.
    pub(super) fn take(&mut self, pool: &str, user: &User, info: &str) -> Option<(Ipv6Addr, u8)> {
        let (pool, called) = self.pools.get_mut(pool)?;
        let piece = pool.take(user)?;
        called.insert(user.clone(), info.to_owned());
        Some((piece, pool.piece()))
    }

    /// A user gives its piece back.
    pub(super) fn give_back(&mut self, pool: &str, user: &User) {
        if let Some((pool, called)) = self.pools.get_mut(pool) {
            pool.give_back(user);
            called.remove(user);
        }
    }

    /// The rows of the pools that clients have made.
    pub(super) fn dynamic_rows(
        &self,
        now: Instant,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (client, source) in &self.made {
            let mut row = Row {
                id: Some(Id(DYNAMIC | *client)),
                ..Row::default()
            };
            row.flag("dynamic", true);
            row.set("name", Value::text(&*source.name));
            row.set("prefix", prefix(source.prefix));
            row.set("prefix-length", Value::Number(source.len.into()));
            let (preferred, valid) = source.until;
            for (name, until) in [("preferred-lifetime", preferred), ("valid-lifetime", valid)] {
                if let Some(left) = until.map(|until| left(until, now)) {
                    row.set(name, left);
                }
            }
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    /// The rows of `/ipv6/pool/used`.
    pub(super) fn used_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (name, (pool, called)) in &self.pools {
            for (piece, user) in pool.used() {
                let mut row = Row::default();
                row.set("pool", Value::text(&**name));
                row.set("prefix", prefix((piece, pool.piece())));
                row.set("owner", Value::text(user.owner));
                let info = called.get(user).map_or("", String::as_str);
                row.set("info", Value::text(info));
                give(row, filter, each)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Shows the prefix that a configured pool has.
    pub(super) fn annotate(&self, id: Id, row: &mut Row) {
        let Some(source) = self.configured.get(&id.0) else {
            row.flag("inactive", true);
            return;
        };
        row.set("actual-prefix", prefix(source.prefix));
        row.flag("inactive", !self.pools.contains_key(&source.name));
    }
}

/// Reads a configured pool; none if it has no prefix of its own.
fn source(item: &Item) -> Option<Source> {
    let IpNet::V6(net) = item.get("prefix")?.as_prefix()? else {
        return None;
    };
    Some(Source {
        name: name(item, "name")?,
        prefix: (net.network(), net.prefix_len()),
        len: u8::try_from(item.number("prefix-length")?).ok()?,
        until: (None, None),
    })
}

/// A prefix as a value.
pub(super) fn prefix((address, len): (Ipv6Addr, u8)) -> Value {
    let net = Ipv6Net::new(address, len);
    net.map_or_else(|_| Value::text(""), |net| Value::Prefix(IpNet::V6(net)))
}

/// What is left of a time, in whole seconds.
pub(super) fn left(until: Instant, now: Instant) -> Value {
    let seconds = until.saturating_since(now).as_secs();
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX / 1_000_000_000);
    Value::Time(seconds.saturating_mul(1_000_000_000))
}
