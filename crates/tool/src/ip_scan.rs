//! `/tool/ip-scan`: finds the used addresses of a network, by ARP on an interface, which even hosts with a firewall
//! answer, and by echo requests without an interface.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::ControlFlow;
use std::time::Duration;

use menu::{Reason, Row, RowFilter, Value};

use crate::ping::{nothing, send, take, time};
use crate::{Column, Form, Invocation, Look, Next, Ping, Responder, RunningTool, Tool, Turn};

/// Maximum number of addresses of a scan, and of concurrent requests.
const MOST: u32 = 1 << 16;
const AT_ONCE: usize = 256;
/// Timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(1);
/// Update interval of the table.
const DRAWN: Duration = Duration::from_secs(1);

static COLUMNS: [Column; 3] = [
    Column::new("address", "ADDRESS"),
    Column::new("mac-address", "MAC-ADDRESS").optional(),
    Column::new("time", "TIME"),
];

pub(crate) struct IpScan;

struct Scan {
    ping: Ping,
    /// First, last and next address of the scan.
    range: (u32, u32),
    next: Option<u32>,
    /// Pending requests by ticket: address and timeout.
    asked: BTreeMap<u64, (Ipv4Addr, Duration)>,
    found: BTreeMap<Ipv4Addr, (Option<[u8; 6]>, Duration)>,
    drawn: Duration,
}

impl Tool for IpScan {
    fn form(&self) -> Form {
        Form::Table(&COLUMNS)
    }

    fn start(&self, given: &mut Invocation<'_>) -> Result<Box<dyn RunningTool>, Reason> {
        let interface = given.text("interface");
        let range = match (given.text("address-range"), &interface) {
            (Some(text), _) => range(&text).ok_or_else(|| Reason::no_match("address-range"))?,
            (None, Some(name)) => network_of(given, name)?,
            (None, None) => return Err(Reason::Missing(vec!["address-range"])),
        };
        if range.1 - range.0 >= MOST {
            let text = format!("address-range has more than {MOST} addresses");
            return Err(Reason::failure(text));
        }
        Ok(Box::new(Scan {
            ping: Ping {
                to: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
                source: None,
                arp: interface.is_some(),
                interface,
                bytes: 28,
                ttl: 255,
                dscp: 0,
                whole: false,
            },
            range,
            next: Some(range.0),
            asked: BTreeMap::new(),
            found: BTreeMap::new(),
            drawn: Duration::ZERO,
        }))
    }
}

/// Parses `10.0.0.0/24`, `10.0.0.1-10.0.0.9` or `10.0.0.1` to the first and last address.
fn range(text: &str) -> Option<(u32, u32)> {
    if let Some((first, last)) = text.split_once('-') {
        let [first, last] = [first, last].map(|text| text.parse::<Ipv4Addr>().ok());
        let (first, last) = (u32::from(first?), u32::from(last?));
        return (first <= last).then_some((first, last));
    }
    let (address, length) = text.split_once('/').unwrap_or((text, "32"));
    let (address, length): (Ipv4Addr, u32) = (address.parse().ok()?, length.parse().ok()?);
    hosts(address, length)
}

/// Host addresses of a network: excludes network and broadcast address, except in a /31 or /32.
fn hosts(address: Ipv4Addr, length: u32) -> Option<(u32, u32)> {
    let bits = 32_u32.checked_sub(length)?;
    let mask = u32::MAX.checked_shl(bits).unwrap_or(0);
    let (first, last) = (u32::from(address) & mask, u32::from(address) | !mask);
    Some(if length < 31 {
        (first + 1, last - 1)
    } else {
        (first, last)
    })
}

