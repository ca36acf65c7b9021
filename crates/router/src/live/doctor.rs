//! Findings of the doctor about the running configuration.

use std::ops::ControlFlow;

use menu::{Id, Row, RowFilter, Store, Value};

use super::{DYNAMIC, give};

/// Produces a row for each mistake.
pub(super) fn rows(
    store: &Store,
    filter: &RowFilter<'_>,
    each: &mut dyn FnMut(Row) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for (at, finding) in (0..).zip(doctor::examine(store)) {
        let mut row = Row {
            id: Some(Id(DYNAMIC | at)),
            ..Row::default()
        };
        if let Some((path, id)) = finding.places.first() {
            row.set("menu", Value::text(*path));
            let title = store.item(path, *id).map(|item| item.title());
            row.set("item", Value::text(title.unwrap_or_default()));
        }
        row.set("severity", Value::text(finding.rule.severity.name()));
        row.set("rule", Value::text(finding.rule.name));
        row.set("cause", Value::text(finding.rule.cause));
        row.set("mend", Value::text(finding.rule.mend));
        row.set("fix", Value::text(finding.fix.join("; ")));
        row.set("finding", Value::text(finding.said));
        give(row, filter, each)?;
    }
    ControlFlow::Continue(())
}
