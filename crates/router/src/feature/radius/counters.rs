//! Counters of RADIUS servers (`/radius/monitor`).

use std::collections::BTreeMap;

use machine::Duration;
use menu::{Row, Value};
use service::radius::{Action, Count};

/// Counters of all servers, by item id.
#[derive(Debug, Default)]
pub(super) struct Counters(BTreeMap<u64, ServerCounters>);

/// Counters of one server.
#[derive(Clone, Copy, Debug, Default)]
struct ServerCounters {
    requests: u64,
    resends: u64,
    accepts: u64,
    rejects: u64,
    challenges: u64,
    noted: u64,
    timeouts: u64,
    cancelled: u64,
    late: u64,
    bad: u64,
    /// Answers without the demanded Message-Authenticator.
    unsigned: u64,
    last_rtt: Option<Duration>,
}

impl Counters {
    /// Counts an action of a request.
    pub(super) fn count<K>(&mut self, action: &Action<K>) {
        match action {
            Action::Answered(id, rtt) => self.of(*id).last_rtt = Some(*rtt),
            Action::Count(id, count) => {
                let of = self.of(*id);
                *match count {
                    Count::Request => &mut of.requests,
                    Count::Resend => &mut of.resends,
                    Count::Accept => &mut of.accepts,
                    Count::Reject => &mut of.rejects,
                    Count::Challenge => &mut of.challenges,
                    Count::Noted => &mut of.noted,
                    Count::Timeout => &mut of.timeouts,
                    Count::Cancelled => &mut of.cancelled,
                    Count::Late => &mut of.late,
                    Count::Bad => &mut of.bad,
                    Count::Unsigned => &mut of.unsigned,
                } += 1;
            }
            _ => {}
        }
    }

    fn of(&mut self, server: u64) -> &mut ServerCounters {
        self.0.entry(server).or_default()
    }

    /// Returns the number of answers of a server without the demanded Message-Authenticator.
    pub(super) fn unsigned(&self, server: u64) -> u64 {
        self.0.get(&server).map_or(0, |of| of.unsigned)
    }

    /// Drops the counters of servers that are gone.
    pub(super) fn retain(&mut self, is_present: impl Fn(u64) -> bool) {
        self.0.retain(|server, _| is_present(*server));
    }

    /// Sets all counters to zero.
    pub(super) fn reset(&mut self) {
        self.0.clear();
    }

    /// Returns the row of a server. RouterOS: accounting responses count neither as accepts nor as rejects.
    pub(super) fn row(&self, server: u64) -> Row {
        let of = self.0.get(&server).copied().unwrap_or_default();
        let answered = of.accepts + of.rejects + of.challenges + of.noted;
        let ended = answered + of.timeouts + of.cancelled;
        let mut row = Row::default();
        for (name, count) in [
            ("pending", of.requests.saturating_sub(ended)),
            ("requests", of.requests),
            ("accepts", of.accepts),
            ("rejects", of.rejects),
            ("resends", of.resends),
            ("timeouts", of.timeouts),
            ("bad-replies", of.bad + of.unsigned),
            ("late-replies", of.late),
        ] {
            row.set(name, crate::live::number(count));
        }
        let rtt = of.last_rtt.unwrap_or_default().as_nanos();
        let rtt = Value::Time(i64::try_from(rtt).unwrap_or(i64::MAX));
        row.set("last-request-rtt", rtt);
        row
    }
}
