//! Rows that every machine has: processor cores, and the main VRF.

use std::ops::ControlFlow;

use menu::{Id, Row, RowFilter, Value};

use super::{DYNAMIC, give, number};
use crate::drive::Control;

impl Control {
    /// Produces the load of each core.
    pub(super) fn core_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (place, core) in self.resources.cores.iter().enumerate() {
            let mut row = Row {
                id: Some(Id(DYNAMIC | place as u64)),
                ..Row::default()
            };
            row.set("cpu", Value::text(format!("cpu{place}")));
            row.set("load", number(core.load));
            row.set("irq", number(core.interrupts));
            row.set("disk", number(core.disk));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }
}

/// Returns the row of the main VRF, which contains all interfaces without another VRF.
pub(super) fn main_vrf() -> Row {
    let mut row = Row {
        id: Some(Id(DYNAMIC)),
        ..Row::default()
    };
    row.set("name", Value::text("main"));
    row.set("interfaces", Value::text("all"));
    row.set("disabled", Value::Bool(false));
    row.flag("builtin", true);
    row
}
