//! Users of the bandwidth test server: their key exchanges take turns as other logins do, and their tests count as
//! sessions of `/user/active`.

use std::collections::BTreeMap;
use std::net::IpAddr;

use access::{Attempt, Login, Service};
use btest::server::{Connection, Credential};
use btest::srp::Verifier;
use machine::{Duration, Instant};
use router::Instance;

use super::server::{Order, Query};

/// Maximum time that an attempt waits for its turn; the server ends the handshake after ten seconds.
const MAX_WAIT: Duration = Duration::from_secs(8);
/// Maximum number of attempts under way.
const MAX_ATTEMPTS: usize = 1_024;

/// Attempts and logins by connection.
#[derive(Default)]
pub(super) struct Logins {
    attempts: BTreeMap<Connection, PendingAttempt>,
    logins: BTreeMap<Connection, Login>,
}

struct PendingAttempt {
    attempt: Attempt,
    /// Time of its turn; `None` after the verifier was given.
    due: Option<Instant>,
}

impl Logins {
    /// Handles a message of the server. Returns the order that answers it.
    pub(super) fn handle(
        &mut self,
        query: Query,
        now: Instant,
        instance: &mut Instance,
    ) -> Option<Order> {
        match query {
            Query::Attempt {
                connection,
                user,
                address,
            } => self.begin(connection, &user, address, now, instance),
            Query::Proof(connection, is_proved) => {
                let pending = self.attempts.remove(&connection)?;
                let Ok(login) = instance.admit(pending.attempt.exchange(is_proved)) else {
                    return Some(Order::Stop(connection));
                };
                self.logins.insert(connection, login);
                None
            }
            Query::Ended(connection) => {
                self.attempts.remove(&connection);
                if let Some(login) = self.logins.remove(&connection) {
                    instance.leave(&login);
                }
                None
            }
        }
    }

    /// Returns the orders that are due: verifiers of attempts whose turn has come, and the end of tests whose users
    /// were logged out.
    pub(super) fn due(&mut self, now: Instant) -> Vec<Order> {
        let mut orders = Vec::new();
        for (connection, pending) in &mut self.attempts {
            if pending.due.is_some_and(|due| due <= now) {
                pending.due = None;
                orders.push(Order::Credential(*connection, credential(&pending.attempt)));
            }
        }
        let ended = self.logins.iter().filter(|(_, login)| login.is_ended());
        orders.extend(ended.map(|(connection, _)| Order::Stop(*connection)));
        orders
    }

    /// Ends all logins.
    pub(super) fn clear(&mut self, instance: &mut Instance) {
        self.attempts.clear();
        for login in std::mem::take(&mut self.logins).into_values() {
            instance.leave(&login);
        }
    }

    fn begin(
        &mut self,
        connection: Connection,
        user: &str,
        address: IpAddr,
        now: Instant,
        instance: &mut Instance,
    ) -> Option<Order> {
        let attempt = instance.attempt(user, address, Service::BandwidthTest);
        // An attempt without a turn gets no answer, and its connection ends in time.
        let due = instance.turn(&attempt, now).ok()?;
        if due > now + MAX_WAIT || self.attempts.len() >= MAX_ATTEMPTS {
            return None;
        }
        if attempt.lacks_verifier() {
            let user = attempt.name();
            let line = format!(
                "user {user} has no verifier for bandwidth tests: the password was set while the server was \
                 disabled or did not authenticate; set it again"
            );
            instance.control().log().add("bandwidth-test,warning", line);
        }
        let mut pending = PendingAttempt {
            attempt,
            due: Some(due),
        };
        let is_due = due <= now;
        let order = is_due.then(|| {
            pending.due = None;
            Order::Credential(connection, credential(&pending.attempt))
        });
        self.attempts.insert(connection, pending);
        order
    }
}

/// Returns the verifier of the user, if there is one.
fn credential(attempt: &Attempt) -> Credential {
    let verifier = attempt.verifier().and_then(Verifier::from_text);
    verifier.map_or(Credential::Unknown, Credential::Verifier)
}
