//! Parses IGMP and MLD messages for snooping, and builds the bridge's queries.
//!
//! IGMPv1 and v2: RFC 2236, 2; IGMPv3: RFC 3376, 4; MLDv1: RFC 2710, 3; MLDv2: RFC 3810, 5. Source filters are
//! ignored.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use machine::Duration;
use wire::icmpv6::{self, Message, Type};
use wire::{EtherType, Mac, Protocol, checksum, ipv4, ipv6};

use crate::Frame;
use crate::outbound::ALL_NODES;

/// Message of a listener or querier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MulticastMessage {
    /// Query.
    Query {
        /// Source address of the querier; unspecified if it has none.
        querier: IpAddr,
        /// Queried group; `None` for a general query.
        group: Option<IpAddr>,
    },
    /// Report: groups, and whether the listener is a member.
    Records(Vec<(IpAddr, bool)>),
}

/// A message that violates its RFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Invalid;

/// Parses a packet, from the IP header on; `Ok(None)` if it is neither IGMP nor MLD.
pub(super) fn read(packet: &[u8]) -> Result<Option<MulticastMessage>, Invalid> {
    match packet.first().map(|first| first >> 4) {
        Some(4) => read4(packet),
        Some(6) => read6(packet),
        _ => Ok(None),
    }
}

fn read4(packet: &[u8]) -> Result<Option<MulticastMessage>, Invalid> {
    let ip = ipv4::Packet::new_verified(packet).map_err(|_| Invalid)?;
    if ip.protocol() != Protocol::IGMP {
        return Ok(None);
    }
    let message = ip.payload();
    let fragment = ip.fragment();
    if fragment.more() || fragment.offset() > 0 || checksum::checksum(message) != 0 {
        return Err(Invalid);
    }
    let head = message.first_chunk::<8>().ok_or(Invalid)?;
    let [kind, _, _, _, a, b, c, d] = *head;
    let group = Ipv4Addr::new(a, b, c, d);
    let one = |listens| match group.is_multicast() {
        true => Ok(MulticastMessage::Records(vec![(group.into(), listens)])),
        false => Err(Invalid),
    };
    let heard = match kind {
        igmp::QUERY => MulticastMessage::Query {
            querier: ip.src().into(),
            group: queried_group(group.into())?,
        },
        igmp::REPORT_V1 | igmp::REPORT_V2 => one(true)?,
        igmp::LEAVE => one(false)?,
        igmp::REPORT_V3 => {
            let records = message.get(8..).unwrap_or_default();
            MulticastMessage::Records(records_of::<4>(records, u16::from_be_bytes([c, d]))?)
        }
        _ => return Ok(None),
    };
    Ok(Some(heard))
}

fn read6(packet: &[u8]) -> Result<Option<MulticastMessage>, Invalid> {
    let Ok(ip) = ipv6::Packet::new_checked(packet) else {
        return Err(Invalid);
    };
    let upper = ip.upper().map_err(|_| Invalid)?;
    let kind = upper.payload.first().copied().map(Type);
    let of_mld = matches!(
        kind,
        Some(
            Type::LISTENER_QUERY
                | Type::LISTENER_REPORT
                | Type::LISTENER_DONE
                | Type::LISTENER_REPORT_V2
        )
    );
    if upper.protocol != Protocol::ICMPV6 || !of_mld {
        return Ok(None);
    }
    // RFC 2710, 3 and RFC 3810, 5: hop limit 1, link-local source (reports may have none), router alert.
    let local = ip.src().is_unicast_link_local() || ip.src().is_unspecified();
    if !local || ip.hop_limit() != 1 || !upper.hop_by_hop || upper.fragment.is_some() {
        return Err(Invalid);
    }
    let message =
        icmpv6::Packet::new_verified(upper.payload, ip.src(), ip.dst()).map_err(|_| Invalid)?;
    let body = message.payload();
    let group = || body.first_chunk::<16>().copied().map(Ipv6Addr::from);
    let one = |listens| match group().filter(Ipv6Addr::is_multicast) {
        Some(group) => Ok(MulticastMessage::Records(vec![(group.into(), listens)])),
        None => Err(Invalid),
    };
    let heard = match message.kind() {
        Type::LISTENER_QUERY => MulticastMessage::Query {
            querier: ip.src().into(),
            group: queried_group(group().ok_or(Invalid)?.into())?,
        },
        Type::LISTENER_REPORT => one(true)?,
        Type::LISTENER_DONE => one(false)?,
        _ => {
            let [.., high, low] = message.rest();
            MulticastMessage::Records(records_of::<16>(body, u16::from_be_bytes([high, low]))?)
        }
    };
    Ok(Some(heard))
}

