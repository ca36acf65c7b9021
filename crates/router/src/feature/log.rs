//! `/log`: rows of log entries, commands that add entries, and the logging rules.

use core::net::IpAddr;
use std::ops::ControlFlow;

use machine::Instant;
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row, RowFilter, Value};

use super::{Effect, Effects, Feature, View};
use crate::drive::log::Log;
use crate::live::{DYNAMIC, give, text};

impl Feature for Log {
    fn menus(&self) -> &'static [&'static str] {
        &[
            "/log",
            "/system/logging",
            "/system/logging/action",
            "/system/identity",
        ]
    }

    fn follow(&mut self, view: &View<'_>, _: Option<&Changes>, out: &mut Effects) {
        Self::follow(self, view.store);
        for (name, wanted) in self.follow_names() {
            out.push(Effect::Resolve { name, wanted });
        }
    }

    fn resolved(&mut self, name: &str, found: &[IpAddr], _: Instant, _: &mut Effects) {
        Self::resolved(self, name, found.first().copied());
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if menu.path != "/log" {
            return ControlFlow::Continue(());
        }
        for entry in self.entries() {
            let mut row = Row {
                id: Some(Id(DYNAMIC | entry.number)),
                ..Row::default()
            };
            let topics = entry.topics.split(',').map(Value::text).collect();
            row.set("time", Value::text(entry.at.date_time()));
            row.set("topics", Value::List(topics));
            row.set("message", Value::text(&*entry.message));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        match (call.menu.path, call.command) {
            ("/log", topic @ ("debug" | "error" | "info" | "warning")) => {
                self.add(format!("script,{topic}"), text(call, "message"));
            }
            ("/system/logging/action", "clear") => self.clear(&text(call, "action")),
            _ => return None,
        }
        Some(Ok(Reply::default()))
    }
}
