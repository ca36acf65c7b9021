//! Values of SNMP objects, read from the running router.

use core::cell::RefCell;
use core::net::Ipv4Addr;

use frame::InterfaceId;
use service::snmp::mib::{self, Scalar, Source, Table};
use service::snmp::{Oid, Value};

use super::index::Index;
use super::read::Settings;
use super::rows::{Cache, Menus};
use crate::compile::LayoutEntry;
use crate::kind::IfType;
use crate::running::Running;

/// Row numbers in `hrStorageTable` and `entPhysicalTable` (RouterOS).
const MEMORY: u32 = 65_536;
const DISK: u32 = 131_072;
const SYSTEM: u32 = 65_536;
/// Row of `dskTable` for the disk with the configuration.
const STORE: u32 = 1;
/// Allocation unit in bytes.
const UNIT: u64 = 1_024;

/// The running router as a source of SNMP values.
#[derive(Clone, Copy)]
pub(super) struct Live<'a> {
    pub(super) settings: &'a Settings,
    pub(super) index: &'a Index,
    pub(super) running: &'a Running<'a>,
    pub(super) menus: &'a Menus<'a>,
    pub(super) cache: &'a RefCell<Cache>,
}

/// Returns the number of routes: `known` of the RIB if the table was cut, otherwise `shown`.
fn routes(shown: usize, known: usize) -> u32 {
    let count = if shown < super::rows::ROWS {
        shown
    } else {
        known
    };
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Source for Live<'_> {
    fn scalar(&self, scalar: Scalar) -> Option<Value> {
        let running = self.running;
        let known = running.counted.resources;
        Some(match scalar {
            Scalar::Description => Value::text(format!("RouterOS {}", running.counted.board())),
            Scalar::Kind => Value::Oid(mib::KIND.to_vec()),
            Scalar::Uptime => Value::Ticks(self.uptime()),
            Scalar::Contact => Value::text(&self.settings.contact),
            Scalar::Name => Value::text(&running.intent.identity),
            Scalar::Location => Value::text(&self.settings.location),
            // Layers 2, 3, 4 and 7 (RFC 3418).
            Scalar::Services => Value::Integer(78),
            Scalar::Interfaces => Value::Integer(self.index.len() as i32),
            Scalar::Forwarding => Value::Integer(if running.intent.ipv4.forward { 1 } else { 2 }),
            Scalar::Lifetime => Value::Integer(64),
            Scalar::Memory => Value::Integer(clamped(known.total_memory / UNIT)),
            Scalar::Frequency if known.cpu_frequency > 0 => {
                Value::Integer(clamped(known.cpu_frequency))
            }
            Scalar::Version => {
                let version = known.version.split(' ').next();
                Value::text(version.unwrap_or_default())
            }
            Scalar::BuildTime => Value::text(&known.build_time),
            Scalar::Board => Value::text(running.counted.board()),
            Scalar::Connections => {
                let (ipv4, ipv6) = running.counted.connections.totals();
                Value::Gauge32(ipv4.saturating_add(ipv6))
            }
            Scalar::Connections4 => Value::Gauge32(running.counted.connections.totals().0),
            Scalar::Connections6 => Value::Gauge32(running.counted.connections.totals().1),
            // RouterOS leaves the serial number of foreign hardware empty. The licence level is
            // always 6.
            Scalar::Serial | Scalar::SoftwareId => Value::text(""),
            Scalar::Licence => Value::Integer(6),
            Scalar::Routes => Value::Gauge32(self.routes()),
            Scalar::Leases => {
                let leases = self.menus.count("/ip/dhcp-server/lease");
                Value::Gauge32(u32::try_from(leases).unwrap_or(u32::MAX))
            }
            Scalar::Tcp(number) => tcp(number, &known.tcp)?,
            Scalar::Udp(number) => {
                let counted = known.udp.get(usize::from(number).checked_sub(1)?)?;
                Value::wrapped(*counted as u64)
            }
            Scalar::BridgeAddress
            | Scalar::BridgePorts
            | Scalar::BridgeType
            | Scalar::SpanningTree
            | Scalar::SpanningTreePriority => self.bridge(scalar)?,
            Scalar::Lldp(number) => self.lldp(number)?,
            Scalar::Frequency => return None,
        })
    }

    fn after(&self, table: Table, index: &[u32]) -> Option<Oid> {
        let among = |rows: &[u32]| {
            let mut rows = rows.iter();
            rows.find(|row| [**row][..] > *index).map(|row| vec![*row])
        };
        match table {
            Table::Interfaces | Table::MoreOfInterfaces | Table::Statistics => {
                let next = self.index.after(index.first().copied());
                next.map(|number| vec![number])
            }
            Table::Addresses => {
                let next = self.index.address_after(index)?;
                Some(next.octets().map(u32::from).to_vec())
            }
            Table::Storage => among(&[MEMORY, DISK]),
            Table::Entities => among(&[SYSTEM]),
            Table::Disks => among(&[STORE]),
            Table::Processors => {
                let next = index.first().map_or(1, |core| core.saturating_add(1));
                (1..=self.cores()).contains(&next).then(|| vec![next])
            }
            Table::Devices => self.after(Table::Processors, index),
            made => self.with_rows(made, |rows| Cache::after(rows, index)),
        }
    }

    fn cell(&self, table: Table, column: u32, index: &[u32]) -> Option<Value> {
        match (table, index) {
            (Table::Interfaces, [number]) => self.interface(column, *number),
            (Table::MoreOfInterfaces, [number]) => self.more_of_interface(column, *number),
            (Table::Statistics, [number]) => self.statistic(column, *number),
            (Table::Addresses, [a, b, c, d]) => {
                let part = |part: &u32| u8::try_from(*part).ok();
                let address = Ipv4Addr::new(part(a)?, part(b)?, part(c)?, part(d)?);
                self.address(column, address)
            }
            (Table::Storage, [row]) => self.storage(column, *row),
            (Table::Processors, [core]) => self.processor(column, *core),
            (Table::Disks, [STORE]) => Some(stored(column, self.running.counted.storage_fault)),
            (Table::Entities, [SYSTEM]) => {
                let counted = &self.running.counted;
                let version = &counted.resources.version;
                let text = format!("RouterOS {version} on {}", counted.board());
                Some(Value::text(text))
            }
            (Table::Devices, [core]) => self.device(column, *core),
            (Table::Entities | Table::Disks, _) => None,
            (made, index) => self.with_rows(made, |rows| Cache::cell(rows, column, index)),
        }
    }
}

