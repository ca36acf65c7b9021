//! MLD queries and reports (RFC 3810, 5; RFC 2710, 3).

use core::net::Ipv6Addr;

use machine::Duration;
use wire::icmpv6::{self, Message, Type};
use wire::{EtherType, Mac, Protocol, ipv6};

use crate::Frame;
use crate::outbound::ALL_NODES;

/// Record type of a report (RFC 3810, 5.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// MODE_IS_EXCLUDE without sources: the group is received from every source.
    Present = 2,
    /// CHANGE_TO_INCLUDE_MODE without sources: the group was left.
    Left = 3,
    /// CHANGE_TO_EXCLUDE_MODE without sources: the group was joined.
    Joined = 4,
}

/// A received query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// Queried group; `None` for a general query.
    pub(super) group: Option<Ipv6Addr>,
    /// Maximum response delay.
    pub(super) response_time: Duration,
    /// The query is MLDv1.
    pub(super) version_1: bool,
}

/// A query that violates RFC 3810.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Invalid;

/// Parses a query; `Ok(None)` if the packet is no query.
pub(super) fn query(packet: &[u8]) -> Result<Option<Query>, Invalid> {
    let Ok(ip) = ipv6::Packet::new_checked(packet) else {
        return Ok(None);
    };
    let Ok(upper) = ip.upper() else {
        return Ok(None);
    };
    let kind = upper.payload.first().copied();
    if upper.protocol != Protocol::ICMPV6 || kind != Some(Type::LISTENER_QUERY.0) {
        return Ok(None);
    }
    // RFC 3810, 6.2: link-local source and router alert required; the length determines the version (8.1).
    let local = ip.src().is_unicast_link_local() && ip.hop_limit() == HOP_LIMIT;
    if !local || !upper.hop_by_hop || upper.fragment.is_some() {
        return Err(Invalid);
    }
    let icmp =
        icmpv6::Packet::new_verified(upper.payload, ip.src(), ip.dst()).map_err(|_| Invalid)?;
    let version_1 = match upper.payload.len() {
        QUERY_LEN_V1 => true,
        QUERY_LEN_V2.. => false,
        _ => return Err(Invalid),
    };
    let group = icmp.payload().first_chunk::<16>().ok_or(Invalid)?;
    let group = Ipv6Addr::from(*group);
    if !(group.is_unspecified() || group.is_multicast()) {
        return Err(Invalid);
    }
    let [high, low, ..] = icmp.rest();
    let code = u16::from_be_bytes([high, low]);
    let millis = match version_1 {
        true => u64::from(code),
        false => response_ms(code),
    };
    Ok(Some(Query {
        group: (!group.is_unspecified()).then_some(group),
        response_time: Duration::from_millis(millis),
        version_1,
    }))
}

/// Decodes a maximum response code to milliseconds (RFC 3810, 5.1.3).
fn response_ms(code: u16) -> u64 {
    if code < 0x8000 {
        return code.into();
    }
    let mantissa = u64::from(code & 0xfff) | 0x1000;
    let exponent = code >> 12 & 7;
    mantissa << (exponent + 3)
}

/// True if reports include the group: not all-nodes, and not interface-local scope (RFC 3810, 6).
pub(super) fn is_reported(group: Ipv6Addr) -> bool {
    let scope = group.octets()[1] & 0xf;
    group.is_multicast() && scope > 1 && group != ALL_NODES
}

/// Builds an MLDv2 report with at most [`RECORDS_MAX`] records.
pub(super) fn version_2(source: Ipv6Addr, records: &[(Ipv6Addr, Record)]) -> Frame {
    let mut data = Vec::with_capacity(records.len() * RECORD_LEN);
    for &(group, record) in records {
        // No auxiliary data, no sources.
        data.extend_from_slice(&[record as u8, 0, 0, 0]);
        data.extend_from_slice(&group.octets());
    }
    let count = u16::try_from(records.len()).unwrap_or(u16::MAX);
    let [high, low] = count.to_be_bytes();
    let report = Message::Other {
        kind: Type::LISTENER_REPORT_V2,
        code: 0,
        rest: [0, 0, high, low],
        data: &data,
    };
    frame(source, ALL_MLD_V2_ROUTERS, &report)
}

/// Builds the MLDv1 message: a report to the group, or a done message to the routers (RFC 2710, 3.5).
pub(super) fn version_1(source: Ipv6Addr, group: Ipv6Addr, record: Record) -> Frame {
    let (kind, dst) = match record {
        Record::Present | Record::Joined => (Type::LISTENER_REPORT, group),
        Record::Left => (Type::LISTENER_DONE, ALL_ROUTERS),
    };
    let message = Message::Other {
        kind,
        code: 0,
        rest: [0; 4],
        data: &group.octets(),
    };
    frame(source, dst, &message)
}

/// Builds a packet with hop limit 1 and a router alert option (RFC 3810, 5; RFC 2711).
fn frame(src: Ipv6Addr, dst: Ipv6Addr, message: &Message<'_>) -> Frame {
    let mut upper = ROUTER_ALERT.to_vec();
    message.emit(src, dst, &mut upper);
    let header = ipv6::Repr {
        hop_limit: HOP_LIMIT,
        ..ipv6::Repr::new(Protocol::HOP_BY_HOP, src, dst)
    };
    let mut payload = header.to_bytes(upper.len()).to_vec();
    payload.append(&mut upper);
    Frame {
        dst: Mac::of_ipv6_group(dst),
        ether_type: EtherType::IPV6,
        payload,
    }
}

/// Maximum number of records in a packet of the minimum MTU.
pub(super) const RECORDS_MAX: usize =
    (ipv6::MTU_MIN as usize - ipv6::HEADER_LEN - ROUTER_ALERT.len() - icmpv6::HEADER_LEN)
        / RECORD_LEN;

/// Length of a record without sources, in bytes.
const RECORD_LEN: usize = 20;
/// Length in bytes of an MLDv1 query, and minimum length of an MLDv2 query (RFC 3810, 8.1).
const QUERY_LEN_V1: usize = 24;
const QUERY_LEN_V2: usize = 28;
/// Hop limit of MLD messages.
const HOP_LIMIT: u8 = 1;
/// Hop-by-hop options: ICMPv6 follows; router alert for MLD; two bytes of padding.
const ROUTER_ALERT: [u8; 8] = [
    Protocol::ICMPV6.0,
    0,
    ipv6::IpOption::ROUTER_ALERT,
    2,
    0,
    0,
    1,
    0,
];
/// Group of all MLDv2 routers (RFC 3810, 5.2.14).
const ALL_MLD_V2_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
/// All-routers group (RFC 4291, 2.7.1).
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_code_is_milliseconds_or_a_floating_point_number() {
        // RFC 3810, 5.1.3.
        assert_eq!(response_ms(0x7fff), 32_767);
        assert_eq!(response_ms(0x8000), 32_768);
        assert_eq!(response_ms(0xffff), 8_387_584);
    }

    #[test]
    fn interface_local_groups_are_not_reported() {
        let reported = |group: &str| is_reported(group.parse().unwrap());

        assert!(reported("ff02::1:ff00:1"));
        assert!(reported("ff0e::7"));
        assert!(!reported("ff02::1"));
        assert!(!reported("ff01::7"));
        assert!(!reported("ff00::7"));
        assert!(!reported("fe80::7"));
    }
}
