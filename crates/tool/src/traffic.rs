//! `/interface/monitor-traffic`: rates of interfaces per second.

use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::{Form, Invocation, Look, Next, RunningTool, Tool, Turn};

/// RouterOS: name of the sum of all interfaces.
const AGGREGATE: &str = "aggregate";

pub(crate) struct MonitorTraffic;

struct Monitor {
    interfaces: Vec<String>,
    interval: Duration,
}

impl Tool for MonitorTraffic {
    fn form(&self) -> Form {
        Form::Page
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        let names = given.value("interface").map(Value::as_list);
        let names = names.unwrap_or_default().iter();
        let interfaces: Vec<_> = names.map(ToString::to_string).collect();
        Ok(Box::new(Monitor {
            interfaces,
            interval: given.interval,
        }))
    }
}

impl RunningTool for Monitor {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        let mut rows = Vec::with_capacity(self.interfaces.len());
        for name in &self.interfaces {
            let wanted = (name != AGGREGATE).then_some(&**name);
            let rates = turn.router.rates(wanted);
            let rates = rates.ok_or_else(|| Reason::no_match("interface"))?;
            let mut row = Row::default();
            row.set("name", Value::text(&**name));
            row.cells.extend(rates.cells);
            rows.push(row);
        }
        Ok(Look {
            rows: Some(rows),
            next: Next::At(turn.now.saturating_add(self.interval)),
        })
    }
}
