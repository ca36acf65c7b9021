//! Rows of leases.

use core::ops::ControlFlow;
use std::net::IpAddr;

use machine::Instant;
use menu::{Id, Row, RowFilter, Value};
use service::dhcp::server::{DYNAMIC, Lease, client_id_text};

use super::DhcpServers;
use crate::live::give;

impl DhcpServers {
    /// Passes the rows of dynamic leases to `each`.
    pub(super) fn lease_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Looks up a single lease by address instead of walking all.
        let mut equals = filter.equals.iter();
        let address = equals.find(|(name, _)| matches!(*name, "address" | "active-address"));
        if let Some(IpAddr::V4(address)) = address.and_then(|(_, value)| value.as_address()) {
            let lease = self.machine.lease_at(address);
            return match lease.filter(|lease| lease.is_dynamic()) {
                Some(lease) => give(self.lease_row(lease), filter, each),
                None => ControlFlow::Continue(()),
            };
        }
        for lease in self
            .machine
            .leases()
            .range(DYNAMIC..)
            .map(|(_, lease)| lease)
        {
            give(self.lease_row(lease), filter, each)?;
        }
        ControlFlow::Continue(())
    }

    fn lease_row(&self, lease: &Lease) -> Row {
        let mut row = Row {
            id: Some(Id(lease.id)),
            ..Row::default()
        };
        let client = &lease.client;
        if let Some(address) = lease.address {
            row.set("address", Value::Address(address.into()));
        }
        row.set("mac-address", Value::Mac(client.mac.0));
        if let Some(id) = &client.id {
            row.set("client-id", Value::text(client_id_text(id)));
        }
        if let Some(one) = lease.server.and_then(|server| self.all.get(&server)) {
            row.set("server", Value::Reference((&*one.name).into()));
        }
        row.flag("dynamic", true);
        row.flag("radius", lease.grant.is_some());
        row.flag("blocked", false);
        row.flag("disabled", false);
        let limit = { lease.grant.as_ref() }.and_then(|grant| grant.rate_limit.as_deref());
        if let Some(limit) = limit {
            row.set("rate-limit", Value::text(limit));
        }
        self.add_state(lease, &mut row);
        row
    }

    /// Returns the properties of a static item for a dynamic lease.
    pub(crate) fn as_static(&self, id: Id) -> Option<Vec<(&'static str, Value)>> {
        let lease = self
            .machine
            .lease(id.0)
            .filter(|lease| lease.is_dynamic())?;
        let one = lease.server.and_then(|server| self.all.get(&server))?;
        let mut values = vec![
            ("address", Value::Address(lease.address?.into())),
            ("mac-address", Value::Mac(lease.client.mac.0)),
            ("server", Value::Reference((&*one.name).into())),
        ];
        if let Some(id) = &lease.client.id {
            values.push(("client-id", Value::text(client_id_text(id))));
        }
        Some(values)
    }

    /// Adds the state of a static lease to its row.
    pub(super) fn annotate_lease(&self, id: Id, row: &mut Row) {
        row.flag("radius", false);
        row.flag("dynamic", false);
        let blocked = row.is("block-access");
        row.flag("blocked", blocked);
        if let Some(lease) = self.machine.lease(id.0) {
            self.add_state(lease, row);
        }
    }

    fn add_state(&self, lease: &Lease, row: &mut Row) {
        row.set("status", Value::Word(lease.state.name()));
        let now = self.now;
        let span = |from: Instant, to: Instant| {
            let nanos = to.saturating_since(from).as_nanos();
            // RouterOS shows whole seconds.
            let seconds = i64::try_from(nanos / 1_000_000_000).unwrap_or(0);
            Value::Time(seconds * 1_000_000_000)
        };
        let client = &lease.client;
        // RouterOS shows `never` for a client that was never seen.
        let seen = lease.seen.map(|seen| span(seen, now));
        row.set("last-seen", seen.unwrap_or(Value::Word("never")));
        let Some(address) = lease.address else {
            return;
        };
        if let Some(until) = lease.until {
            row.set("expires-after", span(now, until));
        }
        row.set("age", span(lease.since, now));
        row.set("active-address", Value::Address(address.into()));
        row.set("active-mac-address", Value::Mac(client.mac.0));
        if let Some(id) = &client.id {
            row.set("active-client-id", Value::text(client_id_text(id)));
        }
        if let Some(one) = lease.server.and_then(|server| self.all.get(&server)) {
            row.set("active-server", Value::text(&*one.name));
        }
        for (name, number) in [
            ("active-agent-circuit-id", 1),
            ("active-agent-remote-id", 2),
        ] {
            if let Some(part) = client.agent_part(number) {
                let digits = part.iter().map(|byte| format!("{byte:02x}"));
                row.set(name, Value::text(digits.collect::<String>()));
            }
        }
        for (name, text) in [
            ("host-name", &client.host_name),
            ("class-id", &client.class),
        ] {
            if !text.is_empty() {
                row.set(name, Value::text(text.clone()));
            }
        }
        row.set("src-mac-address", Value::Mac(client.src_mac.0));
    }
}