/// Group of a query; `None` for a general query.
fn queried_group(group: IpAddr) -> Result<Option<IpAddr>, Invalid> {
    match group {
        group if group.is_unspecified() => Ok(None),
        group if group.is_multicast() => Ok(Some(group)),
        _ => Err(Invalid),
    }
}

/// Parses the records of a report with addresses of `N` bytes (RFC 3376, 4.2.4; RFC 3810, 5.2): type, words of
/// auxiliary data, number of sources, group, sources.
fn records_of<const N: usize>(
    mut bytes: &[u8],
    count: u16,
) -> Result<Vec<(IpAddr, bool)>, Invalid> {
    let mut records = Vec::new();
    for _ in 0..count {
        let (head, rest) = bytes.split_first_chunk::<4>().ok_or(Invalid)?;
        let (group, rest) = rest.split_first_chunk::<N>().ok_or(Invalid)?;
        let [kind, auxiliary, high, low] = *head;
        let sources = usize::from(u16::from_be_bytes([high, low]));
        let skipped = sources * N + usize::from(auxiliary) * 4;
        bytes = rest.get(skipped..).ok_or(Invalid)?;
        let group = address(group).filter(IpAddr::is_multicast).ok_or(Invalid)?;
        let listens = match kind {
            // Exclude records mean membership; include and allow records do if they name a source.
            record::IS_EXCLUDE | record::TO_EXCLUDE => true,
            record::IS_INCLUDE | record::ALLOW if sources > 0 => true,
            record::TO_INCLUDE => sources > 0,
            _ => continue,
        };
        records.push((group, listens));
    }
    Ok(records)
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        return Some(Ipv4Addr::from(bytes).into());
    }
    let bytes = <[u8; 16]>::try_from(bytes).ok()?;
    Some(Ipv6Addr::from(bytes).into())
}

/// Query to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// Source address; unspecified if the bridge has no address to use.
    pub(super) source: IpAddr,
    /// Queried group; `None` for a general query.
    pub(super) group: Option<IpAddr>,
    /// Maximum response time.
    pub(super) response: Duration,
    /// Use IGMPv3 or MLDv2.
    pub(super) newest: bool,
    /// Query interval to announce.
    pub(super) interval: Duration,
}

impl Query {
    /// Builds the frame.
    pub(super) fn frame(&self) -> Frame {
        match self.source {
            IpAddr::V4(source) => self.frame4(source),
            IpAddr::V6(source) => self.frame6(source),
        }
    }

    fn frame4(&self, source: Ipv4Addr) -> Frame {
        let group = match self.group {
            Some(IpAddr::V4(group)) => group,
            _ => Ipv4Addr::UNSPECIFIED,
        };
        let dst = match group.is_unspecified() {
            true => ALL_SYSTEMS,
            false => group,
        };
        let tenths = u16::try_from(self.response.as_millis() / 100).unwrap_or(u16::MAX);
        let code = match self.newest {
            true => code(tenths),
            false => u8::try_from(tenths).unwrap_or(u8::MAX),
        };
        let mut message = vec![igmp::QUERY, code, 0, 0];
        message.extend(group.octets());
        if self.newest {
            message.extend([ROBUSTNESS, self.interval_code(), 0, 0]);
        }
        let sum = checksum::checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let header = ipv4::Repr {
            tos: INTERNETWORK_CONTROL,
            ttl: 1,
            ..ipv4::Repr::new(Protocol::IGMP, source, dst)
        };
        let mut payload = Vec::new();
        header.emit(&ROUTER_ALERT4, message.len(), &mut payload);
        payload.append(&mut message);
        Frame {
            dst: Mac::of_ipv4_group(dst),
            ether_type: EtherType::IPV4,
            payload,
        }
    }

