//! Active sessions of users, `/ppp/active`, and the cells of session interfaces.

use core::ops::ControlFlow;
use std::net::IpAddr;

use machine::Instant;
use menu::{Id, Row, RowFilter, Value};

use super::Ppp;
use super::carrier::LinkEnd;
use super::session::{Login, Session};
use crate::live::{give, number};
use crate::object::DYNAMIC;

/// Menu of active sessions.
pub(super) const MENU: &str = "/ppp/active";

impl Ppp {
    /// Produces the rows of active sessions.
    pub(super) fn active_rows(
        &self,
        filter: &RowFilter<'_>,
        now: Instant,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Looks up the sessions of one user instead of walking all.
        let mut equals = filter.equals.iter();
        let user = equals.find(|(name, _)| *name == "name");
        if let Some(user) = user.and_then(|(_, value)| value.as_str()) {
            let all = self.users.range((user.into(), 0)..=(user.into(), u64::MAX));
            for (_, serial) in all {
                self.active_row(*serial, filter, now, each)?;
            }
            return ControlFlow::Continue(());
        }
        for serial in self.sessions.keys() {
            self.active_row(*serial, filter, now, each)?;
        }
        ControlFlow::Continue(())
    }

    fn active_row(
        &self,
        serial: u64,
        filter: &RowFilter<'_>,
        now: Instant,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let session = self.sessions.get(&serial).filter(|of| of.is_server());
        let Some((session, login)) = session.and_then(|of| Some((of, of.login.as_deref()?))) else {
            return ControlFlow::Continue(());
        };
        let mut row = Row {
            id: Some(Id(DYNAMIC | serial)),
            ..Row::default()
        };
        let grant = &login.grant;
        row.set("name", Value::text(&*grant.user));
        let service = self.carriers[session.carrier].service();
        row.set("service", Value::text(service));
        row.set("caller-id", Value::text(session.setup.caller_id.clone()));
        if let Some(address) = login.leases.remote {
            row.set("address", Value::Address(IpAddr::V4(address)));
        }
        row.set("uptime", uptime(login, now));
        row.set("encoding", Value::text(self.encoding(session, login)));
        let id = self.accounting_id(session.carrier, serial);
        row.set("session-id", Value::text(format!("0x{id}")));
        row.set("limit-bytes-in", number(grant.limit_in));
        row.set("limit-bytes-out", number(grant.limit_out));
        row.set("radius", Value::Bool(!grant.is_local()));
        let setup = &session.setup;
        for (cell, id) in [
            ("agent-circuit-id", &setup.circuit_id),
            ("agent-remote-id", &setup.remote_id),
        ] {
            if let Some(id) = id {
                row.set(cell, Value::text(id.clone()));
            }
        }
        row.set("comment", Value::text(grant.comment.clone()));
        give(row, filter, each)
    }

    /// Adds the cells of its session to the row of an interface.
    pub(super) fn annotate_interface(&self, now: Instant, row: &mut Row) {
        let name = row.get("name").and_then(Value::as_str);
        let serial = name.and_then(|name| self.interfaces.get(name));
        let session = serial.and_then(|serial| self.sessions.get(serial));
        let session = session.filter(|session| session.is_server());
        if let Some(session) = session
            && let Some(login) = &session.login
        {
            session.annotate(login, now, row);
            row.set("encoding", Value::text(self.encoding(session, login)));
        }
    }

    /// Returns RouterOS's name of the encryption of a session or of its carrier; empty for a session in clear text.
    pub(super) fn encoding(&self, session: &Session, login: &Login) -> String {
        let carrier = || self.carriers[session.carrier].encoding(session.link);
        login.encoding().map_or_else(carrier, str::to_owned)
    }

    /// Returns the accounting id of a session: two digits of the service, three of the start of the router, and the
    /// number of the session (RouterOS).
    pub(super) fn accounting_id(&self, at: usize, serial: u64) -> String {
        format!("{:02x}{:03x}{serial:03x}", 0x81 + at, self.start & 0xfff)
    }
}

impl Session {
    fn annotate(&self, login: &Login, now: Instant, row: &mut Row) {
        if let LinkEnd::Server { service, .. } = &self.setup.end {
            row.set("service", Value::text(&**service));
        }
        row.set("user", Value::text(&*login.grant.user));
        if let Some(link) = login.link {
            row.set("mtu", number(link.mtu.into()));
            row.set("mru", number(link.mru.into()));
        }
        let address = login
            .leases
            .remote
            .map_or_else(String::new, |of| of.to_string());
        row.set("client-address", Value::text(address));
        row.set("uptime", uptime(login, now));
    }
}

pub(super) fn uptime(login: &Login, now: Instant) -> Value {
    let since = login.opened.map(|opened| now.saturating_since(opened));
    let seconds = since.unwrap_or_default().as_secs();
    let nanos = i64::try_from(seconds).unwrap_or(i64::MAX / 1_000_000_000);
    Value::Time(nanos * 1_000_000_000)
}
