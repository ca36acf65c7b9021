//! `/user`: users, groups and active sessions.

use std::ops::ControlFlow;

use access::Access;
use machine::Instant;
use menu::{Call, Changes, Id, Menu, Origin, Reason, Reply, Row, RowFilter, Value};
use service::radius::{ErrorCause, RequestKind, SessionFacts, SessionRequest};

use super::{Effects, Feature, View, concerns};
use crate::live::{DYNAMIC, give};

/// Menus that define the rights of users.
pub(super) const USERS: [&str; 2] = ["/user", "/user/group"];

impl Feature for Access {
    fn menus(&self) -> &'static [&'static str] {
        &["/user", "/user/group", "/user/active", "/user/ssh-keys"]
    }

    fn follow(&mut self, view: &View<'_>, changes: Option<&Changes>, _: &mut Effects) {
        // SSH keys are read at login.
        if concerns(&USERS, changes) {
            let by = match changes.map(|changes| changes.origin) {
                None | Some(Origin::Router) => 0,
                Some(_) => view.asking.login,
            };
            Self::follow(self, view.store, by);
        }
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if menu.path != "/user/active" {
            return ControlFlow::Continue(());
        }
        for (number, active) in self.sessions() {
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
            row.flag("radius", Self::is_of_server(active));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    fn annotate(&self, menu: &'static Menu, id: Id, row: &mut Row) {
        match menu.path {
            "/user" => {
                if let Some(clock) = self.last_seen(id) {
                    row.set("last-logged-in", Value::text(clock.date_time()));
                }
            }
            "/user/ssh-keys" => annotate_key(row),
            _ => {}
        }
    }

    /// Ends logins that a RADIUS server accepted. Their accounting calls a session by its number in hexadecimal digits.
    fn radius_requested(
        &mut self,
        request: &SessionRequest,
        _: Instant,
        _: &mut Effects,
    ) -> Option<Result<(), ErrorCause>> {
        let sessions = self.sessions().filter(|(number, active)| {
            let address = active.address.map(|address| address.to_canonical());
            Self::is_of_server(active)
                && request.sessions.fit(&SessionFacts {
                    user: &active.user,
                    session: &format!("{number:08x}"),
                    address: None,
                    calling: &address.map_or_else(String::new, |address| address.to_string()),
                })
        });
        let sessions: Vec<_> = sessions.map(|(number, _)| number).collect();
        if sessions.is_empty() {
            return None;
        }
        if request.kind == RequestKind::Change {
            return Some(Err(ErrorCause::UnsupportedAttribute));
        }
        let ended = sessions.into_iter().all(|number| self.end(number));
        Some(
            ended
                .then_some(())
                .ok_or(ErrorCause::SessionContextNotFound),
        )
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        if (call.menu.path, call.command) != ("/user/active", "remove") {
            return None;
        }
        let mut ended = { call.items.iter() }.map(|item| self.end(item.0 & !DYNAMIC));
        Some(match ended.all(|was_there| was_there) {
            true => Ok(Reply::default()),
            false => Err(Reason::NoItem),
        })
    }
}

/// Shows type and comment of a key: `type data note`.
fn annotate_key(row: &mut Row) {
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
