//! `/tool/bandwidth-server/session`: running tests of the bandwidth test server. The program owns its sockets: it
//! reports the tests once a second, and takes those that a user ended.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use btest::wire::{Direction, Fill, Protocol, UDP_SIZE};
use menu::{Call, Id, Menu, Reason, Reply, Row, RowFilter, Value};

use super::{Feature, View};
use crate::live::{DYNAMIC, give, number};

const SESSION: &str = "/tool/bandwidth-server/session";

/// A test of the server.
pub type SessionView = btest::server::View;

/// Running tests of the server.
#[derive(Debug, Default)]
pub(crate) struct BandwidthServer {
    sessions: Vec<SessionView>,
    ended: BTreeSet<u64>,
}

impl BandwidthServer {
    pub(crate) fn set_sessions(&mut self, sessions: Vec<SessionView>) {
        self.sessions = sessions;
    }

    /// Returns the sessions that a user ended; each is returned once.
    pub(crate) fn take_ended(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.ended).into_iter().collect()
    }
}

impl Feature for BandwidthServer {
    fn menus(&self) -> &'static [&'static str] {
        &[SESSION]
    }

    fn rows(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if menu.path != SESSION {
            return ControlFlow::Continue(());
        }
        for session in &self.sessions {
            give(row(session), filter, each)?;
        }
        ControlFlow::Continue(())
    }

    fn act(&mut self, _: &View<'_>, call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        if (call.menu.path, call.command) != (SESSION, "remove") {
            return None;
        }
        for id in call.items {
            let session = id.0 & !DYNAMIC;
            if !self.sessions.iter().any(|own| own.session.0 == session) {
                return Some(Err(Reason::NoItem));
            }
            self.ended.insert(session);
        }
        Some(Ok(Reply::default()))
    }
}

/// Builds the row of a test. Directions, sizes and rates are those of this server.
fn row(session: &SessionView) -> Row {
    let command = &session.command;
    let mut row = Row {
        id: Some(Id(DYNAMIC | session.session.0)),
        ..Row::default()
    };
    row.set("client", Value::Address(session.peer));
    let is_udp = command.protocol == Protocol::Udp;
    row.set("protocol", Value::Word(if is_udp { "udp" } else { "tcp" }));
    row.set(
        "direction",
        Value::Word(match command.direction {
            Direction::Transmit => "receive",
            Direction::Receive => "send",
            Direction::Both => "both",
        }),
    );
    row.set("user", Value::text(&*session.user));
    row.set("random-data", Value::Bool(command.fill == Fill::Random));
    let figures = &session.figures;
    let rate = |bps: u64| Value::BitRate(i64::try_from(bps).unwrap_or(i64::MAX));
    if command.direction.server_sends() {
        row.set("tx-current", rate(figures.tx.current_bps));
        row.set(
            "tx-10-second-average",
            rate(figures.tx.ten_second_average_bps),
        );
        row.set("tx-total-average", rate(figures.tx.total_average_bps));
    }
    if command.direction.client_sends() {
        row.set("rx-current", rate(figures.rx.current_bps));
        row.set(
            "rx-10-second-average",
            rate(figures.rx.ten_second_average_bps),
        );
        row.set("rx-total-average", rate(figures.rx.total_average_bps));
        if is_udp {
            row.set("lost-packets", number(figures.lost_packets));
        }
    }
    let size = |size: u16| number(if size == 0 && is_udp { UDP_SIZE } else { size }.into());
    row.set("tx-size", size(command.server_size));
    row.set("rx-size", size(command.client_size));
    row.set("tcp-connection-count", number(session.connections as u64));
    row.set("local-tx-speed", rate(command.server_speed_bps.into()));
    row.set("remote-tx-speed", rate(command.client_speed_bps.into()));
    row
}

#[cfg(test)]
mod tests {
    use btest::server::Connection;
    use btest::wire::Command;
    use btest::{Figures, Rates};

    use super::*;

    #[test]
    fn a_row_has_the_directions_of_the_server() {
        let session = SessionView {
            session: Connection(5),
            peer: "192.0.2.7".parse().expect("an address"),
            user: "admin".to_owned(),
            command: Command {
                protocol: Protocol::Udp,
                direction: Direction::Transmit,
                fill: Fill::Zeros,
                count: 0,
                server_size: 1_500,
                client_size: 0,
                server_speed_bps: 0,
                client_speed_bps: 5_000,
            },
            connections: 1,
            figures: Figures {
                rx: Rates {
                    current_bps: 7_000,
                    ..Rates::default()
                },
                lost_packets: 3,
                ..Figures::default()
            },
        };

        let row = row(&session);

        let text = |name: &str| row.get(name).map(ToString::to_string);
        assert_eq!(text("direction").as_deref(), Some("receive"));
        assert_eq!(text("rx-current").as_deref(), Some("7.0kbps"));
        assert_eq!(text("tx-current"), None);
        assert_eq!(text("lost-packets").as_deref(), Some("3"));
        assert_eq!(text("rx-size").as_deref(), Some("1500"));
        assert_eq!(text("remote-tx-speed").as_deref(), Some("5.0kbps"));
    }
}
