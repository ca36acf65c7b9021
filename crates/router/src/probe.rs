//! Packets for `/tool/trace`: builds the packet that a command describes, as it would arrive.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use dataplane::connection::NextSegment;
use dataplane::packet::{Fields, Tuple, protocol};
use menu::{Call, Reason, Value};
use wire::checksum::{self, pseudo_v4, pseudo_v6};
use wire::tcp::{Flags, Repr as Segment};
use wire::{EtherType, Mac, Protocol, ipv4, ipv6, udp};

use crate::firewall::protocol_of;

/// Description of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    /// The source.
    pub(crate) source: IpAddr,
    /// The destination, of the same family.
    pub(crate) destination: IpAddr,
    /// The protocol above IP.
    pub(crate) protocol: u8,
    /// The source port.
    pub(crate) source_port: u16,
    /// The destination port.
    pub(crate) destination_port: u16,
    /// TCP: flags as in the header, sequence number and acknowledgement number.
    pub(crate) segment: NextSegment,
    /// ICMP's type and code.
    pub(crate) icmp: (u8, u8),
    /// Identifier of an ICMP echo.
    pub(crate) icmp_id: u16,
    /// Length from the network header on, in bytes; raised to the length of the headers.
    pub(crate) size: usize,
    /// Time to live, or hop limit.
    pub(crate) ttl: u8,
    /// Differentiated services code point.
    pub(crate) dscp: u8,
    /// Link address of the sender.
    pub(crate) source_mac: Mac,
    /// VLAN tag inside the tags of the interface.
    pub(crate) vlan_id: Option<u16>,
}

/// Refuses arguments that do not apply to the protocol.
fn fits(call: &Call<'_>, number: u8, ipv6: bool) -> Result<(), Reason> {
    let said = |names: &[&'static str]| {
        let mut names = names.iter();
        names.find(|name| argument(call, name).is_some()).copied()
    };
    let icmp = if ipv6 {
        protocol::ICMPV6
    } else {
        protocol::ICMP
    };
    let has_ports = [
        protocol::TCP,
        protocol::UDP,
        protocol::SCTP,
        protocol::DCCP,
        protocol::UDP_LITE,
    ];
    let refuse = |name: &str, whose: &str| {
        let text = format!("{name} is for packets of {whose}");
        Err(Reason::failure(text))
    };
    if [protocol::ICMP, protocol::ICMPV6].contains(&number) && number != icmp {
        let (name, whose) = if ipv6 {
            ("icmp", "IPv4")
        } else {
            ("icmpv6", "IPv6")
        };
        return refuse(&format!("protocol={name}"), whose);
    }
    if let Some(name) = said(&["tcp-flags"]).filter(|_| number != protocol::TCP) {
        return refuse(name, "tcp");
    }
    if let Some(name) = said(&["icmp-type", "icmp-code", "icmp-id"]).filter(|_| number != icmp) {
        return refuse(name, "icmp");
    }
    match said(&["src-port", "dst-port"]) {
        Some(name) if !has_ports.contains(&number) => {
            refuse(name, "tcp, udp, udp-lite, sctp and dccp")
        }
        _ => Ok(()),
    }
}

/// Default link address of the sender: a documentation address (RFC 9542, 2.1.2).
const SENDER: Mac = Mac([0x00, 0x00, 0x5e, 0x00, 0x53, 0x01]);

