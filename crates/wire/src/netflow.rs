//! Encodes flow records for collectors: NetFlow 1 and 5, NetFlow 9 (RFC 3954), IPFIX (RFC 7011).
//!
//! Versions 1 and 5 have a fixed record for IPv4. Version 9 and IPFIX describe their records in templates, which a
//! collector must receive first. The templates contain the elements of RouterOS in its order, with its IPFIX template
//! ids.

use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Default port of collectors.
pub const PORT: u16 = 2055;
/// Maximum length of a datagram, for links with an MTU of 1500 bytes.
pub const DATAGRAM_MOST: usize = 1_448;
/// Template ids for IPv4 and IPv6.
const TEMPLATES: [u16; 2] = [258, 259];

/// Export format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// NetFlow 1.
    V1,
    /// NetFlow 5.
    V5,
    /// NetFlow 9.
    V9,
    /// IPFIX.
    Ipfix,
}

/// Record of one direction of a flow. Times are milliseconds since the exporter started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Source address.
    pub source: IpAddr,
    /// Destination address, of the same family.
    pub destination: IpAddr,
    /// Next hop; unspecified if there is none.
    pub gateway: IpAddr,
    /// IPv4 source and destination after address translation.
    pub translated: (Ipv4Addr, Ipv4Addr),
    /// Source and destination port; for ICMP type and code in the second.
    pub ports: (u16, u16),
    /// Ports after address translation.
    pub translated_ports: (u16, u16),
    /// IP protocol.
    pub protocol: u8,
    /// Cumulative TCP flags.
    pub tcp_flags: u8,
    /// Ingress and egress interface; 0 is this router itself, or unknown.
    pub interfaces: (u16, u16),
    /// Packets since the last record of the flow.
    pub packets: u64,
    /// Bytes since the last record of the flow.
    pub bytes: u64,
    /// Time of the first packet.
    pub first: u32,
    /// Time of the last packet.
    pub last: u32,
}

/// Time of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Milliseconds since the exporter started.
    pub up: u32,
    /// Seconds since 1970.
    pub seconds: u32,
    /// Nanosecond part.
    pub nanos: u32,
}

impl Version {
    /// Maximum number of records in a datagram.
    pub const fn most(self) -> usize {
        match self {
            Self::V1 => 24,
            Self::V5 => 30,
            Self::V9 | Self::Ipfix => (DATAGRAM_MOST - 28) / (ipv6_len() + STARTED.1 as usize),
        }
    }

    /// True if the format supports IPv6.
    pub const fn has_ipv6(self) -> bool {
        matches!(self, Self::V9 | Self::Ipfix)
    }

    /// Increment of the sequence number for a datagram with this number of records (RFC 3954, 5.1: datagrams; RFC
    /// 7011, 3.1: records). Templates are not records.
    pub const fn counts(self, records: usize) -> u32 {
        match self {
            Self::V1 => 0,
            Self::V5 | Self::Ipfix => records as u32,
            Self::V9 => 1,
        }
    }
}

/// Template fields: element, length, and family: IPv4 (1), IPv6 (2) or both (3). NetFlow 9 and IPFIX use the same
/// element numbers here.
const FIELDS: [(u16, u16, u8); 20] = [
    (60, 1, 3),
    (22, 4, 3),
    (21, 4, 3),
    (2, 4, 3),
    (1, 4, 3),
    (7, 2, 3),
    (11, 2, 3),
    (10, 4, 3),
    (14, 4, 3),
    (4, 1, 3),
    (6, 1, 3),
    (8, 4, 1),
    (12, 4, 1),
    (15, 4, 1),
    (225, 4, 1),
    (226, 4, 1),
    (27, 16, 2),
    (28, 16, 2),
    (62, 16, 2),
    // Padding of the table, for no family.
    (0, 0, 0),
];

/// Start of the exporter in milliseconds since 1970; in IPFIX only this element defines the base of the times (RFC
/// 7012: systemInitTimeMilliseconds).
const STARTED: (u16, u16) = (160, 8);

fn started(at: Moment) -> u64 {
    let now = u64::from(at.seconds) * 1_000 + u64::from(at.nanos / 1_000_000);
    now.saturating_sub(u64::from(at.up))
}

const fn record_len(family: u8) -> usize {
    let (mut at, mut len) = (0, 0);
    while at < FIELDS.len() {
        if FIELDS[at].2 & family != 0 {
            len += FIELDS[at].1 as usize;
        }
        at += 1;
    }
    len
}

const fn ipv6_len() -> usize {
    record_len(2)
}

