//! What workers spent their clocks on.

use std::ops::ControlFlow;

use dataplane::meter::Facility;
use menu::{Id, Row, RowFilter, Value};

use super::{DYNAMIC, give, number};
use crate::drive::Control;

impl Control {
    /// What workers have spent clocks on since they began, in RouterOS's words.
    pub(crate) fn clocks_of_workers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Facility::ALL.iter().map(|facility| {
            let counters = self.workers.counters();
            let clocks = counters.map(|counters| counters.clocks(*facility));
            (facility.name(), clocks.sum())
        })
    }

    /// The facilities of all workers together, with their shares of the time that has passed.
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
            row.set("usage", Value::text(share(clocks, all)));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }
}

/// RouterOS: shares have a digit behind the point at most.
fn share(clocks: u64, all: u64) -> String {
    let thousandth = u128::from(clocks) * 1_000;
    let thousandth = thousandth.checked_div(u128::from(all)).unwrap_or(0);
    match (thousandth / 10, thousandth % 10) {
        (whole, 0) => format!("{whole}%"),
        (whole, tenth) => format!("{whole}.{tenth}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_clocks_and_of_none_nothing() {
        assert_eq!(share(1, 3), "33.3%");
        assert_eq!(share(1, 2), "50%");
        assert_eq!(share(u64::MAX, u64::MAX), "100%");
        assert_eq!(share(0, 0), "0%");
    }
}
