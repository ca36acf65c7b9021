//! IGMP queries and reports (RFC 3376, 4; RFC 2236, 2; RFC 1112, Appendix I).

use core::net::Ipv4Addr;

use machine::Duration;
use wire::{EtherType, Mac, Protocol, checksum, ipv4};

use crate::Frame;

/// Record type of a report (RFC 3376, 4.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// MODE_IS_EXCLUDE without sources: the group is received from every source.
    Present = 2,
    /// CHANGE_TO_INCLUDE_MODE without sources: the group was left.
    Left = 3,
    /// CHANGE_TO_EXCLUDE_MODE without sources: the group was joined.
    Joined = 4,
}

/// IGMP version of a querier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    One,
    Two,
    Three,
}

/// A received query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// Queried group; `None` for a general query.
    pub(super) group: Option<Ipv4Addr>,
    /// Maximum response time.
    pub(super) response_time: Duration,
    pub(super) version: Version,
}

/// Parses a query; `None` if the packet is not a valid query.
pub(super) fn query(packet: &[u8]) -> Option<Query> {
    let ip = ipv4::Packet::new_verified(packet).ok()?;
    let message = ip.payload();
    let [kind, code, _, _, group @ ..] = *message.first_chunk::<QUERY_LEN>()?;
    let is_query = ip.protocol() == Protocol::IGMP && kind == QUERY;
    if !is_query || ip.fragment().is_piece() || checksum::checksum(message) != 0 {
        return None;
    }
    // Length and code determine the version (RFC 3376, 7.1).
    let version = match (message.len(), code) {
        (QUERY_LEN, 0) => Version::One,
        (QUERY_LEN, _) => Version::Two,
        (QUERY_LEN_V3.., _) => Version::Three,
        _ => return None,
    };
    let group = Ipv4Addr::from(group);
    let tenths = match version {
        Version::One => 100,
        Version::Two => u64::from(code),
        Version::Three => tenths(code),
    };
    (group.is_unspecified() || group.is_multicast()).then_some(Query {
        group: (!group.is_unspecified()).then_some(group),
        response_time: Duration::from_millis(tenths * 100),
        version,
    })
}

/// Decodes a maximum response code to tenths of a second (RFC 3376, 4.1.1).
fn tenths(code: u8) -> u64 {
    if code < 0x80 {
        return code.into();
    }
    let mantissa = u64::from(code & 0xf) | 0x10;
    mantissa << ((code >> 4 & 7) + 3)
}

/// True if reports include the group: all multicast groups except all-systems (RFC 3376, 5).
pub(super) fn is_reported(group: Ipv4Addr) -> bool {
    group.is_multicast() && group != ALL_SYSTEMS
}

/// Builds an IGMPv3 report with at most [`RECORDS_MAX`] records.
pub(super) fn version_3(source: Ipv4Addr, records: &[(Ipv4Addr, Record)]) -> Frame {
    let count = u16::try_from(records.len()).unwrap_or(u16::MAX);
    let [high, low] = count.to_be_bytes();
    let mut message = vec![REPORT_V3, 0, 0, 0, 0, 0, high, low];
    for (group, record) in records {
        // No auxiliary data, no sources.
        message.extend([*record as u8, 0, 0, 0]);
        message.extend(group.octets());
    }
    frame(source, ALL_V3_ROUTERS, message)
}

/// Builds the message of an older version: a report to the group, or a leave message, which version 1 lacks (RFC
/// 2236, 3; RFC 1112, Appendix I).
pub(super) fn older(
    version: Version,
    source: Ipv4Addr,
    group: Ipv4Addr,
    record: Record,
) -> Option<Frame> {
    let (kind, to) = match (record, version) {
        (Record::Left, Version::One) => return None,
        (Record::Left, _) => (LEAVE, ALL_ROUTERS),
        (_, Version::One) => (REPORT_V1, group),
        (_, _) => (REPORT_V2, group),
    };
    let mut message = vec![kind, 0, 0, 0];
    message.extend(group.octets());
    Some(frame(source, to, message))
}

/// Builds a packet with TTL 1 and a router alert option (RFC 3376, 4; RFC 2113).
fn frame(source: Ipv4Addr, to: Ipv4Addr, mut message: Vec<u8>) -> Frame {
    let sum = checksum::checksum(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    let header = ipv4::Repr {
        tos: INTERNETWORK_CONTROL,
        ttl: 1,
        ..ipv4::Repr::new(Protocol::IGMP, source, to)
    };
    let mut payload = Vec::new();
    header.emit(&ROUTER_ALERT, message.len(), &mut payload);
    payload.append(&mut message);
    Frame {
        dst: Mac::of_ipv4_group(to),
        ether_type: EtherType::IPV4,
        payload,
    }
}

/// Maximum number of records in a packet of 576 bytes, which every link accepts (RFC 791, 3.2).
pub(super) const RECORDS_MAX: usize = (576 - 24 - 8) / 8;

const QUERY: u8 = 0x11;
const REPORT_V1: u8 = 0x12;
const REPORT_V2: u8 = 0x16;
const LEAVE: u8 = 0x17;
const REPORT_V3: u8 = 0x22;
/// Length in bytes of a query before version 3, and minimum length of a version 3 query (RFC 3376, 7.1).
const QUERY_LEN: usize = 8;
const QUERY_LEN_V3: usize = 12;
/// TOS of IGMP messages: internetwork control (RFC 3376, 4).
const INTERNETWORK_CONTROL: u8 = 0xc0;
const ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];
/// All-systems and all-routers groups (RFC 1112, 4; RFC 2236, 9).
const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// Group of all IGMPv3 routers (RFC 3376, 4.2.14).
const ALL_V3_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_code_is_tenths_or_a_floating_point_number() {
        // RFC 3376, 4.1.1.
        assert_eq!(tenths(0x7f), 127);
        assert_eq!(tenths(0x80), 128);
        assert_eq!(tenths(0xff), 31_744);
    }
}