/// Encodes a datagram of at most [`Version::most`] records, all of one address family.
pub fn records(version: Version, records: &[Record], at: Moment, sequence: u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(DATAGRAM_MOST);
    let ipv6 = records
        .first()
        .is_some_and(|record| record.source.is_ipv6());
    match version {
        Version::V1 | Version::V5 => {
            old_header(version, records.len(), at, sequence, &mut out);
            records
                .iter()
                .for_each(|record| old_record(version, record, &mut out));
        }
        Version::V9 | Version::Ipfix => {
            header(version, records.len(), at, sequence, &mut out);
            let begin = out.len();
            out.extend(TEMPLATES[usize::from(ipv6)].to_be_bytes());
            out.extend([0, 0]);
            for record in records {
                new_record(record, &mut out);
                if version == Version::Ipfix {
                    out.extend(started(at).to_be_bytes());
                }
            }
            end_set(begin, &mut out);
            end(version, &mut out);
        }
    }
    out
}

/// Encodes a datagram of templates; `None` for versions without templates.
pub fn templates(version: Version, at: Moment, sequence: u32) -> Option<Vec<u8>> {
    let set: u16 = match version {
        Version::V1 | Version::V5 => return None,
        Version::V9 => 0,
        Version::Ipfix => 2,
    };
    let mut out = Vec::new();
    header(version, TEMPLATES.len(), at, sequence, &mut out);
    let begin = out.len();
    out.extend(set.to_be_bytes());
    out.extend([0, 0]);
    for (template, family) in TEMPLATES.into_iter().zip([1, 2]) {
        let fields = FIELDS.iter().filter(|(_, _, of)| of & family != 0);
        let more = [STARTED].into_iter().filter(|_| version == Version::Ipfix);
        let fields = fields.map(|(element, len, _)| (*element, *len)).chain(more);
        out.extend(template.to_be_bytes());
        out.extend((fields.clone().count() as u16).to_be_bytes());
        for (element, len) in fields {
            out.extend(element.to_be_bytes());
            out.extend(len.to_be_bytes());
        }
    }
    end_set(begin, &mut out);
    end(version, &mut out);
    Some(out)
}

/// Header of versions 1 and 5: 16 and 24 bytes.
fn old_header(version: Version, count: usize, at: Moment, sequence: u32, out: &mut Vec<u8>) {
    let number: u16 = if version == Version::V1 { 1 } else { 5 };
    out.extend(number.to_be_bytes());
    out.extend((count as u16).to_be_bytes());
    for word in [at.up, at.seconds, at.nanos] {
        out.extend(word.to_be_bytes());
    }
    if version == Version::V5 {
        out.extend(sequence.to_be_bytes());
        // Engine and sampling: none.
        out.extend([0; 4]);
    }
}

/// Record of versions 1 and 5: 52 and 48 bytes, IPv4.
fn old_record(version: Version, record: &Record, out: &mut Vec<u8>) {
    for address in [record.source, record.destination, record.gateway] {
        out.extend(four(address).octets());
    }
    out.extend(record.interfaces.0.to_be_bytes());
    out.extend(record.interfaces.1.to_be_bytes());
    for word in [
        clipped(record.packets),
        clipped(record.bytes),
        record.first,
        record.last,
    ] {
        out.extend(word.to_be_bytes());
    }
    out.extend(record.ports.0.to_be_bytes());
    out.extend(record.ports.1.to_be_bytes());
    if version == Version::V1 {
        // Padding, protocol, type of service, flags, and more padding.
        out.extend([0, 0, record.protocol, 0, record.tcp_flags]);
        out.extend([0; 11]);
    } else {
        out.extend([0, record.tcp_flags, record.protocol, 0]);
        // Autonomous systems and masks are not exported.
        out.extend([0; 8]);
    }
}

/// Header of NetFlow 9: 20 bytes with a count; of IPFIX: 16 bytes with a length, which [`end`] fills in.
fn header(version: Version, count: usize, at: Moment, sequence: u32, out: &mut Vec<u8>) {
    if version == Version::V9 {
        out.extend(9_u16.to_be_bytes());
        out.extend((count as u16).to_be_bytes());
        out.extend(at.up.to_be_bytes());
    } else {
        out.extend(10_u16.to_be_bytes());
        out.extend([0, 0]);
    }
    out.extend(at.seconds.to_be_bytes());
    out.extend(sequence.to_be_bytes());
    // Observation domain.
    out.extend([0; 4]);
}

fn new_record(record: &Record, out: &mut Vec<u8>) {
    out.push(if record.source.is_ipv6() { 6 } else { 4 });
    for word in [
        record.first,
        record.last,
        clipped(record.packets),
        clipped(record.bytes),
    ] {
        out.extend(word.to_be_bytes());
    }
    out.extend(record.ports.0.to_be_bytes());
    out.extend(record.ports.1.to_be_bytes());
    out.extend(u32::from(record.interfaces.0).to_be_bytes());
    out.extend(u32::from(record.interfaces.1).to_be_bytes());
    out.extend([record.protocol, record.tcp_flags]);
    if record.source.is_ipv6() {
        for address in [record.source, record.destination, record.gateway] {
            out.extend(sixteen(address).octets());
        }
    } else {
        for address in [record.source, record.destination, record.gateway] {
            out.extend(four(address).octets());
        }
        out.extend(record.translated.0.octets());
        out.extend(record.translated.1.octets());
    }
}

