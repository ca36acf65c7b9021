//! `ping`: echo requests one after the other, a row for each, and what they come to.
//!
//! RouterOS: a reply counts that comes before the next request is due. At the console it goes on
//! until it is stopped, with a summary after each page and at the end; its value is the number of
//! replies. Another program is given a row for each request, with the sums so far.

use std::net::IpAddr;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use menu::{Kind, Reason, Row};
use tool::{Ping, Pong, Responder};

use crate::ast::Command;
use crate::items::row_value;
use crate::language::argument;
use crate::machine::{Machine, Result};
use crate::value::Value;

/// The menu that has it as a command, too.
pub(crate) const MENU: &str = "/tool";

/// Rows before the sums and the heading are shown again.
const PAGE: u64 = 20;

const HEADING: &str = "  SEQ HOST                                     SIZE TTL TIME       STATUS\n";

/// What is to be sent, and how often.
pub(crate) struct Asked {
    pub(crate) ping: Ping,
    /// How many requests; without end if absent.
    pub(crate) count: Option<u64>,
    interval: Duration,
}

/// A request and what came of it.
pub(crate) struct Turn<'a> {
    seq: u64,
    to: &'a Ping,
    pong: Option<&'a Pong>,
    sums: &'a Sums,
}

/// What all requests come to.
#[derive(Default)]
struct Sums {
    sent: u64,
    received: u64,
    least: Duration,
    most: Duration,
    all: Duration,
}

