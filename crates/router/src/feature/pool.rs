//! IPv4 address pools, `/ip/pool`, shared by all services that lease addresses (`service::pool`).

use core::net::Ipv4Addr;
use core::ops::ControlFlow;
use std::collections::BTreeMap;

use menu::{Changes, Id, Item, Menu, Row, RowFilter, Value};
use service::pool::{Pools, Range};

use super::{Effects, Feature, View, each_item};
use crate::intent::{ItemId, Name};
use crate::live::{give, number};

/// Menu of pools.
pub(crate) const MENU: &str = "/ip/pool";
const USED: &str = "/ip/pool/used";
/// Maximum number of rows built at a time.
const AT_ONCE: usize = 256;

/// The configured address pools.
#[derive(Debug, Default)]
pub(crate) struct AddressPools {
    pools: Pools,
    names: BTreeMap<ItemId, Name>,
}

impl AddressPools {
    /// Returns a shared handle to the pools.
    pub(crate) fn share(&self) -> Pools {
        self.pools.clone()
    }

    fn put(&mut self, id: ItemId, item: &Item) {
        let Some(name) = item.name().map(Name::from) else {
            return;
        };
        if let Some(before) = self
            .names
            .insert(id, name.clone())
            .filter(|was| *was != name)
        {
            self.pools.rename(&before, &name);
        }
        let ranges = item.get("ranges").map(Value::as_list).unwrap_or_default();
        let ranges: Vec<_> = ranges.iter().filter_map(range).collect();
        let next = Some(item.text("next-pool")).filter(|next| !matches!(*next, "" | "none"));
        self.pools.set(&name, &ranges, next);
    }
}

impl Feature for AddressPools {
    fn menus(&self) -> &'static [&'static str] {
        &[MENU, USED]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, _: &mut Effects) {
        each_item(view, MENU, changes, |id, item| match item {
            Some(item) => self.put(id, item),
            None => {
                if let Some(name) = self.names.remove(&id) {
                    self.pools.remove(&name);
                }
            }
        });
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if menu.path != USED {
            return ControlFlow::Continue(());
        }
        let mut from = Some((Box::from(""), Ipv4Addr::UNSPECIFIED));
        while let Some(place) = from.take() {
            let some = self.pools.used_from(&place, AT_ONCE);
            if some.len() == AT_ONCE {
                from = some.last().and_then(|(pool, address, _)| {
                    let next = address.to_bits().checked_add(1)?;
                    Some((pool.clone(), Ipv4Addr::from_bits(next)))
                });
            }
            for (pool, address, of) in some {
                let mut row = Row::default();
                row.set("pool", Value::text(pool));
                row.set("address", Value::Address(address.into()));
                row.set("owner", Value::text(of.owner));
                row.set("info", Value::text(of.info));
                give(row, filter, each)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        let name = self.names.get(&id.0).filter(|_| menu.path == MENU);
        if let Some(counts) = name.and_then(|name| self.pools.counts(name)) {
            row.set("total", number(counts.total));
            row.set("used", number(counts.used));
            row.set("available", number(counts.available));
        }
    }
}

/// Parses a range: an address, a network, or first and last address.
fn range(value: &Value) -> Option<Range> {
    let text = value.to_string();
    if let Some((first, last)) = text.split_once('-') {
        return Some((first.parse().ok()?, last.parse().ok()?));
    }
    if let Some((net, len)) = text.split_once('/') {
        let net = ipnet::Ipv4Net::new(net.parse().ok()?, len.parse().ok()?).ok()?;
        return Some((net.network(), net.broadcast()));
    }
    let one = text.parse().ok()?;
    Some((one, one))
}
