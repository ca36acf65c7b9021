//! `/ip/firewall/connection`: rows directly from the connection table, one by one.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::ControlFlow;

use dataplane::Command;
use dataplane::connection::{EntryId, Helper, NatState, Row as Entry, TcpState, Tick};
use dataplane::counters::Traffic;
use dataplane::packet::{Tuple, protocol};
use menu::{Id, Reason, Reply, Row, RowFilter, Scan, Value};

use super::{bit_rate, give, number};
use crate::drive::Control;
use crate::firewall::protocol_name;

/// Table slots that one piece reads: one or two milliseconds.
const LOOKS: u32 = 4_096;
/// Cost of a row, in slots.
const LOOKS_PER_ROW: u32 = 16;

impl Control {
    /// Produces the connections of a family that the filter accepts.
    pub(super) fn connection_rows(
        &self,
        ipv6: bool,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut place = 0;
        let mut stopped = ControlFlow::Continue(());
        while stopped.is_continue() {
            let scan = self.connections_from(ipv6, filter, &mut place, &mut |row| {
                stopped = each(row);
                stopped
            });
            if scan == Scan::Over {
                break;
            }
        }
        stopped
    }

    /// Produces connections like [`Self::connection_rows`], starting at a slot and limited to a number of slots, so
    /// that no caller blocks the router.
    pub(super) fn connections_from(
        &self,
        ipv6: bool,
        filter: &RowFilter<'_>,
        place: &mut u64,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> Scan {
        let wanted = EntryFilter::new(filter);
        let mut looks = 0;
        for (next, entry) in self.connections.places(ipv6, *place) {
            *place = next;
            looks += 1;
            if let Some(entry) = entry.filter(|entry| wanted.may_accept(entry)) {
                looks += LOOKS_PER_ROW;
                if give(self.connection_row(&entry), filter, each).is_break() {
                    return Scan::More;
                }
            }
            if looks >= LOOKS {
                return Scan::More;
            }
        }
        Scan::Over
    }

    /// Returns the number of connections of a family.
    pub(super) fn connection_count(&self, ipv6: bool) -> u64 {
        let (ipv4_now, ipv6_now) = self.connections.totals();
        u64::from(if ipv6 { ipv6_now } else { ipv4_now })
    }

    fn connection_row(&self, entry: &Entry) -> Row {
        let mut entry = *entry;
        let shortcuts = self.by_shortcuts(&mut entry);
        let entry = &entry;
        let now = Tick::of(self.now);
        let mut row = Row {
            id: Some(Id(entry.id.to_bits())),
            ..Row::default()
        };
        let original = &entry.original;
        row.set("protocol", Value::text(protocol_word(original.protocol)));
        ends(&mut row, &ORIGINAL, original);
        ends(&mut row, &REPLY, &entry.reply);
        match original.protocol {
            protocol::TCP => row.set("tcp-state", Value::text(entry.tcp_state.name())),
            protocol::ICMP | protocol::ICMPV6 => {
                let [kind, code] = original.destination_port.to_be_bytes();
                row.set("icmp-type", number(kind.into()));
                row.set("icmp-code", number(code.into()));
                row.set("icmp-id", number(original.source_port.into()));
            }
            protocol::GRE => {
                if let Some(gre) = entry.gre {
                    row.set("gre-protocol", number(gre.protocol.into()));
                    row.set("gre-version", number(gre.version.into()));
                    if let Some(key) = gre.key {
                        row.set("gre-key", number(key.into()));
                    }
                }
            }
            _ => {}
        }
        if entry.helper != Helper::None {
            row.set("connection-type", Value::text(entry.helper.name()));
        }
        let timeout = entry.timeout(now);
        row.set("timeout", Value::Time(i64::from(timeout) * 1_000_000_000));
        if let Some(mark) = self.firewall.connection_mark(entry.mark) {
            row.set("connection-mark", Value::text(&**mark));
        }
        count(&mut row, entry, &shortcuts, now);
        row.flag("hw-offload", shortcuts.iter().any(Option::is_some));
        if let Some(reason) = self.slow_reason(entry) {
            row.set("slow-path-reason", Value::text(reason));
        }
        flags(&mut row, entry, timeout);
        row
    }

    /// Returns the traffic of each direction on shortcuts that was not yet collected when the entry was read. Reads the
    /// entry again if some was collected meanwhile.
    fn by_shortcuts(&self, entry: &mut Entry) -> [Option<Traffic>; 2] {
        const ATTEMPTS: usize = 3;
        if !matches!(entry.original.protocol, protocol::TCP | protocol::UDP) {
            return [None; 2];
        }
        let mut waits = [None; 2];
        for _ in 0..ATTEMPTS {
            waits = [(&entry.original, false), (&entry.reply, true)]
                .map(|(tuple, reply)| self.workers.waiting(tuple, entry.token(reply)));
            if waits == [None; 2] {
                break;
            }
            let counted = |entry: &Entry| entry.directions.map(|direction| direction.traffic);
            match self.connections.row(entry.id) {
                Some(now) if counted(&now) != counted(entry) => *entry = now,
                _ => break,
            }
        }
        waits
    }

    /// Returns why FastTrack does not carry a connection.
    pub(super) fn slow_reason(&self, entry: &Entry) -> Option<&'static str> {
        let ipv6 = entry.original.ipv6;
        let allowed = match ipv6 {
            true => self.intent.ipv6.allow_fast_path,
            false => self.intent.ipv4.allow_fast_path,
        };
        if !matches!(entry.original.protocol, protocol::TCP | protocol::UDP) {
            Some("FastTrack carries TCP and UDP")
        } else if !allowed {
            Some("allow-fast-path=no")
        } else if entry.fasttrack {
            None
        } else if entry.helper != Helper::None && !entry.expected {
            Some("a helper reads its messages")
        } else if !self.firewall.fasttracks(ipv6) {
            Some("no rule has action=fasttrack-connection")
        } else {
            Some("no fasttrack-connection rule has matched it")
        }
    }

