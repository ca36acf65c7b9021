//! `/ip/service`: services that cannot listen.

use std::collections::BTreeMap;

use menu::{Id, Menu, Row, Value};

use super::{Effects, Feature};

/// Enabled services that cannot listen, by name, with the reason.
pub type ClosedServices = BTreeMap<&'static str, String>;

/// State of the router's services.
#[derive(Debug, Default)]
pub(crate) struct Services {
    closed: ClosedServices,
}

impl Services {
    /// Sets the services that cannot listen; logs new ones.
    pub(crate) fn set_closed(&mut self, closed: ClosedServices, out: &mut Effects) {
        let before = std::mem::replace(&mut self.closed, closed);
        for (name, why) in &self.closed {
            if before.get(name) != Some(why) {
                let message = format!("service {name}: {why}");
                out.log("system,error", message);
            }
        }
    }
}

impl Feature for Services {
    fn menus(&self) -> &'static [&'static str] {
        &["/ip/service"]
    }

    fn annotate(&self, _: &'static Menu, _: Id, row: &mut Row) {
        annotate(&self.closed, row);
    }
}

/// Marks an enabled service that cannot listen as invalid.
fn annotate(closed: &ClosedServices, row: &mut Row) {
    if row.is("disabled") {
        return;
    }
    let name = row.get("name").and_then(Value::as_str).unwrap_or_default();
    let why = closed.get(name).map(|why| Value::text(why.as_str()));
    if let Some(why) = why {
        row.flag("invalid", true);
        row.set(Row::ABOUT, why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_service_that_cannot_listen_is_marked() {
        let marked = |name: &str, disabled| {
            let mut row = Row::default();
            row.set("name", Value::text(name));
            row.set("disabled", Value::Bool(disabled));
            let closed = [("www", String::from("port 80: in use"))].into();
            annotate(&closed, &mut row);
            let why = row.get(Row::ABOUT).and_then(Value::as_str);
            let why = why.unwrap_or_default().to_owned();
            (row.is("invalid"), why)
        };
        let fine = (false, String::new());
        let closed = (true, String::from("port 80: in use"));

        assert_eq!(marked("api", false), fine);
        assert_eq!(marked("www", false), closed);
        assert_eq!(marked("www", true), fine);
    }
}
