use core::net::IpAddr;
use std::collections::BTreeMap;

use machine::{Duration, Instant};

use super::agent::{Community, Datagram, Security};
use super::ber::{Reader, Writer, tag};
use super::mib::{Scalar, Source, Table, Tree};
use super::usm::{Cipher, Hash, Occasion};
use super::{Agent, Fault, Oid, Set, Trap, TrapVersion, Value};

const NOW: Instant = Instant::from_secs(1_000);
const NAME: &[u32] = super::mib::NAME;
const IN_OCTETS: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6];
const DESCR: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 2];

/// A router with this number of interfaces.
#[derive(Clone, Copy, Debug)]
struct Router(u32);

impl Source for Router {
    fn scalar(&self, scalar: Scalar) -> Option<Value> {
        match scalar {
            Scalar::Name => Some(Value::text("router")),
            Scalar::Uptime => Some(Value::Ticks(7)),
            Scalar::Interfaces => Some(Value::Integer(self.0 as i32)),
            _ => None,
        }
    }

    fn after(&self, table: Table, index: &[u32]) -> Option<Oid> {
        let next = index.first().map_or(1, |index| index + 1);
        let has = matches!(table, Table::Interfaces | Table::MoreOfInterfaces);
        (has && next <= self.0).then(|| vec![next])
    }

    fn cell(&self, table: Table, column: u32, index: &[u32]) -> Option<Value> {
        let [index] = *index else { return None };
        (1..=self.0)
            .contains(&index)
            .then(|| match (table, column) {
                (Table::MoreOfInterfaces, 6..=13) => Value::Counter64(u64::MAX),
                (_, 2) => Value::text(format!("ether{index}")),
                _ => Value::Gauge32(index),
            })
    }
}

fn community(security: Security, write: bool) -> Community {
    let engine = engine();
    Community {
        addresses: vec![([192, 0, 2, 0].into(), 24)],
        security,
        read: true,
        write,
        auth: (Hash::Sha1, Hash::Sha1.key("authentication", &engine)),
        privacy: (Cipher::Aes, Hash::Sha1.key("encryption", &engine)),
    }
}

fn engine() -> Vec<u8> {
    vec![0x80, 0, 0x3a, 0x8c, 4, b'x']
}

fn agent() -> Agent {
    let mut agent = Agent::new(engine(), 77, NOW);
    agent.set_communities([
        ("public".to_owned(), community(Security::None, false)),
        ("writer".to_owned(), community(Security::None, true)),
        ("signed".to_owned(), community(Security::Authorized, false)),
        ("secret".to_owned(), community(Security::Private, false)),
    ]);
    agent
}

/// An answer: type, request id, error status and index, bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Answer {
    kind: u8,
    id: i64,
    status: (i64, i64),
    bindings: Vec<(Oid, Value)>,
}

fn answer(reader: &mut Reader<'_>) -> Answer {
    let (kind, content) = reader.element().expect("a PDU");
    let mut pdu = Reader::new(content);
    let mut number = || pdu.integer().expect("a number");
    let (id, status) = (number(), (number(), number()));
    let mut list = pdu.sequence().expect("bindings");
    let mut bindings = Vec::new();
    while !list.is_empty() {
        let mut binding = list.sequence().expect("a binding");
        bindings.push((
            binding.oid().expect("an oid"),
            binding.value().expect("a value"),
        ));
    }
    Answer {
        kind,
        id,
        status,
        bindings,
    }
}

