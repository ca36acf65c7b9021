//! Rows of servers and bindings.

use core::ops::ControlFlow;
use std::net::IpAddr;

use machine::Instant;
use menu::{Id, Row, RowFilter, Value};
use service::dhcp6::server::{Binding, DYNAMIC, hex};

use super::super::pools::{left, prefix};
use super::Dhcp6Servers;
use crate::live::give;

impl Dhcp6Servers {
    /// Passes the rows of the servers of sessions to `each`.
    pub(in super::super) fn dynamic_rows(
        &self,
        duid: &[u8],
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (id, server) in self.all.range(DYNAMIC..) {
            let mut row = Row {
                id: Some(Id(*id)),
                ..Row::default()
            };
            row.flag("dynamic", true);
            row.flag("invalid", false);
            row.flag("disabled", false);
            row.set("name", Value::text(&*server.name));
            row.set("interface", Value::Reference((&*server.interface).into()));
            let pool = server
                .config
                .prefix_pool
                .as_deref()
                .unwrap_or("static-only");
            row.set("prefix-pool", Value::text(pool));
            let lifetime = i64::try_from(server.config.lifetime.as_nanos()).unwrap_or(i64::MAX);
            row.set("lease-time", Value::Time(lifetime));
            row.set("duid", Value::text(format!("0x{}", hex(duid))));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    /// Adds the state of a configured server to its row.
    pub(in super::super) fn annotate(&self, id: Id, duid: &[u8], row: &mut Row) {
        let Some(server) = self.all.get(&id.0) else {
            return;
        };
        row.flag("dynamic", false);
        let is_active = self.at.values().any(|active| *active == id.0);
        row.flag("invalid", !is_active && !server.disabled);
        if !duid.is_empty() {
            row.set("duid", Value::text(format!("0x{}", hex(duid))));
        }
    }

    /// Passes the rows of dynamic bindings to `each`.
    pub(in super::super) fn binding_rows(
        &self,
        now: Instant,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (id, binding) in self.machine.bindings().range(DYNAMIC..) {
            let mut row = Row {
                id: Some(Id(*id)),
                ..Row::default()
            };
            row.flag("dynamic", true);
            row.flag("disabled", false);
            for (name, value) in self.properties(binding) {
                row.set(name, value);
            }
            self.add_state(binding, now, &mut row);
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    /// Returns the properties that identify a binding.
    fn properties(&self, binding: &Binding) -> Vec<(&'static str, Value)> {
        let identity = &binding.identity;
        let mut values = vec![
            ("duid", Value::text(format!("0x{}", hex(&identity.duid)))),
            ("iaid", Value::Number(identity.iaid.into())),
            (
                "ia-type",
                Value::Word(if identity.is_prefix { "pd" } else { "na" }),
            ),
        ];
        if let Some((address, len)) = binding.subnet {
            values.push(("address", prefix(address, len)));
        }
        if let Some(server) = binding.active_server.and_then(|id| self.all.get(&id)) {
            values.push(("server", Value::Reference((&*server.name).into())));
        }
        values
    }

    /// Returns the properties of a static item for a dynamic binding.
    pub(crate) fn as_static(&self, id: Id) -> Option<Vec<(&'static str, Value)>> {
        let binding = self.machine.binding(id.0).filter(|of| of.is_dynamic())?;
        let is_configured = binding.active_server.is_some_and(|id| id & DYNAMIC == 0);
        is_configured.then(|| self.properties(binding))
    }

    /// Adds the state of a static binding to its row.
    pub(in super::super) fn annotate_binding(&self, id: Id, now: Instant, row: &mut Row) {
        row.flag("dynamic", false);
        match self.machine.binding(id.0) {
            Some(binding) => self.add_state(binding, now, row),
            None => {
                let invalid = !row.is("disabled");
                row.flag("invalid", invalid);
            }
        }
    }

    fn add_state(&self, binding: &Binding, now: Instant, row: &mut Row) {
        row.flag("invalid", false);
        row.flag("radius", false);
        let status = if binding.is_bound() {
            "bound"
        } else {
            "waiting"
        };
        row.set("status", Value::text(status));
        if let Some(seen) = binding.seen {
            row.set("last-seen", left(now, seen));
        }
        let Some(server) = binding.active_server.and_then(|id| self.all.get(&id)) else {
            return;
        };
        row.set("active-server", Value::text(&*server.name));
        if let Some(until) = binding.until {
            row.set("expires-after", left(until, now));
        }
        row.set("client-address", Value::Address(IpAddr::V6(binding.client)));
    }
}
