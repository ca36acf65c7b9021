//! Rows of learnt neighbours.

use core::net::IpAddr;
use std::ops::ControlFlow;

use frame::InterfaceId;
use menu::{Id, Row, RowFilter, Value};
use service::neighbour::{self, Status};

use super::{DYNAMIC, give};
use crate::drive::Control;

impl Control {
    pub(super) fn arp_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (id, machine) in &self.v4.machines {
            for row in machine.rows(None).filter(|row| row.dynamic) {
                let key = u64::from(id.0) << 32 | u64::from(u32::from(row.address));
                let row = self.neighbour_row(*id, key, row.address.into(), &row);
                give(row, filter, each)?;
            }
        }
        ControlFlow::Continue(())
    }

    pub(super) fn discovery_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (id, machine) in &self.v6.machines {
            for row in machine.rows(None).filter(|row| row.dynamic) {
                let key = Self::key6(*id, row.address);
                let mut shown = self.neighbour_row(*id, key, row.address.into(), &row);
                shown.flag("router", row.router);
                give(shown, filter, each)?;
            }
        }
        ControlFlow::Continue(())
    }

    fn neighbour_row<A>(
        &self,
        id: InterfaceId,
        key: u64,
        address: IpAddr,
        row: &neighbour::Row<A>,
    ) -> Row {
        let mut shown = Row {
            id: Some(Id(DYNAMIC | key)),
            ..Row::default()
        };
        shown.set("address", Value::Address(address));
        if let Some(mac) = row.mac {
            shown.set("mac-address", Value::Mac(mac.0));
        }
        let name = self.layout.name(id);
        shown.set("interface", Value::Reference(name.into()));
        shown.set("published", Value::Bool(row.published));
        if let Some(status) = row.status {
            shown.set("status", Value::Word(status.name()));
        }
        shown.set("vrf", Value::Reference("main".into()));
        shown.flag("dynamic", true);
        shown.flag("complete", row.mac.is_some());
        shown
    }

    /// Adds the state of a configured neighbour to its row.
    pub(super) fn annotate_static(&self, row: &mut Row) {
        let name = row.get("interface").and_then(Value::as_str);
        let is_there = name.is_some_and(|name| self.layout.named(name).is_some());
        let complete = row.get("mac-address").is_some();
        row.flag("invalid", !is_there);
        row.flag("complete", complete);
        if complete && !row.is("disabled") {
            row.set("status", Value::Word(Status::Permanent.name()));
        }
        row.set("vrf", Value::Reference("main".into()));
    }
}