impl Probe {
    /// Reads the arguments of a command.
    ///
    /// # Errors
    /// The addresses are of two families, or an argument does not apply to the protocol.
    pub(crate) fn of(call: &Call<'_>) -> Result<Self, Reason> {
        let value = |name: &str| argument(call, name);
        let address = |name: &str| {
            let address = value(name).and_then(Value::as_address);
            address.ok_or_else(|| Reason::no_match(name))
        };
        let number =
            |name: &str, usual: i64| value(name).and_then(Value::as_number).unwrap_or(usual);
        let (source, destination) = (address("src-address")?, address("dst-address")?);
        if source.is_ipv4() != destination.is_ipv4() {
            return Err(Reason::failure(
                "src-address and dst-address are of different families",
            ));
        }
        let echo = if source.is_ipv4() { 8 } else { 128 };
        let said = value("protocol").map(|word| protocol_of(word).ok_or(word));
        let protocol = match said {
            None => protocol::TCP,
            Some(Ok(number)) => number,
            Some(Err(_)) => return Err(Reason::no_match("protocol")),
        };
        fits(call, protocol, source.is_ipv6())?;
        let probe = Self {
            source,
            destination,
            protocol,
            source_port: number("src-port", 40_000) as u16,
            destination_port: number("dst-port", 0) as u16,
            segment: NextSegment {
                flags: value("tcp-flags").map_or(Flags::SYN.0, tcp_flags),
                seq: 1,
                ack: 0,
            },
            icmp: (
                number("icmp-type", echo) as u8,
                number("icmp-code", 0) as u8,
            ),
            icmp_id: number("icmp-id", 1) as u16,
            size: number("packet-size", 0).unsigned_abs() as usize,
            ttl: number("ttl", 64) as u8,
            dscp: number("dscp", 0) as u8,
            source_mac: value("src-mac-address")
                .and_then(Value::as_mac)
                .map_or(SENDER, Mac),
            vlan_id: value("vlan-id")
                .and_then(Value::as_number)
                .map(|id| id as u16),
        };
        match value("icmp-id") {
            Some(_) if !probe.tuple().is_query() => {
                Err(Reason::failure("icmp-id is for ICMP requests and replies"))
            }
            _ => Ok(probe),
        }
    }

    /// Builds the frame to this link address, with these tags (EtherType and VLAN), outermost first.
    pub(crate) fn frame(&self, to: Mac, tags: &[(u16, u16)]) -> Vec<u8> {
        let mut frame = [to.0, self.source_mac.0].concat();
        let own = self.vlan_id.map(|id| (EtherType::VLAN.0, id));
        for (ethertype, vlan_id) in tags.iter().copied().chain(own) {
            frame.extend(ethertype.to_be_bytes());
            frame.extend(vlan_id.to_be_bytes());
        }
        let ethertype: u16 = if self.source.is_ipv4() {
            0x0800
        } else {
            0x86dd
        };
        frame.extend(ethertype.to_be_bytes());
        frame.extend(self.packet());
        frame
    }

    /// Returns the connection tracking key of the packet.
    pub(crate) fn tuple(&self) -> Tuple {
        Fields::of(&self.packet()).tuple
    }

    /// Returns the length from the network header on, in bytes.
    pub(crate) fn len(&self) -> usize {
        let header = if self.source.is_ipv4() { 20 } else { 40 };
        header + self.upper_len(header)
    }

    /// Builds the packet.
    fn packet(&self) -> Vec<u8> {
        match (self.source, self.destination) {
            (IpAddr::V4(from), IpAddr::V4(to)) => self.ipv4(from, to),
            (IpAddr::V6(from), IpAddr::V6(to)) => self.ipv6(from, to),
            // `of` has refused it.
            _ => Vec::new(),
        }
    }

    fn ipv4(&self, from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
        let len = self.upper_len(20);
        let number = Protocol(self.protocol);
        let upper = self.upper(pseudo_v4(from, to, number, len as u16), len);
        let header = ipv4::Repr {
            tos: self.dscp << 2,
            ttl: self.ttl,
            ..ipv4::Repr::new(number, from, to)
        };
        [&header.to_bytes(len)[..], &upper].concat()
    }

    fn ipv6(&self, from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
        let len = self.upper_len(40);
        let number = Protocol(self.protocol);
        let upper = self.upper(pseudo_v6(from, to, number, len as u32), len);
        let header = ipv6::Repr {
            traffic_class: self.dscp << 2,
            hop_limit: self.ttl,
            ..ipv6::Repr::new(number, from, to)
        };
        [&header.to_bytes(len)[..], &upper].concat()
    }

    /// Returns the length behind the network header.
    fn upper_len(&self, header: usize) -> usize {
        let least = match self.protocol {
            protocol::TCP => 20,
            protocol::UDP | protocol::ICMP | protocol::ICMPV6 => 8,
            protocol::SCTP | protocol::DCCP => 12,
            _ => 0,
        };
        self.size.min(65_535).saturating_sub(header).max(least)
    }

