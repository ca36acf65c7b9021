//! Sockets of bandwidth tests: tests of `/tool/bandwidth-test`, a thread each, and the server of
//! `/tool/bandwidth-server`. Control bounds the number of tests; the state machines are those of `btest`.
//!
//! ```text
//! control ─▶ test ────▶ client ─▶ engine: connections, datagrams ◀─▶ network
//! control ◀─ progress ◀─┘
//! control ─▶ settings, verifiers ─▶ server ─▶ engine
//! control ◀─ sessions, attempts  ◀─┘  (logins)
//! ```

mod client;
mod datagrams;
mod engine;
mod logins;
mod segments;
mod server;
pub(crate) mod settings;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use btest::wire::PORT;
use btest::{Figures, Reason, Status, Test};
use machine::Instant;
use netio::Waker;
use router::Instance;
use script::Interrupt;
use tool::BandwidthProgress;

use self::logins::Logins;
use self::server::{Order, RunningServer};
use self::settings::Terms;
use crate::host::HostPlane;
use crate::services::listen;

/// Ticket and progress of a test.
type Report = (u64, BandwidthProgress);

/// Tests of commands, and the server.
pub(crate) struct BandwidthTests {
    host: Option<Arc<HostPlane>>,
    sender: Sender<Report>,
    reports: Receiver<Report>,
    /// Interrupts of the tests by ticket.
    stops: BTreeMap<u64, Arc<Interrupt>>,
    wake: Waker,
    server: Option<RunningServer>,
    logins: Logins,
    /// Revision and terms that the server follows.
    revision: Option<u64>,
    terms: Option<Terms>,
    /// Error of the listener that was logged.
    failed: Option<String>,
}

impl BandwidthTests {
    /// Creates the set of tests, which use the host plane.
    pub(crate) fn new(host: Option<Arc<HostPlane>>, wake: Waker) -> Self {
        let (sender, reports) = channel();
        Self {
            host,
            sender,
            reports,
            stops: BTreeMap::new(),
            wake,
            server: None,
            logins: Logins::default(),
            revision: None,
            terms: None,
            failed: None,
        }
    }

    /// Reports progress to control, serves the questions of the server, and starts new tests without waiting for their
    /// results.
    pub(crate) fn follow(&mut self, now: Instant, instance: &mut Instance) {
        self.follow_server(now, instance);
        for (ticket, progress) in self.reports.try_iter() {
            if !matches!(progress.status, Status::Connecting | Status::Running) {
                self.stops.remove(&ticket);
            }
            instance.control().report_bandwidth_test(ticket, progress);
        }
        self.stops.retain(|ticket, stop| {
            let waits = instance.control().has_bandwidth_test(*ticket);
            if !waits {
                stop.close();
            }
            waits
        });
        for (ticket, test) in instance.control().take_bandwidth_tests() {
            self.begin(ticket, test);
        }
    }

    /// Starts a test in a thread of its own.
    fn begin(&mut self, ticket: u64, test: Test) {
        let stop = Arc::new(Interrupt::default());
        self.stops.insert(ticket, Arc::clone(&stop));
        let (sender, wake, host) = (self.sender.clone(), self.wake.clone(), self.host.clone());
        let begun = thread::Builder::new()
            .name("bandwidth".to_owned())
            .spawn(move || {
                let mut report = |progress| {
                    let _ = sender.send((ticket, progress));
                    wake.wake();
                };
                if let Err(error) = client::run(&test, PORT, host, &stop, &mut report) {
                    tracing::error!("bandwidth test: {error}");
                    report(not_started());
                }
            });
        if let Err(error) = begun {
            tracing::error!("bandwidth test: {error}");
            let _ = self.sender.send((ticket, not_started()));
            self.wake.wake();
        }
    }

    fn follow_server(&mut self, now: Instant, instance: &mut Instance) {
        let revision = instance.store().revision();
        if self.revision != Some(revision) || self.failed.is_some() {
            self.revision = Some(revision);
            self.configure(instance);
        }
        let Some(server) = &self.server else {
            return;
        };
        for query in server.queries.try_iter() {
            if let Some(order) = self.logins.handle(query, now, instance) {
                server.order(order);
            }
        }
        for order in self.logins.due(now) {
            server.order(order);
        }
        let control = instance.control();
        for session in control.take_ended_bandwidth_sessions() {
            server.order(Order::Stop(btest::server::Connection(session)));
        }
        control.set_bandwidth_sessions(server.sessions());
    }

    /// Starts, changes or ends the server.
    fn configure(&mut self, instance: &mut Instance) {
        let terms = Terms::of(instance.store()).filter(|_| self.host.is_some());
        if terms == self.terms && self.failed.is_none() {
            return;
        }
        self.terms.clone_from(&terms);
        match (terms, &self.server) {
            (Some(terms), Some(server)) => server.order(Order::Configure(terms)),
            (Some(terms), None) => match self.start(terms) {
                Ok(server) => (self.server, self.failed) = (Some(server), None),
                Err(error) => {
                    if self.failed.as_ref() != Some(&error) {
                        let line = format!("bandwidth-server: port {PORT}: {error}");
                        instance.control().log().add("system,error", line);
                    }
                    self.failed = Some(error);
                }
            },
            (None, _) => {
                (self.server, self.failed) = (None, None);
                self.logins.clear(instance);
                instance.control().set_bandwidth_sessions(Vec::new());
            }
        }
    }

    fn start(&self, terms: Terms) -> Result<RunningServer, String> {
        let host = self.host.clone().ok_or("no host plane")?;
        let listener = listen::in_host(&host, PORT).map_err(|error| error.to_string())?;
        RunningServer::start(terms, listener, Some(host), self.wake.clone())
    }
}

/// Progress of a test that could not start.
fn not_started() -> BandwidthProgress {
    BandwidthProgress {
        status: Status::CanNotStart,
        reason: Some(Reason::NotConnected),
        figures: Figures::default(),
        test_cpu_percent: 0,
        path: None,
    }
}

#[cfg(test)]
mod tests;
