//! Prefix pools, `/ipv6/pool`: configured pools, and pools that clients make from delegated
//! prefixes.

use core::net::Ipv6Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use ipnet::{IpNet, Ipv6Net};
use machine::Instant;
use menu::{Id, Item, Row, RowFilter, Value};
use service::dhcp6::pools::{Definition, Pools as SharedPools};

use crate::intent::{ItemId, Name};
use crate::live::{DYNAMIC, give};
use crate::read::name;

/// Definition of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) name: Name,
    pub(super) prefix: (Ipv6Addr, u8),
    /// Length of the prefixes that the pool hands out.
    pub(super) len: u8,
    /// End of the preferred and of the valid lifetime; `None` is infinite.
    pub(super) until: (Option<Instant>, Option<Instant>),
}

/// Definitions of all prefix pools, by their origin.
#[derive(Debug, Default)]
pub(super) struct Pools {
    configured: BTreeMap<ItemId, Source>,
    /// Pools that clients made, by client.
    made: BTreeMap<ItemId, Source>,
    /// The pools, which other features share.
    shared: SharedPools,
    /// Pools that may have changed.
    touched: BTreeSet<Name>,
}

impl Pools {
    /// Returns the handle of the pools.
    pub(super) const fn shared(&self) -> &SharedPools {
        &self.shared
    }

    /// Adds, changes or removes a configured pool.
    pub(super) fn configure(&mut self, id: ItemId, item: Option<&Item>) {
        let source = item.and_then(source);
        let before = match source.clone() {
            Some(source) => self.configured.insert(id, source),
            None => self.configured.remove(&id),
        };
        let both = [before, source].into_iter().flatten();
        self.touched.extend(both.map(|source| source.name));
    }

    /// Sets or removes the pool of a client.
    pub(super) fn make(&mut self, client: ItemId, source: Option<Source>) {
        let before = match source.clone() {
            Some(source) => self.made.insert(client, source),
            None => self.made.remove(&client),
        };
        let both = [before, source].into_iter().flatten();
        self.touched.extend(both.map(|source| source.name));
    }

    /// Applies changes. Returns the names of pools whose prefix changed.
    pub(super) fn settle(&mut self) -> BTreeSet<Name> {
        let mut others = BTreeSet::new();
        for name in core::mem::take(&mut self.touched) {
            let mut sources = self.configured.values().chain(self.made.values());
            let source = sources.find(|source| source.name == name);
            let definition = source.map(|source| Definition {
                prefix: source.prefix,
                len: source.len,
                until: source.until,
            });
            if self.shared.set(&name, definition.as_ref()) {
                others.insert(name);
            }
        }
        others
    }

    /// Passes the rows of pools that clients created to `each`.
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
            row.set("prefix", prefix(source.prefix.0, source.prefix.1));
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

    /// Passes the rows of `/ipv6/pool/used` to `each`.
    pub(super) fn used_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for used in self.shared.used() {
            let mut row = Row::default();
            row.set("pool", Value::text(used.pool));
            row.set("prefix", prefix(used.subnet.0, used.subnet.1));
            row.set("owner", Value::text(used.owner));
            row.set("info", Value::text(used.info));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    /// Adds the present prefix to the row of a configured pool.
    pub(super) fn annotate(&self, id: Id, row: &mut Row) {
        let Some(source) = self.configured.get(&id.0) else {
            row.flag("inactive", true);
            return;
        };
        row.set("actual-prefix", prefix(source.prefix.0, source.prefix.1));
        row.flag("inactive", !self.shared.has(&source.name));
    }
}

/// Reads a configured pool. Returns `None` without a `prefix`.
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

/// Returns a prefix as a value.
pub(super) fn prefix(address: Ipv6Addr, len: u8) -> Value {
    let net = Ipv6Net::new(address, len);
    net.map_or_else(|_| Value::text(""), |net| Value::Prefix(IpNet::V6(net)))
}

/// Returns the remaining time in whole seconds.
pub(super) fn left(until: Instant, now: Instant) -> Value {
    let seconds = until.saturating_since(now).as_secs();
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX / 1_000_000_000);
    Value::Time(seconds.saturating_mul(1_000_000_000))
}