type Bound<'a> = &'a [(&'a [u32], Value)];

fn pdu(writer: &mut Writer, kind: u8, (once, often): (i64, i64), bound: Bound<'_>) {
    let since = writer.len();
    for (oid, value) in bound.iter().rev() {
        let since = writer.len();
        writer.value(value);
        writer.oid(oid);
        writer.wrap(tag::SEQUENCE, since);
    }
    writer.wrap(tag::SEQUENCE, since);
    writer.integer(often);
    writer.integer(once);
    writer.integer(4711);
    writer.wrap(kind, since);
}

fn message(version: i64, name: &str, kind: u8, numbers: (i64, i64), bound: Bound<'_>) -> Vec<u8> {
    let mut writer = Writer::new();
    pdu(&mut writer, kind, numbers, bound);
    writer.octets(name.as_bytes());
    writer.integer(version);
    writer.wrap(tag::SEQUENCE, 0);
    writer.finish()
}

fn asked(bytes: &[u8]) -> Datagram<'_> {
    Datagram {
        bytes,
        from: IpAddr::from([192, 0, 2, 9]),
        now: NOW,
    }
}

fn handle(agent: &mut Agent, bytes: &[u8], sets: &mut Vec<Set>) -> Result<Answer, Fault> {
    let answered = agent.handle(&asked(bytes), &Tree(Router(100)), sets)?;
    assert!(answered.len() <= 1_452, "{}", answered.len());
    let mut reader = Reader::new(&answered).sequence().expect("a message");
    reader.integer().expect("a version");
    reader.octets().expect("a community");
    Ok(answer(&mut reader))
}

fn ask(agent: &mut Agent, bytes: &[u8]) -> Answer {
    handle(agent, bytes, &mut Vec::new()).expect("an answer")
}

fn named(oids: &[&'static [u32]]) -> Vec<(&'static [u32], Value)> {
    oids.iter().map(|oid| (*oid, Value::Null)).collect()
}

#[test]
fn a_community_is_accepted_from_its_networks_only() {
    let mut agent = agent();
    let get = message(1, "public", 0xa0, (0, 0), &named(&[NAME]));
    let got = ask(&mut agent, &get);
    assert_eq!((got.kind, got.id, got.status), (0xa2, 4711, (0, 0)));
    assert_eq!(got.bindings, [(NAME.to_vec(), Value::text("router"))]);

    let far = Datagram {
        from: IpAddr::from([198, 51, 100, 1]),
        ..asked(&get)
    };
    let refused = agent.handle(&far, &Tree(Router(1)), &mut Vec::new());
    assert_eq!(refused, Err(Fault::Community));
    for name in ["nobody", "signed", "secret"] {
        let get = message(1, name, 0xa0, (0, 0), &named(&[NAME]));
        assert_eq!(
            handle(&mut agent, &get, &mut Vec::new()),
            Err(Fault::Community)
        );
    }
    assert_eq!(agent.counters.faults, BTreeMap::from([("community", 4)]));
}

#[test]
fn missing_objects_give_the_error_of_the_snmp_version() {
    let mut agent = agent();
    let none: &[u32] = &[1, 3, 6, 1, 9];
    let gone: &[u32] = &[1, 3, 6, 1, 2, 1, 2, 2, 1, 2, 101];
    let new = message(1, "public", 0xa0, (0, 0), &named(&[none, gone]));
    let got = ask(&mut agent, &new);
    assert_eq!(got.status, (0, 0));
    assert_eq!(got.bindings[0].1, Value::NoObject);
    assert_eq!(got.bindings[1].1, Value::NoInstance);
    let old = message(0, "public", 0xa0, (0, 0), &named(&[NAME, gone]));
    let got = ask(&mut agent, &old);
    assert_eq!((got.status, got.bindings.len()), ((2, 2), 2));

    // Version 1 has no 64-bit counters.
    let wide: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 6, 1];
    let old = message(0, "public", 0xa0, (0, 0), &named(&[wide]));
    assert_eq!(ask(&mut agent, &old).status, (2, 1));
    let last: &[u32] = &[1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 5, 100];
    let old = message(0, "public", 0xa1, (0, 0), &named(&[last]));
    let got = ask(&mut agent, &old);
    assert_eq!(got.bindings[0].0, [1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 14, 1]);
    let end: &[u32] = &[2, 5];
    let old = message(0, "public", 0xa1, (0, 0), &named(&[end]));
    assert_eq!(ask(&mut agent, &old).status, (2, 1));
    let new = message(1, "public", 0xa1, (0, 0), &named(&[end]));
    assert_eq!(
        ask(&mut agent, &new).bindings,
        [(end.to_vec(), Value::EndOfView)]
    );
}

/// Walks the whole tree by one request type; returns the object identifiers in order.
fn walk(agent: &mut Agent, kind: u8, often: i64) -> Vec<Oid> {
    let mut all: Vec<Oid> = Vec::new();
    let mut from = vec![1];
    for _ in 0..10_000 {
        let question = message(1, "public", kind, (0, often), &[(&from, Value::Null)]);
        for (oid, value) in ask(agent, &question).bindings {
            if value == Value::EndOfView {
                return all;
            }
            assert!(all.last().is_none_or(|last| *last < oid), "{oid:?}");
            from.clone_from(&oid);
            all.push(oid);
        }
    }
    panic!("the walk has no end");
}

#[test]
fn get_next_and_get_bulk_walk_all_objects_in_order() {
    let mut agent = agent();
    let one_by_one = walk(&mut agent, 0xa1, 0);
    let in_bulk = walk(&mut agent, 0xa5, 50);
    assert_eq!(one_by_one, in_bulk);
    // The columns of two tables, the scalars, and uptime twice.
    assert_eq!(one_by_one.len(), 100 * (21 + 19) + 4);
    for oid in &one_by_one {
        let get = message(1, "public", 0xa0, (0, 0), &[(oid, Value::Null)]);
        let got = ask(&mut agent, &get);
        assert!(!matches!(
            got.bindings[0].1,
            Value::NoObject | Value::NoInstance
        ));
    }
}

#[test]
fn get_bulk_reads_non_repeaters_once_and_repeats_the_others() {
    let mut agent = agent();
    let question = message(1, "public", 0xa5, (1, 3), &named(&[NAME, DESCR, IN_OCTETS]));
    let got = ask(&mut agent, &question).bindings;
    assert_eq!(got.len(), 1 + 2 * 3);
    let next = |oid: &[u32], index: u32| [oid, &[index]].concat();
    assert_eq!(got[1].0, next(DESCR, 1));
    assert_eq!(got[2].0, next(IN_OCTETS, 1));
    assert_eq!(got[5].0, next(DESCR, 3));
    // Senseless repetition counts return little.
    for numbers in [(-1, -1), (i64::MAX, i64::MAX), (0, i64::MAX)] {
        let question = message(1, "public", 0xa5, numbers, &named(&[DESCR]));
        ask(&mut agent, &question);
    }
    // Version 1 lacks GetBulk, and a response is not a request.
    let old = message(0, "public", 0xa5, (0, 3), &named(&[DESCR]));
    assert_eq!(handle(&mut agent, &old, &mut Vec::new()), Err(Fault::Pdu));
    let said = message(1, "public", 0xa2, (0, 0), &named(&[DESCR]));
    assert_eq!(handle(&mut agent, &said, &mut Vec::new()), Err(Fault::Pdu));
}

#[test]
fn a_set_is_atomic_and_requires_write_access() {
    let mut agent = agent();
    let mut sets = Vec::new();
    let new = Value::text("new name");
    let one = [(NAME, new.clone())];
    let set = message(1, "public", 0xa3, (0, 0), &one);
    assert_eq!(
        handle(&mut agent, &set, &mut sets)
            .expect("an answer")
            .status,
        (6, 1)
    );
    let set = message(
        1,
        "writer",
        0xa3,
        (0, 0),
        &[(NAME, new.clone()), (DESCR, new)],
    );
    assert_eq!(
        handle(&mut agent, &set, &mut sets)
            .expect("an answer")
            .status,
        (17, 2)
    );
    let set = message(1, "writer", 0xa3, (0, 0), &[(NAME, Value::text("a\nb"))]);
    assert_eq!(
        handle(&mut agent, &set, &mut sets)
            .expect("an answer")
            .status,
        (8, 1)
    );
    assert!(sets.is_empty());
    let set = message(0, "writer", 0xa3, (0, 0), &one);
    assert_eq!(
        handle(&mut agent, &set, &mut sets)
            .expect("an answer")
            .status,
        (0, 0)
    );
    assert_eq!((sets.len(), &*sets[0].text), (1, "new name"));
}

/// A version 3 manager.
struct Manager {
    user: &'static str,
    flags: u8,
    boots: i64,
    time: i64,
    engine: Vec<u8>,
    /// Uses a wrong key.
    wrong: bool,
}

impl Manager {
    fn new(user: &'static str, flags: u8) -> Self {
        Self {
            user,
            flags,
            boots: 77,
            time: 0,
            engine: engine(),
            wrong: false,
        }
    }

    fn key(&self, password: &str) -> Vec<u8> {
        let password = if self.wrong { "wrong" } else { password };
        Hash::Sha1.key(password, &engine())
    }

    fn ask(&self, kind: u8, bound: Bound<'_>) -> Vec<u8> {
        let mut scoped = Writer::new();
        pdu(&mut scoped, kind, (0, 0), bound);
        scoped.octets(&[]);
        scoped.octets(&self.engine);
        scoped.wrap(tag::SEQUENCE, 0);
        let scoped = scoped.finish();
        let occasion = Occasion {
            boots: self.boots as u32,
            time: self.time as u32,
            salt: *b"12345678",
        };
        let mut writer = Writer::new();
        match self.flags & 2 {
            0 => writer.raw(&scoped),
            _ => {
                let data = Cipher::Aes.encrypt(&self.key("encryption"), &occasion, &scoped);
                writer.octets(&data.expect("a key"));
            }
        }
        let behind = writer.len();
        writer.octets(if self.flags & 2 == 0 {
            &[]
        } else {
            &occasion.salt
        });
        let ends = writer.len();
        writer.octets(if self.flags & 1 == 0 { &[] } else { &[0; 12] });
        writer.octets(self.user.as_bytes());
        writer.integer(self.time);
        writer.integer(self.boots);
        writer.octets(&self.engine);
        writer.wrap(tag::SEQUENCE, behind);
        writer.wrap(tag::OCTETS, behind);
        let global = writer.len();
        writer.integer(3);
        writer.octets(&[self.flags | 4]);
        writer.integer(65_507);
        writer.integer(1);
        writer.wrap(tag::SEQUENCE, global);
        writer.integer(3);
        writer.wrap(tag::SEQUENCE, 0);
        let mut bytes = writer.finish();
        if self.flags & 1 != 0 {
            let at = bytes.len() - ends - 12;
            let key = self.key("authentication");
            let digest = Hash::Sha1.digest(&key, [&bytes, &[], &[]]);
            bytes[at..at + 12].copy_from_slice(&digest);
        }
        bytes
    }

    /// Parses an answer, and checks that it is protected like the request.
    fn read(&self, bytes: &[u8]) -> (Answer, u8) {
        let mut reader = Reader::new(bytes).sequence().expect("a message");
        assert_eq!(reader.integer(), Some(3));
        let head = super::message::Head::read(&mut reader).expect("a head");
        let opened;
        let scoped = match head.flags & 2 {
            0 => head.data,
            _ => {
                let occasion = Occasion {
                    boots: head.boots as u32,
                    time: head.time as u32,
                    salt: head.privacy.try_into().expect("a salt"),
                };
                let plain = Cipher::Aes.decrypt(&self.key("encryption"), &occasion, head.data);
                opened = plain.expect("a key");
                Reader::new(&opened)
                    .expect(tag::SEQUENCE)
                    .expect("a sequence")
            }
        };
        let mut reader = Reader::new(scoped);
        reader.octets().expect("an engine");
        reader.octets().expect("a context");
        (answer(&mut reader), head.flags)
    }
}

/// Number of the counter in a report.
fn reported(answer: &Answer) -> Option<u32> {
    let (oid, _) = answer.bindings.first()?;
    (answer.kind == 0xa8).then(|| oid[oid.len() - 2])
}

#[test]
fn usm_responses_use_the_requests_security_level_and_report_errors() {
    let mut agent = agent();
    let bound = named(&[NAME]);
    for (user, flags) in [("public", 0), ("signed", 1), ("signed", 3), ("secret", 3)] {
        let manager = Manager::new(user, flags);
        let answered = agent.handle(
            &asked(&manager.ask(0xa0, &bound)),
            &Tree(Router(1)),
            &mut Vec::new(),
        );
        let (answer, protected) = manager.read(&answered.expect("an answer"));
        assert_eq!(
            answer.bindings,
            [(NAME.to_vec(), Value::text("router"))],
            "{user}"
        );
        assert_eq!(protected, flags);
    }
    let wrong = |change: fn(&mut Manager), user, flags| {
        let mut manager = Manager::new(user, flags);
        change(&mut manager);
        manager
    };
    for (manager, number) in [
        (wrong(|m| m.engine = Vec::new(), "", 0), 4),
        (wrong(|_| {}, "nobody", 0), 3),
        (wrong(|_| {}, "signed", 0), 1),
        (wrong(|_| {}, "secret", 1), 1),
        (wrong(|m| m.wrong = true, "signed", 1), 5),
        (wrong(|m| m.time = 151, "signed", 1), 2),
        (wrong(|m| m.boots = 76, "signed", 1), 2),
    ] {
        let question = manager.ask(0xa0, &bound);
        let answered = agent.handle(&asked(&question), &Tree(Router(1)), &mut Vec::new());
        let (answer, _) = manager.read(&answered.expect("a report"));
        assert_eq!(
            reported(&answer),
            Some(number),
            "{} {}",
            manager.user,
            manager.flags
        );
    }
    // A message modified in transit.
    let mut changed = Manager::new("signed", 1).ask(0xa0, &bound);
    *changed.last_mut().expect("bytes") ^= 1;
    let refused = agent.handle(&asked(&changed), &Tree(Router(1)), &mut Vec::new());
    let (answer, _) = Manager::new("signed", 1).read(&refused.expect("a report"));
    assert_eq!(reported(&answer), Some(5));
}

#[test]
fn messages_outside_the_time_window_are_refused() {
    let mut agent = agent();
    let question = Manager::new("signed", 1).ask(0xa0, &named(&[NAME]));
    for (seconds, is_late) in [(150, false), (151, true)] {
        let late = Datagram {
            now: NOW + Duration::from_secs(seconds),
            ..asked(&question)
        };
        let answered = agent.handle(&late, &Tree(Router(1)), &mut Vec::new());
        let (answer, _) = Manager::new("signed", 1).read(&answered.expect("an answer"));
        assert_eq!(reported(&answer).is_some(), is_late);
    }
}

#[test]
fn malformed_messages_are_counted_and_dropped() {
    let mut agent = agent();
    let whole = [
        message(1, "writer", 0xa5, (0, 9), &named(&[DESCR, IN_OCTETS])),
        Manager::new("secret", 3).ask(0xa0, &named(&[NAME])),
    ];
    let mut sets = Vec::new();
    for whole in &whole {
        for cut in 0..whole.len() {
            let refused = agent.handle(&asked(&whole[..cut]), &Tree(Router(1)), &mut sets);
            assert_eq!(refused, Err(Fault::Malformed), "{cut}");
        }
        for bit in 0..whole.len() * 8 {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = agent.handle(&asked(&flipped), &Tree(Router(1)), &mut sets);
        }
    }
    let long = vec![0x30; 5_000];
    let refused = agent.handle(&asked(&long), &Tree(Router(1)), &mut sets);
    assert_eq!(refused, Err(Fault::Malformed));
    let future = message(2, "public", 0xa0, (0, 0), &named(&[NAME]));
    assert_eq!(handle(&mut agent, &future, &mut sets), Err(Fault::Version));
}

#[test]
fn traps_of_all_versions_carry_the_event() {
    let mut agent = agent();
    let index = vec![1, 3, 6, 1, 2, 1, 2, 2, 1, 1, 7];
    let trap = Trap::common(3, vec![(index.clone(), Value::Integer(7))]);
    let own = [192, 0, 2, 1];
    let old = agent.notify(&trap, TrapVersion::V1, "public", own, NOW);
    let old = old.expect("a trap");
    let mut reader = Reader::new(&old).sequence().expect("a message");
    assert_eq!(
        (reader.integer(), reader.octets()),
        (Some(0), Some(&b"public"[..]))
    );
    let mut pdu = Reader::new(reader.expect(0xa4).expect("a trap"));
    assert_eq!(pdu.oid().as_deref(), Some(super::mib::KIND));
    assert_eq!(pdu.value(), Some(Value::Address([192, 0, 2, 1])));
    assert_eq!((pdu.integer(), pdu.integer()), (Some(2), Some(0)));

    let new = agent.notify(&trap, TrapVersion::V2, "public", own, NOW);
    let new = new.expect("a trap");
    let mut reader = Reader::new(&new).sequence().expect("a message");
    reader.integer();
    reader.octets();
    let said = answer(&mut reader);
    assert_eq!(said.kind, 0xa7);
    assert_eq!(said.bindings[1].1, Value::Oid(trap.oid.clone()));
    assert_eq!(said.bindings[2], (index, Value::Integer(7)));

    let sealed = agent.notify(&trap, TrapVersion::V3, "secret", own, NOW);
    let (said, flags) = Manager::new("secret", 3).read(&sealed.expect("a trap"));
    assert_eq!((said.kind, flags), (0xa7, 3));
    let nobody = agent.notify(&trap, TrapVersion::V3, "nobody", own, NOW);
    assert_eq!(nobody, Err(Fault::User));
}