    fn frame6(&self, source: Ipv6Addr) -> Frame {
        let group = match self.group {
            Some(IpAddr::V6(group)) => group,
            _ => Ipv6Addr::UNSPECIFIED,
        };
        let dst = match group.is_unspecified() {
            true => ALL_NODES,
            false => group,
        };
        let millis = u16::try_from(self.response.as_millis()).unwrap_or(u16::MAX);
        // Limited to values without exponent (RFC 3810, 5.1.3).
        let [high, low] = millis.min(0x7fff).to_be_bytes();
        let mut data = group.octets().to_vec();
        if self.newest {
            data.extend([ROBUSTNESS, self.interval_code(), 0, 0]);
        }
        let message = Message::Other {
            kind: Type::LISTENER_QUERY,
            code: 0,
            rest: [high, low, 0, 0],
            data: &data,
        };
        let mut upper = ROUTER_ALERT6.to_vec();
        message.emit(source, dst, &mut upper);
        let header = ipv6::Repr {
            hop_limit: 1,
            ..ipv6::Repr::new(Protocol::HOP_BY_HOP, source, dst)
        };
        let mut payload = header.to_bytes(upper.len()).to_vec();
        payload.append(&mut upper);
        Frame {
            dst: Mac::of_ipv6_group(dst),
            ether_type: EtherType::IPV6,
            payload,
        }
    }

    fn interval_code(&self) -> u8 {
        code(u16::try_from(self.interval.as_secs()).unwrap_or(u16::MAX))
    }
}

/// Encodes a number in eight bits (RFC 3376, 4.1.1). Numbers above 127 use mantissa and exponent and are rounded
/// down.
fn code(number: u16) -> u8 {
    if number < 0x80 {
        return number as u8;
    }
    let number = number.min(0x1f << 10);
    // The mantissa has five bits; the highest one is implicit.
    let shift = (u16::BITS - number.leading_zeros())
        .saturating_sub(5)
        .max(3);
    let mantissa = (number >> shift) as u8 & 0xf;
    0x80 | (shift as u8 - 3) << 4 | mantissa
}

/// IGMP message types (RFC 3376, 4).
mod igmp {
    pub(super) const QUERY: u8 = 0x11;
    pub(super) const REPORT_V1: u8 = 0x12;
    pub(super) const REPORT_V2: u8 = 0x16;
    pub(super) const LEAVE: u8 = 0x17;
    pub(super) const REPORT_V3: u8 = 0x22;
}

/// Record types (RFC 3376, 4.2.12; RFC 3810, 5.2.12).
mod record {
    pub(super) const IS_INCLUDE: u8 = 1;
    pub(super) const IS_EXCLUDE: u8 = 2;
    pub(super) const TO_INCLUDE: u8 = 3;
    pub(super) const TO_EXCLUDE: u8 = 4;
    pub(super) const ALLOW: u8 = 5;
}

/// Robustness variable (RFC 3376, 8.1).
const ROBUSTNESS: u8 = 2;
/// All-systems group.
const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
/// TOS of IGMP messages: internetwork control (RFC 3376, 4).
const INTERNETWORK_CONTROL: u8 = 0xc0;
/// Router alert option (RFC 2113).
const ROUTER_ALERT4: [u8; 4] = [0x94, 4, 0, 0];
/// Hop-by-hop options: ICMPv6 follows; router alert for MLD; two bytes of padding (RFC 2711).
const ROUTER_ALERT6: [u8; 8] = [
    Protocol::ICMPV6.0,
    0,
    ipv6::IpOption::ROUTER_ALERT,
    2,
    0,
    0,
    1,
    0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_codes_are_encoded_as_the_next_lower_floating_point_number() {
        let value = |code: u8| match code {
            0..0x80 => u32::from(code),
            _ => (u32::from(code & 0xf) | 0x10) << ((code >> 4 & 7) + 3),
        };
        for number in [0, 1, 100, 127, 128, 129, 260, 1000, 3174, 31_744, 65_535] {
            let found = value(code(number));
            let number = u32::from(number).min(31 << 10);
            assert!(found <= number && number - found <= number / 16, "{number}");
        }
    }
}