/// Returns an object of the `tcp` group. `counted` has Linux's counters in the order of the
/// objects, without tcpConnTable (13).
fn tcp(number: u8, counted: &[i64]) -> Option<Value> {
    let at = match number {
        1..=12 => number - 1,
        _ => number - 2,
    };
    let value = *counted.get(usize::from(at))?;
    Some(match number {
        1..=4 => Value::Integer(i32::try_from(value).unwrap_or(i32::MAX)),
        9 => Value::amount(value.max(0) as u64),
        _ => Value::wrapped(value as u64),
    })
}

/// Returns a cell of `dskTable` for the disk with the configuration.
pub(super) fn stored(column: u32, fault: &str) -> Value {
    match column {
        1 => Value::Integer(STORE as i32),
        2 => Value::text("configuration"),
        100 => Value::Integer(i32::from(!fault.is_empty())),
        _ => Value::text(fault),
    }
}

fn clamped(amount: u64) -> i32 {
    i32::try_from(amount).unwrap_or(i32::MAX)
}

impl Live<'_> {
    /// Returns hundredths of a second since the start; the value wraps after 497 days.
    fn uptime(&self) -> u32 {
        let running = self.running;
        let since = running.now.saturating_since(running.counted.started);
        (since.as_millis() / 10) as u32
    }

    fn with_rows<T>(&self, table: Table, read: impl FnOnce(&super::rows::Rows) -> T) -> T {
        let mut cache = self.cache.borrow_mut();
        read(cache.rows(table, self.menus, self.running.now))
    }

    fn routes(&self) -> u32 {
        let shown = self.with_rows(Table::Routes, std::collections::BTreeMap::len);
        routes(shown, self.running.rib4.len())
    }

    /// Returns an object of the first bridge; BRIDGE-MIB supports only one.
    fn bridge(&self, scalar: Scalar) -> Option<Value> {
        const TRANSPARENT: i32 = 2;
        const IEEE_802_1D: i32 = 3;
        const PRIORITY: i32 = 32_768;
        let bridge = self.menus.first("/interface/bridge")?;
        Some(match scalar {
            Scalar::BridgeAddress => {
                let mac = bridge.get("mac-address").and_then(menu::Value::as_mac);
                Value::Octets(mac.unwrap_or_default().to_vec())
            }
            Scalar::BridgePorts => {
                let ports = self.with_rows(Table::BridgePorts, std::collections::BTreeMap::len);
                Value::Integer(clamped(ports as u64))
            }
            Scalar::BridgeType => Value::Integer(TRANSPARENT),
            Scalar::SpanningTree => Value::Integer(IEEE_802_1D),
            _ => {
                let priority = bridge.get("priority");
                let priority = match priority {
                    Some(menu::Value::Hex(priority)) => i32::try_from(*priority).ok(),
                    _ => None,
                };
                Value::Integer(priority.unwrap_or(PRIORITY))
            }
        })
    }

    /// Returns an LLDP object of this router: chassis id subtype, chassis id, name, description.
    fn lldp(&self, number: u8) -> Option<Value> {
        const MAC_ADDRESS: i32 = 4;
        let mut macs = self.running.layout.interfaces.values();
        let mac = macs.find_map(|laid| (laid.link.mac.0 != [0; 6]).then_some(laid.link.mac.0));
        Some(match number {
            1 => Value::Integer(MAC_ADDRESS),
            2 => Value::Octets(mac.unwrap_or_default().to_vec()),
            3 => self.scalar(Scalar::Name)?,
            _ => self.scalar(Scalar::Description)?,
        })
    }

    /// Returns a cell of `hrDeviceTable`, where each row is a running processor.
    fn device(&self, column: u32, core: u32) -> Option<Value> {
        if !(1..=self.cores()).contains(&core) {
            return None;
        }
        Some(match column {
            1 => Value::Integer(clamped(core.into())),
            2 => Value::Oid(vec![1, 3, 6, 1, 2, 1, 25, 3, 1, 3]),
            3 => Value::text(&self.running.counted.resources.cpu),
            4 => Value::Oid(vec![0, 0]),
            5 => Value::Integer(2),
            _ => Value::Counter32(0),
        })
    }

    fn cores(&self) -> u32 {
        self.running.counted.resources.cores.len() as u32
    }

    fn laid(&self, number: u32) -> Option<(InterfaceId, &LayoutEntry)> {
        let id = self.index.interface(number)?;
        Some((id, self.running.layout.interfaces.get(&id)?))
    }

    fn interface(&self, column: u32, number: u32) -> Option<Value> {
        let (id, laid) = self.laid(number)?;
        let traffic = || self.running.counted.traffic(id, self.running.now);
        let state = |up: bool| Value::Integer(if up { 1 } else { 2 });
        Some(match column {
            1 => Value::Integer(clamped(number.into())),
            2 => Value::text(&*laid.name),
            3 => Value::Integer(self.kind(laid)),
            4 => Value::Integer(clamped(laid.link.mtu.into())),
            5 => Value::amount(u64::from(laid.speed_mbps) * 1_000_000),
            6 if laid.link.mac.0 == [0; 6] => Value::Octets(Vec::new()),
            6 => Value::Octets(laid.link.mac.0.to_vec()),
            7 => state(!laid.disabled),
            8 => state(laid.runs()),
            9 => Value::Ticks(0),
            10 => Value::wrapped(traffic().rx.bytes),
            11 => Value::wrapped(traffic().rx.packets),
            13 => Value::wrapped(traffic().rx_drop),
            16 => Value::wrapped(traffic().tx.bytes),
            17 => Value::wrapped(traffic().tx.packets),
            19 => Value::wrapped(traffic().tx_drop),
            21 => Value::Gauge32(0),
            // Multicast packets are not counted separately, and drivers do not report damaged
            // frames.
            _ => Value::Counter32(0),
        })
    }

    fn more_of_interface(&self, column: u32, number: u32) -> Option<Value> {
        let (id, laid) = self.laid(number)?;
        let traffic = || self.running.counted.traffic(id, self.running.now);
        let truth = |is: bool| Value::Integer(if is { 1 } else { 2 });
        Some(match column {
            1 => Value::text(&*laid.name),
            6 => Value::Counter64(traffic().rx.bytes),
            7 => Value::Counter64(traffic().rx.packets),
            10 => Value::Counter64(traffic().tx.bytes),
            11 => Value::Counter64(traffic().tx.packets),
            8 | 9 | 12 | 13 => Value::Counter64(0),
            14 => truth(self.settings.tells_of(&laid.name)),
            15 => Value::Gauge32(laid.speed_mbps),
            16 => truth(false),
            17 => truth(laid.port_name.is_some()),
            18 => {
                let item = self.index.item(laid.item);
                Value::text(item.map_or("", |(_, comment)| comment))
            }
            19 => Value::Ticks(0),
            _ => Value::Counter32(0),
        })
    }

    fn statistic(&self, column: u32, number: u32) -> Option<Value> {
        let (id, laid) = self.laid(number)?;
        let traffic = || self.running.counted.traffic(id, self.running.now);
        Some(match column {
            2 => Value::text(&*laid.name),
            11 => Value::Counter64(traffic().rx.bytes),
            12 => Value::Counter64(traffic().rx.packets),
            13 => Value::Counter64(traffic().tx.bytes),
            _ => Value::Counter64(traffic().tx.packets),
        })
    }

    fn kind(&self, laid: &LayoutEntry) -> i32 {
        let interface = self.running.intent.interfaces.get(&laid.item);
        let kind = interface.map(|interface| interface.kind.if_type(interface.class));
        kind.unwrap_or(IfType::Other) as i32
    }

    fn address(&self, column: u32, address: Ipv4Addr) -> Option<Value> {
        let (id, len) = self.index.address(address)?;
        let mask = u32::MAX.checked_shl(32 - u32::from(len)).unwrap_or(0);
        Some(match column {
            1 => Value::Address(address.octets()),
            2 => Value::Integer(clamped(self.index.number_of(id)?.into())),
            3 => Value::Address(mask.to_be_bytes()),
            // The low bit of the broadcast address.
            _ => Value::Integer(1),
        })
    }

    fn storage(&self, column: u32, row: u32) -> Option<Value> {
        let known = self.running.counted.resources;
        let (last, name, total, free) = match row {
            MEMORY => (2, "main memory", known.total_memory, known.free_memory),
            DISK => (4, "system disk", known.total_disk, known.free_disk),
            _ => return None,
        };
        Some(match column {
            1 => Value::Integer(clamped(row.into())),
            2 => Value::Oid(vec![1, 3, 6, 1, 2, 1, 25, 2, 1, last]),
            3 => Value::text(name),
            4 => Value::Integer(UNIT as i32),
            5 => Value::Integer(clamped(total / UNIT)),
            6 => Value::Integer(clamped(total.saturating_sub(free) / UNIT)),
            _ => Value::Counter32(0),
        })
    }

    fn processor(&self, column: u32, core: u32) -> Option<Value> {
        let at = usize::try_from(core).ok()?.checked_sub(1)?;
        let load = self.running.counted.resources.cores.get(at)?.load;
        Some(match column {
            1 => Value::Oid(vec![0, 0]),
            _ => Value::Integer(clamped(load)),
        })
    }
}
