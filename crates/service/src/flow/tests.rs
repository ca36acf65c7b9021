//! Export of flows that begin, continue, become idle and end.

use core::net::Ipv4Addr;

use super::*;

fn target(version: Version) -> Target {
    Target {
        to: "192.0.2.9:2055".parse().expect("an address"),
        source: None,
        version,
        refresh: 20,
        timeout: Duration::from_secs(1_800),
    }
}

fn exporter(version: Version) -> Exporter {
    let mut exporter = Exporter::default();
    exporter.configure(Some(Config {
        targets: vec![target(version)],
        active: Duration::from_secs(60),
        inactive: Duration::from_secs(15),
        entries: 1_000,
    }));
    exporter
}

fn seen(number: u64, packets: u64) -> FlowSample {
    let host = |last| IpAddr::from([10, 0, 0, last]);
    FlowSample {
        id: (number, false),
        record: Record {
            source: host(1),
            destination: host(2),
            gateway: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            translated: (Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED),
            ports: (number as u16, 80),
            translated_ports: (0, 0),
            protocol: 6,
            tcp_flags: 0,
            interfaces: (1, 2),
            packets,
            bytes: packets * 100,
            first: 0,
            last: 0,
        },
    }
}

/// Samples at this second; returns the datagrams.
fn look(exporter: &mut Exporter, second: u64, seen: &[FlowSample]) -> Vec<Vec<u8>> {
    let moment = Moment {
        up: second as u32 * 1_000,
        seconds: 1_795_000_000,
        nanos: 0,
    };
    let now = Instant::from_secs(second);
    seen.iter().for_each(|one| exporter.see(*one, now));
    let out = exporter.end(moment, now);
    out.into_iter().map(|out| out.bytes).collect()
}

/// Packets, first and last time of each record in version 5 datagrams.
fn told(datagrams: &[Vec<u8>]) -> Vec<[u32; 3]> {
    let records = datagrams.iter().flat_map(|bytes| bytes[24..].chunks(48));
    let word = |record: &[u8], at: usize| {
        u32::from_be_bytes(record[at..at + 4].try_into().expect("four bytes"))
    };
    records
        .map(|record| [word(record, 16), word(record, 24), word(record, 28)])
        .collect()
}

#[test]
fn a_flow_is_exported_when_idle_when_long_and_at_its_end() {
    let mut exporter = exporter(Version::V5);
    assert_eq!(look(&mut exporter, 5, &[seen(1, 10)]).len(), 0);
    assert_eq!(look(&mut exporter, 10, &[seen(1, 12)]).len(), 0);
    // Idle since second 10.
    assert_eq!(
        told(&look(&mut exporter, 25, &[seen(1, 12)])),
        [[12, 5_000, 10_000]]
    );
    assert_eq!(look(&mut exporter, 30, &[seen(1, 12)]).len(), 0, "once");
    for second in [35, 45, 55, 65, 75, 85] {
        assert_eq!(look(&mut exporter, second, &[seen(1, second)]).len(), 0);
    }
    let long = told(&look(&mut exporter, 95, &[seen(1, 95)]));
    assert_eq!(long, [[83, 35_000, 95_000]], "it goes on");
    look(&mut exporter, 100, &[seen(1, 97)]);
    assert_eq!(
        told(&look(&mut exporter, 105, &[])),
        [[2, 100_000, 100_000]],
        "it is gone"
    );
    assert_eq!(exporter.totals().active, 0);
    assert_eq!(exporter.totals().finished, 2);
}

#[test]
fn every_packet_is_exported_once() {
    let mut exporter = exporter(Version::V5);
    let (mut sum, mut count) = (0_u64, 0_u64);
    for second in 1..500_u64 {
        count += second % 7;
        let datagrams = look(&mut exporter, second * 5, &[seen(1, count)]);
        sum += told(&datagrams)
            .iter()
            .map(|record| u64::from(record[0]))
            .sum::<u64>();
    }
    sum += told(&look(&mut exporter, 5_000, &[]))
        .iter()
        .map(|r| u64::from(r[0]))
        .sum::<u64>();
    assert_eq!(sum, count);
}

#[test]
fn templates_are_sent_first_and_repeated_with_the_formats_sequence_numbers() {
    for (version, head, first, second) in [(Version::V9, 12, 1, 2), (Version::Ipfix, 8, 0, 1)] {
        let mut exporter = exporter(version);
        look(&mut exporter, 5, &[seen(1, 1), seen(2, 1)]);
        let datagrams = look(&mut exporter, 10, &[seen(2, 1)]);
        assert_eq!(datagrams.len(), 2, "the templates, then a record");
        let sequence =
            |bytes: &[u8]| u32::from_be_bytes(bytes[head..head + 4].try_into().expect("4"));
        assert_eq!(sequence(&datagrams[1]), first);
        let datagrams = look(&mut exporter, 15, &[]);
        assert_eq!((datagrams.len(), sequence(&datagrams[0])), (1, second));
        look(&mut exporter, 20, &[seen(3, 1)]);
        let later = look(&mut exporter, 2_000, &[]);
        assert_eq!(later.len(), 2, "after half an hour they are told again");
    }
}

#[test]
fn flow_table_and_export_rate_are_bounded() {
    let mut exporter = exporter(Version::Ipfix);
    let many: Vec<_> = (0..1_500).map(|number| seen(number, 3)).collect();
    look(&mut exporter, 5, &many);
    let totals = exporter.totals();
    assert_eq!((totals.active, totals.unmanaged_packets), (1_000, 1_500));
    let datagrams = look(&mut exporter, 10, &[]);
    assert!(datagrams.iter().all(|bytes| bytes.len() <= 1_472));
    exporter.configure(None);
    assert!(!exporter.is_on());
    assert_eq!(exporter.totals().active, 0);
}
