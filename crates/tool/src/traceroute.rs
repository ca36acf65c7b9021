//! `/tool/traceroute`: finds the routers on a path by echo requests with increasing TTL.
//!
//! RouterOS: repeats in rounds, at most one per second, until it is stopped or `count` or `duration` is reached; the
//! table is redrawn after each round. A round ends at the destination or at a router that reports it unreachable.

use std::net::IpAddr;
use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::ping::{nothing, number, request, send, take};
use crate::{Column, Form, Invocation, Look, Next, Ping, Pong, Responder, RunningTool, Tool, Turn};

/// Minimum time between the starts of two rounds.
const ROUND: Duration = Duration::from_secs(1);

/// Default timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(1);

const HOPS: u8 = 30;

static COLUMNS: [Column; 10] = [
    Column::new("", "#"),
    Column::new("address", "ADDRESS"),
    Column::new("loss", "LOSS").showing(shown_loss),
    Column::new("sent", "SENT"),
    Column::new("last", "LAST").showing(shown_last),
    Column::new("avg", "AVG"),
    Column::new("best", "BEST"),
    Column::new("worst", "WORST"),
    Column::new("std-dev", "STD-DEV"),
    Column::new("status", "STATUS").optional(),
];

pub(crate) struct Traceroute;

struct Trace {
    ping: Ping,
    timeout: Duration,
    most: u8,
    hops: Vec<Hop>,
    state: State,
    /// Start of the round.
    began: Duration,
}

/// State of the current request.
enum State {
    /// The next round starts at this time.
    Due(Duration),
    /// Waits for the answer to this ticket and TTL, until this time.
    Sent(u64, u8, Duration),
}

/// Statistics of one hop.
#[derive(Clone, Debug, Default)]
struct Hop {
    address: Option<IpAddr>,
    sent: u64,
    /// Last round-trip time in milliseconds; `None` after a timeout.
    last: Option<f64>,
    received: u64,
    sum: f64,
    squares: f64,
    best: f64,
    worst: f64,
    status: String,
}

impl Tool for Traceroute {
    fn form(&self) -> Form {
        Form::Table(&COLUMNS)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        for (name, usual) in [("protocol", "icmp"), ("use-dns", "no")] {
            if let Some(other) = given.text(name).filter(|text| text != usual) {
                let text = format!("traceroute with {name}={other} is not supported here");
                return Err(Reason::failure(text));
            }
        }
        let least = |to: IpAddr| if to.is_ipv4() { 28 } else { 48 };
        Ok(Box::new(Trace {
            ping: request(given, Some(least))?,
            timeout: given.span("timeout").unwrap_or(TIMEOUT),
            most: given.number("max-hops").unwrap_or(HOPS),
            hops: Vec::new(),
            state: State::Due(Duration::ZERO),
            began: Duration::ZERO,
        }))
    }
}

impl RunningTool for Trace {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        if let State::Due(at) = self.state {
            if turn.now < at {
                return Ok(nothing(Next::At(at)));
            }
            self.began = turn.now;
            self.ask(turn, 1)?;
        }
        while let State::Sent(ticket, ttl, until) = self.state {
            let pong = take(turn, ticket);
            if pong.is_none() && turn.now < until {
                return Ok(nothing(Next::News(until)));
            }
            if self.answered(ttl, pong.as_ref()) || ttl == self.most {
                break;
            }
            self.ask(turn, ttl + 1)?;
        }
        let next = self.began.saturating_add(ROUND);
        self.state = State::Due(next);
        Ok(Look {
            rows: Some(self.hops.iter().map(Hop::row).collect()),
            next: Next::At(next),
        })
    }
}

impl Trace {
    /// Sends a request with this TTL.
    fn ask(&mut self, turn: &mut Turn<'_>, ttl: u8) -> Result<(), Reason> {
        self.ping.ttl = ttl;
        let ticket = send(turn, &self.ping)?;
        self.state = State::Sent(ticket, ttl, turn.now.saturating_add(self.timeout));
        Ok(())
    }

    /// Handles the result of a request; returns true if the path ends here.
    fn answered(&mut self, ttl: u8, pong: Option<&Pong>) -> bool {
        let place = usize::from(ttl) - 1;
        if self.hops.len() <= place {
            self.hops.push(Hop::default());
        }
        self.hops[place].take(pong);
        pong.is_some_and(|pong| pong.answered || pong.status != Some("TTL exceeded"))
    }
}

impl Hop {
    /// Handles the result of a request; `None` is a timeout.
    fn take(&mut self, pong: Option<&Pong>) {
        self.sent += 1;
        self.last = None;
        let Some(pong) = pong else { return };
        self.status = match (pong.status, pong.from) {
            (Some(status), from) if !pong.answered && status != "TTL exceeded" => {
                status_of(status, from)
            }
            _ => String::new(),
        };
        let Some(Responder::Address(from)) = pong.from else {
            return;
        };
        let took = pong.took.as_secs_f64() * 1_000.0;
        self.address = Some(from);
        self.last = Some(took);
        self.best = match self.received {
            0 => took,
            _ => self.best.min(took),
        };
        self.worst = self.worst.max(took);
        self.received += 1;
        self.sum += took;
        self.squares += took * took;
    }

