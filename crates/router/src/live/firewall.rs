//! Running state of the firewall: rule counters, invalid rules, dynamic address list entries, and the dummy rows that
//! count FastTrack.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use dataplane::counters::Traffic;
use dataplane::rule::{Added, List};
use frame::shortcut::{Handler, LaneSelector};
use machine::{Duration, Instant};
use menu::{Call, Id, Menu, Reason, Reply, Row, RowFilter, Store, Value};

use super::action::UNCHANGEABLE;
use super::object::list_address;
use super::{DYNAMIC, give, number};
use crate::drive::Control;
use crate::firewall::helper_of;
use crate::firewall::hosts::HostRow;
use crate::firewall::value::addresses;

/// Comment of the dummy rows that count FastTrack, RouterOS's text.
const DUMMY: [&str; 2] = [
    "special dummy rule to show fasttrack counters",
    "special dummy rule to show fasttrack6 counters",
];

impl Control {
    /// Adds counters and validity to the row of a rule.
    pub(super) fn annotate_rule_of(&self, store: &Store, path: &str, item: Id, row: &mut Row) {
        let Some(desk) = self.firewall.desk(path) else {
            return;
        };
        let invalid = desk.invalid(item.0);
        row.flag("invalid", invalid.is_some());
        if let Some(invalid) = invalid {
            row.set(Row::ABOUT, Value::text(invalid.why(&self.intent, store)));
        }
        let Some(counted) = desk.number(item.0) else {
            return;
        };
        self.workers
            .settle(LaneSelector::CountedBy(counted), self.now);
        let hits = self.firewall.hits(counted);
        row.set("bytes", number(hits.traffic.bytes));
        row.set("packets", number(hits.traffic.packets));
        if let Some(last) = hits.last {
            row.set("last-hit", Value::text(self.date_of(last)));
        }
    }

    /// Produces the dummy rows that count FastTrack, once it has carried a packet.
    pub(super) fn fasttrack_rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let ipv6 = menu.path.starts_with("/ipv6");
        let carried = self.fasttracked(ipv6);
        for (place, chain) in self.fasttrack_chains(menu.path).iter().enumerate() {
            let mut row = Row {
                id: Some(Id(DYNAMIC | place as u64)),
                ..Row::default()
            };
            row.set("comment", Value::text(DUMMY[usize::from(ipv6)]));
            row.set("chain", Value::text(*chain));
            row.set("action", Value::Word("passthrough"));
            row.set("bytes", number(carried.bytes));
            row.set("packets", number(carried.packets));
            row.flag("dynamic", true);
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    /// Returns the chains of the dummy rows in a menu.
    pub(super) fn fasttrack_chains(&self, path: &str) -> &'static [&'static str] {
        let chains: &[&str] = match path {
            "/ip/firewall/filter" | "/ipv6/firewall/filter" => &["forward"],
            "/ip/firewall/mangle" => &["prerouting", "forward", "postrouting"],
            "/ip/firewall/raw" => &["prerouting"],
            _ => &[],
        };
        match self.fasttracked(path.starts_with("/ipv6")).packets {
            0 => &[],
            _ => chains,
        }
    }

    /// Returns the traffic of a family that FastTrack has carried.
    pub(super) fn fasttracked(&self, ipv6: bool) -> Traffic {
        self.workers.forwarded(Handler::FastTrack, ipv6, self.now).0
    }

    /// Adds creation time and timeout to the row of an address list entry.
    pub(super) fn annotate_entry(&self, ipv6: bool, item: Id, row: &mut Row) {
        let (made, end) = self.firewall.times(ipv6, item.0, self.now);
        if let Some(made) = made {
            row.set("creation-time", Value::text(self.date_of(made)));
        }
        if let Some(end) = end {
            row.set("timeout", self.left_until(end));
            row.flag("dynamic", true);
        } else if row.get("timeout").is_some() {
            // A rule added the address again without a timeout.
            row.cells.retain(|(name, _)| *name != "timeout");
            row.flag("dynamic", true);
        }
    }

