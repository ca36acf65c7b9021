//! `/tool/traceroute`: the routers on the way, by echo requests that live one hop longer each.
//!
//! RouterOS: goes on round after round, at most one a second, until it is stopped, or as often as `count`
//! or as long as `duration` says; the table is drawn anew after each. A round ends where the receiver
//! answers, or somebody who says that it goes no further.

use std::net::IpAddr;
use std::time::Duration;

use menu::{Kind, Reason, Row};
use tool::{Ping, Pong, Responder};

use crate::ast::Command;
use crate::items::row_value;
use crate::language::argument;
use crate::machine::{Machine, Result};
use crate::ping::Asked;
use crate::value::Value;

pub(crate) const NAME: &str = "traceroute";

/// Between the beginnings of two rounds, at least.
const ROUND: Duration = Duration::from_secs(1);

const HOPS: i64 = 30;

/// How a trace is made.
struct Trace {
    asked: Asked,
    timeout: Duration,
    hops: u8,
    /// When no other round begins, on the site's clock.
    until: Option<Duration>,
}

/// What is known of a router on the way.
#[derive(Clone, Debug, Default)]
struct Hop {
    address: Option<IpAddr>,
    sent: u64,
    /// How long answers took, in milliseconds: the last one, unless it did not come.
    last: Option<f64>,
    received: u64,
    sum: f64,
    squares: f64,
    best: f64,
    worst: f64,
    status: String,
}

