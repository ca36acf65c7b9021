//! The forwarder against simulated servers.

use core::net::Ipv4Addr;

use hickory_proto::op::{Message, MessageType, ResponseCode};
use hickory_proto::rr::rdata::{CNAME, SOA};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use hickory_proto::serialize::binary::BinEncodable as _;

use super::*;

mod faults;
mod spelling;

/// A forwarder with virtual time, and its actions.
struct Bench {
    dns: Dns<u32>,
    now: Instant,
    out: Vec<Action<u32>>,
}

/// A query sent to a server.
#[derive(Clone, Debug)]
struct Sent {
    to: SocketAddr,
    port: u16,
    message: Vec<u8>,
}

fn server(last: u8) -> SocketAddr {
    ([192, 0, 2, last], 53).into()
}

fn name(text: &str) -> Name {
    Name::from_ascii(format!("{text}.")).expect("a name")
}

fn address(owner: &str, last: u8, ttl: u32) -> Record {
    let data = RData::A(Ipv4Addr::new(10, 0, 0, last).into());
    Record::from_rdata(name(owner), ttl, data)
}

fn alias(owner: &str, to: &str, ttl: u32) -> Record {
    Record::from_rdata(name(owner), ttl, RData::CNAME(CNAME(name(to))))
}

fn authority(owner: &str, ttl: u32, minimum: u32) -> Record {
    let soa = SOA::new(name(owner), name(owner), 1, 2, 3, 4, minimum);
    Record::from_rdata(name(owner), ttl, RData::SOA(soa))
}

impl Bench {
    fn new(servers: &[u8]) -> Self {
        let mut bench = Self {
            dns: Dns::new([3; 32]),
            now: Instant::from_secs(100),
            out: Vec::new(),
        };
        bench.configure(servers, |_| {});
        bench
    }

    fn configure(&mut self, servers: &[u8], change: impl FnOnce(&mut Config)) {
        let plain = servers.iter().map(|last| Server {
            address: server(*last),
            place: NetworkStack::Router,
        });
        let mut config = Config::default();
        config.servers.plain = plain.collect();
        change(&mut config);
        self.event(Event::Configure(Box::new(config)));
    }

    fn event(&mut self, event: Event<'_, u32>) {
        self.dns.handle(event, self.now, &mut self.out);
    }

    fn add(&mut self, id: u64, name: &str, data: Data) {
        let entry = Entry {
            names: Names::One(wire(name)),
            data,
            ttl: 60,
            list: None,
        };
        self.event(Event::Static(id, Some(Box::new(entry))));
    }

    fn pass(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while let Some((at, ())) = self.dns.deadline().filter(|(at, ())| *at <= end) {
            self.now = self.now.max(at);
            self.dns.tick(self.now, &mut self.out);
        }
        self.now = end;
    }

    /// Sends a query; returns an immediate answer.
    fn ask(&mut self, client: u32, text: &str, kind: RecordType) -> Option<Message> {
        self.ask_by(client, (text, kind), Carrier::Datagram(4096), None)
    }

    fn ask_by(
        &mut self,
        client: u32,
        (text, kind): (&str, RecordType),
        carrier: Carrier,
        size: Option<u16>,
    ) -> Option<Message> {
        let message = question(client as u16, text, kind, size);
        let mut reply = Vec::new();
        if self
            .dns
            .answer_at_once(&message, carrier, self.now, &mut reply)
        {
            return Some(Message::from_vec(&reply).expect("a message"));
        }
        assert!(reply.is_empty(), "nothing is written in vain");
        let before = self.out.len();
        self.event(Event::Asked {
            client,
            carrier,
            message: &message,
        });
        let found = { &self.out[before..] }.iter().position(
            |action| matches!(action, Action::Answer { client: own, .. } if *own == client),
        );
        let answer = self.out.remove(before + found?);
        let Action::Answer { message, .. } = answer else {
            unreachable!("it was looked for")
        };
        Some(Message::from_vec(&message).expect("a message"))
    }

