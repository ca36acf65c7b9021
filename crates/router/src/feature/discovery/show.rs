//! Rows of `/ip/neighbor` and `/ip/neighbor/lldp`.

use core::net::IpAddr;
use std::ops::ControlFlow;

use machine::Instant;
use menu::{Id, Row, RowFilter, Value};
use service::discovery::{Announcement, Neighbour};
use wire::Mac;

use super::Neighbourhood;
use crate::live::{DYNAMIC, give};

/// Names of LLDP capabilities by bit (IEEE 802.1AB, 8.5.8).
const CAPABILITIES: [&str; 8] = [
    "other",
    "repeater",
    "bridge",
    "wlan-ap",
    "router",
    "telephone",
    "docsis",
    "station",
];
/// Names of chassis and port id subtypes (8.5.2.2, 8.5.3.2).
const OF_CHASSIS: [&str; 7] = [
    "chassis-component",
    "interface-alias",
    "port-component",
    "mac-address",
    "network-address",
    "interface-name",
    "local",
];
const OF_PORT: [&str; 7] = [
    "interface-alias",
    "port-component",
    "mac-address",
    "network-address",
    "interface-name",
    "agent-circuit-id",
    "local",
];

impl Neighbourhood {
    pub(super) fn neighbour_rows(
        &self,
        filter: &RowFilter<'_>,
        now: Instant,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for neighbour in self.machine.neighbours() {
            let told = neighbour.announcement();
            let mut row = self.row(neighbour, &told);
            for (name, text) in [
                ("identity", &told.identity),
                ("platform", &told.platform),
                ("version", &told.version),
                ("software-id", &told.software_id),
                ("board", &told.board),
                ("interface-name", &told.interface),
                ("system-description", &told.description),
            ] {
                if !text.is_empty() {
                    row.set(name, Value::text(&**text));
                }
            }
            if let Some(unpack) = told.unpack.and_then(unpack) {
                row.set("unpack", Value::text(unpack));
            }
            let age = now.saturating_since(neighbour.last_received()).as_secs();
            row.set("age", seconds(age));
            if let Some(uptime) = neighbour.uptime(now) {
                row.set("uptime", seconds(uptime));
            }
            row.set("ipv6", Value::Bool(told.ipv6.is_some()));
            if let Some((can, does)) = told.capabilities {
                row.set("system-caps", Value::text(capabilities(can)));
                row.set("system-caps-enabled", Value::text(capabilities(does)));
            }
            let by = neighbour.protocols().to_string();
            row.set("discovered-by", Value::text(by));
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    pub(super) fn lldp_rows(
        &self,
        filter: &RowFilter<'_>,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for neighbour in self.machine.neighbours() {
            let Some(told) = neighbour.lldp() else {
                continue;
            };
            let Some(lldp) = &told.lldp else { continue };
            let mut row = self.row(neighbour, told);
            for (kind, id, (subtype, name), kinds) in [
                (
                    "lldp-chassis-id-subtype",
                    "lldp-chassis-id",
                    &lldp.chassis,
                    OF_CHASSIS,
                ),
                ("lldp-port-id-subtype", "lldp-port-id", &lldp.port, OF_PORT),
            ] {
                let word = usize::from(*subtype).checked_sub(1);
                let word = word.and_then(|at| kinds.get(at)).unwrap_or(&"reserved");
                row.set(kind, Value::text(*word));
                row.set(id, Value::text(named(word, name)));
            }
            for (name, text) in [
                ("lldp-port-description", &lldp.port_description),
                ("lldp-system-name", &told.identity),
                ("lldp-system-description", &told.description),
            ] {
                if !text.is_empty() {
                    row.set(name, Value::text(&**text));
                }
            }
            row.set("lldp-ttl", seconds(lldp.ttl.into()));
            if let Some((can, does)) = told.capabilities {
                row.set("lldp-system-caps", Value::text(capabilities(can)));
                row.set("lldp-system-caps-enabled", Value::text(capabilities(does)));
            }
            give(row, filter, each)?;
        }
        ControlFlow::Continue(())
    }

    /// Returns the common cells of a neighbour's row.
    fn row(&self, neighbour: &Neighbour, told: &Announcement) -> Row {
        let mut row = Row {
            id: Some(Id(DYNAMIC | neighbour.number)),
            ..Row::default()
        };
        let names = self.names(neighbour.port);
        let names = names.into_iter().map(Value::text).collect();
        row.set("interface", Value::List(names));
        let (ipv4, ipv6) = (told.ipv4.map(IpAddr::V4), told.ipv6.map(IpAddr::V6));
        for (name, address) in [("address4", ipv4), ("address6", ipv6)] {
            if let Some(address) = address {
                row.set(name, Value::Address(address));
            }
        }
        if let Some(address) = ipv4.or(ipv6) {
            row.set("address", Value::text(address.to_string()));
        }
        row.set("mac-address", Value::Mac(neighbour.mac.0));
        row
    }
}

fn seconds(count: u64) -> Value {
    let nanos = count.saturating_mul(1_000_000_000);
    Value::Time(i64::try_from(nanos).unwrap_or(i64::MAX))
}

/// RouterOS: 1 means no packing.
fn unpack(number: u8) -> Option<&'static str> {
    (number <= 1).then_some("none")
}

fn capabilities(bits: u16) -> String {
    let its = CAPABILITIES.iter().enumerate();
    let its = its.filter(|(at, _)| bits >> at & 1 == 1);
    let names: Vec<_> = its.map(|(_, name)| *name).collect();
    names.join(",")
}

/// Formats the id of a chassis or a port.
fn named(kind: &str, name: &[u8]) -> String {
    match (kind, name) {
        ("mac-address", [a, b, c, d, e, f]) => Mac([*a, *b, *c, *d, *e, *f]).to_string(),
        // The first byte is the IANA address family number.
        ("network-address", [1, a, b, c, d]) => format!("{a}.{b}.{c}.{d}"),
        _ => {
            let text = String::from_utf8_lossy(name);
            let shown = text.chars().map(|c| if c.is_control() { '?' } else { c });
            shown.collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_they_are_meant() {
        assert_eq!(
            named("mac-address", &[2, 0, 0, 0, 0, 10]),
            "02:00:00:00:00:0A"
        );
        assert_eq!(named("network-address", &[1, 10, 0, 0, 1]), "10.0.0.1");
        assert_eq!(named("interface-name", b"swp1\x1b"), "swp1?");
        assert_eq!(capabilities(0x14), "bridge,router");
    }
}
