//! Helpers for cells and rows of menus.

use std::ops::ControlFlow;

use menu::{Row, RowFilter, Value};

/// Passes a row to `each`, if the filter accepts it.
pub(crate) fn give(
    row: Row,
    filter: &RowFilter<'_>,
    each: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> ControlFlow<()> {
    if filter.accepts(&row) {
        each(row)
    } else {
        ControlFlow::Continue(())
    }
}

/// Converts a count into a value; limits it to [`i64::MAX`].
pub(crate) fn number(count: u64) -> Value {
    Value::Number(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Formats a measured rate in bits per second.
pub(crate) fn bit_rate(bits: u64) -> Value {
    Value::BitRate(i64::try_from(bits).unwrap_or(i64::MAX))
}
