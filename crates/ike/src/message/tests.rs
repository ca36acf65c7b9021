//! Round trips of messages, and parsing of corrupted ones.

use machine::Rng;

use super::*;
use crate::config::Id;

fn offers(version: Version) -> Vec<Offer> {
    let transform = |kind, id| Transform {
        kind,
        id,
        attributes: vec![
            Attribute::number(14, 256),
            Attribute::number(12, 86_400),
            Attribute::bytes(77, b"abc"),
        ],
    };
    let offer = |number, spi: &[u8]| Offer {
        number,
        protocol: 3,
        spi: spi.to_vec(),
        transforms: vec![
            transform(1, 12),
            transform(if version == Version::One { 2 } else { 3 }, 5),
        ],
    };
    vec![offer(1, &[1, 2, 3, 4]), offer(2, &[5, 6, 7, 8])]
}

/// Builds a message with payloads of every type.
fn message(version: Version) -> Vec<u8> {
    let range = Range {
        protocol: 17,
        ports: (1701, 1701),
        addresses: (
            "192.0.2.0".parse().expect("an address"),
            "192.0.2.255".parse().expect("one"),
        ),
    };
    let delete = Delete {
        protocol: 3,
        spis: vec![1, 2],
        cookies: Vec::new(),
    };
    let configuration = Configuration {
        kind: 1,
        identifier: 7,
        attributes: vec![Attribute::bytes(1, &[192, 0, 2, 1])],
    };
    let chain = Chain::default()
        .with(1, &write_offers(version, &offers(version)))
        .with(2, &id_body(&Id::Fqdn("host.example".into()), 17, 500))
        .with(3, &write_ranges(&[range]))
        .with(4, &Notify::plain(16_388, &[9; 20]).write(version))
        .with(5, &delete.write(version))
        .with(6, &configuration.write());
    let header = Header {
        initiator: 1,
        responder: 2,
        next: 0,
        version,
        exchange: 34,
        flags: 8,
        id: 3,
    };
    chain.message(&header)
}

/// Parses a message, and each body by every parser.
fn read_all(bytes: &[u8]) -> Result<(), Fault> {
    let (header, body) = Header::read(bytes)?;
    for payload in payloads(header.next, body, &[46, 53])? {
        let body = payload.body;
        for version in [Version::One, Version::Two] {
            let _ = read_offers(version, body);
            let _ = Notify::read(version, body);
            let _ = Delete::read(version, body);
        }
        let _ = (read_id(body), read_ranges(body), Configuration::read(body));
    }
    Ok(())
}

#[test]
fn written_messages_parse_to_the_same_values() {
    for version in [Version::One, Version::Two] {
        let bytes = message(version);
        let (header, body) = Header::read(&bytes).expect("a header");
        assert_eq!(
            (header.version, header.exchange, header.id),
            (version, 34, 3)
        );
        let found = payloads(header.next, body, &[]).expect("payloads");
        assert_eq!(
            found.iter().map(|one| one.kind).collect::<Vec<_>>(),
            [1, 2, 3, 4, 5, 6]
        );
        assert_eq!(read_offers(version, found[0].body), Ok(offers(version)));
        let id = Identification::Who(Id::Fqdn("host.example".into()));
        assert_eq!(read_id(found[1].body), Ok((id, 17, 500)));
        let ranges = read_ranges(found[2].body).expect("selectors");
        assert_eq!((ranges.len(), ranges[0].ports), (1, (1701, 1701)));
        assert_eq!(
            Notify::read(version, found[3].body).expect("one").data,
            [9; 20]
        );
        assert_eq!(
            Delete::read(version, found[4].body).expect("one").spis,
            [1, 2]
        );
        assert_eq!(
            Configuration::read(found[5].body).expect("one").identifier,
            7
        );
    }
}

#[test]
fn every_truncation_is_refused() {
    for version in [Version::One, Version::Two] {
        let bytes = message(version);
        for len in 0..bytes.len() {
            assert!(read_all(&bytes[..len]).is_err(), "{len} bytes");
        }
    }
}

#[test]
fn malformed_messages_are_harmless() {
    let mut rng = Rng::seeded(11);
    for round in 0..20_000_u64 {
        let version = if round % 2 == 0 {
            Version::One
        } else {
            Version::Two
        };
        let mut bytes = message(version);
        for _ in 0..=rng.below(6) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = match rng.below(4) {
                0 => 0,
                1 => 0xff,
                _ => rng.next_u64() as u8,
            };
        }
        bytes.truncate(bytes.len() - rng.below(8) as usize);
        let _ = read_all(&bytes);
    }
}

#[test]
fn a_chain_ends_where_another_begins_inside() {
    let bytes = [1, 0, 0, 4, 9, 9, 9];
    let found = payloads(46, &bytes, &[46]).expect("one payload");
    assert_eq!(found.len(), 1);
    assert_eq!(payloads(46, &bytes, &[]), Err(Fault::Short));
}
