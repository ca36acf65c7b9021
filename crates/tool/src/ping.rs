//! `ping`: sequential echo requests with a row per request and a summary.
//!
//! RouterOS: a reply counts if it arrives before the next request is due. On a console the command runs until it is
//! stopped, with a summary after each page and at the end; its value is the number of replies. API clients get a row
//! for each request, with the statistics so far.

use std::net::IpAddr;
use std::time::Duration;

use menu::{Reason, Row, Value};

use crate::{
    Align, Column, Form, Invocation, Look, Next, Ping, Pong, Responder, RunningTool, Tool, Turn,
};

const SECOND: Duration = Duration::from_secs(1);

static COLUMNS: [Column; 6] = [
    Column::new("seq", "SEQ").at(5, Align::Right),
    Column::new("host", "HOST").at(40, Align::Left),
    Column::new("size", "SIZE").at(4, Align::Right),
    Column::new("ttl", "TTL").at(3, Align::Right),
    Column::new("time", "TIME")
        .at(10, Align::Left)
        .showing(shown_time),
    Column::new("status", "STATUS"),
];

pub(crate) struct PingTool;

struct Pings {
    ping: Ping,
    interval: Duration,
    state: State,
    sums: Sums,
}

/// State of the current request.
enum State {
    /// The next request is due at this time.
    Due(Duration),
    /// Waits for the reply to this ticket, until this time.
    Sent(u64, Duration),
}

/// Statistics of all requests.
#[derive(Default)]
pub(crate) struct Sums {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    least: Duration,
    most: Duration,
    all: Duration,
}

impl Tool for PingTool {
    fn form(&self) -> Form {
        Form::Lines(&COLUMNS)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        Ok(Box::new(Pings {
            ping: request(given, None)?,
            interval: given.span("interval").unwrap_or(SECOND),
            state: State::Due(Duration::ZERO),
            sums: Sums::default(),
        }))
    }
}

impl RunningTool for Pings {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        if let State::Due(at) = self.state {
            if turn.now < at {
                return Ok(nothing(Next::At(at)));
            }
            let ticket = send(turn, &self.ping)?;
            self.state = State::Sent(ticket, turn.now.saturating_add(self.interval));
        }
        let State::Sent(ticket, until) = self.state else {
            return Ok(nothing(Next::Over));
        };
        let pong = take(turn, ticket);
        if pong.is_none() && turn.now < until {
            return Ok(nothing(Next::News(until)));
        }
        self.state = State::Due(until);
        self.sums.take(pong.as_ref());
        Ok(Look {
            rows: Some(vec![self.sums.row(&self.ping, pong.as_ref())]),
            next: Next::At(until),
        })
    }

    fn summary(&self) -> String {
        match self.sums.sent {
            0 => String::new(),
            _ => self.sums.line(),
        }
    }

    fn value(&self) -> Option<Value> {
        Some(number(self.sums.received))
    }
}

/// An update without rows.
pub(crate) const fn nothing(next: Next) -> Look {
    Look { rows: None, next }
}

/// Sends a request; returns its ticket.
pub(crate) fn send(turn: &mut Turn<'_>, ping: &Ping) -> Result<u64, Reason> {
    let missing = || Reason::failure("ping needs a running router");
    let echoes = turn.router.echoes().ok_or_else(missing)?;
    echoes.send(ping, turn.news)
}

/// Returns and removes the result of a request.
pub(crate) fn take(turn: &mut Turn<'_>, ticket: u64) -> Option<Pong> {
    turn.router.echoes()?.take(ticket)
}

