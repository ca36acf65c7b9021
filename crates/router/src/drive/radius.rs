//! RADIUS over TLS: the program owns the connections. It takes orders with [`Control::take_radius_orders`], and reports
//! packets and states with [`Control::radius_event`].

use core::net::SocketAddr;

use service::radius::LineId;

use super::Control;
use crate::feature::Effects;
use crate::feature::radius::Radius;

pub use crate::feature::radius::SecureOrder;

/// Event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecureEvent {
    /// A packet arrived.
    Received {
        /// Line of the connection.
        line: LineId,
        /// Address and port of the server.
        from: SocketAddr,
        /// The packet.
        bytes: Vec<u8>,
    },
    /// The state of a connection changed.
    State {
        /// Item id of the server.
        server: u64,
        /// State in words, or the failure.
        text: String,
        /// True for a failure, which is logged.
        is_failure: bool,
    },
}

impl Control {
    /// Returns what to send and to close; each order is returned once.
    pub fn take_radius_orders(&mut self) -> Vec<SecureOrder> {
        self.features.radius.take_orders()
    }

    /// Handles an event of a connection.
    pub fn radius_event(&mut self, event: SecureEvent) {
        self.radius(|radius, now, out| match event {
            SecureEvent::Received { line, from, bytes } => {
                radius.receive_secure(line, from, &bytes, now, out);
            }
            SecureEvent::State {
                server,
                text,
                is_failure,
            } => radius.set_state(server, text, is_failure, out),
        });
    }

    /// Ends the accounting of sessions, before the program ends: reports the end of sessions and of all accounting.
    pub fn end_accounting(&mut self) {
        let mut out = Effects::default();
        let traffic = |id| self.workers.traffic(id, self.now);
        self.features
            .ppp
            .end_accounting(self.now, traffic, &mut out);
        self.carry_out(out);
        self.radius(Radius::say_farewell);
    }

    /// True if a RADIUS server has yet to acknowledge the end of a session, or of all accounting.
    pub fn is_accounting_ending(&self) -> bool {
        self.features.radius.is_parting()
    }

    /// Stores the reports that no server has acknowledged; they are sent after the next start.
    pub fn store_reports(&mut self) {
        self.radius(|radius, _, out| radius.write_reports(out));
        self.keep_records();
    }
}