    /// Builds the part behind the network header, with checksums where the protocol is known.
    fn upper(&self, pseudo: u16, len: usize) -> Vec<u8> {
        let mut upper = Vec::with_capacity(len);
        let ports = (self.source_port, self.destination_port);
        match self.protocol {
            protocol::TCP => {
                let segment = Segment {
                    src_port: ports.0,
                    dst_port: ports.1,
                    seq: self.segment.seq,
                    ack: self.segment.ack,
                    flags: Flags(self.segment.flags),
                    window: 65_535,
                    urgent: 0,
                };
                let data = vec![0; len.saturating_sub(20)];
                segment.emit(&[], &data, pseudo, &mut upper);
            }
            protocol::UDP => {
                let header = udp::Repr {
                    src_port: ports.0,
                    dst_port: ports.1,
                };
                let data = vec![0; len.saturating_sub(8)];
                let header = match (self.source, self.destination) {
                    (IpAddr::V4(from), IpAddr::V4(to)) => header.to_bytes_v4(&data, from, to),
                    (IpAddr::V6(from), IpAddr::V6(to)) => header.to_bytes_v6(&data, from, to),
                    _ => [0; 8],
                };
                upper.extend(header);
                upper.extend(data);
            }
            protocol::ICMP | protocol::ICMPV6 => {
                let [high, low] = self.icmp_id.to_be_bytes();
                upper.extend([self.icmp.0, self.icmp.1, 0, 0, high, low, 0, 1]);
                upper.resize(len, 0);
                let pseudo = if self.protocol == protocol::ICMP {
                    0
                } else {
                    pseudo
                };
                let sum = !checksum::combine(pseudo, checksum::sum(&upper));
                upper[2..4].copy_from_slice(&sum.to_be_bytes());
            }
            _ => {
                upper.extend(ports.0.to_be_bytes());
                upper.extend(ports.1.to_be_bytes());
                upper.resize(len, 0);
            }
        }
        upper
    }
}

/// Returns an argument of a command.
pub(crate) fn argument<'a>(call: &Call<'a>, name: &str) -> Option<&'a Value> {
    let mut arguments = call.arguments.iter();
    let found = arguments.find(|(other, _)| *other == name);
    found.map(|(_, value)| value)
}

fn tcp_flags(value: &Value) -> u8 {
    crate::firewall::tcp_flags(value).map_or(0, |(set, _)| set)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe() -> Probe {
        Probe {
            source: Ipv4Addr::new(10, 0, 0, 2).into(),
            destination: Ipv4Addr::new(192, 0, 2, 1).into(),
            protocol: protocol::TCP,
            source_port: 40_000,
            destination_port: 443,
            segment: NextSegment {
                flags: 2,
                seq: 1,
                ack: 0,
            },
            icmp: (8, 0),
            icmp_id: 1,
            size: 0,
            ttl: 64,
            dscp: 46,
            source_mac: SENDER,
            vlan_id: Some(7),
        }
    }

    #[test]
    fn a_packet_has_the_described_fields() {
        let frame = probe().frame(Mac([2; 6]), &[(0x88a8, 5)]);

        assert_eq!(frame[12..22], [0x88, 0xa8, 0, 5, 0x81, 0, 0, 7, 8, 0]);
        let packet = ipv4::Packet::new_verified(&frame[22..]).expect("a whole packet");
        let segment = wire::tcp::Segment::new_checked(packet.payload()).expect("a segment");
        segment
            .verify_v4(packet.src(), packet.dst())
            .expect("a checksum");
        let fields = Fields::of(&frame[22..]);
        assert_eq!(fields.tuple.destination_port, 443);
        assert_eq!((fields.tcp_flags, fields.tos >> 2, fields.len), (2, 46, 40));
    }

    #[test]
    fn every_protocol_of_both_families_is_built_whole() {
        for ipv6 in [false, true] {
            for number in [1, 6, 17, 47, 58, 132] {
                let mut probe = Probe {
                    protocol: number,
                    size: 200,
                    ..probe()
                };
                if ipv6 {
                    probe.source = Ipv6Addr::LOCALHOST.into();
                    probe.destination = Ipv6Addr::LOCALHOST.into();
                }
                let fields = Fields::of(&probe.packet());
                assert_eq!((fields.len, fields.truncated), (200, false), "{number}");
                assert_eq!(fields.tuple.protocol, number);
            }
        }
    }
}
