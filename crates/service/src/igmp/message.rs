//! Queries and reports of IGMP (RFC 3376, 4; RFC 2236, 2; RFC 1112, Appendix I).

use core::net::Ipv4Addr;

use machine::Duration;
use wire::{EtherType, Mac, Protocol, checksum, ipv4};

use crate::Frame;

/// What a report says about a group (RFC 3376, 4.2.12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// It is received from every source: MODE_IS_EXCLUDE.
    Present = 2,
    /// It is no longer received: CHANGE_TO_INCLUDE_MODE without sources.
    Left = 3,
    /// It is received from every source as of now: CHANGE_TO_EXCLUDE_MODE.
    Joined = 4,
}

/// The version that a querier speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Version {
    One,
    Two,
    Three,
}

/// A query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Query {
    /// The group that is asked about; none asks about all.
    pub(super) group: Option<Ipv4Addr>,
    /// Within which time the answer is wanted.
    pub(super) response_time: Duration,
    pub(super) version: Version,
}

/// Reads a query; none if the packet is none, or is damaged.
pub(super) fn query(packet: &[u8]) -> Option<Query> {
    let ip = ipv4::Packet::new_verified(packet).ok()?;
    let message = ip.payload();
    let [kind, code, _, _, group @ ..] = *message.first_chunk::<QUERY_LEN>()?;
    let is_query = ip.protocol() == Protocol::IGMP && kind == QUERY;
    if !is_query || ip.fragment().is_piece() || checksum::checksum(message) != 0 {
        return None;
    }
    // The length and the code tell the version (RFC 3376, 7.1).
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

/// Tenths of a second of a response code: as it stands, or with mantissa and exponent (RFC 3376, 4.1.1).
fn tenths(code: u8) -> u64 {
    if code < 0x80 {
        return code.into();
    }
    let mantissa = u64::from(code & 0xf) | 0x10;
    mantissa << ((code >> 4 & 7) + 3)
}

/// Whether a group is reported at all (RFC 3376, 5: not all systems).
pub(super) fn is_reported(group: Ipv4Addr) -> bool {
    group.is_multicast() && group != ALL_SYSTEMS
}

/// A report of at most [`RECORDS_MAX`] groups.
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

/// What an older version says of the same: a report to the group, or a message to routers that it is left, which
/// version 1 has not (RFC 2236, 3; RFC 1112, Appendix I).
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

/// A packet with a lifetime of 1 and a router alert (RFC 3376, 4; RFC 2113).
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

/// Records in one packet that every link takes (RFC 791, 3.2: 576 bytes).
pub(super) const RECORDS_MAX: usize = (576 - 24 - 8) / 8;

const QUERY: u8 = 0x11;
const REPORT_V1: u8 = 0x12;
const REPORT_V2: u8 = 0x16;
const LEAVE: u8 = 0x17;
const REPORT_V3: u8 = 0x22;
/// Bytes of a query before version 3, and of the shortest of version 3 (RFC 3376, 7.1).
const QUERY_LEN: usize = 8;
const QUERY_LEN_V3: usize = 12;
/// The precedence of messages (RFC 3376, 4).
const INTERNETWORK_CONTROL: u8 = 0xc0;
const ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];
/// All systems, and all routers, of the link (RFC 1112, 4; RFC 2236, 9).
const ALL_SYSTEMS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// All routers that speak version 3 (RFC 3376, 4.2.14).
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
