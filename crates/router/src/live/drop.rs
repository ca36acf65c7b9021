//! Packets that workers and control dropped, by reason.

use std::ops::ControlFlow;

use dataplane::DropReason;
use menu::{Id, Row, RowFilter, Value};

use super::{DYNAMIC, give, number};
use crate::drive::Control;

/// Offset of the row ids of services, behind those of drop reasons.
const SERVICE_ROWS: u64 = 1 << 16;

impl Control {
    /// Produces the drop reasons with their counts.
    pub(super) fn drop_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.service_rows(filter, each)?;
        for reason in DropReason::ALL {
            let counters = self.workers.counters();
            let packets: u64 = counters.map(|counters| counters.drops(*reason)).sum();
            // Each service has its own row.
            if packets == 0 || *reason == DropReason::ServiceLimit {
                continue;
            }
            let mut row = Row {
                id: Some(Id(DYNAMIC | *reason as u64)),
                ..Row::default()
            };
            row.set("reason", Value::text(reason.name()));
            row.set("packets", number(packets));
            row.set("meaning", Value::text(reason.explain().trim()));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    /// Produces the services whose packets exceeded the limit.
    fn service_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let reason = DropReason::ServiceLimit;
        for (id, name) in self.services.names() {
            let counters = self.workers.counters();
            let packets: u64 = counters
                .map(|counters| counters.service(id).lost.get())
                .sum();
            if packets == 0 {
                continue;
            }
            let mut row = Row {
                id: Some(Id(DYNAMIC | SERVICE_ROWS | id.index() as u64)),
                ..Row::default()
            };
            row.set("reason", Value::text(reason.name()));
            row.set("service", Value::text(name));
            row.set("packets", number(packets));
            row.set("meaning", Value::text(reason.explain().trim()));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }
}