/// Pads a set to a multiple of four bytes and fills in its length.
fn end_set(begin: usize, out: &mut Vec<u8>) {
    while !(out.len() - begin).is_multiple_of(4) {
        out.push(0);
    }
    let len = (out.len() - begin) as u16;
    if let Some(field) = out.get_mut(begin + 2..begin + 4) {
        field.copy_from_slice(&len.to_be_bytes());
    }
}

fn end(version: Version, out: &mut [u8]) {
    let len = out.len() as u16;
    if version == Version::Ipfix
        && let Some(field) = out.get_mut(2..4)
    {
        field.copy_from_slice(&len.to_be_bytes());
    }
}

fn clipped(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn four(address: IpAddr) -> Ipv4Addr {
    match address {
        IpAddr::V4(address) => address,
        IpAddr::V6(_) => Ipv4Addr::UNSPECIFIED,
    }
}

fn sixteen(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(_) => Ipv6Addr::UNSPECIFIED,
        IpAddr::V6(address) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Moment = Moment {
        up: 1_000,
        seconds: 1_795_000_000,
        nanos: 5,
    };

    fn record() -> Record {
        let four = |last| Ipv4Addr::new(10, 0, 0, last);
        Record {
            source: four(1).into(),
            destination: four(2).into(),
            gateway: four(3).into(),
            translated: (four(4), four(5)),
            ports: (123, 53),
            translated_ports: (124, 53),
            protocol: 17,
            tcp_flags: 0,
            interfaces: (7, 13),
            packets: 2,
            bytes: 152,
            first: 10,
            last: 20,
        }
    }

    #[test]
    fn version_5_has_a_24_byte_header_and_48_byte_records() {
        let bytes = records(Version::V5, &[record(), record()], AT, 9);

        assert_eq!(bytes.len(), 24 + 2 * 48);
        assert_eq!(bytes[..4], [0, 5, 0, 2]);
        assert_eq!(bytes[16..20], [0, 0, 0, 9]);
        assert_eq!(bytes[24..36], [10, 0, 0, 1, 10, 0, 0, 2, 10, 0, 0, 3]);
        assert_eq!(bytes[36..40], [0, 7, 0, 13]);
        assert_eq!(bytes[24 + 38], 17);
        assert_eq!(records(Version::V1, &[record()], AT, 0).len(), 16 + 52);
    }

    #[test]
    fn ipfix_matches_routeros_byte_by_byte() {
        let bytes = records(Version::Ipfix, &[record()], AT, 3);

        // The header with its length, one set, a record of 51 bytes and the exporter's start, a byte of padding.
        assert_eq!(bytes[..4], [0, 10, 0, 80]);
        assert_eq!(bytes[16..20], [1, 2, 0, 64]);
        assert_eq!(bytes.len(), 80);
        assert_eq!(bytes[71..79], 1_794_999_999_000_u64.to_be_bytes());
        let first = [
            4, 0, 0, 0, 10, 0, 0, 0, 20, 0, 0, 0, 2, 0, 0, 0, 152, 0, 123, 0, 53, 0, 0, 0, 7, 0, 0,
            0, 13, 17, 0, 10, 0, 0, 1, 10, 0, 0, 2, 10, 0, 0, 3, 10, 0, 0, 4, 10, 0, 0, 5,
        ];
        assert_eq!(bytes[20..71], first);
        assert_eq!((record_len(1), record_len(2)), (51, 79));
    }

    #[test]
    fn one_template_set_describes_both_families() {
        for (version, set, head, more) in [
            (Version::V9, [0, 0], 20, 0),
            (Version::Ipfix, [0, 2], 16, 1),
        ] {
            let bytes = templates(version, AT, 0).expect("it has templates");
            assert_eq!(bytes[head..head + 2], set);
            assert_eq!(bytes[head + 4..head + 8], [1, 2, 0, 16 + more as u8]);
            let fields = (16 + more) * 4 + (14 + more) * 4;
            assert_eq!(bytes.len(), head + 4 + 4 + 4 + fields);
        }
        assert_eq!(templates(Version::V5, AT, 0), None);
    }

    #[test]
    fn a_full_export_datagram_fits_any_link() {
        for version in [Version::V1, Version::V5, Version::V9, Version::Ipfix] {
            let all = alloc::vec![record(); version.most()];
            assert!(records(version, &all, AT, 0).len() <= 1_472);
        }
    }
}
