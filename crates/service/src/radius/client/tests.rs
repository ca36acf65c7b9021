use std::net::Ipv4Addr;

use wire::radius::{Builder, code};

use super::*;
use crate::radius::{Accounting, Port, Service, Status, SubscriberLine};

const SECRET: &[u8] = b"xyzzy5461";
const TIMEOUT: Duration = Duration::from_millis(300);

fn server(id: u64) -> Server {
    Server {
        id,
        services: vec![Service::Ppp],
        called: String::new(),
        domain: String::new(),
        address: Ipv4Addr::new(192, 0, 2, id as u8).into(),
        authentication: 1812,
        accounting: 1813,
        secret: SECRET.to_vec(),
        timeout: TIMEOUT,
        is_backup: false,
        source: None,
        nas_address: None,
        realm: String::new(),
        needs_message_authenticator: false,
        tls: None,
    }
}

fn request(question: Question) -> Request {
    Request {
        service: Service::Ppp,
        question,
        user: "anna".into(),
        calling: String::new(),
        called: "isp".into(),
        router: String::new(),
        port: Port::of_service("ether1"),
        subscriber_line: SubscriberLine::default(),
        session: String::new(),
        classes: Vec::new(),
        timestamp: None,
    }
}

/// Client with servers that answer, are silent, or are gone, and its clock.
struct Rig {
    client: Client<u32>,
    now: Instant,
    out: Vec<Action<u32>>,
    /// Item ids of servers that answer.
    alive: Vec<u64>,
    /// Transmissions: server and packet.
    sent: Vec<(u64, Vec<u8>)>,
    /// Finished requests and the servers that answered.
    done: Vec<(u32, Option<u64>)>,
    counts: Vec<(u64, Count)>,
    /// Reports of ended sessions that no server answered.
    unanswered: Vec<Query>,
    closed: Vec<LineId>,
}

impl Rig {
    fn new(servers: Vec<Server>, alive: &[u64]) -> Self {
        let mut rig = Self {
            client: Client::new(Rng::seeded(1)),
            now: Instant::ZERO,
            out: Vec::new(),
            alive: alive.to_vec(),
            sent: Vec::new(),
            done: Vec::new(),
            counts: Vec::new(),
            unanswered: Vec::new(),
            closed: Vec::new(),
        };
        rig.handle(Event::Servers(servers));
        rig
    }

    fn handle(&mut self, event: Event<'_, u32>) {
        self.client.handle(event, self.now, &mut self.out);
    }

    fn query(&mut self, key: u32, question: Question) {
        let query = Query {
            request: request(question),
            server: None,
            since: None,
            age: Duration::ZERO,
        };
        self.handle(Event::Query(key, Box::new(query)));
    }

    fn access(&mut self, key: u32) {
        let password = b"secret".to_vec();
        self.query(key, Question::Access { password });
    }

    /// Carries out actions until there are none; servers that are alive answer at once.
    fn settle(&mut self) {
        while !self.out.is_empty() {
            for action in core::mem::take(&mut self.out) {
                self.carry_out(action);
            }
        }
    }

    fn carry_out(&mut self, action: Action<u32>) {
        match action {
            Action::Send {
                line, to, bytes, ..
            } => {
                let IpAddr::V4(address) = to.ip() else {
                    panic!("{to}");
                };
                let id = u64::from(address.octets()[3]);
                if self.alive.contains(&id) {
                    let event = Event::Received {
                        line,
                        from: to,
                        bytes: &answer(&bytes),
                    };
                    self.client.handle(event, self.now, &mut self.out);
                }
                self.sent.push((id, bytes));
            }
            Action::Done(key, answer) => self.done.push((key, answer.server)),
            Action::Count(server, count) => self.counts.push((server, count)),
            Action::Unanswered(_, report) => self.unanswered.push(*report),
            Action::Close(line) => self.closed.push(line),
            Action::Answered(..) | Action::Overflow => {}
        }
    }

    /// Runs timers until a time.
    fn run_until(&mut self, end: Instant) {
        self.settle();
        while let Some((at, _)) = self.client.deadline()
            && at <= end
        {
            self.now = at;
            self.client.tick(at, &mut self.out);
            self.settle();
        }
        self.now = end;
    }

    fn count(&self, server: u64, count: Count) -> usize {
        let its = self.counts.iter().filter(|of| **of == (server, count));
        its.count()
    }
}

/// A server's answer to a request.
fn answer(request: &[u8]) -> Vec<u8> {
    let request = Packet::new_checked(request).expect("a request");
    let code = match request.code() {
        code::ACCESS_REQUEST => code::ACCESS_ACCEPT,
        _ => code::ACCOUNTING_RESPONSE,
    };
    let built = Builder::new(code, request.id(), request.authenticator());
    let mut bytes = built.finish().expect("it fits");
    secret::sign(&mut bytes, SECRET, true);
    bytes
}