    /// Removes connections from their owners' tables.
    pub(super) fn forget_connections(&mut self, items: &[Id]) -> Result<Reply, Reason> {
        for Id(bits) in items {
            let id = EntryId::from_bits(*bits);
            if self.connections.row(id).is_none() {
                return Err(Reason::NoItem);
            }
            self.workers.send(id.slot.worker(), Command::Forget(id));
        }
        Ok(Reply::default())
    }
}

/// Filters entries before their row is built: a search for one of a million connections must not format every
/// connection.
#[derive(Debug, Default)]
struct EntryFilter {
    protocol: Option<Option<u8>>,
    addresses: [Option<Option<u128>>; 4],
    ports: [Option<i64>; 4],
    fasttrack: Option<bool>,
    tcp_state: Option<TcpState>,
}

impl EntryFilter {
    fn new(filter: &RowFilter<'_>) -> Self {
        let mut wanted = Self::default();
        for (name, value) in &filter.equals {
            let place = |names: [&str; 4]| names.iter().position(|own| own == name);
            if let Some(place) = place(ADDRESSES) {
                let address = value.as_str().and_then(|text| text.parse::<IpAddr>().ok());
                wanted.addresses[place] = Some(address.map(bits));
            } else if let Some(place) = place(PORTS) {
                wanted.ports[place] = value.as_number();
            }
            match (*name, value) {
                ("protocol", value) => {
                    wanted.protocol = Some(value.as_str().and_then(protocol_number));
                }
                ("fasttrack", Value::Bool(on)) => wanted.fasttrack = Some(*on),
                ("tcp-state", value) => {
                    let mut states = TcpState::ALL.into_iter();
                    wanted.tcp_state = states.find(|state| Some(state.name()) == value.as_str());
                }
                _ => {}
            }
        }
        wanted
    }