    /// Queries sent to servers.
    fn sent(&mut self) -> Vec<Sent> {
        let is_sent = |action: &mut Action<u32>| matches!(action, Action::Send { .. });
        let sent = self.out.extract_if(.., is_sent).map(|action| match action {
            Action::Send { to, port, message } => Sent { to, port, message },
            _ => unreachable!("it was looked for"),
        });
        sent.collect()
    }

    fn asks(&mut self) -> Vec<Ask> {
        let is_ask = |action: &mut Action<u32>| matches!(action, Action::Ask(_));
        let asks = self.out.extract_if(.., is_ask).map(|action| match action {
            Action::Ask(ask) => ask,
            _ => unreachable!("it was looked for"),
        });
        asks.collect()
    }

    /// Answers to clients.
    fn answers(&mut self) -> Vec<(u32, Message)> {
        let is_answer = |action: &mut Action<u32>| matches!(action, Action::Answer { .. });
        let answers = self
            .out
            .extract_if(.., is_answer)
            .map(|action| match action {
                Action::Answer { client, message } => {
                    (client, Message::from_vec(&message).expect("a message"))
                }
                _ => unreachable!("it was looked for"),
            });
        answers.collect()
    }

    fn hear(&mut self, sent: &Sent, message: &[u8]) {
        self.event(Event::Datagram {
            port: sent.port,
            from: sent.to,
            message,
        });
    }

    /// Answers the last query with these records.
    fn answer(&mut self, records: Vec<Record>) {
        let sent = self.sent().pop().expect("a question was sent");
        let message = reply(&sent.message, ResponseCode::NoError, records, vec![]);
        self.hear(&sent, &message);
    }
}

fn wire(text: &str) -> Box<[u8]> {
    wire::dns::Name::new(text)
        .expect("a name")
        .as_bytes()
        .into()
}

fn question(id: u16, text: &str, kind: RecordType, size: Option<u16>) -> Vec<u8> {
    let [a, b] = id.to_be_bytes();
    let head = [a, b, 1, 0, 0, 1, 0, 0, 0, 0, 0, u8::from(size.is_some())];
    let kind = u16::from(kind).to_be_bytes();
    let mut message = [&head[..], &wire(text), &kind, &[0, 1]].concat();
    if let Some(size) = size {
        let [high, low] = size.to_be_bytes();
        message.extend_from_slice(&[0, 0, 41, high, low, 0, 0, 0, 0, 0, 0]);
    }
    message
}

/// A server's answer.
fn reply(
    question: &[u8],
    code: ResponseCode,
    answers: Vec<Record>,
    authorities: Vec<Record>,
) -> Vec<u8> {
    let mut message = Message::from_vec(question).expect("a question");
    message.metadata.message_type = MessageType::Response;
    message.metadata.response_code = code;
    message.insert_answers(answers);
    message.insert_authorities(authorities);
    message.to_bytes().expect("it fits")
}

/// Last bytes of the addresses in an answer, with their TTLs.
fn found(message: &Message) -> Vec<(u8, u32)> {
    let found = message
        .answers
        .iter()
        .filter_map(|record| match &record.data {
            RData::A(address) => Some((address.0.octets()[3], record.ttl)),
            _ => None,
        });
    found.collect()
}

fn code(message: &Message) -> ResponseCode {
    message.metadata.response_code
}