#[test]
fn requests_share_lines_of_256_identifiers() {
    let mut rig = Rig::new(vec![server(1)], &[]);
    (0..1_000).for_each(|key| rig.access(key));
    let mut sent = BTreeSet::new();
    for action in &rig.out {
        if let Action::Send { line, bytes, .. } = action {
            assert!(sent.insert((*line, bytes[1])), "an identifier in use");
        }
    }
    // The window holds back the rest.
    assert_eq!(sent.len(), 256);
    let lines: BTreeSet<_> = sent.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines.len(), 1);

    rig.alive.push(1);
    rig.settle();

    assert_eq!(rig.done.len(), 1_000);
    assert!(rig.done.iter().all(|(_, server)| *server == Some(1)));
    assert_eq!(rig.client.open(), 0);
    assert_eq!(rig.client.deadline(), None);
}

#[test]
fn the_window_opens_by_answers_and_closes_by_silence() {
    let mut rig = Rig::new(vec![server(1)], &[1]);
    (0..20_000).for_each(|key| rig.access(key));
    rig.settle();
    assert_eq!(rig.done.len(), 20_000);
    rig.alive.clear();
    rig.out.clear();

    (0..20_000).for_each(|key| rig.access(key));
    let in_flight = |rig: &Rig| {
        let sends = rig.out.iter();
        sends.filter(|of| matches!(of, Action::Send { .. })).count()
    };
    // A server's socket holds no more, however many requests it has answered.
    assert_eq!(in_flight(&rig), 256);
    rig.run_until(Instant::from_secs(60));
    assert_eq!(rig.client.open(), 0);
    rig.out.clear();
    (0..100).for_each(|key| rig.access(key));
    assert!(in_flight(&rig) <= 64);

    rig.alive.push(1);
    rig.run_until(Instant::from_secs(90));
    (0..20_000).for_each(|key| rig.access(key));
    rig.settle();
    rig.alive.clear();
    rig.out.clear();
    (0..20_000).for_each(|key| rig.access(key));
    assert_eq!(in_flight(&rig), 256, "answers have opened it again");
}

#[test]
fn a_silent_server_delays_one_request_and_no_other() {
    let mut rig = Rig::new(vec![server(1), server(2)], &[2]);
    rig.access(0);
    rig.run_until(Instant::ZERO + TIMEOUT * 3);
    assert_eq!(rig.done, [(0, Some(2))]);

    // Others go to the second server at once, until the first is probed.
    (1..500).for_each(|key| rig.access(key));
    rig.settle();
    assert_eq!(rig.done.len(), 500);
    assert_eq!(rig.count(1, Count::Request), 1);
    rig.run_until(Instant::from_secs(12));
    (500..600).for_each(|key| rig.access(key));
    rig.settle();
    assert_eq!(rig.count(1, Count::Request), 2);
    assert_eq!(rig.done.len(), 599);

    // A server that answers again has its place in the order.
    rig.alive.push(1);
    rig.run_until(Instant::from_secs(13));
    assert_eq!(rig.done.len(), 600);
    rig.access(600);
    rig.settle();
    assert_eq!(rig.done.last(), Some(&(600, Some(1))));
}

#[test]
fn requests_that_wait_for_a_silent_server_move_to_the_next() {
    let mut rig = Rig::new(vec![server(1), server(2)], &[2]);
    (0..2_000).for_each(|key| rig.access(key));

    rig.run_until(Instant::ZERO + TIMEOUT * 3);

    assert_eq!(rig.done.len(), 2_000);
    assert!(rig.done.iter().all(|(_, server)| *server == Some(2)));
    assert_eq!(rig.count(1, Count::Timeout), 256);
}

#[test]
fn a_request_waits_in_the_queue_no_longer_than_the_tries_of_another_take() {
    let mut rig = Rig::new(vec![server(1)], &[]);
    (0..5_000).for_each(|key| rig.access(key));

    rig.run_until(Instant::ZERO + TIMEOUT * 6);

    assert_eq!(rig.done.len(), 5_000);
    assert!(rig.done.iter().all(|(_, server)| server.is_none()));
}

#[test]
fn accounting_has_a_window_of_its_own() {
    let mut rig = Rig::new(vec![server(1)], &[]);
    (0..1_000).for_each(|key| rig.access(key));
    let accounting = Accounting::new(Status::Start, 0, None);
    rig.query(1_000, Question::Accounting(accounting));

    let to = |action: &Action<u32>| match action {
        Action::Send { to, .. } => Some(to.port()),
        _ => None,
    };
    assert_eq!(rig.out.iter().filter_map(to).next_back(), Some(1813));
    rig.alive.push(1);
    rig.settle();
    assert_eq!(rig.count(1, Count::Noted), 1);
    assert_eq!(rig.count(1, Count::Accept), 1_000);
}

