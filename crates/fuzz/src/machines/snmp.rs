//! SNMP agent.

use core::net::{Ipv4Addr, Ipv6Addr};

use machine::Instant;
use service::snmp as agents;

use crate::script::{events, span};

/// Queries an SNMP agent: raw bytes, and messages with valid communities and users.
pub fn snmp(script: &[u8]) {
    let engine = vec![0x80, 0, 0x3a, 0x8c, 4];
    let now = Instant::from_secs(1);
    let mut agent = agents::Agent::new(engine, 1, now);
    let community = |security| agents::Community {
        addresses: vec![(Ipv6Addr::UNSPECIFIED.into(), 0)],
        security,
        read: true,
        write: true,
        auth: (agents::usm::Hash::Sha1, vec![7; 20]),
        privacy: (agents::usm::Cipher::Aes, vec![8; 20]),
    };
    agent.set_communities([
        ("public".to_owned(), community(agents::Security::None)),
        ("secret".to_owned(), community(agents::Security::Private)),
    ]);
    let view = agents::mib::Tree(ThreeRows);
    let mut time = now;
    for (what, data) in events(script) {
        let wrapped = match what % 4 {
            0 => data.to_vec(),
            // A message of version 1 or 2c with a valid community around the input.
            version => {
                let mut content = vec![2, 1, version % 2, 4, 6];
                content.extend(b"public");
                content.extend(data);
                let len = u8::try_from(content.len()).unwrap_or(u8::MAX);
                [&[0x30, 0x81, len][..], &content].concat()
            }
        };
        let asked = agents::Datagram {
            bytes: &wrapped,
            from: Ipv4Addr::new(192, 0, 2, 1).into(),
            now: time,
        };
        let mut sets = Vec::new();
        match agent.handle(&asked, &view, &mut sets) {
            Ok(answer) => {
                assert!(answer.len() <= 1_472, "an answer fits a frame");
                assert_eq!(answer.first(), Some(&0x30));
                assert!(sets.len() <= 128 && sets.iter().all(|set| set.text.len() <= 255));
            }
            Err(_) => assert!(sets.is_empty(), "what is refused sets nothing"),
        }
        time += span(data);
    }
}

/// Three rows in each table.
struct ThreeRows;

impl agents::mib::Source for ThreeRows {
    fn scalar(&self, _: agents::mib::Scalar) -> Option<agents::Value> {
        Some(agents::Value::text("value"))
    }

    fn after(&self, _: agents::mib::Table, index: &[u32]) -> Option<agents::Oid> {
        let next = index.first().map_or(1, |index| index.saturating_add(1));
        (next <= 3).then(|| vec![next])
    }

    fn cell(&self, _: agents::mib::Table, column: u32, index: &[u32]) -> Option<agents::Value> {
        let is_row = matches!(index, [1..=3]);
        is_row.then(|| agents::Value::Counter64(column.into()))
    }
}
