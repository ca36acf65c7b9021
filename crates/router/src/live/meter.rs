//! Processor time of workers.

use std::ops::ControlFlow;

use dataplane::meter::Facility;
use menu::{Id, Row, RowFilter, Value};

use super::{DYNAMIC, give, number};
use crate::drive::Control;

impl Control {
    /// Returns the processor clocks of all workers since their start, by RouterOS's names.
    pub(crate) fn clocks_of_workers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Facility::ALL.iter().map(|facility| {
            let counters = self.workers.counters();
            let clocks = counters.map(|counters| counters.clocks(*facility));
            (facility.name(), clocks.sum())
        })
    }

    /// Produces the facilities of all workers, with their shares of the elapsed time.
    pub(super) fn meter_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let all: u64 = self.clocks_of_workers().map(|(_, clocks)| clocks).sum();
        for (at, (name, clocks)) in (0..).zip(self.clocks_of_workers()) {
            let mut row = Row {
                id: Some(Id(DYNAMIC | at)),
                ..Row::default()
            };
            row.set("name", Value::text(name));
            row.set("clocks", number(clocks));
            row.set("usage", Value::share(clocks, all));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }
}
