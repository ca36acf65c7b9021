//! Flow samples for collectors. Control reads the connection table in pieces, so that packets and commands do not wait.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dataplane::connection::Row;
use dataplane::packet::Tuple;
use frame::InterfaceId;
use service::flow::FlowSample;
use wire::netflow::{Moment, Record};

use super::Control;
use crate::feature::Effects;
use crate::rib::{MAIN, Target};

/// Table slots that one call reads: one or two milliseconds.
const LOOKS: usize = 8_192;

impl Control {
    /// Reads the next piece of the connection table, if it is due.
    pub(super) fn look_at_flows(&mut self, out: &mut Effects) {
        let Some((ipv6, place)) = self.features.flows.place(self.now) else {
            return;
        };
        let mut next = None;
        let mut rows = Vec::new();
        for (count, (place, row)) in self.connections.places(ipv6, place).enumerate() {
            if count >= LOOKS {
                next = Some(place);
                break;
            }
            rows.extend(row);
        }
        // The slot behind the last slot that was read.
        for row in &rows {
            for seen in self.flows_of(row) {
                self.features.flows.see(seen, self.now);
            }
        }
        let moment = self.moment();
        self.features.flows.looked(next, moment, self.now, out);
    }

    fn moment(&self) -> Moment {
        let clock = self.clock.now();
        let up = self.now.saturating_since(self.started).as_millis();
        Moment {
            // The 32-bit uptime wraps.
            up: up as u32,
            seconds: u32::try_from(clock.unix_seconds).unwrap_or(0),
            nanos: clock.nanos,
        }
    }

    /// Returns a sample for each direction of a connection.
    fn flows_of(&self, row: &Row) -> [FlowSample; 2] {
        let egress = row.egress;
        let ingress = self.leads_to(&row.original);
        let of = |reply: bool| {
            let (own, other) = match reply {
                false => (&row.original, &row.reply),
                true => (&row.reply, &row.original),
            };
            let (came, leaves) = if reply {
                (egress, ingress)
            } else {
                (ingress, egress)
            };
            let traffic = row.directions[usize::from(reply)].traffic;
            let record = Record {
                source: address(own.source, own.ipv6),
                destination: address(own.destination, own.ipv6),
                gateway: address(0, own.ipv6),
                translated: (four(other.destination), four(other.source)),
                ports: (own.source_port, own.destination_port),
                translated_ports: (other.destination_port, other.source_port),
                protocol: own.protocol,
                tcp_flags: 0,
                interfaces: (self.index(came), self.index(leaves)),
                packets: traffic.packets,
                bytes: traffic.bytes,
                first: 0,
                last: 0,
            };
            FlowSample {
                id: (row.id.to_bits(), reply),
                record,
            }
        };
        [of(false), of(true)]
    }

    /// Returns the interface that the route to a packet's source leads to.
    fn leads_to(&self, tuple: &Tuple) -> InterfaceId {
        let interface = match address(tuple.source, tuple.ipv6) {
            IpAddr::V4(source) => {
                let found = self.v4.rib.lookup(MAIN, source);
                found.and_then(|found| found.paths.first().and_then(Target::interface))
            }
            IpAddr::V6(source) => {
                let found = self.v6.rib.lookup(MAIN, source);
                found.and_then(|found| found.paths.first().and_then(Target::interface))
            }
        };
        interface.unwrap_or(InterfaceId::NONE)
    }

    /// Returns the interface number that collectors see. RouterOS: the number of the interface's id.
    fn index(&self, id: InterfaceId) -> u16 {
        let laid = self.layout.interfaces.get(&id);
        laid.map_or(0, |laid| u16::try_from(laid.item).unwrap_or(0))
    }
}

fn address(bits: u128, ipv6: bool) -> IpAddr {
    match ipv6 {
        true => Ipv6Addr::from_bits(bits).into(),
        false => four(bits).into(),
    }
}

fn four(bits: u128) -> Ipv4Addr {
    Ipv4Addr::from_bits(bits as u32)
}