#[test]
fn servers_are_chosen_by_service_called_id_and_order() {
    let other_service = Server {
        services: vec![Service::Login],
        ..server(1)
    };
    let other_called = Server {
        called: "other".into(),
        ..server(2)
    };
    let backup = Server {
        is_backup: true,
        ..server(3)
    };
    let called = Server {
        called: "isp".into(),
        ..server(4)
    };
    let servers = vec![other_service, other_called, backup, called];
    let mut rig = Rig::new(servers, &[]);
    rig.access(0);
    rig.run_until(Instant::from_secs(5));
    let mut sent: Vec<_> = rig.sent.iter().map(|(server, _)| *server).collect();
    sent.dedup();
    assert_eq!(sent, [4, 3]);
    assert_eq!(rig.done, [(0, None)]);
    // A challenge is answered to the server that sent it.
    rig.alive = vec![3, 4];
    let query = Query {
        request: request(Question::Access {
            password: Vec::new(),
        }),
        server: Some(3),
        since: None,
        age: Duration::ZERO,
    };
    rig.handle(Event::Query(1, Box::new(query)));
    rig.settle();
    assert_eq!(rig.done.last(), Some(&(1, Some(3))));
}

#[test]
fn a_changed_server_is_asked_anew_and_its_lines_are_closed() {
    let mut rig = Rig::new(vec![server(1), server(2)], &[]);
    (0..300).for_each(|key| rig.access(key));
    rig.out.clear();
    rig.handle(Event::Servers(vec![server(2)]));
    let closed = rig.out.iter().filter(|of| matches!(of, Action::Close(_)));
    assert_eq!(closed.count(), 1);
    rig.alive.push(2);
    rig.settle();
    assert_eq!(rig.done.len(), 300);
    rig.handle(Event::Servers(Vec::new()));
    rig.access(0);
    rig.settle();
    assert_eq!(rig.done.last(), Some(&(0, None)));
    assert_eq!(rig.client.deadline(), None);
}

#[test]
fn a_cancelled_request_frees_its_identifier() {
    let mut rig = Rig::new(vec![server(1)], &[]);
    for key in 0..10_000 {
        rig.access(key);
        rig.handle(Event::Cancel(key));
    }
    // A new request with the key of an open one replaces it.
    rig.access(7);
    rig.access(7);
    assert_eq!(rig.client.open(), 1);
    rig.settle();
    assert_eq!(rig.count(1, Count::Request), 10_002);
    assert_eq!(rig.count(1, Count::Cancelled), 10_001);
    assert_eq!(rig.done, []);
}

#[test]
fn too_many_requests_are_refused() {
    let mut rig = Rig::new(vec![server(1)], &[]);
    (0..MAX_OPEN as u32).for_each(|key| rig.access(key));
    rig.out.clear();

    rig.access(u32::MAX);

    let refused = done(u32::MAX, Outcome::Nobody, None);
    assert_eq!(rig.out, [Action::Overflow, refused]);
    assert_eq!(rig.client.open(), MAX_OPEN);
}

#[test]
fn the_end_of_a_session_that_no_server_answers_is_returned_with_its_time() {
    let mut rig = Rig::new(vec![server(1)], &[]);
    rig.now = Instant::from_secs(7);
    for (key, status) in [(1, Status::Start), (2, Status::Stop)] {
        rig.query(key, Question::Accounting(Accounting::new(status, 60, None)));
    }
    rig.run_until(Instant::from_secs(20));
    let [report] = &rig.unanswered[..] else {
        panic!("{:?}", rig.unanswered);
    };
    assert_eq!(report.since, Some(Instant::from_secs(7)));
    // The delay of the repeated report counts from the end of the session (RFC 2866, 5.2).
    let report = report.clone();
    rig.sent.clear();
    rig.handle(Event::Query(2, Box::new(report)));
    rig.settle();
    let packet = Packet::new_checked(&rig.sent[0].1).expect("a request");
    assert_eq!(packet.number(wire::radius::kind::DELAY), Some(13));
}

#[test]
fn a_request_over_tls_is_sent_once_and_a_silent_connection_is_closed() {
    let tls = TlsServer {
        id: 1,
        host: "radius.example".into(),
        certificate: None,
    };
    let first = Server {
        tls: Some(Arc::new(tls)),
        ..server(1)
    };
    let mut rig = Rig::new(vec![first, server(2)], &[2]);
    rig.access(0);
    rig.run_until(Instant::ZERO + TIMEOUT);
    let sent: Vec<_> = rig.sent.iter().map(|(server, _)| *server).collect();
    assert_eq!(sent, [1, 2]);
    assert_eq!(rig.closed, [LineId(1)]);
    assert_eq!(rig.done, [(0, Some(2))]);
}
