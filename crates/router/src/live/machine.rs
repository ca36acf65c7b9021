//! Rows of what is there on every machine: its cores, and the router that is not within another.

use std::ops::ControlFlow;

use menu::{Id, Row, RowFilter, Value};

use super::{DYNAMIC, give, number};
use crate::drive::Control;

impl Control {
    /// What each core does.
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

/// The VRF of all interfaces that no other has.
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
