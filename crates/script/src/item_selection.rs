//! Selection of the items that a command applies to.

use std::ops::ControlFlow;

use menu::{
    Id, Menu, MenuShape, Reason, Refusal, Row, RowFilter, hide_secrets, item_row, stream_rows,
};

use crate::evaluated_command::{EvaluatedCommand, RouterAccess};
use crate::value::Value;

impl RouterAccess<'_> {
    /// Resolves an argument to items: numbers of the last `print`, ids, names, results of `find`, or a list of
    /// these.
    pub(crate) fn selected(
        &self,
        menu: &'static Menu,
        ready: &EvaluatedCommand<'_>,
        name: &'static str,
    ) -> Result<Vec<Id>, Refusal> {
        let Some((argument, value)) = ready.argument(name) else {
            return Err(Reason::Missing(vec![name]).at(ready.command.at));
        };
        let mut ids = Vec::new();
        self.select(menu, value.unwrap_or(&Value::Nothing), &mut ids)
            .map_err(|reason| reason.at(argument.at))?;
        Ok(ids)
    }

    fn select(&self, menu: &'static Menu, value: &Value, ids: &mut Vec<Id>) -> Result<(), Reason> {
        match value {
            Value::Array(values) => {
                return values
                    .iter()
                    .try_for_each(|(_, value)| self.select(menu, value, ids));
            }
            Value::Nothing | Value::Nil => return Ok(()),
            Value::Id(id) => {
                ids.push(*id);
                return Ok(());
            }
            _ => {}
        }
        let text = value.to_string();
        if let Some(id) = self.by_name(menu, &text) {
            ids.push(id);
            return Ok(());
        }
        for part in text.split(',') {
            let number = part
                .parse::<usize>()
                .ok()
                .and_then(|number| self.numbered(menu, number));
            let id = number
                .or_else(|| Id::parse(part))
                .or_else(|| self.by_name(menu, part));
            ids.push(id.ok_or(Reason::NoItem)?);
        }
        Ok(())
    }

    /// Returns the item with this name; in a menu of rows, or for a dynamic object such as the interface of a PPP
    /// session, the row.
    fn by_name(&self, menu: &'static Menu, name: &str) -> Option<Id> {
        let row = |key| {
            let filter = RowFilter {
                equals: vec![(key, menu::Value::text(name))],
                test: None,
                without_secrets: self.without_secrets,
            };
            self.first(menu, &filter)?.id
        };
        match (menu.shape, menu.key) {
            (MenuShape::Rows, Some(key)) => row(key),
            _ => {
                let item = self.store.by_name(menu, name);
                item.or_else(|| menu.space.and_then(|_| row(menu.key.unwrap_or("name"))))
            }
        }
    }

    /// Returns the item with this number in the last `print`, or, before any `print`, in default order.
    fn numbered(&self, menu: &'static Menu, number: usize) -> Option<Id> {
        if let Some(numbers) = self.numbers.get(menu.path) {
            return numbers.get(number).copied();
        }
        if menu.shape == MenuShape::View {
            let mut ids: Vec<_> = self
                .store
                .members(menu.space?)
                .map(|item| item.id)
                .collect();
            ids.sort_unstable();
            return ids.get(number).copied();
        }
        if menu.dynamic_first {
            let mut rows = Vec::new();
            let all = RowFilter::default();
            let _ = self.live.rows(self.store, menu, &all, &mut |row| {
                rows.push(row.id);
                ControlFlow::Continue(())
            });
            if let Some(id) = rows.get(number) {
                return *id;
            }
            let item = self.store.items(menu.path).nth(number - rows.len());
            return item.map(|item| item.id);
        }
        self.store.items(menu.path).nth(number).map(|item| item.id)
    }

    /// Returns the row of an item, or a dynamic row.
    pub(crate) fn row(&self, menu: &'static Menu, id: Id) -> Option<Row> {
        if let Some(item) = self.store.item(menu.path, id) {
            let mut row = item_row(self.store, self.live, menu, item);
            if self.without_secrets {
                hide_secrets(menu, &mut row);
            }
            return Some(row);
        }
        let test = |row: &Row| row.id == Some(id);
        let filter = RowFilter {
            equals: Vec::new(),
            test: Some(&test),
            without_secrets: self.without_secrets,
        };
        self.first(menu, &filter)
    }

    fn first(&self, menu: &'static Menu, filter: &RowFilter<'_>) -> Option<Row> {
        let mut found = None;
        let _ = stream_rows(self.store, self.live, menu, filter, &mut |row| {
            found = Some(row);
            ControlFlow::Break(())
        });
        found
    }
}
