//! SNMP tables built from menu rows: queues, ARP, routes, bridges, neighbours.
//!
//! A walk requests every cell of a table, so each table is built once and cached for a second.
//! Tables are cut to a maximum number of rows.

use core::cell::OnceCell;
use core::net::{IpAddr, Ipv4Addr};
use core::ops::{Bound, ControlFlow};
use std::collections::BTreeMap;

use machine::{Duration, Instant};
use menu::{Live, Row, RowFilter, Store, Value as Cell, stream_rows};
use service::snmp::mib::Table;
use service::snmp::{Oid, Value};

use super::index::{BY_NAME, Index, number_of_name};
use crate::object::DYNAMIC;
use crate::running::Running;

/// Lifetime of a cached table.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum rows of a table: a walk of a full routing table would keep control busy.
pub(super) const ROWS: usize = 16_384;

/// Rows of a table by index, each with its columns and values.
pub(super) type Rows = BTreeMap<Oid, Vec<(u32, Value)>>;

/// Cached tables.
#[derive(Debug, Default)]
pub(super) struct Cache(BTreeMap<Table, (Instant, Rows)>);

impl Cache {
    /// Returns the rows of a table. Rebuilds a table older than a second.
    pub(super) fn rows(&mut self, table: Table, menus: &Menus<'_>, now: Instant) -> &Rows {
        let entry = self.0.entry(table);
        let (_, rows) = entry
            .and_modify(|(made, rows)| {
                if now.saturating_since(*made) >= FRESH {
                    (*made, *rows) = (now, menus.make(table));
                }
            })
            .or_insert_with(|| (now, menus.make(table)));
        rows
    }

    /// Returns the index of the first row after an index.
    pub(super) fn after(rows: &Rows, index: &[u32]) -> Option<Oid> {
        let behind = (Bound::Excluded(index), Bound::Unbounded);
        let mut behind = rows.range::<[u32], _>(behind);
        behind.next().map(|(index, _)| index.clone())
    }

    /// Returns a cell of a row.
    pub(super) fn cell(rows: &Rows, column: u32, index: &[u32]) -> Option<Value> {
        let mut cells = rows.get(index)?.iter();
        let found = cells.find(|(number, _)| *number == column);
        found.map(|(_, value)| value.clone())
    }
}

/// Access to the menus of the running router and to interface numbers.
pub(super) struct Menus<'a> {
    store: &'a Store,
    live: &'a dyn Live,
    index: &'a Index,
    running: &'a Running<'a>,
    /// Interface numbers by name, built on first use.
    numbers: OnceCell<BTreeMap<&'a str, u32>>,
}

impl<'a> Menus<'a> {
    pub(super) const fn new(
        store: &'a Store,
        live: &'a dyn Live,
        index: &'a Index,
        running: &'a Running<'a>,
    ) -> Self {
        Self {
            store,
            live,
            index,
            running,
            numbers: OnceCell::new(),
        }
    }