impl Machine<'_> {
    /// Runs `ping` for a console or a script.
    pub(crate) fn ping(&mut self, command: &Command) -> Result<Value> {
        self.permit_builtin("ping")?;
        let asked = self.asked(command)?;
        if self.passes_over() {
            return Ok(Value::Num(0));
        }
        let mut sums = Sums::default();
        if argument(command, "as-value").is_some() {
            let mut rows = Vec::new();
            self.ping_all(&asked, &mut sums, |machine, turn| {
                let row = row_value(&turn.row());
                machine.charge(row.weight())?;
                rows.push(row);
                Ok(())
            })?;
            // What scripts look into with `->`.
            return Ok(match (rows.len(), rows.pop()) {
                (1, Some(only)) => only,
                (_, last) => Value::list(rows.into_iter().chain(last)),
            });
        }
        self.session.interrupt.watch();
        let mut so_far = String::new();
        let done = self.ping_all(&asked, &mut sums, |machine, turn| {
            if turn.seq.is_multiple_of(PAGE) {
                machine.print(&so_far)?;
                machine.print(HEADING)?;
            }
            so_far = turn.sums.line();
            machine.print(&turn.line())?;
            machine.go_on()
        });
        if sums.sent > 0 {
            let told = self.print(&format!("{}\n", sums.line()));
            // Who went away needs no sums.
            done.and(told)?;
        } else {
            done?;
        }
        let received = i64::try_from(sums.received).unwrap_or(i64::MAX);
        Ok(Value::Num(received))
    }

    /// Runs `ping` for another program: `each` takes the fields of a row.
    pub(crate) fn ping_for_rows(
        &mut self,
        command: &Command,
        mut each: impl FnMut(&[(&'static str, String)]) -> Result<()>,
    ) -> Result<()> {
        self.permit_builtin("ping")?;
        let asked = self.asked(command)?;
        let mut sums = Sums::default();
        self.ping_all(&asked, &mut sums, |_, turn| {
            let mut fields = turn.fields();
            fields.push((".section", turn.seq.to_string()));
            each(&fields)
        })
    }

    /// Sends one request after the other, with what came of each.
    fn ping_all(
        &mut self,
        asked: &Asked,
        sums: &mut Sums,
        mut each: impl FnMut(&mut Self, &Turn<'_>) -> Result<()>,
    ) -> Result<()> {
        for seq in 0.. {
            self.renew();
            let until = self.site.now().saturating_add(asked.interval);
            let pong = self.ping_once(&asked.ping, until)?;
            sums.take(pong.as_ref());
            let turn = Turn {
                seq,
                to: &asked.ping,
                pong: pong.as_ref(),
                sums,
            };
            each(self, &turn)?;
            if asked.count.is_some_and(|count| seq + 1 >= count) {
                break;
            }
            let rest = until.saturating_sub(self.site.now());
            self.wait(rest)?;
        }
        Ok(())
    }

    /// Sends a request, and waits for what comes of it.
    pub(crate) fn ping_once(&mut self, ping: &Ping, until: Duration) -> Result<Option<Pong>> {
        let news = Waker::from(Arc::clone(&self.session.interrupt));
        let ask = |loan: &mut crate::ready::Loan<'_>| {
            let echoes = loan.live.echoes();
            let sent = echoes.map_or_else(
                || Err(Reason::failure("ping needs a running router")),
                |echoes| echoes.send(ping, &news),
            );
            sent.map_err(Reason::nowhere)
        };
        let ticket = self.with(ask)?;
        loop {
            let pong =
                self.with(|loan| Ok(loan.live.echoes().and_then(|echoes| echoes.take(ticket))))?;
            if pong.is_some() || !self.wait_for_news(until)? {
                return Ok(pong);
            }
        }
    }

    pub(crate) fn asked(&mut self, command: &Command) -> Result<Asked> {
        let address = self.text_of(command, "address")?.unwrap_or_default();
        let (address, zone) = match address.split_once('%') {
            Some((address, zone)) => (address, Some(zone.to_owned())),
            None => (&*address, None),
        };
        self.in_main(command)?;
        let source = self.source_asked(command)?;
        let interface = self.text_of(command, "interface")?;
        let interface = interface.map(|name| name.to_string()).or(zone);
        let arp = self.bounded(command, "arp-ping", Kind::Bool)? == Some(menu::Value::Bool(true));
        if arp && interface.is_none() {
            let reason = Reason::failure("interface needs to be specified for arp ping");
            return Err(reason.at(command.at).into());
        }
        let count = self.ping_number(command, "count", (0, u32::MAX.into()))?;
        let count = count
            .and_then(|count| u64::try_from(count).ok())
            .unwrap_or(0);
        let bytes = self.ping_number(command, "size", (28, 65_535))?;
        let ttl = self.ping_number(command, "ttl", (1, 255))?;
        let ping = Ping {
            // A name is asked for when nothing is wrong with the rest.
            to: std::net::Ipv4Addr::UNSPECIFIED.into(),
            source,
            interface,
            bytes: bytes.unwrap_or(56) as u16,
            ttl: 0,
            dscp: self.ping_number(command, "dscp", (0, 63))?.unwrap_or(0) as u8,
            whole: argument(command, "do-not-fragment").is_some_and(|given| !given.negated),
            arp,
        };
        let interval = self.ping_interval(command)?;
        let to = match (self.checking, crate::value::address(address)) {
            (_, Some(to)) => to,
            (true, None) => ping.to,
            (false, None) => self.named(command, address, &ping)?,
        };
        let wrong = match to.is_ipv6() {
            true if arp => Some("arp ping is for addresses of IPv4"),
            true if ping.bytes < 48 => Some("packet size is too small"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err(Reason::failure(wrong).at(command.at).into());
        }
        // RouterOS: its own requests live longer where they are IPv4's.
        let ttl = ttl.unwrap_or(if to.is_ipv4() { 255 } else { 64 }) as u8;
        Ok(Asked {
            ping: Ping { to, ttl, ..ping },
            count: (count > 0).then_some(count),
            interval,
        })
    }

    fn source_asked(&mut self, command: &Command) -> Result<Option<IpAddr>> {
        let text = self.text_of(command, "src-address")?;
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let source = crate::value::address(&text);
        let source = source.ok_or_else(|| Reason::no_match("src-address").at(command.at))?;
        Ok(Some(source))
    }

    /// The address of a name, of a family that the request can be of.
    fn named(&mut self, command: &Command, name: &str, ping: &Ping) -> Result<IpAddr> {
        let families = match ping.source {
            Some(source) => &[source.is_ipv4()][..],
            None if ping.arp => &[true],
            None => &[true, false],
        };
        let found = self.address_of(name, None, families);
        Ok(found.map_err(|reason| reason.at(command.at))?)
    }

    /// RouterOS: a VRF may be named, and no other table; which one a request goes by, its source and the
    /// routing rules decide. No VRF has an effect here.
    fn in_main(&mut self, command: &Command) -> Result<()> {
        for name in ["routing-table", "vrf"] {
            let other = self
                .text_of(command, name)?
                .filter(|text| **text != *"main");
            let Some(other) = other else {
                continue;
            };
            let known = self.with(|loan| {
                let mut vrfs = loan.store.items("/ip/vrf");
                Ok(vrfs.any(|vrf| vrf.name() == Some(&*other)))
            })?;
            let reason = match known || name != "vrf" {
                true => Reason::failure(format!("{name}={other} is not supported here")),
                false => Reason::no_match(name),
            };
            return Err(reason.at(command.at).into());
        }
        Ok(())
    }

    /// The value of an argument that has bounds.
    pub(crate) fn bounded(
        &mut self,
        command: &Command,
        name: &'static str,
        kind: Kind,
    ) -> Result<Option<menu::Value>> {
        let Some(text) = self.text_of(command, name)? else {
            return Ok(None);
        };
        let value = kind.parse(name, &text);
        Ok(Some(value.map_err(|reason| reason.at(command.at))?))
    }

    pub(crate) fn ping_number(
        &mut self,
        command: &Command,
        name: &'static str,
        (min, max): (i64, i64),
    ) -> Result<Option<i64>> {
        let value = self.bounded(command, name, Kind::Number { min, max })?;
        Ok(value.and_then(|value| value.as_number()))
    }

    fn ping_interval(&mut self, command: &Command) -> Result<Duration> {
        const MILLISECOND: i64 = 1_000_000;
        let kind = Kind::Time {
            min: 10 * MILLISECOND,
            max: 5_000 * MILLISECOND,
        };
        let value = self.bounded(command, "interval", kind)?;
        let nanos = value.and_then(|value| u64::try_from(value.as_nanos()?).ok());
        Ok(nanos.map_or(Duration::from_secs(1), Duration::from_nanos))
    }
}

impl Turn<'_> {
    /// The row as the console shows it.
    fn line(&self) -> String {
        let (mut host, mut size, mut ttl, mut time) = (
            self.to.to.to_string(),
            String::new(),
            String::new(),
            String::new(),
        );
        let mut status = "timeout";
        if let Some(pong) = self.pong {
            host = pong
                .from
                .map_or_else(String::new, |from| responder(from).to_string());
            status = pong.status.unwrap_or_default();
            if pong.from.is_some() {
                time = span(pong.took);
            }
            if let Some(Responder::Address(_)) = pong.from {
                (size, ttl) = (pong.bytes.to_string(), pong.ttl.to_string());
            }
        }
        let line = format!(
            "{:>5} {host:<40} {size:>4} {ttl:>3} {time:<10} {status}",
            self.seq
        );
        format!("{}\n", line.trim_end())
    }

    /// The row as a program is given it.
    fn row(&self) -> Row {
        let mut row = Row::default();
        let number = |value: u64| menu::Value::Number(i64::try_from(value).unwrap_or(i64::MAX));
        row.set("seq", number(self.seq));
        match self.pong {
            None => {
                row.set("host", menu::Value::Address(self.to.to));
                row.set("status", menu::Value::Word("timeout"));
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
                    row.set("status", menu::Value::Word(status));
                }
            }
        }
        let sums = self.sums;
        row.set("sent", number(sums.sent));
        row.set("received", number(sums.received));
        row.set("packet-loss", number(sums.loss()));
        if let Some([least, mean, most]) = sums.times() {
            row.set("min-rtt", time(least));
            row.set("avg-rtt", time(mean));
            row.set("max-rtt", time(most));
        }
        row
    }

    fn fields(&self) -> Vec<(&'static str, String)> {
        let cells = self.row().cells.into_iter();
        cells
            .map(|(name, value)| (name, value.to_string()))
            .collect()
    }
}

impl Sums {
    fn take(&mut self, pong: Option<&Pong>) {
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

    /// What was lost, in percent.
    const fn loss(&self) -> u64 {
        match (self.sent - self.received)
            .saturating_mul(100)
            .checked_div(self.sent)
        {
            Some(loss) => loss,
            None => 0,
        }
    }

    /// The shortest, the mean and the longest time, if anything came back.
    fn times(&self) -> Option<[Duration; 3]> {
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
}

const fn responder(from: Responder) -> menu::Value {
    match from {
        Responder::Address(address) => menu::Value::Address(address),
        Responder::Link(mac) => menu::Value::Mac(mac),
    }
}

/// RouterOS: times of echoes are shown to the microsecond.
fn micros(span: Duration) -> i64 {
    let micros = (span.as_nanos() + 500) / 1_000;
    i64::try_from(micros).unwrap_or(i64::MAX / 1_000)
}

fn time(span: Duration) -> menu::Value {
    menu::Value::Time(micros(span) * 1_000)
}

fn span(span: Duration) -> String {
    match micros(span) {
        0 => "0us".to_owned(),
        micros => menu::time::units(micros * 1_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pong(took: Duration) -> Pong {
        Pong {
            answered: true,
            from: Some(Responder::Address(
                std::net::Ipv4Addr::new(10, 0, 0, 2).into(),
            )),
            bytes: 56,
            ttl: 64,
            took,
            status: None,
        }
    }

    #[test]
    fn rows_and_sums_stand_where_the_router_prints_them() {
        let to = Ping {
            to: std::net::Ipv4Addr::new(10, 0, 0, 2).into(),
            source: None,
            interface: None,
            bytes: 56,
            ttl: 64,
            dscp: 0,
            whole: false,
            arp: false,
        };
        let mut sums = Sums::default();
        let mut text = HEADING.to_owned();
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
        for (seq, pong) in (0..).zip(&answers) {
            sums.take(pong.as_ref());
            let turn = Turn {
                seq,
                to: &to,
                pong: pong.as_ref(),
                sums: &sums,
            };
            text.push_str(&turn.line());
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
