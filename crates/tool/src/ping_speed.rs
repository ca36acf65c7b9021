//! `/tool/ping-speed`: estimates throughput from a long and a short echo request (RouterOS, "Ping speed"): difference
//! of their bits in both directions, divided by the difference of their round-trip times.

use std::net::IpAddr;
use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::ping::{nothing, request, send, take};
use crate::{Form, Invocation, Look, Next, Ping, RunningTool, Tool, Turn};

/// RouterOS's packet sizes.
const SHORT: u16 = 32;
const LONG: u16 = 1_500;
/// Length of the IPv6 and ICMPv6 echo headers.
const HEADERS: u16 = 48;
/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) struct PingSpeed;

struct Measuring {
    ping: Ping,
    sizes: [u16; 2],
    /// Minimum time between two requests.
    apart: Duration,
    interval: Duration,
    state: State,
    /// Minimum round-trip times of this interval, for short and long requests.
    best: [Option<Duration>; 2],
    shown: Duration,
    /// Sum and number of all results.
    sum: (f64, u32),
}

/// State of the current request; the number is the index of its size.
enum State {
    Due(usize, Duration),
    Sent(usize, u64, Duration),
}

impl Tool for PingSpeed {
    fn form(&self) -> Form {
        Form::Page
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        let short = |to: IpAddr| if to.is_ipv4() { SHORT } else { HEADERS };
        let ping = request(given, Some(short))?;
        let sizes = [
            given.number("first-ping-size").unwrap_or(ping.bytes),
            given.number("second-ping-size").unwrap_or(LONG),
        ];
        if ping.to.is_ipv6() && sizes[0] < HEADERS {
            let text = format!("first-ping-size: an IPv6 request has at least {HEADERS} bytes");
            return Err(Reason::failure(text));
        }
        if sizes[1] <= sizes[0] {
            let text = "second-ping-size must be more than first-ping-size";
            return Err(Reason::failure(text));
        }
        Ok(Box::new(Measuring {
            ping,
            sizes,
            apart: given.span("time-between-pings").unwrap_or(Duration::ZERO),
            interval: given.interval,
            state: State::Due(0, Duration::ZERO),
            best: [None; 2],
            shown: Duration::ZERO,
            sum: (0.0, 0),
        }))
    }
}

impl Measuring {
    /// Rate in this interval; `None` if a size had no reply or the long request was not slower.
    fn result(&mut self) -> Option<f64> {
        let [Some(short), Some(long)] = core::mem::take(&mut self.best) else {
            return None;
        };
        let bits = f64::from(self.sizes[1] - self.sizes[0]) * 16.0;
        let more = long.checked_sub(short).filter(|more| !more.is_zero())?;
        Some(bits / more.as_secs_f64())
    }

    fn row(&mut self) -> Row {
        let current = self.result();
        if let Some(current) = current {
            self.sum = (self.sum.0 + current, self.sum.1 + 1);
        }
        let mut row = Row::default();
        let rate = |bits: f64| Value::BitRate(bits as i64);
        row.set("current", rate(current.unwrap_or(0.0)));
        row.set("average", rate(self.sum.0 / f64::from(self.sum.1.max(1))));
        row
    }
}

impl RunningTool for Measuring {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        if self.shown.is_zero() {
            self.shown = turn.now.saturating_add(self.interval);
        }
        if let State::Sent(which, ticket, until) = self.state {
            let pong = take(turn, ticket);
            if pong.is_none() && turn.now < until {
                return Ok(nothing(Next::News(until)));
            }
            if let Some(pong) = pong.filter(|pong| pong.answered) {
                let best = &mut self.best[which];
                *best = Some(best.map_or(pong.took, |best| best.min(pong.took)));
            }
            self.state = State::Due(1 - which, turn.now.saturating_add(self.apart));
        }
        if turn.now >= self.shown {
            self.shown = turn.now.saturating_add(self.interval);
            let rows = Some(vec![self.row()]);
            return Ok(Look {
                rows,
                next: Next::At(turn.now),
            });
        }
        if let State::Due(which, at) = self.state {
            if turn.now < at {
                return Ok(nothing(Next::At(at.min(self.shown))));
            }
            self.ping.bytes = self.sizes[which];
            let ticket = send(turn, &self.ping)?;
            self.state = State::Sent(which, ticket, turn.now.saturating_add(TIMEOUT));
        }
        Ok(nothing(Next::News(turn.now.saturating_add(TIMEOUT))))
    }
}