    fn numbers(&self) -> &BTreeMap<&'a str, u32> {
        self.numbers
            .get_or_init(|| self.index.by_name(self.running))
    }

    fn make(&self, table: Table) -> Rows {
        match table {
            Table::SimpleQueues => self.collect("/queue/simple", |row| Some(simple_queue(row))),
            Table::QueueTrees => self.collect("/queue/tree", |row| Some(self.queue_tree(row))),
            Table::Arp => self.collect("/ip/arp", |row| self.arp(row)),
            Table::Routes => self.collect("/ip/route", |row| self.route(row)),
            Table::BridgePorts => {
                self.collect("/interface/bridge/port", |row| self.bridge_port(row))
            }
            Table::BridgeHosts => {
                self.collect("/interface/bridge/host", |row| self.bridge_host(row))
            }
            Table::LldpPorts => self.lldp_ports(),
            Table::LldpNeighbours => self.collect("/ip/neighbor", |row| self.lldp_neighbour(row)),
            Table::Neighbours => self.collect("/ip/neighbor", |row| self.neighbour(row)),
            _ => Rows::new(),
        }
    }

    /// Returns the number of rows of a menu.
    pub(super) fn count(&self, path: &str) -> usize {
        let mut count = 0;
        self.each(path, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        count
    }

    /// Returns the first row of a menu.
    pub(super) fn first(&self, path: &str) -> Option<Row> {
        let mut first = None;
        self.each(path, &mut |row| {
            first = Some(row);
            ControlFlow::Break(())
        });
        first
    }

    fn each(&self, path: &str, each: &mut dyn FnMut(Row) -> ControlFlow<()>) {
        if let Some(menu) = self.store.menu(path) {
            let _ = stream_rows(self.store, self.live, menu, &RowFilter::default(), each);
        }
    }

    /// Builds a table from the rows that have an index. The first row with an index wins.
    fn collect(&self, path: &str, make: impl Fn(&Row) -> Option<(Oid, Vec<(u32, Value)>)>) -> Rows {
        let mut rows = Rows::new();
        self.each(path, &mut |row| {
            if let Some((index, cells)) = make(&row) {
                rows.entry(index).or_insert(cells);
            }
            match rows.len() < ROWS {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        rows
    }

    fn number(&self, interface: &str) -> Option<u32> {
        self.numbers().get(interface).copied()
    }

    fn queue_tree(&self, row: &Row) -> (Oid, Vec<(u32, Value)>) {
        let parent = text(row, "parent");
        let parent = self.number(&parent).unwrap_or_default();
        let (bytes, packets) = (number(row, "bytes"), number(row, "packets"));
        let cells = [
            Value::text(text(row, "name")),
            Value::text(text(row, "packet-mark")),
            integer(parent),
            Value::wrapped(bytes),
            Value::wrapped(packets),
            Value::Counter64(bytes),
            Value::wrapped(number(row, "pcq-queues")),
            Value::wrapped(number(row, "dropped")),
        ];
        (vec![row_number(row)], numbered(2, cells))
    }

    fn arp(&self, row: &Row) -> Option<(Oid, Vec<(u32, Value)>)> {
        const DYNAMIC: i32 = 3;
        const STATIC: i32 = 4;
        let interface = self.number(&text(row, "interface"))?;
        let address = address(row, "address")?;
        let mac = row.get("mac-address").and_then(Cell::as_mac)?;
        let kind = if row.is("dynamic") { DYNAMIC } else { STATIC };
        let cells = [
            integer(interface),
            Value::Octets(mac.to_vec()),
            Value::Address(address.octets()),
            Value::Integer(kind),
        ];
        Some((indexed([interface], address), numbered(1, cells)))
    }

    fn route(&self, row: &Row) -> Option<(Oid, Vec<(u32, Value)>)> {
        if !row.is("active") || text(row, "routing-table") != "main" {
            return None;
        }
        let net = row.get("dst-address").and_then(Cell::as_prefix)?;
        let (IpAddr::V4(to), IpAddr::V4(mask)) = (net.network(), net.netmask()) else {
            return None;
        };
        let way = text(row, "immediate-gw");
        let way = way.split(',').next().unwrap_or_default();
        let (hop, interface) = way.split_once('%').unwrap_or(("", way));
        let hop: Ipv4Addr = hop.parse().unwrap_or(Ipv4Addr::UNSPECIFIED);
        let mut index = indexed([], to);
        index.extend(mask.octets().map(u32::from));
        index.push(0);
        index.extend(hop.octets().map(u32::from));
        let unused = || Value::Integer(-1);
        let cells = [
            Value::Address(to.octets()),
            Value::Address(mask.octets()),
            Value::Integer(0),
            Value::Address(hop.octets()),
            integer(self.number(interface).unwrap_or_default()),
            Value::Integer(route_kind(row, interface)),
            Value::Integer(route_protocol(row)),
            Value::Integer(0),
            Value::Oid(vec![0, 0]),
            Value::Integer(0),
            integer(number(row, "distance") as u32),
            unused(),
            unused(),
            unused(),
            unused(),
            Value::Integer(1),
        ];
        Some((index, numbered(1, cells)))
    }

    fn bridge_port(&self, row: &Row) -> Option<(Oid, Vec<(u32, Value)>)> {
        let interface = self.number(&text(row, "interface"))?;
        let cells = [
            integer(interface),
            integer(interface),
            Value::Oid(vec![0, 0]),
            Value::Counter32(0),
            Value::Counter32(0),
        ];
        Some((vec![interface], numbered(1, cells)))
    }

    fn bridge_host(&self, row: &Row) -> Option<(Oid, Vec<(u32, Value)>)> {
        const LEARNED: i32 = 3;
        const OWN: i32 = 4;
        let mac = row.get("mac-address").and_then(Cell::as_mac)?;
        let port = self.number(&text(row, "on-interface")).unwrap_or_default();
        let kind = if row.is("local") { OWN } else { LEARNED };
        let cells = [
            Value::Octets(mac.to_vec()),
            integer(port),
            Value::Integer(kind),
        ];
        Some((mac.map(u32::from).to_vec(), numbered(1, cells)))
    }

    fn lldp_ports(&self) -> Rows {
        const INTERFACE_NAME: i32 = 5;
        let rows = self.numbers().iter().map(|(name, number)| {
            let cells = [
                Value::Integer(INTERFACE_NAME),
                Value::text(name),
                Value::text(name),
            ];
            (vec![*number], numbered(2, cells))
        });
        rows.take(ROWS).collect()
    }

    fn lldp_neighbour(&self, row: &Row) -> Option<(Oid, Vec<(u32, Value)>)> {
        const MAC_ADDRESS: i32 = 4;
        const INTERFACE_NAME: i32 = 5;
        let interface = self.interface_of_neighbour(row)?;
        let mac = row.get("mac-address").and_then(Cell::as_mac)?;
        let description = match text(row, "system-description") {
            none if none.is_empty() => {
                format!("{} {}", text(row, "platform"), text(row, "version"))
            }
            description => description,
        };
        let cells = [
            Value::Integer(MAC_ADDRESS),
            Value::Octets(mac.to_vec()),
            Value::Integer(INTERFACE_NAME),
            Value::text(text(row, "interface-name")),
            Value::text(""),
            Value::text(text(row, "identity")),
            Value::text(description.trim()),
            capabilities(&text(row, "system-caps")),
            capabilities(&text(row, "system-caps-enabled")),
        ];
        Some((vec![0, interface, row_number(row)], numbered(4, cells)))
    }

    fn neighbour(&self, row: &Row) -> Option<(Oid, Vec<(u32, Value)>)> {
        let mac = row.get("mac-address").and_then(Cell::as_mac);
        let address = address(row, "address").unwrap_or(Ipv4Addr::UNSPECIFIED);
        let cells = [
            Value::Address(address.octets()),
            Value::Octets(mac.map(|mac| mac.to_vec()).unwrap_or_default()),
            Value::text(text(row, "version")),
            Value::text(text(row, "platform")),
            Value::text(text(row, "identity")),
            Value::text(text(row, "software-id")),
            integer(self.interface_of_neighbour(row)?),
        ];
        Some((vec![row_number(row)], numbered(2, cells)))
    }

    /// Returns the interface of a neighbour: the first one in its row, where ports precede bridges.
    fn interface_of_neighbour(&self, row: &Row) -> Option<u32> {
        let names = text(row, "interface");
        names.split(',').find_map(|name| self.number(name))
    }
}

fn simple_queue(row: &Row) -> (Oid, Vec<(u32, Value)>) {
    let target = row.get("target").map(Cell::as_list).unwrap_or_default();
    let target = target.iter().find_map(Cell::as_prefix);
    let (address, mask) = match target.map(|net| (net.network(), net.netmask())) {
        Some((IpAddr::V4(address), IpAddr::V4(mask))) => (address, mask),
        _ => (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED),
    };
    let any = || Value::Address([0; 4]);
    let [bytes, packets, dropped, pcq] =
        ["bytes", "packets", "dropped", "pcq-queues"].map(|name| both(row, name));
    let cells = [
        Value::text(text(row, "name")),
        Value::Address(address.octets()),
        Value::Address(mask.octets()),
        any(),
        any(),
        Value::Integer(0),
        Value::Counter64(bytes.0),
        Value::Counter64(bytes.1),
        Value::wrapped(packets.0),
        Value::wrapped(packets.1),
        Value::wrapped(pcq.0),
        Value::wrapped(pcq.1),
        Value::wrapped(dropped.0),
        Value::wrapped(dropped.1),
    ];
    (vec![row_number(row)], numbered(2, cells))
}

/// Returns `ipCidrRouteType`: 2 is refused, 3 leads to a network of this router, 4 to another
/// router.
fn route_kind(row: &Row, interface: &str) -> i32 {
    match (row.is("connect"), interface.is_empty()) {
        (true, _) => 3,
        (false, true) => 2,
        (false, false) => 4,
    }
}

/// Returns `ipCidrRouteProto`: 2 local, 3 management, 8 RIP, 13 OSPF, 14 BGP.
fn route_protocol(row: &Row) -> i32 {
    let protocols = [("connect", 2), ("rip", 8), ("ospf", 13), ("bgp", 14)];
    let found = protocols.iter().find(|(flag, _)| row.is(flag));
    found.map_or(3, |(_, number)| *number)
}

/// Encodes `LldpSystemCapabilitiesMap`: one bit per word, the first word in the highest bit.
fn capabilities(words: &str) -> Value {
    const WORDS: [&str; 8] = [
        "other",
        "repeater",
        "bridge",
        "wlan-ap",
        "router",
        "telephone",
        "docsis",
        "station-only",
    ];
    let bit = |word: &str| WORDS.iter().position(|known| *known == word);
    let bits = words.split(',').filter_map(|word| bit(word.trim()));
    let bits = bits.fold(0_u8, |bits, at| bits | 0x80 >> at);
    Value::Octets(vec![bits, 0])
}

/// Returns the number of a row: its item's, or for dynamic rows one derived from the name or id.
fn row_number(row: &Row) -> u32 {
    let id = row.id.map_or(0, |id| id.0);
    let small = u32::try_from(id & !DYNAMIC)
        .ok()
        .filter(|number| *number < BY_NAME);
    match small.filter(|_| id & DYNAMIC == 0) {
        Some(number) => number,
        None => match text(row, "name") {
            name if name.is_empty() => number_of_name(&id.to_string()),
            name => number_of_name(&name),
        },
    }
}

fn numbered<const N: usize>(first: u32, cells: [Value; N]) -> Vec<(u32, Value)> {
    (first..).zip(cells).collect()
}

fn indexed<const N: usize>(before: [u32; N], address: Ipv4Addr) -> Oid {
    let octets = address.octets().map(u32::from);
    before.into_iter().chain(octets).collect()
}

fn integer(number: u32) -> Value {
    Value::Integer(i32::try_from(number).unwrap_or(i32::MAX))
}

fn text(row: &Row, name: &str) -> String {
    row.get(name).map(ToString::to_string).unwrap_or_default()
}

fn address(row: &Row, name: &str) -> Option<Ipv4Addr> {
    match row.get(name).and_then(Cell::as_address)? {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

fn count(cell: &Cell) -> u64 {
    match cell {
        Cell::Rate(number) | Cell::Number(number) => u64::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

fn number(row: &Row, name: &str) -> u64 {
    row.get(name).map_or(0, count)
}

/// Returns upload and download of a cell such as `12/34`.
fn both(row: &Row, name: &str) -> (u64, u64) {
    match row.get(name) {
        Some(Cell::Tuple(_, sides)) => {
            let side = |at: usize| sides.get(at).map_or(0, count);
            (side(0), side(1))
        }
        Some(one) => (count(one), 0),
        None => (0, 0),
    }
}