/// Builds the request from the arguments. `least` gives the default packet length; otherwise it is RouterOS's 56
/// bytes.
pub(crate) fn request(
    given: &mut Invocation<'_>,
    least: Option<fn(IpAddr) -> u16>,
) -> Result<Ping, Reason> {
    let host = given.text("address").unwrap_or_default();
    let (host, zone) = match host.split_once('%') {
        Some((host, zone)) => (host, Some(zone.to_owned())),
        None => (&*host, None),
    };
    in_main(given)?;
    let source = given.value("src-address").and_then(Value::as_address);
    let interface = given.text("interface").or(zone);
    let arp = given.is_set("arp-ping");
    if arp && interface.is_none() {
        return Err(Reason::failure(
            "interface needs to be specified for arp ping",
        ));
    }
    let families = match source {
        Some(source) => &[source.is_ipv4()][..],
        None if arp => &[true],
        None => &[true, false],
    };
    let to = given.site.resolve(host, families)?;
    let least = least.map_or(56, |least| least(to));
    let bytes = given.number("size").unwrap_or(least);
    match to.is_ipv6() {
        true if arp => return Err(Reason::failure("arp ping requires an IPv4 address")),
        true if bytes < 48 => return Err(Reason::failure("packet size is too small")),
        _ => {}
    }
    // RouterOS: default TTL of IPv4 and hop limit of IPv6.
    let lives = if to.is_ipv4() { 255 } else { 64 };
    Ok(Ping {
        to,
        source,
        interface,
        bytes,
        ttl: given.number("ttl").unwrap_or(lives),
        dscp: given.number("dscp").unwrap_or(0),
        whole: given.is_set("do-not-fragment"),
        arp,
    })
}

/// RouterOS: accepts the name of a VRF, and of no other table; source address and routing rules select the table. No
/// VRF other than `main` is supported here.
fn in_main(given: &mut Invocation<'_>) -> Result<(), Reason> {
    for name in ["routing-table", "vrf"] {
        let Some(other) = given.text(name).filter(|text| text != "main") else {
            continue;
        };
        let known = given.ask(|store, _| {
            let mut vrfs = store.items("/ip/vrf");
            Ok(vrfs.any(|vrf| vrf.name() == Some(&*other)))
        })?;
        return Err(match known || name != "vrf" {
            true => Reason::failure(format!("{name}={other} is not supported here")),
            false => Reason::no_match(name),
        });
    }
    Ok(())
}

impl Sums {
    /// Counts a request with its reply, or without one.
    pub(crate) fn take(&mut self, pong: Option<&Pong>) {
        self.sent += 1;
        let Some(pong) = pong.filter(|pong| pong.answered) else {
            return;
        };
        self.least = match self.received {
            0 => pong.took,
            _ => self.least.min(pong.took),
        };
        self.most = self.most.max(pong.took);
        self.all = self.all.saturating_add(pong.took);
        self.received += 1;
    }

    /// Loss in percent.
    pub(crate) const fn loss(&self) -> u64 {
        match (self.sent - self.received)
            .saturating_mul(100)
            .checked_div(self.sent)
        {
            Some(loss) => loss,
            None => 0,
        }
    }

    /// Minimum, mean and maximum round-trip time, if any reply arrived.
    pub(crate) fn times(&self) -> Option<[Duration; 3]> {
        let mean = self.all.as_nanos().checked_div(u128::from(self.received))?;
        let mean = Duration::from_nanos(u64::try_from(mean).unwrap_or(u64::MAX));
        Some([self.least, mean, self.most])
    }

    fn line(&self) -> String {
        let (sent, received, loss) = (self.sent, self.received, self.loss());
        let mut line = format!("    sent={sent} received={received} packet-loss={loss}%");
        if let Some(times) = self.times() {
            let [least, mean, most] = times.map(span);
            line.push_str(&format!(" min-rtt={least} avg-rtt={mean} max-rtt={most}"));
        }
        line.push('\n');
        line
    }

