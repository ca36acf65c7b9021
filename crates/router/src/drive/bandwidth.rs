//! Tests of `/tool/bandwidth-test`. The program owns the sockets: it takes tests with [`Control::take_bandwidth_tests`]
//! and reports their progress.

use std::task::Waker;

use btest::{Figures, Status, Test};
use menu::Reason;
use tool::{BandwidthProgress, BandwidthTests};

use super::Control;
use super::tickets::TicketLimit;
use crate::feature::bandwidth_server::SessionView;

/// Limit of concurrent tests.
const LIMIT: TicketLimit = TicketLimit {
    most: 8,
    full: "too many bandwidth tests are running",
};

impl Control {
    /// Returns the bandwidth tests to start; each is returned once.
    pub fn take_bandwidth_tests(&mut self) -> Vec<(u64, Test)> {
        self.work.bandwidth_tests.take()
    }

    /// Records the progress of a bandwidth test.
    pub fn report_bandwidth_test(&mut self, ticket: u64, progress: BandwidthProgress) {
        let has_ended = !matches!(progress.status, Status::Connecting | Status::Running);
        self.work
            .bandwidth_tests
            .report(ticket, progress, has_ended);
    }

    /// Whether a command still waits for this bandwidth test.
    pub fn has_bandwidth_test(&self, ticket: u64) -> bool {
        self.work.bandwidth_tests.get(ticket).is_some()
    }

    /// Sets the sessions of the bandwidth test server.
    pub fn set_bandwidth_sessions(&mut self, sessions: Vec<SessionView>) {
        self.features.bandwidth_server.set_sessions(sessions);
    }

    /// Returns the sessions of the bandwidth test server that a user ended.
    pub fn take_ended_bandwidth_sessions(&mut self) -> Vec<u64> {
        self.features.bandwidth_server.take_ended()
    }
}

impl BandwidthTests for Control {
    fn cores(&self) -> u64 {
        self.resources.cpu_count
    }

    fn begin_test(&mut self, test: Test, news: &Waker) -> Result<u64, Reason> {
        let progress = BandwidthProgress {
            status: Status::Connecting,
            reason: None,
            figures: Figures::default(),
            test_cpu_percent: 0,
            path: None,
        };
        self.work.bandwidth_tests.begin(test, progress, news, LIMIT)
    }

    fn test_progress(&mut self, ticket: u64) -> Option<BandwidthProgress> {
        let (_, progress) = self.work.bandwidth_tests.get(ticket)?;
        Some(progress.clone())
    }

    fn forget_test(&mut self, ticket: u64) {
        self.work.bandwidth_tests.remove(ticket);
    }
}