    /// Whether the filter may accept the row of an entry.
    fn may_accept(&self, entry: &Entry) -> bool {
        let tuples = [&entry.original, &entry.reply];
        let ends = tuples.map(|tuple| {
            [
                (tuple.source, tuple.source_port),
                (tuple.destination, tuple.destination_port),
            ]
        });
        let ends = ends.as_flattened();
        let addresses = self.addresses.iter().zip(ends);
        let mut addresses =
            addresses.map(|(wanted, (address, _))| wanted.is_none_or(|w| w == Some(*address)));
        let ports = self.ports.iter().zip(ends);
        let mut ports =
            ports.map(|(wanted, (_, port))| wanted.is_none_or(|w| w == i64::from(*port)));
        let tcp = entry.original.protocol == protocol::TCP;
        self.protocol
            .is_none_or(|wanted| wanted == Some(entry.original.protocol))
            && self.fasttrack.is_none_or(|on| on == entry.fasttrack)
            && self
                .tcp_state
                .is_none_or(|state| tcp && state == entry.tcp_state)
            && addresses.all(|fits| fits)
            && ports.all(|fits| fits)
    }
}

/// Cell names of both endpoints: of the source, of the destination.
struct EndpointCells {
    addresses: [&'static str; 2],
    ports: [&'static str; 2],
}

const ADDRESSES: [&str; 4] = [
    "src-address",
    "dst-address",
    "reply-src-address",
    "reply-dst-address",
];
const PORTS: [&str; 4] = ["src-port", "dst-port", "reply-src-port", "reply-dst-port"];
const ORIGINAL: EndpointCells = EndpointCells {
    addresses: [ADDRESSES[0], ADDRESSES[1]],
    ports: [PORTS[0], PORTS[1]],
};
const REPLY: EndpointCells = EndpointCells {
    addresses: [ADDRESSES[2], ADDRESSES[3]],
    ports: [PORTS[2], PORTS[3]],
};

fn ends(row: &mut Row, cells: &EndpointCells, tuple: &Tuple) {
    let address = |bits: u128| match tuple.ipv6 {
        true => Value::text(Ipv6Addr::from(bits).to_string()),
        false => Value::text(Ipv4Addr::from(bits as u32).to_string()),
    };
    row.set(cells.addresses[0], address(tuple.source));
    row.set(cells.addresses[1], address(tuple.destination));
    if tuple.has_ports() {
        row.set(cells.ports[0], number(tuple.source_port.into()));
        row.set(cells.ports[1], number(tuple.destination_port.into()));
    }
}

/// Adds counters to a row; `waits` contains traffic of both directions that workers have not collected yet.
fn count(row: &mut Row, entry: &Entry, waits: &[Option<Traffic>; 2], now: Tick) {
    let rates = entry.rates_bps(now);
    let mut directions = entry.directions;
    for (direction, waits) in directions.iter_mut().zip(waits) {
        let waits = waits.unwrap_or_default();
        direction.traffic += waits;
        if entry.fasttrack {
            direction.fasttrack += waits;
        }
    }
    let [original, reply] = directions;
    for (name, count) in [
        ("orig-packets", original.traffic.packets),
        ("orig-bytes", original.traffic.bytes),
        ("orig-fasttrack-packets", original.fasttrack.packets),
        ("orig-fasttrack-bytes", original.fasttrack.bytes),
        ("repl-packets", reply.traffic.packets),
        ("repl-bytes", reply.traffic.bytes),
        ("repl-fasttrack-packets", reply.fasttrack.packets),
        ("repl-fasttrack-bytes", reply.fasttrack.bytes),
    ] {
        row.set(name, number(count));
    }
    row.set("orig-rate", bit_rate(rates[0]));
    row.set("repl-rate", bit_rate(rates[1]));
}

fn flags(row: &mut Row, entry: &Entry, timeout: u32) {
    let is = |state: NatState| entry.nat.0 & state.0 != 0;
    for (name, on) in [
        ("expected", entry.expected),
        ("seen-reply", entry.seen_reply),
        ("assured", entry.assured),
        // The table contains confirmed connections only.
        ("confirmed", true),
        ("dying", timeout == 0),
        ("fasttrack", entry.fasttrack),
        ("srcnat", is(NatState::SRCNAT)),
        ("dstnat", is(NatState::DSTNAT)),
        (
            "uses-helper",
            entry.helper != Helper::None && !entry.expected,
        ),
    ] {
        row.flag(name, on);
    }
}

fn protocol_word(number: u8) -> String {
    match protocol_name(number) {
        Some(name) => name.to_owned(),
        None => number.to_string(),
    }
}

fn protocol_number(word: &str) -> Option<u8> {
    (0..=u8::MAX).find(|number| protocol_word(*number) == word)
}

fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}
