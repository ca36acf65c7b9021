//! Rows of torch and sniffer.

use core::net::IpAddr;

use frame::InterfaceId;
use machine::Instant;
use menu::{Id, Row, Value};
use sniff::{CapturedPacket, Connection, Flow, Host, Traffic, TrafficCount};

use super::ports;
use crate::firewall::{kind_name, protocol_name};
use crate::live::{bit_rate, number};
use crate::object::DYNAMIC;

/// Row of a packet. `began` is the start of the capture; `name` returns interface names.
pub(super) fn packet(
    kept: &CapturedPacket,
    began: Instant,
    name: &dyn Fn(InterfaceId) -> String,
    frame: bool,
) -> Row {
    let mut row = Row {
        id: Some(Id(DYNAMIC | kept.number)),
        ..Row::default()
    };
    let seen = &kept.seen;
    let head = &seen.head;
    let since = seen.at.saturating_since(began).as_millis();
    row.set(
        "time",
        Value::Thousandths(i64::try_from(since).unwrap_or(i64::MAX)),
    );
    row.set("num", number(kept.number));
    row.set(
        "direction",
        Value::Word(if seen.sent { "tx" } else { "rx" }),
    );
    row.set("interface", Value::text(name(seen.interface)));
    row.set("path", Value::text(seen.path.name()));
    row.set("src-mac", Value::Mac(head.src_mac.0));
    row.set("dst-mac", Value::Mac(head.dst_mac.0));
    if let Some(vlan) = head.vlan {
        row.set("vlan", number(vlan.into()));
    }
    row.set("protocol", Value::text(kind(head.kind())));
    row.set("size", number(seen.len as u64));
    row.set("cpu", number(seen.cpu.into()));
    if let Some(ip) = &head.ip {
        let ports = ip
            .ports
            .map_or((None, None), |(src, dst)| (Some(src), Some(dst)));
        row.set("src-address", Value::text(end(ip.src, ports.0)));
        row.set("dst-address", Value::text(end(ip.dst, ports.1)));
        row.set("ip-protocol", Value::text(protocol(ip.protocol)));
        row.set("ip-packet-size", number(ip.size as u64));
        row.set("ip-header-size", number(ip.header as u64));
        row.set("dscp", number(ip.dscp.into()));
        row.set("ecn", number(ip.ecn.into()));
        row.set("identification", number(ip.id.into()));
        row.set("fragment-offset", number(ip.offset as u64));
        row.set("ttl", number(ip.ttl.into()));
        if let Some(tcp) = &ip.tcp {
            row.set("tcp-flags", Value::text(flags(tcp.flags.0)));
        }
    }
    if frame {
        let bytes = kept.bytes.iter().map(|byte| format!("{byte:02x}"));
        row.set("data", Value::text(bytes.collect::<String>()));
    }
    row
}

/// Row of a flow; without a key, the row of the total or of the flows beyond the limit.
pub(super) fn flow(flow: &Flow, seconds: f64) -> Row {
    let (mut row, key) = (Row::default(), &flow.key);
    if let Some(number) = key.kind {
        row.set("mac-protocol", Value::text(kind(number)));
    }
    if let Some(vlan) = key.vlan {
        row.set("vlan-id", number(vlan.into()));
    }
    if let Some(number) = key.protocol {
        row.set("ip-protocol", Value::text(protocol(number)));
    }
    for (name, address) in [("src-address", key.src), ("dst-address", key.dst)] {
        if let Some(address) = address {
            row.set(name, Value::Address(address));
        }
    }
    for (name, port) in [("src-port", key.src_port), ("dst-port", key.dst_port)] {
        if let Some(port) = port {
            row.set(name, Value::text(ports::named(port)));
        }
    }
    if let Some(dscp) = key.dscp {
        row.set("dscp", number(dscp.into()));
    }
    traffic(&mut row, &flow.traffic, seconds);
    row
}