#[test]
fn an_answer_is_cached_for_its_ttl_which_counts_down() {
    let mut bench = Bench::new(&[1]);
    assert!(bench.ask(1, "a.example", RecordType::A).is_none());
    bench.answer(vec![
        address("a.example", 1, 60),
        address("a.example", 2, 50),
    ]);
    let answers = bench.answers();
    assert_eq!(
        (answers.len(), found(&answers[0].1)),
        (1, vec![(1, 60), (2, 50)])
    );

    bench.pass(20);
    let kept = bench
        .ask(2, "A.EXAMPLE", RecordType::A)
        .expect("it is kept");
    assert_eq!(found(&kept), [(1, 40), (2, 30)]);
    assert_eq!(
        (kept.metadata.id, kept.queries[0].name.to_ascii()),
        (2, "a.example.".into())
    );
    // The minimum TTL applies to all records.
    bench.pass(30);
    assert!(bench.ask(3, "a.example", RecordType::A).is_none());
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn equal_queries_of_several_clients_share_one_upstream_query() {
    let mut bench = Bench::new(&[1]);
    for client in 1..=5 {
        assert!(bench.ask(client, "a.example", RecordType::A).is_none());
    }
    assert!(bench.ask(6, "a.example", RecordType::AAAA).is_none());

    let sent = bench.sent();
    assert_eq!(sent.len(), 2);
    let message = reply(
        &sent[0].message,
        ResponseCode::NoError,
        vec![address("a.example", 1, 60)],
        vec![],
    );
    bench.hear(&sent[0], &message);
    let clients: Vec<_> = bench
        .answers()
        .into_iter()
        .map(|(client, _)| client)
        .collect();
    assert_eq!(clients, [1, 2, 3, 4, 5]);
}

#[test]
fn only_the_queried_server_with_matching_id_and_question_is_accepted() {
    let mut bench = Bench::new(&[1]);
    bench.ask(1, "a.example", RecordType::A);
    let sent = bench.sent().pop().expect("a question");
    let good = reply(
        &sent.message,
        ResponseCode::NoError,
        vec![address("a.example", 1, 60)],
        vec![],
    );

    let mut other_id = good.clone();
    other_id[1] ^= 1;
    bench.hear(&sent, &other_id);
    let other_source = Sent {
        to: server(9),
        ..sent.clone()
    };
    bench.hear(&other_source, &good);
    let other_port = Sent {
        port: sent.port ^ 1,
        ..sent.clone()
    };
    bench.hear(&other_port, &good);
    let mut other_name = good.clone();
    other_name[13] = b'z';
    bench.hear(&sent, &other_name);
    assert!(bench.answers().is_empty() && bench.asks().is_empty());
    assert_eq!(bench.dns.counters().forged, 3);

    bench.hear(&sent, &good);
    assert_eq!(bench.answers().len(), 1);
    // A repeated answer is ignored.
    bench.hear(&sent, &good);
    assert!(bench.answers().is_empty());
}

#[test]
fn a_case_mismatch_or_many_forged_answers_cause_a_query_by_tcp() {
    let mut bench = Bench::new(&[1]);
    bench.ask(1, "abcdefghijklmnop.example", RecordType::A);
    let sent = bench.sent().pop().expect("a question");
    let mut other = reply(&sent.message, ResponseCode::NoError, vec![], vec![]);
    other[13] ^= 0x20;
    bench.hear(&sent, &other);
    let ask = bench.asks().pop().expect("by TCP");
    assert!(matches!(ask.way, Transport::Stream(of) if of.address == server(1)));
    assert!(bench.answers().is_empty());

    bench.ask(2, "b.example", RecordType::A);
    let sent = bench.sent().pop().expect("a question");
    for _ in 0..16 {
        bench.hear(&sent, &[0; 12]);
    }
    let ask = bench.asks().pop().expect("by TCP");
    let records = vec![address("b.example", 7, 60)];
    let message = reply(&ask.message, ResponseCode::NoError, records, vec![]);
    bench.event(Event::QueryResult {
        ticket: ask.ticket,
        told: QueryResult::Message(message),
    });
    assert_eq!(found(&bench.answers()[0].1), [(7, 60)]);
}

#[test]
fn records_of_unrelated_names_are_not_cached() {
    let mut bench = Bench::new(&[1]);
    bench.ask(1, "a.example", RecordType::A);
    bench.answer(vec![
        address("c.example", 3, 60),
        alias("a.example", "b.example", 40),
        address("bank.example", 66, 60),
        alias("x.example", "y.example", 40),
        address("b.example", 2, 60),
    ]);
    let answers = bench.answers();
    let owners: Vec<_> = { answers[0].1.answers.iter() }
        .map(|record| record.name.to_ascii())
        .collect();
    assert_eq!(owners, ["a.example.", "b.example."]);

    assert!(bench.ask(2, "bank.example", RecordType::A).is_none());
    // The alias has a lower TTL than the address.
    bench.pass(41);
    assert!(bench.ask(3, "a.example", RecordType::A).is_none());
}

#[test]
fn negative_answers_are_cached_for_the_zones_minimum() {
    let mut bench = Bench::new(&[1]);
    for (client, text, zone, minimum, keeps) in [
        (1, "a.example", "example", 30, true),
        (2, "b.example", "example", 0, false),
        (3, "c.example", "evil", 30, false),
    ] {
        bench.ask(client, text, RecordType::A);
        let sent = bench.sent().pop().expect("a question");
        let soa = vec![authority(zone, 90, minimum)];
        bench.hear(
            &sent,
            &reply(&sent.message, ResponseCode::NXDomain, vec![], soa),
        );
        let answers = bench.answers();
        let own = answers.iter().find(|(own, _)| *own == client);
        let own = &own.expect("an answer").1;
        assert_eq!(code(own), ResponseCode::NXDomain, "{text}");
        bench.pass(20);
        let kept = bench.ask(client + 10, text, RecordType::A);
        assert_eq!(kept.is_some(), keeps, "{text}");
        if let Some(kept) = kept {
            assert_eq!((kept.authorities.len(), kept.authorities[0].ttl), (1, 10));
        }
        bench.pass(20);
        assert!(bench.ask(client + 20, text, RecordType::A).is_none());
    }
}

#[test]
fn a_failed_server_is_replaced_by_the_next_one() {
    let mut bench = Bench::new(&[1, 2]);
    bench.ask(1, "a.example", RecordType::A);
    assert_eq!(bench.sent()[0].to, server(1));
    bench.pass(2);
    let sent = bench.sent().pop().expect("the next");
    assert_eq!(sent.to, server(2));
    bench.hear(
        &sent,
        &reply(&sent.message, ResponseCode::ServFail, vec![], vec![]),
    );
    // Both servers have failed, the first one by timeout: it is queried once more.
    assert_eq!(bench.sent()[0].to, server(1));
    bench.pass(2);
    bench.answer(vec![address("a.example", 1, 60)]);
    assert_eq!(bench.answers().len(), 1);

    bench.ask(2, "b.example", RecordType::A);
    assert_eq!(bench.sent()[0].to, server(2));
}

#[test]
fn a_total_timeout_returns_an_error_that_is_cached_briefly() {
    let mut bench = Bench::new(&[1, 2]);
    bench.ask(1, "a.example", RecordType::A);
    bench.pass(9);
    assert!(bench.answers().is_empty());
    bench.pass(1);
    assert_eq!(code(&bench.answers()[0].1), ResponseCode::ServFail);

    assert!(bench.ask(2, "a.example", RecordType::A).is_some());
    // The new servers may know the name.
    bench.sent();
    bench.configure(&[3], |_| {});
    assert!(bench.ask(3, "a.example", RecordType::A).is_none());
    assert_eq!(bench.sent()[0].to, server(3));
}

#[test]
fn a_truncated_answer_is_queried_by_tcp_and_truncated_for_small_clients() {
    let mut bench = Bench::new(&[1]);
    let asked = ("a.example", RecordType::A);
    assert!(
        bench
            .ask_by(1, asked, Carrier::Datagram(4096), None)
            .is_none()
    );
    assert!(
        bench
            .ask_by(2, asked, Carrier::Datagram(4096), Some(4096))
            .is_none()
    );
    let sent = bench.sent().pop().expect("a question");
    let mut cut = reply(&sent.message, ResponseCode::NoError, vec![], vec![]);
    cut[2] |= 2;
    bench.hear(&sent, &cut);
    let ask = bench.asks().pop().expect("by TCP");
    let records = (0..60).map(|last| address("a.example", last, 60)).collect();
    let message = reply(&ask.message, ResponseCode::NoError, records, vec![]);
    bench.event(Event::QueryResult {
        ticket: ask.ticket,
        told: QueryResult::Message(message),
    });

    let answers = bench.answers();
    let all = |message: &Message| (message.metadata.truncation, found(message).len());
    assert_eq!(
        (all(&answers[0].1), all(&answers[1].1)),
        ((true, 0), (false, 60))
    );
    assert!(answers[0].1.edns.is_none() && answers[1].1.edns.is_some());
    let by_tcp = bench.ask_by(3, asked, Carrier::Stream, None).expect("kept");
    assert_eq!(all(&by_tcp), (false, 60));
}

#[test]
fn a_server_without_edns_is_queried_without_it() {
    let mut bench = Bench::new(&[1]);
    bench.ask(1, "a.example", RecordType::A);
    let sent = bench.sent().pop().expect("a question");
    let mut bad = sent.message[..12].to_vec();
    bad[2..6].copy_from_slice(&[0x81, 0x81, 0, 0]);
    bad[11] = 0;
    bench.hear(&sent, &bad);

    let sent = bench.sent().pop().expect("another");
    assert_eq!(sent.message[11], 0);
    let records = vec![address("a.example", 1, 60)];
    bench.hear(
        &sent,
        &reply(&sent.message, ResponseCode::NoError, records, vec![]),
    );
    assert_eq!(bench.answers().len(), 1);
}

#[test]
fn a_static_cname_is_resolved_through_servers() {
    let mut bench = Bench::new(&[1]);
    bench.add(1, "mine.lan", Data::Alias(wire("other.lan")));
    bench.add(2, "other.lan", Data::Alias(wire("a.example")));
    bench.add(3, "loop.lan", Data::Alias(wire("loop.lan")));
    assert!(bench.ask(1, "mine.lan", RecordType::A).is_none());
    bench.answer(vec![
        alias("a.example", "b.example", 20),
        address("b.example", 4, 60),
    ]);

    let answers = bench.answers();
    let message = &answers[0].1;
    let owners: Vec<_> = { message.answers.iter() }
        .map(|record| record.name.to_ascii())
        .collect();
    assert_eq!(
        owners,
        ["mine.lan.", "other.lan.", "a.example.", "b.example."]
    );
    bench.pass(5);
    let again = bench.ask(2, "mine.lan", RecordType::A).expect("kept");
    let ttls: Vec<_> = again.answers.iter().map(|record| record.ttl).collect();
    assert_eq!(ttls, [60, 60, 15, 55]);
    let looped = bench.ask(3, "loop.lan", RecordType::A).expect("an end");
    assert_eq!(code(&looped), ResponseCode::ServFail);
    let itself = bench
        .ask(4, "mine.lan", RecordType::CNAME)
        .expect("an answer");
    assert_eq!(itself.answers.len(), 1);
}

#[test]
fn static_names_exist_even_if_servers_do_not_know_them() {
    let mut bench = Bench::new(&[1]);
    bench.add(1, "a.example", Data::Address([10, 9, 9, 9].into()));
    assert!(bench.ask(1, "a.example", RecordType::AAAA).is_none());
    let sent = bench.sent().pop().expect("a question");
    let soa = vec![authority("example", 90, 90)];
    bench.hear(
        &sent,
        &reply(&sent.message, ResponseCode::NXDomain, vec![], soa),
    );

    assert_eq!(code(&bench.answers()[0].1), ResponseCode::NoError);
    let kept = bench.ask(2, "a.example", RecordType::AAAA).expect("kept");
    assert_eq!(code(&kept), ResponseCode::NoError);
    let own = bench.ask(3, "a.example", RecordType::A).expect("an answer");
    assert_eq!(found(&own), [(9, 60)]);
}

#[test]
fn forwarded_names_go_to_their_servers_and_blocked_names_nowhere() {
    let mut bench = Bench::new(&[1]);
    let office = Servers {
        plain: vec![Server {
            address: server(7),
            place: NetworkStack::Router,
        }],
        secure: Vec::new(),
    };
    bench.configure(&[1], |config| {
        config.forwarders.insert("office".into(), office);
    });
    bench.add(1, "a.office", Data::Forward(Some("office".into())));
    bench.add(2, "wanted.example", Data::Forward(None));
    let mut reader = Reader::new(bench.dns.hash_key(), 100);
    for line in ["ads.example", "wanted.example", "a.office"] {
        reader.line(line);
    }
    bench.event(Event::Unwanted(1, Some(reader.finish())));

    bench.ask(1, "a.office", RecordType::A);
    bench.ask(2, "wanted.example", RecordType::A);
    let to: Vec<_> = bench.sent().into_iter().map(|sent| sent.to).collect();
    assert_eq!(to, [server(7), server(1)]);
    let none = bench
        .ask(3, "ads.example", RecordType::A)
        .expect("an answer");
    assert_eq!(none.answers[0].data, RData::A(Ipv4Addr::UNSPECIFIED.into()));
    let none = bench
        .ask(4, "ads.example", RecordType::TXT)
        .expect("an answer");
    assert!(none.answers.is_empty() && code(&none) == ResponseCode::NoError);
    assert_eq!(bench.dns.unwanted(1), Some((3, 2)));
}

#[test]
fn concurrent_queries_are_bounded_and_refused_clients_get_an_error() {
    let mut bench = Bench::new(&[1]);
    bench.configure(&[1], |config| config.questions_max = 3);
    for client in 0..3 {
        assert!(
            bench
                .ask(client, &format!("{client}.example"), RecordType::A)
                .is_none()
        );
    }
    let refused = bench.ask(3, "3.example", RecordType::A).expect("an answer");
    assert_eq!(code(&refused), ResponseCode::ServFail);
    let said = |action: &Action<u32>| matches!(action, Action::Warn(_));
    assert_eq!(bench.out.iter().filter(|action| said(action)).count(), 1);
    bench.ask(4, "4.example", RecordType::A);
    assert_eq!(bench.out.iter().filter(|action| said(action)).count(), 1);
    bench.pass(10);
    assert!(bench.ask(5, "5.example", RecordType::A).is_none());
}

#[test]
fn a_doh_server_answers_all_names_but_its_own() {
    let mut bench = Bench::new(&[1]);
    let secure = Secure {
        url: "https://dns.example/dns-query".into(),
        name: wire("dns.example"),
        verify: true,
        connections: 5,
    };
    bench.configure(&[1], |config| {
        config.servers.secure = vec![Arc::new(secure)]
    });
    bench.ask(1, "A.example", RecordType::A);
    let ask = bench.asks().pop().expect("by HTTPS");
    assert!(matches!(&ask.way, Transport::Secure(to) if to.verify));
    assert_eq!(ask.message[..2], [0, 0]);
    assert!(ask.message[12..].starts_with(&wire("a.example")));
    let records = vec![address("a.example", 1, 60)];
    let message = reply(&ask.message, ResponseCode::NoError, records, vec![]);
    bench.event(Event::QueryResult {
        ticket: ask.ticket,
        told: QueryResult::Message(message),
    });
    assert_eq!(found(&bench.answers()[0].1), [(1, 60)]);

    bench.ask(2, "dns.example", RecordType::A);
    assert_eq!(bench.sent()[0].to, server(1));
    // An unreachable server has used its attempt.
    bench.ask(3, "b.example", RecordType::A);
    let ask = bench.asks().pop().expect("by HTTPS");
    bench.event(Event::QueryResult {
        ticket: ask.ticket,
        told: QueryResult::Refused,
    });
    assert_eq!(code(&bench.answers()[0].1), ResponseCode::ServFail);
}