    /// Loss in percent.
    const fn loss(&self) -> u64 {
        match ((self.sent - self.received) * 100).checked_div(self.sent) {
            Some(loss) => loss,
            None => 0,
        }
    }

    /// Mean, minimum and maximum round-trip time, and standard deviation.
    fn times(&self) -> Option<[String; 4]> {
        let count = self.received as f64;
        let mean = self.sum / count;
        let deviation = (self.squares / count - mean * mean).max(0.0).sqrt();
        let all = [mean, self.best, self.worst, deviation].map(tenths);
        (self.received > 0).then_some(all)
    }

    /// Row for programs.
    fn row(&self) -> Row {
        let mut row = Row::default();
        if let Some(address) = self.address {
            row.set("address", Value::Address(address));
        }
        row.set("loss", number(self.loss()));
        row.set("sent", number(self.sent));
        let last = self.last.map_or_else(|| "timeout".to_owned(), tenths);
        row.set("last", Value::text(last));
        if let Some(times) = self.times() {
            let names = ["avg", "best", "worst", "std-dev"];
            for (name, time) in names.into_iter().zip(times) {
                row.set(name, Value::text(time));
            }
        }
        row.set("status", Value::text(&*self.status));
        row
    }
}

/// RouterOS: status texts, which differ from those of `ping`, with the responder.
fn status_of(status: &str, from: Option<Responder>) -> String {
    let words = match status {
        "net unreachable" => "network unreachable",
        "admin prohibited" => "packet filtered",
        "fragmentation needed and DF set" => "fragmentation needed",
        other => other,
    };
    match from {
        Some(Responder::Address(from)) => format!("{words} from {from}"),
        _ => words.to_owned(),
    }
}

/// RouterOS: milliseconds with one decimal, omitted if zero.
fn tenths(millis: f64) -> String {
    let text = format!("{millis:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Console format of the loss.
fn shown_loss(row: &Row) -> String {
    row.get("loss")
        .map(|loss| format!("{loss}%"))
        .unwrap_or_default()
}

/// Console format of the last round-trip time.
fn shown_last(row: &Row) -> String {
    let last = row.get("last").map(ToString::to_string).unwrap_or_default();
    match last.parse::<f64>() {
        Ok(_) => format!("{last}ms"),
        Err(_) => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    fn drawn(hops: &[Hop]) -> String {
        let rows: Vec<_> = hops.iter().map(Hop::row).collect();
        table(COLUMNS.iter(), &rows)
    }

    fn pong(from: [u8; 4], micros: u64, status: Option<&'static str>) -> Pong {
        Pong {
            answered: status.is_none(),
            from: Some(Responder::Address(from.into())),
            bytes: 56,
            ttl: 64,
            took: Duration::from_micros(micros),
            status,
        }
    }

    #[test]
    fn the_traceroute_table_has_routeros_layout() {
        let mut hops = vec![Hop::default(); 3];
        for (micros, last) in [(380, 500), (420, 500), (300, 520)] {
            hops[0].take(Some(&pong([203, 0, 113, 1], micros, Some("TTL exceeded"))));
            hops[2].take(Some(&pong([198, 51, 100, 10], last, None)));
        }
        hops[1].take(None);

        assert_eq!(
            drawn(&hops),
            "Columns: ADDRESS, LOSS, SENT, LAST, AVG, BEST, WORST, STD-DEV\n\
             #  ADDRESS        LOSS  SENT  LAST     AVG  BEST  WORST  STD-DEV\n\
             1  203.0.113.1    0%       3  0.3ms    0.4  0.3   0.4          0\n\
             2                 100%     1  timeout                           \n\
             3  198.51.100.10  0%       3  0.5ms    0.5  0.5   0.5          0\n"
        );
    }

    #[test]
    fn unreachable_answers_name_the_router() {
        let mut hop = Hop::default();
        hop.take(Some(&pong([203, 0, 113, 1], 300, Some("net unreachable"))));
        let page = drawn(&[hop.clone()]);
        assert!(page.contains("STD-DEV, STATUS\n"), "{page}");
        assert!(
            page.contains("  network unreachable from 203.0.113.1\n"),
            "{page}"
        );
        assert_eq!(
            hop.row()
                .cells
                .last()
                .map(|(name, value)| (*name, value.to_string())),
            Some(("status", "network unreachable from 203.0.113.1".to_owned()))
        );

        let mut unsent = Hop::default();
        unsent.take(Some(&Pong {
            from: None,
            ..pong([0; 4], 0, Some("no route to host"))
        }));
        assert!(drawn(&[unsent]).contains("100%     1  timeout"));
    }

    #[test]
    fn times_vary_by_their_standard_deviation() {
        let mut hop = Hop::default();
        for millis in [10, 20, 30] {
            hop.take(Some(&pong([10, 0, 0, 1], millis * 1_000, None)));
        }
        hop.take(None);
        let times = ["20", "10", "30", "8.2"].map(str::to_owned);
        assert_eq!((hop.times(), hop.loss()), (Some(times), 25));
    }
}