/// Adds the traffic per second to a row.
pub(super) fn traffic(row: &mut Row, traffic: &Traffic, seconds: f64) {
    let rate = |count: u64| (count as f64 / seconds).round() as u64;
    row.set("tx", bit_rate(rate(traffic.tx * 8)));
    row.set("rx", bit_rate(rate(traffic.rx * 8)));
    row.set("tx-packets", number(rate(traffic.tx_packets)));
    row.set("rx-packets", number(rate(traffic.rx_packets)));
}

/// A row of `/tool/sniffer/host`.
pub(super) fn host(at: usize, address: IpAddr, host: &Host) -> Row {
    let mut row = numbered(at);
    row.set("address", Value::Address(address));
    for (name, [sent, received]) in [("rate", host.rate), ("peak-rate", host.peak)] {
        row.set(name, pair(bit_rate(sent), bit_rate(received)));
    }
    let [sent, received] = host.total;
    row.set("total", pair(number(sent), number(received)));
    row
}

/// A row of `/tool/sniffer/connection`.
pub(super) fn connection(
    at: usize,
    ends: (core::net::SocketAddr, core::net::SocketAddr),
    connection: &Connection,
) -> Row {
    let mut row = numbered(at);
    row.set("active", Value::Bool(connection.active));
    for (name, socket) in [("src-address", ends.0), ("dst-address", ends.1)] {
        row.set(name, Value::text(end(socket.ip(), Some(socket.port()))));
    }
    let [from, to] = &connection.sides;
    row.set("bytes", pair(number(from.bytes), number(to.bytes)));
    row.set("resends", pair(number(from.resends), number(to.resends)));
    row.set("mss", pair(number(from.mss.into()), number(to.mss.into())));
    row
}

/// A row of `/tool/sniffer/protocol`.
pub(super) fn protocol_row(
    at: usize,
    ethertype: u16,
    ip_protocol: Option<u8>,
    port: Option<u16>,
    share: TrafficCount,
    all: TrafficCount,
) -> Row {
    let mut row = numbered(at);
    row.set("protocol", Value::text(kind(ethertype)));
    if let Some(number) = ip_protocol {
        row.set("ip-protocol", Value::text(protocol(number)));
    }
    if let Some(port) = port {
        row.set("port", Value::text(ports::named(port)));
    }
    row.set("packets", number(share.packets));
    row.set("bytes", number(share.bytes));
    let hundredths = share.bytes.saturating_mul(10_000) / all.bytes.max(1);
    let thousandths = i64::try_from(hundredths * 10).unwrap_or(i64::MAX);
    row.set("share", Value::Measured(thousandths, "%"));
    row
}

fn numbered(at: usize) -> Row {
    Row {
        id: Some(Id(DYNAMIC | at as u64)),
        ..Row::default()
    }
}

fn pair(first: Value, second: Value) -> Value {
    Value::Tuple("/", Box::new([first, second]))
}

/// Formats an endpoint of a packet: `10.0.0.1:443 (https)`, `[2001:db8::1]:53 (domain)`.
fn end(address: IpAddr, port: Option<u16>) -> String {
    match (address, port) {
        (address, None) => address.to_string(),
        (IpAddr::V4(address), Some(port)) => format!("{address}:{}", ports::named(port)),
        (IpAddr::V6(address), Some(port)) => format!("[{address}]:{}", ports::named(port)),
    }
}

fn kind(number: u16) -> String {
    /// Smaller numbers are lengths of IEEE 802.2 frames.
    const FIRST: u16 = 0x600;
    let name = if number < FIRST {
        Some("802.2")
    } else {
        kind_name(number)
    };
    name.map_or_else(|| format!("0x{number:04x}"), str::to_owned)
}

fn protocol(number: u8) -> String {
    protocol_name(number).map_or_else(|| number.to_string(), str::to_owned)
}

/// `syn,ack`: the control bits, low ones first.
fn flags(bits: u8) -> String {
    const NAMES: [&str; 8] = ["fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"];
    let set = NAMES
        .iter()
        .enumerate()
        .filter(|(bit, _)| bits >> bit & 1 != 0);
    set.map(|(_, name)| *name).collect::<Vec<_>>().join(",")
}
