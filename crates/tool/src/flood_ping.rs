//! `/tool/flood-ping`: sends the next echo request as soon as the last one was answered.

use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::ping::{nothing, number, request, send, take, time};
use crate::{Form, Invocation, Look, Next, Ping, RunningTool, Tool, Turn};

/// Default timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of requests per call, which bounds how long the router is borrowed.
const AT_ONCE: usize = 64;

pub(crate) struct FloodPing;

struct Flood {
    ping: Ping,
    /// Number of requests; `None` is unlimited.
    count: Option<u64>,
    timeout: Duration,
    interval: Duration,
    /// Ticket and timeout of the pending request.
    waits: Option<(u64, Duration)>,
    /// Time of the next update.
    shown: Duration,
    sent: u64,
    received: u64,
    least: Duration,
    most: Duration,
    all: Duration,
}

impl Tool for FloodPing {
    fn form(&self) -> Form {
        Form::Page
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        Ok(Box::new(Flood {
            ping: request(given, None)?,
            count: given.number("count").filter(|count| *count > 0),
            timeout: given.span("timeout").unwrap_or(TIMEOUT),
            interval: given.interval,
            waits: None,
            shown: Duration::ZERO,
            sent: 0,
            received: 0,
            least: Duration::MAX,
            most: Duration::ZERO,
            all: Duration::ZERO,
        }))
    }
}

impl Flood {
    /// Handles the result of the pending request; returns true if it is still pending.
    fn still_waits(&mut self, turn: &mut Turn<'_>) -> bool {
        let Some((ticket, until)) = self.waits else {
            return false;
        };
        match take(turn, ticket) {
            None if turn.now < until => return true,
            Some(pong) if pong.answered => {
                self.received += 1;
                self.least = self.least.min(pong.took);
                self.most = self.most.max(pong.took);
                self.all = self.all.saturating_add(pong.took);
            }
            _ => {}
        }
        self.waits = None;
        false
    }

    fn is_done(&self) -> bool {
        self.count.is_some_and(|count| self.sent >= count)
    }

    fn row(&self) -> Row {
        let mut row = Row::default();
        row.set("sent", number(self.sent));
        row.set("received", number(self.received));
        if let Some(mean) = self.all.as_nanos().checked_div(u128::from(self.received)) {
            let mean = Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX));
            for (name, span) in [
                ("min-rtt", self.least),
                ("avg-rtt", mean),
                ("max-rtt", self.most),
            ] {
                row.set(name, time(span));
            }
        }
        row
    }
}

impl RunningTool for Flood {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        for _ in 0..AT_ONCE {
            if self.still_waits(turn) || self.is_done() {
                break;
            }
            let ticket = send(turn, &self.ping)?;
            self.waits = Some((ticket, turn.now.saturating_add(self.timeout)));
            self.sent += 1;
        }
        let over = self.waits.is_none() && self.is_done();
        if !over && turn.now < self.shown {
            return Ok(nothing(Next::News(self.next())));
        }
        self.shown = turn.now.saturating_add(self.interval);
        Ok(Look {
            rows: Some(vec![self.row()]),
            // The command may end here when its duration is over.
            next: if over { Next::Over } else { Next::At(turn.now) },
        })
    }

    fn value(&self) -> Option<Value> {
        Some(number(self.received))
    }
}

impl Flood {
    fn next(&self) -> Duration {
        let until = self.waits.map_or(self.shown, |(_, until)| until);
        until.min(self.shown)
    }
}
