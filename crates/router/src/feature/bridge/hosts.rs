//! Hosts of bridges, `/interface/bridge/host`. Workers learn them (`fib::BridgeHosts`); here are those that are
//! configured, the router's own addresses, ageing, and the rows.

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use dataplane::table::{Host, HostKey, HostKind};
use frame::InterfaceId;
use machine::{Duration, Instant};
use menu::{Id, Reason, Reply, Row, RowFilter, Value};
use wire::Mac;

use super::read::HostConfig;
use super::{Bridges, One};
use crate::intent::{ItemId, Name};
use crate::live::{give, number};
use crate::object::DYNAMIC;

/// Hosts of all bridges together.
pub(super) const ROOM: u32 = 1 << 19;
/// Ageing looks at the whole table in so many steps, one each second.
const STEPS: u32 = 8;

impl One {
    /// The VLAN that untagged frames of a port, or of the bridge itself, are of in the table.
    fn vid(&self, pvid: u16) -> u16 {
        if self.config.vlan_filtering { pvid } else { 0 }
    }

    /// What control has in the table: static hosts, and the addresses of this router but for the bridge's own.
    fn fixed_hosts(
        &self,
        bridge: InterfaceId,
        statics: &BTreeMap<ItemId, HostConfig>,
    ) -> BTreeMap<HostKey, Host> {
        let host = |vid: u16, mac: Mac, port, kind| {
            let key = HostKey {
                bridge,
                vid,
                mac: mac.to_u64(),
            };
            (
                key,
                Host {
                    port,
                    kind,
                    seen: 0,
                },
            )
        };
        let name = &self.config.interface.name;
        let configured = statics
            .values()
            .filter(|host| !host.disabled && host.bridge == *name);
        let mut fixed: BTreeMap<_, _> = configured
            .filter_map(|config| {
                let port = self.ports.get(&config.interface)?;
                let vid = self.vid(config.vid.unwrap_or(port.config.pvid));
                Some(host(vid, config.mac, port.link.id?, HostKind::Static))
            })
            .collect();
        for port in self.ports.values().filter(|port| port.link.is_slave) {
            if let Some(id) = port.link.id.filter(|_| Some(port.link.mac) != self.mac()) {
                // Under VLAN 0 they are known in all.
                fixed.extend([host(0, port.link.mac, id, HostKind::Local)]);
            }
        }
        for mac in &self.stations {
            fixed.extend([host(0, *mac, bridge, HostKind::Local)]);
        }
        fixed
    }
}

impl Bridges {
    /// Brings what control has in the table up to date.
    pub(super) fn follow_hosts(&mut self, item: ItemId) {
        let (Some(one), Some(table)) = (self.all.get_mut(&item), &self.table) else {
            return;
        };
        let in_use = one.id.filter(|_| !one.config.interface.disabled);
        let wanted = match in_use {
            Some(id) => one.fixed_hosts(id, &self.statics),
            None => BTreeMap::new(),
        };
        let bridges = table.bridges();
        for (key, _) in one
            .fixed
            .iter()
            .filter(|(key, _)| !wanted.contains_key(key))
        {
            bridges.forget(key);
        }
        for (key, host) in &wanted {
            if one.fixed.get(key) != Some(host) {
                bridges.forget(key);
                bridges.hosts().set(key, *host);
            }
        }
        one.fixed = wanted;
    }

    /// Forgets learned hosts that were not seen for too long, of a part of the table.
    pub(super) fn age(&mut self, now: Instant) {
        if self.age_at.is_none_or(|at| at > now) {
            return;
        }
        self.now = now;
        self.age_at = (!self.all.is_empty()).then(|| now + Duration::from_secs(1));
        let Some(table) = &self.table else { return };
        let bridges = table.bridges();
        for item in core::mem::take(&mut self.refiltered) {
            if let Some(id) = self.all.get(&item).and_then(|one| one.id) {
                bridges.flush_all(id);
            }
        }
        let count = bridges.hosts().lines().div_ceil(STEPS);
        let ageing = |bridge: InterfaceId| {
            let one = self.ids.get(&bridge).and_then(|item| self.all.get(item));
            one.map(|one| one.config.ageing_seconds)
        };
        self.aged = bridges.age((self.aged, count), seconds(now), ageing, |_, _| {});
    }