    /// Row of the last request.
    fn row(&self, to: &Ping, pong: Option<&Pong>) -> Row {
        let mut row = Row::default();
        row.set("seq", number(self.sent.saturating_sub(1)));
        match pong {
            None => {
                row.set("host", Value::Address(to.to));
                row.set("status", Value::Word("timeout"));
            }
            Some(pong) => {
                if let Some(from) = pong.from {
                    row.set("host", responder(from));
                    if let Responder::Address(_) = from {
                        row.set("size", number(pong.bytes));
                        row.set("ttl", number(pong.ttl.into()));
                    }
                    row.set("time", time(pong.took));
                }
                if let Some(status) = pong.status {
                    row.set("status", Value::Word(status));
                }
            }
        }
        row.set("sent", number(self.sent));
        row.set("received", number(self.received));
        row.set("packet-loss", number(self.loss()));
        if let Some([least, mean, most]) = self.times() {
            row.set("min-rtt", time(least));
            row.set("avg-rtt", time(mean));
            row.set("max-rtt", time(most));
        }
        row
    }
}

pub(crate) fn number(value: u64) -> Value {
    Value::Number(i64::try_from(value).unwrap_or(i64::MAX))
}

const fn responder(from: Responder) -> Value {
    match from {
        Responder::Address(address) => Value::Address(address),
        Responder::Link(mac) => Value::Mac(mac),
    }
}

/// RouterOS: round-trip times have microsecond resolution.
fn micros(span: Duration) -> i64 {
    let micros = (span.as_nanos() + 500) / 1_000;
    i64::try_from(micros).unwrap_or(i64::MAX / 1_000)
}

pub(crate) fn time(span: Duration) -> Value {
    Value::Time(micros(span) * 1_000)
}

fn span(span: Duration) -> String {
    units(micros(span) * 1_000)
}

fn units(nanos: i64) -> String {
    match nanos {
        0 => "0us".to_owned(),
        nanos => menu::time::units(nanos),
    }
}

/// Console format of a time: with units instead of `hh:mm:ss`.
fn shown_time(row: &Row) -> String {
    let nanos = row.get("time").and_then(Value::as_nanos);
    nanos.map(units).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::line;

    fn pong(took: Duration) -> Pong {
        Pong {
            answered: true,
            from: Some(Responder::Address(Ipv4Addr::new(10, 0, 0, 2).into())),
            bytes: 56,
            ttl: 64,
            took,
            status: None,
        }
    }

    #[test]
    fn ping_output_has_routeros_layout() {
        let to = Ping {
            to: Ipv4Addr::new(10, 0, 0, 2).into(),
            source: None,
            interface: None,
            bytes: 56,
            ttl: 64,
            dscp: 0,
            whole: false,
            arp: false,
        };
        let mut sums = Sums::default();
        let mut text = line(COLUMNS.iter(), None);
        let answers = [
            Some(pong(Duration::from_nanos(5_896_400))),
            None,
            Some(Pong {
                answered: false,
                from: None,
                status: Some("no route to host"),
                ..pong(Duration::ZERO)
            }),
            Some(pong(Duration::from_micros(61))),
            Some(Pong {
                from: Some(Responder::Link([0xfe, 0x14, 0x80, 0xbe, 0x47, 0x5b])),
                ..pong(Duration::from_micros(386))
            }),
        ];
        for pong in &answers {
            sums.take(pong.as_ref());
            text.push_str(&line(COLUMNS.iter(), Some(&sums.row(&to, pong.as_ref()))));
        }
        text.push_str(&sums.line());

        assert_eq!(
            text,
            "  SEQ HOST                                     SIZE TTL TIME       STATUS\n    \
             0 10.0.0.2                                   56  64 5ms896us\n    \
             1 10.0.0.2                                                     timeout\n    \
             2                                                              no route to host\n    \
             3 10.0.0.2                                   56  64 61us\n    \
             4 FE:14:80:BE:47:5B                                 386us\n    \
             sent=5 received=3 packet-loss=40% min-rtt=61us avg-rtt=2ms114us max-rtt=5ms896us\n"
        );
    }
}