/// Network of an interface's first address.
fn network_of(given: &mut Invocation<'_>, name: &str) -> Result<(u32, u32), Reason> {
    let name = name.to_owned();
    given.ask(|store, router| {
        let mut found: Vec<Value> = Vec::new();
        let own = store
            .items("/ip/address")
            .filter(|item| !item.is("disabled"));
        let own = own.filter(|item| item.text("interface") == name);
        found.extend(own.filter_map(|item| item.get("address").cloned()));
        if let Some(menu) = store.menu("/ip/address") {
            let _ = router.rows(store, menu, &RowFilter::default(), &mut |row: Row| {
                let is_its = row
                    .get("interface")
                    .is_some_and(|own| own.as_str() == Some(&*name));
                found.extend(row.get("address").filter(|_| is_its).cloned());
                ControlFlow::Continue(())
            });
        }
        let first = found.iter().find_map(|value| range(&value.to_string()));
        let lacks = || Reason::failure(format!("{name} has no address: set address-range"));
        first.ok_or_else(lacks)
    })
}

impl Scan {
    fn take_answers(&mut self, turn: &mut Turn<'_>) {
        let asked = core::mem::take(&mut self.asked);
        for (ticket, (address, until)) in asked {
            match take(turn, ticket) {
                None if turn.now < until => {
                    self.asked.insert(ticket, (address, until));
                }
                Some(pong) if pong.answered => {
                    let mac = match pong.from {
                        Some(Responder::Link(mac)) => Some(mac),
                        _ => None,
                    };
                    self.found.insert(address, (mac, pong.took));
                }
                _ => {}
            }
        }
    }

    fn ask(&mut self, turn: &mut Turn<'_>) -> Result<(), Reason> {
        while let Some(next) = self.next.filter(|_| self.asked.len() < AT_ONCE) {
            let address = Ipv4Addr::from(next);
            self.ping.to = address.into();
            let ticket = send(turn, &self.ping)?;
            let until = turn.now.saturating_add(TIMEOUT);
            self.asked.insert(ticket, (address, until));
            self.next = (next < self.range.1).then(|| next + 1);
        }
        Ok(())
    }

    fn rows(&self) -> Vec<Row> {
        let rows = self.found.iter().map(|(address, (mac, took))| {
            let mut row = Row::default();
            row.set("address", Value::Address((*address).into()));
            if let Some(mac) = mac {
                row.set("mac-address", Value::Mac(*mac));
            }
            row.set("time", time(*took));
            row
        });
        rows.collect()
    }
}

impl RunningTool for Scan {
    fn look(&mut self, turn: &mut Turn<'_>) -> Result<Look, Reason> {
        self.take_answers(turn);
        self.ask(turn)?;
        let over = self.next.is_none() && self.asked.is_empty();
        let until = turn.now.saturating_add(TIMEOUT / 4);
        if !over && turn.now < self.drawn {
            return Ok(nothing(Next::News(until.min(self.drawn))));
        }
        self.drawn = turn.now.saturating_add(DRAWN);
        Ok(Look {
            rows: Some(self.rows()),
            // The command may end here when its duration is over.
            next: if over { Next::Over } else { Next::At(until) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_ranges_are_prefixes_ranges_and_single_addresses() {
        let at = |text: &str| {
            range(text).map(|(first, last)| (Ipv4Addr::from(first), Ipv4Addr::from(last)))
        };
        let pair = |first: [u8; 4], last: [u8; 4]| Some((first.into(), last.into()));
        assert_eq!(at("10.0.0.7/24"), pair([10, 0, 0, 1], [10, 0, 0, 254]));
        assert_eq!(at("10.0.0.6/31"), pair([10, 0, 0, 6], [10, 0, 0, 7]));
        assert_eq!(at("10.0.0.6"), pair([10, 0, 0, 6], [10, 0, 0, 6]));
        assert_eq!(at("10.0.0.2-10.0.0.9"), pair([10, 0, 0, 2], [10, 0, 0, 9]));
        assert_eq!(at("0.0.0.0/0"), pair([0, 0, 0, 1], [255, 255, 255, 254]));
        assert_eq!(at("10.0.0.9-10.0.0.2"), None);
        assert_eq!(at("10.0.0.0/33"), None);
    }
}
