//! `/tool/flood-ping`: echo requests, each as soon as the one before was answered.

use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::ping::{nothing, number, request, send, take, time};
use crate::{Form, Given, Look, Next, Ping, Run, Tool, Turn};

/// How long an answer is waited for, unless it is said.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Requests in one look: nobody else may wait longer for the router.
const AT_ONCE: usize = 64;

pub(crate) struct FloodPing;

struct Flood {
    ping: Ping,
    /// How many are sent; without an end if that is not said.
    count: Option<u64>,
    timeout: Duration,
    interval: Duration,
    /// The request that is waited for, and until when.
    waits: Option<(u64, Duration)>,
    /// When the figures are shown next.
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

    fn start(&self, given: &mut Given<'_>) -> Result<Box<dyn Run>, Reason> {
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
    /// Takes what came of the request that is waited for; says whether it is still waited for.
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

impl Run for Flood {
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
            // Here it may be ended from outside.
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