    /// Returns the seconds until an instant, as a value.
    fn left_until(&self, end: Instant) -> Value {
        let left = end.saturating_since(self.now).as_secs();
        let left = i64::try_from(left).unwrap_or(i64::MAX);
        Value::Time(left.saturating_mul(1_000_000_000))
    }

    /// Produces the dynamic entries of address lists.
    pub(super) fn list_rows(
        &self,
        ipv6: bool,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut wanted = filter.equals.iter();
        let wanted = wanted.find(|(name, _)| *name == "list");
        let wanted = wanted.and_then(|(_, value)| value.as_str());
        // A filter for one address is a lookup.
        let mut equals = filter.equals.iter();
        let address = equals.find(|(name, _)| *name == "address");
        let address = address.and_then(|(_, value)| single(value));
        for (name, list) in self.firewall.address_lists(ipv6) {
            if wanted.is_some_and(|wanted| wanted != &**name) {
                continue;
            }
            let added: Box<dyn Iterator<Item = Added>> = match address {
                Some(address) => Box::new(list.added_at(address, self.now).into_iter()),
                None => Box::new(list.added(self.now)),
            };
            for added in added {
                // RouterOS: an address with a configured entry has no dynamic row.
                if self.firewall.is_single(ipv6, name, added.address) {
                    continue;
                }
                let row = self.list_row(name, list.number, &added, ipv6);
                give(row, filter, each)?;
            }
        }
        for row in self.features.dns.rows_of(ipv6) {
            if wanted.is_none_or(|wanted| wanted == &*row.entry.list) {
                give(self.host_row(&row), filter, each)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Builds the row of a resolved host name. RouterOS: its comment is the name, and its timeout is the rest of the
    /// answer's lifetime.
    fn host_row(&self, host: &HostRow<'_>) -> Row {
        let mut row = Row {
            id: Some(host_id(host)),
            ..Row::default()
        };
        row.set("comment", Value::text(host.entry.host.clone()));
        row.set("list", Value::text(&*host.entry.list));
        row.set("address", list_address(host.address));
        row.set("creation-time", Value::text(self.date_of(host.known.since)));
        row.set("timeout", self.left_until(host.known.end));
        row.flag("dynamic", true);
        row
    }

    fn list_row(&self, name: &str, list: u32, added: &Added, ipv6: bool) -> Row {
        let mut row = Row {
            id: Some(list_id(list, added.address)),
            ..Row::default()
        };
        row.set("list", Value::text(name));
        let address = match ipv6 {
            true => IpAddr::V6(Ipv6Addr::from(added.address)),
            false => IpAddr::V4(Ipv4Addr::from(added.address as u32)),
        };
        row.set("address", list_address(address));
        row.set("creation-time", Value::text(self.date_of(added.since)));
        if let Some(expiry) = added.expiry {
            row.set("timeout", self.left_until(expiry));
        }
        row.flag("dynamic", true);
        row
    }

    /// Removes dynamic entries from address lists.
    pub(super) fn forget_addresses(&mut self, ipv6: bool, items: &[Id]) -> Result<Reply, Reason> {
        let refused = "an address of a name is removed with the name's entry";
        for (list, address) in self.added(ipv6, items, refused)? {
            list.remove(address);
        }
        Ok(Reply::default())
    }

    /// Changes the timeout of dynamic entries of address lists. RouterOS: no other property of them can be changed.
    pub(super) fn change_timeouts(&mut self, ipv6: bool, call: &Call<'_>) -> Result<Reply, Reason> {
        let [("timeout", timeout)] = call.arguments else {
            return Err(Reason::failure(UNCHANGEABLE));
        };
        let timeout = timeout.as_nanos().and_then(|nanos| nanos.try_into().ok());
        let timeout = timeout.ok_or_else(|| Reason::no_match("timeout"))?;
        // RouterOS: a timeout of 0 means none, until a restart.
        let end = (timeout > 0).then(|| self.now + Duration::from_nanos(timeout));
        for (list, address) in self.added(ipv6, call.items, UNCHANGEABLE)? {
            list.keep(address, end, self.now);
        }
        Ok(Reply::default())
    }

    /// Returns the dynamic entries of these rows; `refused` is the error for entries of host names.
    fn added(
        &self,
        ipv6: bool,
        items: &[Id],
        refused: &'static str,
    ) -> Result<Vec<(&List, u128)>, Reason> {
        let mut wanted: BTreeSet<u64> = items.iter().map(|item| item.0).collect();
        let mut found = Vec::new();
        for (_, list) in self.firewall.address_lists(ipv6) {
            for added in list.added(self.now) {
                if wanted.remove(&list_id(list.number, added.address).0) {
                    found.push((&**list, added.address));
                }
            }
        }
        if wanted.is_empty() {
            return Ok(found);
        }
        let mut hosts = self.features.dns.rows_of(ipv6);
        match hosts.any(|host| wanted.contains(&host_id(&host).0)) {
            true => Err(Reason::failure(refused)),
            false => Err(Reason::NoItem),
        }
    }

    /// Resets the counters of the named rules, or of all rules of a table.
    pub(super) fn reset_rules(&mut self, call: &Call<'_>) -> Result<Reply, Reason> {
        let Some(desk) = self.firewall.desk(call.menu.path) else {
            return Err(Reason::NoItem);
        };
        let numbers: Vec<_> = match call.command {
            "reset-counters-all" => desk.numbers().map(|(_, number)| number).collect(),
            _ => {
                let items = call.items.iter();
                items.filter_map(|item| desk.number(item.0)).collect()
            }
        };
        self.workers.settle(LaneSelector::All, self.now);
        self.firewall.reset(numbers);
        Ok(Reply::default())
    }

    /// Adds the state of connection tracking to `/ip/firewall/connection/tracking`.
    pub(super) fn annotate_tracking(&self, row: &mut Row) {
        let compiled = self.firewall.compiled();
        let (ipv4, ipv6) = self.connections.totals();
        row.set("active-ipv4", Value::Bool(compiled.tracks4));
        row.set("active-ipv6", Value::Bool(compiled.tracks6));
        row.set("max-entries", number(compiled.settings.entries_max.into()));
        row.set("total-entries", number(u64::from(ipv4) + u64::from(ipv6)));
        row.set("total-ip4-entries", number(ipv4.into()));
        row.set("total-ip6-entries", number(ipv6.into()));
    }

    /// Helpers need connection tracking.
    pub(super) fn annotate_helper(&self, row: &mut Row) {
        let compiled = self.firewall.compiled();
        let disabled = row.is("disabled");
        row.flag(
            "invalid",
            !compiled.tracks4 && !compiled.tracks6 && !disabled,
        );
        let name = row.get("name").and_then(Value::as_str).unwrap_or_default();
        let helper = helper_of(name);
        let counters = self.workers.counters();
        let cuts = counters.map(|counters| helper.map_or(0, |helper| counters.cuts(helper)));
        match cuts.sum() {
            0 => {}
            cuts => row.set("cut-messages", number(cuts)),
        }
    }
}

/// Returns the row id of a dynamic entry.
fn list_id(list: u32, address: u128) -> Id {
    let bits = (address >> 64) as u64 ^ (address as u64).rotate_left(29);
    // A hash: two IPv6 addresses are very unlikely to get one id.
    Id(DYNAMIC | (bits ^ u64::from(list) << 40) & (DYNAMIC - 1))
}

/// Returns the row id of a host name's address.
fn host_id(host: &HostRow<'_>) -> Id {
    let bits = match host.address {
        IpAddr::V4(address) => u64::from(u32::from(address)),
        IpAddr::V6(address) => (address.to_bits() >> 64) as u64 ^ address.to_bits() as u64,
    };
    // Mixed with the entry's number, so that one address of two names gets two ids.
    let bits = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ host.item.rotate_left(40);
    Id(DYNAMIC | bits & (DYNAMIC - 1))
}

#[cfg(test)]
mod tests;

/// Returns the address of an entry with a single address.
fn single(value: &Value) -> Option<u128> {
    let range = addresses(value)?;
    (range.first == range.last).then_some(range.first)
}
