//! Users, and who is logged in.

use std::ops::ControlFlow;

use menu::{Id, Reason, Reply, Row, RowFilter, Value};

use super::{DYNAMIC, give};
use crate::drive::Control;

impl Control {
    pub(super) fn active_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for (number, active) in self.access.sessions() {
            let mut row = Row {
                id: Some(Id(DYNAMIC | number)),
                ..Row::default()
            };
            row.set("when", Value::text(active.when.date_time()));
            row.set("name", Value::text(&*active.user));
            if let Some(address) = active.address {
                row.set("address", Value::Address(address));
            }
            row.set("via", Value::text(active.service.name()));
            row.set("group", Value::text(&*active.group));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn end_sessions(&self, items: &[Id]) -> Result<Reply, Reason> {
        let mut ended = items.iter().map(|item| self.access.end(item.0 & !DYNAMIC));
        if ended.all(|was_there| was_there) {
            return Ok(Reply::default());
        }
        Err(Reason::NoItem)
    }

    pub(super) fn annotate_user(&self, user: Id, row: &mut Row) {
        if let Some(clock) = self.access.last_seen(user) {
            row.set("last-logged-in", Value::text(clock.date_time()));
        }
    }
}

/// The parts of a key: `type data note`.
pub(super) fn annotate_key(row: &mut Row) {
    let key = row.get("key").and_then(Value::as_str).map(str::to_owned);
    let mut words = key.as_deref().unwrap_or_default().splitn(3, ' ');
    let (kind, note) = (words.next(), words.nth(1));
    if let Some(kind) = kind {
        row.set("key-type", Value::text(kind.trim_start_matches("ssh-")));
    }
    if let Some(note) = note {
        row.set("info", Value::text(note.trim()));
    }
}
