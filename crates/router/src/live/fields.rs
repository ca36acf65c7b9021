//! Fields and rows that menus show, as all features make them.

use std::ops::ControlFlow;

use menu::{Row, RowFilter, Value};

/// Gives a row if it is asked for.
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

/// A count as a value; beyond [`i64::MAX`] it stays there.
pub(crate) fn number(count: u64) -> Value {
    Value::Number(i64::try_from(count).unwrap_or(i64::MAX))
}

/// A measured rate in bits a second.
pub(crate) fn bit_rate(bits: u64) -> Value {
    Value::BitRate(i64::try_from(bits).unwrap_or(i64::MAX))
}
