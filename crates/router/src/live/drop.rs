//! What workers and control discarded, by reason.

use std::ops::ControlFlow;

use dataplane::Drop;
use menu::{Id, Row, RowFilter, Value};

use super::{DYNAMIC, give, number};
use crate::drive::Control;

impl Control {
    /// The reasons for which packets were discarded.
    pub(super) fn drop_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for reason in Drop::ALL {
            let counters = self.workers.counters();
            let packets: u64 = counters.map(|counters| counters.drops(*reason)).sum();
            if packets == 0 {
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
}
