//! Hosts of bridges, `/interface/bridge/host`: configured hosts, the router's own addresses, ageing
//! and rows. Workers learn the other hosts (`fib::BridgeHosts`).

use core::ops::ControlFlow;
use std::collections::BTreeMap;

use dataplane::table::{Host, HostKey, HostKind};
use frame::InterfaceId;
use machine::{Duration, Instant};
use menu::{Id, Reason, Reply, Row, RowFilter, Value};
use wire::Mac;

use super::read::HostConfig;
use super::{BridgeState, Bridges};
use crate::intent::{ItemId, Name};
use crate::live::{give, number};
use crate::object::DYNAMIC;

/// Capacity of the host table, for all bridges together.
pub(super) const ROOM: u32 = 1 << 19;
/// Number of ageing steps for the whole table; one step each second.
const STEPS: u32 = 8;

impl BridgeState {
    /// Returns the VLAN id of a port's (or the bridge's) untagged frames in the host table.
    fn vid(&self, pvid: u16) -> u16 {
        if self.config.vlan_filtering { pvid } else { 0 }
    }

    /// Returns the host entries that control adds: static hosts, and this router's addresses except
    /// the bridge's own.
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
                // An entry in VLAN 0 holds for all VLANs.
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
    /// Updates the host entries that control adds.
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

    /// Removes expired hosts from one part of the table.
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
        self.aged = bridges.age(self.aged, count, seconds(now), ageing, |_, _| {});
    }

    /// Passes the rows of dynamic hosts to `each`.
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

    /// Adds the state of a configured host to its row.
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

    /// Removes the dynamic hosts that the command names.
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

impl BridgeState {
    /// Returns an entry for the bridge's own address, which the host table does not hold.
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

/// Converts a time to whole seconds, as the `seen` field of hosts counts them.
const fn seconds(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000_000) as u32
}

/// Returns the row id of a host. It is stable, and two hosts are unlikely to share an id.
fn row_id(key: &HostKey) -> Id {
    let place = u64::from(key.vid) | (key.bridge.slot() as u64) << 12;
    Id(DYNAMIC | key.mac << 15 ^ place.wrapping_mul(0x9e37_79b9) & !DYNAMIC)
}