    /// The rows of hosts that have no items.
    pub(super) fn host_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(table) = self.table.as_ref().filter(|_| !self.all.is_empty()) else {
            return ControlFlow::Continue(());
        };
        let names = self.names_by_id();
        for one in self.all.values() {
            if let Some((key, host)) = one.own_host() {
                give(self.host_row(&key, &host, &names), filter, each)?;
            }
        }
        let mut flow = ControlFlow::Continue(());
        table.bridges().hosts().walk(0, u32::MAX, |key, host| {
            let is_shown = host.kind != HostKind::Static && self.ids.contains_key(&key.bridge);
            if is_shown && flow.is_continue() {
                flow = give(self.host_row(key, host, &names), filter, each);
            }
            true
        });
        flow
    }

    fn names_by_id(&self) -> BTreeMap<InterfaceId, &Name> {
        let mut names = BTreeMap::new();
        for one in self.all.values() {
            names.extend(one.id.map(|id| (id, &one.config.interface.name)));
            let ports = one.ports.iter();
            names.extend(ports.filter_map(|(name, port)| Some((port.link.id?, name))));
        }
        names
    }

    fn host_row(&self, key: &HostKey, host: &Host, names: &BTreeMap<InterfaceId, &Name>) -> Row {
        let mut row = Row {
            id: Some(row_id(key)),
            ..Row::default()
        };
        let name = |id: &InterfaceId| names.get(id).map_or("", |name| &***name);
        row.set("mac-address", Value::Mac(Mac::from_u64(key.mac).0));
        if key.vid != 0 {
            row.set("vid", number(key.vid.into()));
        }
        row.set("on-interface", Value::text(name(&host.port)));
        row.set("interface", Value::Reference(name(&host.port).into()));
        row.set("bridge", Value::Reference(name(&key.bridge).into()));
        row.flag("dynamic", true);
        row.flag("local", host.kind == HostKind::Local);
        row.flag("external", host.kind == HostKind::External);
        if host.kind == HostKind::Learned {
            let age = seconds(self.now).saturating_sub(host.seen);
            row.set("age", Value::Time(i64::from(age) * 1_000_000_000));
        }
        row
    }

    /// Shows what has become of a configured host.
    pub(super) fn annotate_host(&self, item: ItemId, row: &mut Row) {
        let Some(config) = self.statics.get(&item) else {
            return;
        };
        let one = self
            .names
            .get(&config.bridge)
            .and_then(|id| self.all.get(id));
        let port = one.and_then(|one| one.ports.get(&config.interface));
        let is_there = port.is_some_and(|port| port.link.is_slave);
        row.flag("invalid", !is_there && !config.disabled);
        if is_there {
            row.set("on-interface", Value::text(&*config.interface));
        }
    }

    /// Forgets hosts, as a user wants it.
    pub(super) fn forget_hosts(&self, rows: &[Id]) -> Result<Reply, Reason> {
        if !rows.iter().all(|id| id.0 & DYNAMIC != 0) {
            return Err(Reason::failure("can not remove both dynamic and static"));
        }
        if let Some(table) = &self.table {
            table.bridges().walk(0, u32::MAX, |key, host| {
                let is_own = matches!(host.kind, HostKind::Static | HostKind::Local);
                is_own || !rows.contains(&row_id(key))
            });
        }
        Ok(Reply::default())
    }
}

impl One {
    /// The bridge's own address, which no table has.
    fn own_host(&self) -> Option<(HostKey, Host)> {
        let id = self.id.filter(|_| !self.config.interface.disabled)?;
        let key = HostKey {
            bridge: id,
            vid: self.vid(self.config.pvid),
            mac: self.mac()?.to_u64(),
        };
        let host = Host {
            port: id,
            kind: HostKind::Local,
            seen: 0,
        };
        Some((key, host))
    }
}

/// The second in which workers learn at this time.
const fn seconds(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000_000) as u32
}

/// The id of a host's row: the same as long as the host is there. Two hosts hardly ever share one.
fn row_id(key: &HostKey) -> Id {
    let place = u64::from(key.vid) | (key.bridge.slot() as u64) << 12;
    Id(DYNAMIC | key.mac << 15 ^ place.wrapping_mul(0x9e37_79b9) & !DYNAMIC)
}