impl Machine<'_> {
    /// Runs it for a console or a script.
    pub(crate) fn traceroute(&mut self, command: &Command) -> Result<Value> {
        self.permit_builtin("ping")?;
        let trace = self.trace_asked(command)?;
        if self.passes_over() {
            return Ok(Value::Nothing);
        }
        if argument(command, "as-value").is_some() {
            let mut last = Vec::new();
            self.rounds(&trace, |_, hops| {
                last = hops.iter().map(|hop| row_value(&hop.row())).collect();
                Ok(())
            })?;
            return Ok(Value::list(last));
        }
        self.session.interrupt.watch();
        self.rounds(&trace, |machine, hops| {
            machine.repaint()?;
            machine.print(&table(hops))?;
            machine.linger()
        })?;
        Ok(Value::Nothing)
    }

    /// Runs it for another program: `each` takes the fields of a row, all hops in each round.
    pub(crate) fn traceroute_for_rows(
        &mut self,
        command: &Command,
        mut each: impl FnMut(&[(&'static str, String)]) -> Result<()>,
    ) -> Result<()> {
        self.permit_builtin("ping")?;
        let trace = self.trace_asked(command)?;
        let mut section = 0_u64;
        self.rounds(&trace, |_, hops| {
            for hop in hops {
                let cells = hop.row().cells.into_iter();
                let mut fields: Vec<_> = cells.map(|(n, value)| (n, value.to_string())).collect();
                fields.push((".section", section.to_string()));
                each(&fields)?;
            }
            section += 1;
            Ok(())
        })
    }

    fn rounds(
        &mut self,
        trace: &Trace,
        mut each: impl FnMut(&mut Self, &[Hop]) -> Result<()>,
    ) -> Result<()> {
        let mut hops = Vec::new();
        for round in 1.. {
            self.renew();
            let began = self.site.now();
            self.round(trace, &mut hops)?;
            each(self, &hops)?;
            let next = began.saturating_add(ROUND);
            let over = trace.until.is_some_and(|until| next > until);
            if over || trace.asked.count.is_some_and(|count| round >= count) {
                break;
            }
            let rest = next.saturating_sub(self.site.now());
            self.wait(rest)?;
        }
        Ok(())
    }

    fn round(&mut self, trace: &Trace, hops: &mut Vec<Hop>) -> Result<()> {
        for ttl in 1..=trace.hops {
            let ping = Ping {
                ttl,
                ..trace.asked.ping.clone()
            };
            let until = self.site.now().saturating_add(trace.timeout);
            let pong = self.ping_once(&ping, until)?;
            let place = usize::from(ttl) - 1;
            if hops.len() <= place {
                hops.push(Hop::default());
            }
            let hop = &mut hops[place];
            hop.take(pong.as_ref());
            let ends = |pong: Pong| pong.answered || pong.status != Some("TTL exceeded");
            if pong.is_some_and(ends) {
                break;
            }
        }
        Ok(())
    }

    fn trace_asked(&mut self, command: &Command) -> Result<Trace> {
        for (name, usual) in [("protocol", "icmp"), ("use-dns", "no")] {
            let other = self.text_of(command, name)?.filter(|text| **text != *usual);
            if let Some(other) = other {
                let text = format!("traceroute with {name}={other} is not supported here");
                return Err(Reason::failure(text).at(command.at).into());
            }
        }
        let mut asked = self.asked(command)?;
        let least = if asked.ping.to.is_ipv4() { 28 } else { 48 };
        let bytes = self.ping_number(command, "size", (28, 65_535))?;
        asked.ping.bytes = bytes.unwrap_or(least) as u16;
        let hops = self.ping_number(command, "max-hops", (1, 255))?;
        let timeout = self.time_of(command, "timeout", (1_000, 8_000))?;
        let duration = self.time_of(command, "duration", (0, i64::MAX / 1_000_000))?;
        Ok(Trace {
            asked,
            timeout: timeout.unwrap_or(Duration::from_secs(1)),
            hops: hops.unwrap_or(HOPS) as u8,
            until: duration.map(|span| self.site.now().saturating_add(span)),
        })
    }

    /// A span of an argument, between two numbers of milliseconds.
    fn time_of(
        &mut self,
        command: &Command,
        name: &'static str,
        (min, max): (i64, i64),
    ) -> Result<Option<Duration>> {
        const MILLISECOND: i64 = 1_000_000;
        let kind = Kind::Time {
            min: min * MILLISECOND,
            max: max * MILLISECOND,
        };
        let value = self.bounded(command, name, kind)?;
        let nanos = value.and_then(|value| u64::try_from(value.as_nanos()?).ok());
        Ok(nanos.map(Duration::from_nanos))
    }
}

impl Hop {
    /// Takes what came of a request; nothing if nobody said anything.
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

    /// What was lost, in percent.
    const fn loss(&self) -> u64 {
        match ((self.sent - self.received) * 100).checked_div(self.sent) {
            Some(loss) => loss,
            None => 0,
        }
    }

    /// Mean, best, worst, and how far they lie from the mean.
    fn times(&self) -> Option<[String; 4]> {
        let count = self.received as f64;
        let mean = self.sum / count;
        let deviation = (self.squares / count - mean * mean).max(0.0).sqrt();
        let all = [mean, self.best, self.worst, deviation].map(tenths);
        (self.received > 0).then_some(all)
    }

    /// The row as a program is given it.
    fn row(&self) -> Row {
        let mut row = Row::default();
        let number = |value: u64| menu::Value::Number(i64::try_from(value).unwrap_or(i64::MAX));
        if let Some(address) = self.address {
            row.set("address", menu::Value::Address(address));
        }
        row.set("loss", number(self.loss()));
        row.set("sent", number(self.sent));
        let last = self.last.map_or_else(|| "timeout".to_owned(), tenths);
        row.set("last", menu::Value::text(last));
        if let Some(times) = self.times() {
            let names = ["avg", "best", "worst", "std-dev"];
            for (name, time) in names.into_iter().zip(times) {
                row.set(name, menu::Value::text(time));
            }
        }
        row.set("status", menu::Value::text(&*self.status));
        row
    }

    /// The row as the console shows it.
    fn cells(&self, number: usize) -> [String; 10] {
        let address = self.address.map(|address| address.to_string());
        let last = self.last.map(|last| format!("{}ms", tenths(last)));
        let [avg, best, worst, deviation] = self.times().unwrap_or_default();
        [
            number.to_string(),
            address.unwrap_or_default(),
            format!("{}%", self.loss()),
            self.sent.to_string(),
            last.unwrap_or_else(|| "timeout".to_owned()),
            avg,
            best,
            worst,
            deviation,
            self.status.clone(),
        ]
    }
}

/// RouterOS: who says that it goes no further, and in other words than those of `ping`.
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

/// RouterOS: milliseconds with one place behind the point, unless that is a zero.
fn tenths(millis: f64) -> String {
    let text = format!("{millis:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

const HEADINGS: [&str; 10] = [
    "#", "ADDRESS", "LOSS", "SENT", "LAST", "AVG", "BEST", "WORST", "STD-DEV", "STATUS",
];

/// The page after a round. RouterOS: a column of whole numbers is aligned to the right, and that of
/// errors is there if there are any.
fn table(hops: &[Hop]) -> String {
    let rows: Vec<_> = hops
        .iter()
        .enumerate()
        .map(|(at, hop)| hop.cells(at + 1))
        .collect();
    let failed = hops.iter().any(|hop| !hop.status.is_empty());
    let shown = if failed {
        HEADINGS.len()
    } else {
        HEADINGS.len() - 1
    };
    let mut page = format!("Columns: {}\n", HEADINGS[1..shown].join(", "));
    let columns: Vec<_> = (0..shown)
        .map(|at| {
            let width = rows.iter().map(|row| row[at].len()).max().unwrap_or(0);
            let whole = |row: &[String; 10]| row[at].bytes().all(|byte| byte.is_ascii_digit());
            let right = at > 0 && rows.iter().all(whole);
            (width.max(HEADINGS[at].len()), right)
        })
        .collect();
    let headings = HEADINGS.map(str::to_owned);
    for row in [&headings].into_iter().chain(&rows) {
        let cells = row
            .iter()
            .zip(&columns)
            .map(|(cell, (width, right))| match right {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            });
        page.push_str(&cells.collect::<Vec<_>>().join("  "));
        page.push('\n');
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_table_is_the_router_s() {
        let mut hops = vec![Hop::default(); 3];
        for (micros, last) in [(380, 500), (420, 500), (300, 520)] {
            hops[0].take(Some(&pong([203, 0, 113, 1], micros, Some("TTL exceeded"))));
            hops[2].take(Some(&pong([198, 51, 100, 10], last, None)));
        }
        hops[1].take(None);

        assert_eq!(
            table(&hops),
            "Columns: ADDRESS, LOSS, SENT, LAST, AVG, BEST, WORST, STD-DEV\n\
             #  ADDRESS        LOSS  SENT  LAST     AVG  BEST  WORST  STD-DEV\n\
             1  203.0.113.1    0%       3  0.3ms    0.4  0.3   0.4          0\n\
             2                 100%     1  timeout                           \n\
             3  198.51.100.10  0%       3  0.5ms    0.5  0.5   0.5          0\n"
        );
    }

    #[test]
    fn who_says_that_it_goes_no_further_is_named() {
        let mut hop = Hop::default();
        hop.take(Some(&pong([203, 0, 113, 1], 300, Some("net unreachable"))));
        let page = table(&[hop.clone()]);
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
        assert!(table(&[unsent]).contains("100%     1  timeout"));
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
