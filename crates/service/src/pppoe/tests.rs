//! Clients and servers on one simulated Ethernet, in virtual time.

mod hostile;

use std::collections::BTreeMap;

use machine::{Duration, Instant, Machine, Rng};
use wire::Mac;
use wire::pppoe::{Builder, Discovery, Packet, code, tag};

use super::client::{self, Client, Status};
use super::server::{self, Fault, Reason, Server, Service, SessionId};
use super::termination;
use crate::Frame;

const PORT: u64 = 3;
const START: Instant = Instant::from_secs(1000);

fn service(id: u64, name: &str) -> Service {
    Service {
        id,
        name: name.into(),
        accepts_empty: true,
        pado_delay: Duration::ZERO,
        max_sessions: None,
        one_session_per_host: false,
        max_payload: None,
    }
}

fn server_mac(at: usize) -> Mac {
    Mac([2, 0, 0, 0, 1, at as u8])
}

fn client_mac(at: usize) -> Mac {
    Mac([2, 0, 0, 1, (at >> 8) as u8, at as u8])
}

/// A frame on the Ethernet: source and frame.
type OnWire = (Mac, Frame);

struct Net {
    now: Instant,
    rng: Rng,
    /// Percentages of frames that are lost, and that arrive twice.
    lost: u8,
    twice: u8,
    servers: BTreeMap<Mac, Server>,
    clients: BTreeMap<Mac, Client>,
    sent: Vec<OnWire>,
    opened: Vec<(Mac, server::Opened)>,
    closed: Vec<(SessionId, Reason)>,
    ignored: Vec<Fault>,
    of_clients: Vec<(Mac, client::Action)>,
}

impl Net {
    fn new(services: &[&[Service]]) -> Self {
        let mut net = Self {
            now: START,
            rng: Rng::seeded(11),
            lost: 0,
            twice: 0,
            servers: BTreeMap::new(),
            clients: BTreeMap::new(),
            sent: Vec::new(),
            opened: Vec::new(),
            closed: Vec::new(),
            ignored: Vec::new(),
            of_clients: Vec::new(),
        };
        for (at, services) in services.iter().enumerate() {
            let mac = server_mac(at);
            net.servers
                .insert(mac, Server::new(&mut Rng::seeded(at as u64)));
            let name = format!("bras{at}");
            net.notify_server(mac, server::Event::Name(&name));
            net.notify_server(mac, server::Event::Configure(PORT, services.to_vec()));
        }
        net
    }

    fn notify_server(&mut self, mac: Mac, event: server::Event<'_>) {
        let mut out = Vec::new();
        if let Some(server) = self.servers.get_mut(&mac) {
            server.handle(event, self.now, &mut out);
        }
        self.carry_out_server(mac, out);
    }

    fn carry_out_server(&mut self, mac: Mac, out: Vec<server::Action>) {
        for action in out {
            match action {
                server::Action::Send(port, frame) => {
                    assert_eq!(port, PORT);
                    self.sent.push((mac, frame));
                }
                server::Action::Opened(opened) => self.opened.push((mac, *opened)),
                server::Action::Closed(id, reason) => self.closed.push((id, reason)),
                server::Action::Ignored(fault) => self.ignored.push(fault),
            }
        }
    }

    fn add_client(&mut self, at: usize, config: client::Config) {
        let mac = client_mac(at);
        self.clients.insert(mac, Client::new(config, at as u64));
        self.notify_client(mac, client::Event::Start);
    }

    fn notify_client(&mut self, mac: Mac, event: client::Event<'_>) {
        let mut out = Vec::new();
        if let Some(client) = self.clients.get_mut(&mac) {
            client.handle(event, self.now, &mut out);
        }
        self.carry_out_client(mac, out);
    }

    fn carry_out_client(&mut self, mac: Mac, out: Vec<client::Action>) {
        for action in out {
            match action {
                client::Action::Send(frame) => self.sent.push((mac, frame)),
                action => self.of_clients.push((mac, action)),
            }
        }
    }

    /// Delivers frames until none is on the way.
    fn settle(&mut self) {
        while !self.sent.is_empty() {
            for (from, frame) in core::mem::take(&mut self.sent) {
                if self.rng.percent(self.lost) {
                    continue;
                }
                let times = 1 + usize::from(self.rng.percent(self.twice));
                for _ in 0..times {
                    self.deliver(from, &frame);
                }
            }
        }
    }

    fn deliver(&mut self, from: Mac, frame: &Frame) {
        let packet = Packet::new_checked(&frame.payload).expect("machines send packets");
        let is_for = |mac: &Mac| *mac != from && (frame.dst == *mac || frame.dst.is_broadcast());
        let servers: Vec<_> = self.servers.keys().copied().filter(is_for).collect();
        for mac in servers {
            let port = PORT;
            self.notify_server(mac, server::Event::Received { port, from, packet });
        }
        let clients: Vec<_> = self.clients.keys().copied().filter(is_for).collect();
        for mac in clients {
            self.notify_client(mac, client::Event::Received { from, packet });
        }
    }

    /// Lets the given time pass.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            self.settle();
            let servers = self.servers.values().filter_map(|server| server.deadline());
            let servers = servers.map(|(at, _)| at);
            let clients = self.clients.values().filter_map(|client| client.deadline());
            let next = servers.chain(clients.map(|(at, _)| at)).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            let macs: Vec<_> = self.servers.keys().copied().collect();
            for mac in macs {
                let mut out = Vec::new();
                if let Some(server) = self.servers.get_mut(&mac) {
                    server.tick(self.now, &mut out);
                }
                self.carry_out_server(mac, out);
            }
            let macs: Vec<_> = self.clients.keys().copied().collect();
            for mac in macs {
                let mut out = Vec::new();
                if let Some(client) = self.clients.get_mut(&mac) {
                    client.tick(self.now, &mut out);
                }
                self.carry_out_client(mac, out);
            }
        }
    }

    fn client(&self, at: usize) -> &Client {
        &self.clients[&client_mac(at)]
    }

    /// Sends a packet of a foreign client to the first server. Returns the answers to it.
    fn exchange(&mut self, from: Mac, packet: Builder) -> Vec<Vec<u8>> {
        let bytes = packet.finish();
        let packet = Packet::new_checked(&bytes).expect("well formed");
        let port = PORT;
        self.notify_server(
            server_mac(0),
            server::Event::Received { port, from, packet },
        );
        let sent = core::mem::take(&mut self.sent).into_iter();
        let to_client = sent.filter(|(_, frame)| frame.dst == from);
        to_client.map(|(_, frame)| frame.payload).collect()
    }

    /// Requests an offer and returns its cookie.
    fn cookie(&mut self, from: Mac) -> Vec<u8> {
        let padi = Builder::new(code::PADI, 0).tag(tag::SERVICE_NAME, b"");
        let offers = self.exchange(from, padi);
        let packet = Packet::new_checked(&offers[0]).expect("well formed");
        let fields = Discovery::parse(&packet).expect("well formed");
        fields.cookie.expect("offers have a cookie").to_vec()
    }
}

fn request(cookie: &[u8]) -> Builder {
    Builder::new(code::PADR, 0)
        .tag(tag::SERVICE_NAME, b"")
        .tag(tag::AC_COOKIE, cookie)
}

/// Returns session number and error tag of a PADS.
fn confirmed(answers: &[Vec<u8>]) -> (u16, Option<u16>) {
    let packet = Packet::new_checked(answers.last().expect("an answer")).expect("well formed");
    assert_eq!(packet.code, code::PADS);
    let fields = Discovery::parse(&packet).expect("well formed");
    (packet.session, fields.error.map(|error| error.kind))
}

#[test]
fn a_session_opens_and_either_end_closes_it() {
    let mut net = Net::new(&[&[service(7, "isp")]]);
    net.add_client(0, client::Config::default());
    net.pass(Duration::from_millis(1));

    let session = net.client(0).session().expect("open").clone();
    assert_eq!(session.peer, server_mac(0));
    assert_eq!((&*session.ac_name, session.max_payload), ("bras0", None));
    let [(_, opened)] = &net.opened[..] else {
        panic!("one session was to open: {:?}", net.opened);
    };
    let id = opened.session;
    assert_eq!((id.peer, id.number), (client_mac(0), session.number));
    assert_eq!(opened.service, 7);

    // The server ends it: the client opens another after a pause.
    net.notify_server(server_mac(0), server::Event::Close(id));
    net.settle();
    assert_eq!(net.client(0).status(), Status::Waiting);
    let closed = client::Action::Closed(client::Reason::Terminated("".into()));
    assert_eq!(net.of_clients.last(), Some(&(client_mac(0), closed)));
    net.pass(Duration::from_secs(3));
    assert_eq!(net.client(0).status(), Status::Open);
    assert_eq!(net.opened.len(), 2);
    let second = net.opened[1].1.session;
    assert_ne!(second.number, id.number);

    // The client ends it.
    net.notify_client(client_mac(0), client::Event::Stop);
    net.settle();
    assert_eq!(net.closed, [(second, Reason::Terminated)]);
    assert!(net.servers[&server_mac(0)].sessions().is_empty());
    net.pass(Duration::from_secs(100));
    assert_eq!(net.client(0).status(), Status::Stopped);
}

#[test]
fn sessions_open_over_a_link_that_loses_and_doubles_frames_and_none_opens_twice() {
    let mut net = Net::new(&[&[service(7, "isp")]]);
    (net.lost, net.twice) = (30, 20);
    for at in 0..200 {
        net.add_client(at, client::Config::default());
    }
    net.pass(Duration::from_secs(120));
    let open = net.clients.values().filter_map(Client::session);
    let numbers: std::collections::BTreeSet<_> = open.map(|session| session.number).collect();
    assert_eq!(numbers.len(), 200);
    // A client that lost all PADS of an offer searched again, and its first session stays half-made.
    let server = &net.servers[&server_mac(0)];
    let of_server: std::collections::BTreeSet<_> = { net.opened.iter() }
        .map(|(_, opened)| opened.session.number)
        .collect();
    assert!(numbers.is_subset(&of_server));
    assert_eq!(server.sessions().len(), net.opened.len());
    assert!(server.sessions().len() < 240);
}

#[test]
fn a_client_opens_a_session_with_the_server_and_service_that_it_names() {
    let isp = [service(1, "isp"), service(2, "iptv")];
    let other = [service(3, "isp")];
    let mut net = Net::new(&[&isp, &other]);
    let config = |service_name: &str, ac_name: &str| client::Config {
        service_name: service_name.into(),
        ac_name: ac_name.into(),
        ..client::Config::default()
    };
    net.add_client(0, config("iptv", ""));
    net.add_client(1, config("isp", "bras1"));
    net.add_client(2, config("voice", ""));
    net.add_client(3, config("", "bras7"));
    net.pass(Duration::from_secs(60));

    let opened = net.opened.iter();
    let opened: Vec<_> = opened
        .map(|(server, opened)| (*server, opened.session.peer, opened.service))
        .collect();
    let expected = [
        (server_mac(0), client_mac(0), 2),
        (server_mac(1), client_mac(1), 3),
    ];
    assert_eq!(opened, expected);
    assert_eq!(net.client(2).status(), Status::Searching);
    assert_eq!(net.client(3).status(), Status::Searching);
}

#[test]
fn after_a_refusal_a_client_goes_to_another_server_and_to_the_first_if_there_is_none() {
    let full = Service {
        max_sessions: Some(1),
        ..service(1, "isp")
    };
    let mut slow = service(2, "isp");
    slow.pado_delay = Duration::from_millis(200);
    let mut net = Net::new(&[&[full], &[slow]]);
    // Both get an offer while the service is free; the second request finds it full.
    net.add_client(0, client::Config::default());
    net.add_client(1, client::Config::default());
    net.pass(Duration::from_secs(10));
    let full = client::Reason::ServerError("too many sessions".into());
    let failed = (client_mac(1), client::Action::Failed(full));
    assert!(net.of_clients.contains(&failed), "{:?}", net.of_clients);
    let server = |net: &Net, at| net.client(at).session().map(|session| session.peer);
    assert_eq!(server(&net, 0), Some(server_mac(0)));
    assert_eq!(server(&net, 1), Some(server_mac(1)));

    // Both servers answer again: the server that ended the session is the last choice, but the only one now.
    net.notify_client(client_mac(0), client::Event::Stop);
    net.servers.remove(&server_mac(0));
    net.notify_client(client_mac(1), client::Event::Close);
    net.pass(Duration::from_secs(10));
    assert_eq!(server(&net, 1), Some(server_mac(1)));
}

#[test]
fn a_silent_server_is_abandoned_after_three_requests() {
    let mut net = Net::new(&[]);
    net.add_client(0, client::Config::default());
    let offer = |net: &mut Net| {
        let padi = net.sent.pop().expect("a PADI").1.payload;
        net.sent.clear();
        let packet = Packet::new_checked(&padi).expect("well formed");
        let fields = Discovery::parse(&packet).expect("well formed");
        let pado = Builder::new(code::PADO, 0)
            .tag(tag::SERVICE_NAME, b"")
            .optional(tag::HOST_UNIQ, fields.host_uniq)
            .finish();
        let packet = Packet::new_checked(&pado).expect("well formed");
        let from = server_mac(9);
        net.notify_client(client_mac(0), client::Event::Received { from, packet });
    };
    offer(&mut net);
    assert_eq!(net.client(0).status(), Status::Requesting);
    net.pass(Duration::from_secs(30));
    let failed = client::Action::Failed(client::Reason::NoAnswer);
    assert_eq!(net.of_clients, [(client_mac(0), failed)]);
    assert_eq!(net.client(0).status(), Status::Searching);
}

#[test]
fn answers_for_another_host_uniq_and_forged_terminations_are_ignored() {
    let mut net = Net::new(&[&[service(1, "isp")]]);
    net.add_client(0, client::Config::default());
    net.pass(Duration::from_millis(1));
    let number = net.client(0).session().expect("open").number;
    let mac = client_mac(0);
    let receive = |net: &mut Net, from, bytes: &[u8]| {
        let packet = Packet::new_checked(bytes).expect("well formed");
        let client = net.clients.get_mut(&mac).expect("there is one");
        client.receive(from, &packet, net.now, &mut Vec::new())
    };
    let pado = Builder::new(code::PADO, 0).tag(tag::HOST_UNIQ, b"other");
    let heard = receive(&mut net, server_mac(0), &pado.finish());
    assert_eq!(heard, Err(client::Fault::HostUniq));
    let unexpected = Err(client::Fault::Unexpected);
    let padt = termination(mac, number).payload;
    assert_eq!(receive(&mut net, server_mac(5), &padt), unexpected);
    let padt = termination(mac, number ^ 1).payload;
    assert_eq!(receive(&mut net, server_mac(0), &padt), unexpected);
    let padi = Builder::new(code::PADI, 0).finish();
    let heard = receive(&mut net, server_mac(0), &padi);
    assert_eq!(heard, Err(client::Fault::Code));
    let broken = Builder::new(code::PADT, number).tag(tag::GENERIC_ERROR, b"why");
    let mut broken = broken.finish();
    broken[8] = 0xff;
    let heard = receive(&mut net, server_mac(0), &broken);
    assert_eq!(heard, Err(client::Fault::Malformed));
    assert_eq!(net.client(0).status(), Status::Open);
}

#[test]
fn max_payload_is_the_smaller_of_both_ends_and_absent_where_one_end_has_none() {
    let max = |max_payload| Service {
        max_payload,
        ..service(1, "isp")
    };
    let cases = [
        (Some(1500), Some(1500), Some(1500)),
        (Some(1500), Some(1540), Some(1500)),
        (Some(1540), Some(1500), Some(1500)),
        (None, Some(1500), None),
        (Some(1500), None, None),
    ];
    for (of_server, of_client, expected) in cases {
        let mut net = Net::new(&[&[max(of_server)]]);
        let config = client::Config {
            max_payload: of_client,
            ..client::Config::default()
        };
        net.add_client(0, config);
        net.pass(Duration::from_millis(1));
        assert_eq!(net.client(0).session().expect("open").max_payload, expected);
        assert_eq!(net.opened[0].1.max_payload, expected);
    }
}

#[test]
fn answers_repeat_host_uniq_and_relay_and_the_session_has_the_line_of_the_subscriber() {
    let mut net = Net::new(&[&[service(1, "isp")]]);
    let from = client_mac(0);
    let with_tags = |packet: Builder| {
        let packet = packet.tag(tag::HOST_UNIQ, b"uniq");
        let packet = packet.tag(tag::RELAY_SESSION, b"relay");
        packet.line(Some(b"slot 1/2"), Some(b"anna"))
    };
    let padi = Builder::new(code::PADI, 0).tag(tag::SERVICE_NAME, b"isp");
    let pado = net.exchange(from, with_tags(padi));
    let packet = Packet::new_checked(&pado[0]).expect("well formed");
    let fields = Discovery::parse(&packet).expect("well formed");
    assert_eq!((packet.code, packet.session), (code::PADO, 0));
    let expected = Discovery {
        service_name: Some(b"isp"),
        ac_name: Some(b"bras0"),
        host_uniq: Some(b"uniq"),
        relay_session: Some(b"relay"),
        cookie: fields.cookie,
        ..Discovery::default()
    };
    assert_eq!(fields, expected);
    let padr = request(fields.cookie.expect("offers have a cookie"));
    let pads = net.exchange(from, with_tags(padr));
    let packet = Packet::new_checked(&pads[0]).expect("well formed");
    let fields = Discovery::parse(&packet).expect("well formed");
    assert_eq!(fields.host_uniq, Some(&b"uniq"[..]));
    assert_eq!(fields.relay_session, Some(&b"relay"[..]));
    let opened = &net.opened[0].1;
    assert_eq!(opened.circuit_id.as_deref(), Some(&b"slot 1/2"[..]));
    assert_eq!(opened.remote_id.as_deref(), Some(&b"anna"[..]));
}

#[test]
fn a_repeated_request_gets_the_same_session_and_a_new_cookie_another() {
    let mut net = Net::new(&[&[service(1, "isp")]]);
    let from = client_mac(0);
    let cookie = net.cookie(from);
    let first = confirmed(&net.exchange(from, request(&cookie)));
    assert_eq!(confirmed(&net.exchange(from, request(&cookie))), first);
    assert_eq!(net.opened.len(), 1);
    let cookie = net.cookie(from);
    let second = confirmed(&net.exchange(from, request(&cookie)));
    assert_ne!(second.0, first.0);
    assert_eq!(net.opened.len(), 2);
}

#[test]
fn each_invalid_request_has_a_named_error_and_opens_no_session() {
    let named = Service {
        accepts_empty: false,
        ..service(2, "named")
    };
    let mut net = Net::new(&[&[service(1, "isp"), named]]);
    let from = client_mac(0);
    let fault = |net: &mut Net, from: Mac, packet: Builder| {
        net.ignored.clear();
        net.exchange(from, packet);
        net.ignored.pop()
    };
    let cookie = net.cookie(from);
    let padr = || Builder::new(code::PADR, 0).tag(tag::SERVICE_NAME, b"");
    assert_eq!(fault(&mut net, from, padr()), Some(Fault::NoCookie));
    let other = client_mac(1);
    let stolen = fault(&mut net, other, request(&cookie));
    assert_eq!(stolen, Some(Fault::Cookie));
    let padi = Builder::new(code::PADI, 0).tag(tag::SERVICE_NAME, b"voice");
    assert_eq!(fault(&mut net, from, padi), Some(Fault::Service));
    let long = Builder::new(code::PADI, 0).tag(tag::HOST_UNIQ, &[0; 300]);
    assert_eq!(fault(&mut net, from, long), Some(Fault::Malformed));
    let pado = Builder::new(code::PADO, 0);
    assert_eq!(fault(&mut net, from, pado), Some(Fault::Code));
    let padt = Builder::new(code::PADT, 77);
    assert_eq!(fault(&mut net, from, padt), Some(Fault::NoSession));
    let group = Mac([0xff; 6]);
    let padi = Builder::new(code::PADI, 0);
    assert_eq!(fault(&mut net, group, padi), Some(Fault::Code));

    // The cookie is of another service than the one that is named.
    let padr = Builder::new(code::PADR, 0)
        .tag(tag::SERVICE_NAME, b"named")
        .tag(tag::AC_COOKIE, &cookie);
    let answers = net.exchange(from, padr);
    assert_eq!(confirmed(&answers), (0, Some(tag::SERVICE_NAME_ERROR)));
    net.now += Duration::from_secs(61);
    let late = fault(&mut net, from, request(&cookie));
    assert_eq!(late, Some(Fault::CookieAge));
    assert!(net.opened.is_empty());
}

#[test]
fn a_full_service_offers_nothing_and_refuses_by_name() {
    let full = Service {
        max_sessions: Some(1),
        ..service(1, "isp")
    };
    let mut net = Net::new(&[&[full]]);
    let [first, second] = [client_mac(0), client_mac(1)];
    let cookies = [first, second].map(|mac| net.cookie(mac));
    let (number, _) = confirmed(&net.exchange(first, request(&cookies[0])));
    let refused = net.exchange(second, request(&cookies[1]));
    assert_eq!(confirmed(&refused), (0, Some(tag::SYSTEM_ERROR)));
    let padi = || Builder::new(code::PADI, 0);
    assert_eq!(net.exchange(second, padi()), Vec::<Vec<u8>>::new());
    assert_eq!(net.ignored, [Fault::Full, Fault::Full]);

    net.exchange(first, Builder::new(code::PADT, number));
    assert_eq!(net.exchange(second, padi()).len(), 1);
}

#[test]
fn one_session_per_host_closes_the_first_when_the_second_opens() {
    let one = Service {
        one_session_per_host: true,
        ..service(1, "isp")
    };
    let mut net = Net::new(&[&[one]]);
    let from = client_mac(0);
    let other = net.cookie(client_mac(1));
    net.exchange(client_mac(1), request(&other));
    let cookies = [net.cookie(from), net.cookie(from)];
    let (first, _) = confirmed(&net.exchange(from, request(&cookies[0])));
    let answers = net.exchange(from, request(&cookies[1]));
    assert_eq!(answers[0], termination(from, first).payload);
    let id = SessionId {
        port: PORT,
        peer: from,
        number: first,
    };
    assert_eq!(net.closed, [(id, Reason::Replaced)]);
    assert_eq!(net.servers[&server_mac(0)].sessions().len(), 2);
}

#[test]
fn offers_wait_for_the_configured_delay_once_and_longer_while_many_sessions_are_half_made() {
    let slow = Service {
        pado_delay: Duration::from_millis(300),
        ..service(1, "isp")
    };
    let mut net = Net::new(&[&[slow]]);
    let padi = || Builder::new(code::PADI, 0);
    for _ in 0..3 {
        assert!(net.exchange(client_mac(0), padi()).is_empty());
    }
    let deadline = |net: &Net| net.servers[&server_mac(0)].deadline().map(|(at, _)| at);
    assert_eq!(deadline(&net), Some(START + Duration::from_millis(300)));
    let tick = |net: &mut Net, after| {
        net.now = START + after;
        let mut out = Vec::new();
        let server = net.servers.get_mut(&server_mac(0)).expect("there is one");
        server.tick(net.now, &mut out);
        out.len()
    };
    assert_eq!(tick(&mut net, Duration::from_millis(299)), 0);
    assert_eq!(tick(&mut net, Duration::from_millis(300)), 1);

    let configured = server::Event::Configure(PORT, vec![service(1, "isp")]);
    net.notify_server(server_mac(0), configured);
    for at in 0..2000 {
        let mac = client_mac(at);
        let cookie = net.servers[&server_mac(0)].seal_for_test(PORT, mac, 1, at as u64, net.now);
        confirmed(&net.exchange(mac, request(&cookie)));
    }
    assert!(net.exchange(client_mac(5000), padi()).is_empty());
    assert!(deadline(&net).is_some_and(|at| at > net.now));
    for opened in core::mem::take(&mut net.opened) {
        net.notify_server(server_mac(0), server::Event::Established(opened.1.session));
    }
    assert_eq!(net.exchange(client_mac(5001), padi()).len(), 1);
}

#[test]
fn clients_that_send_no_ppp_leave_before_clients_that_do() {
    let mut net = Net::new(&[&[service(1, "isp")]]);
    let open = |net: &mut Net, at: usize| {
        let mac = client_mac(at);
        let server = &net.servers[&server_mac(0)];
        let cookie = server.seal_for_test(PORT, mac, 1, at as u64, net.now);
        confirmed(&net.exchange(mac, request(&cookie)));
    };
    // An honest client in each ten.
    for at in 0..10_000 {
        open(&mut net, at);
        if at % 10 == 0 {
            let (_, opened) = net.opened.last().expect("it opened");
            let event = server::Event::Heard(opened.session);
            net.notify_server(server_mac(0), event);
        }
    }
    assert!(net.closed.iter().all(|(id, reason)| {
        let at = usize::from(id.peer.0[4]) << 8 | usize::from(id.peer.0[5]);
        at % 10 != 0 && *reason == Reason::Silent
    }));
    let sessions = net.servers[&server_mac(0)].sessions();
    assert_eq!(sessions.len(), 1000 + 4096);
    assert_eq!(net.closed.len(), 10_000 - 1000 - 4096);
}

#[test]
fn a_hundred_thousand_closed_sessions_leave_no_state() {
    let mut net = Net::new(&[&[service(1, "isp")]]);
    for at in 0..100_000 {
        let mac = Mac([2, 7, 0, (at >> 16) as u8, (at >> 8) as u8, at as u8]);
        let server = &net.servers[&server_mac(0)];
        let cookie = server.seal_for_test(PORT, mac, 1, at, net.now);
        net.now += Duration::from_micros(100);
        let (number, _) = confirmed(&net.exchange(mac, request(&cookie)));
        let port = PORT;
        let id = SessionId {
            port,
            peer: mac,
            number,
        };
        net.notify_server(server_mac(0), server::Event::Established(id));
        net.opened.clear();
        net.exchange(mac, Builder::new(code::PADT, number));
        net.closed.clear();
    }
    let server = &net.servers[&server_mac(0)];
    assert_eq!(
        (server.sessions().len(), server.sessions().half_made()),
        (0, 0)
    );
    assert!(server.sessions().waiting_for_test() <= 1);
}

#[test]
fn a_control_packet_of_an_unknown_session_gets_a_termination_and_of_a_known_none() {
    let mut net = Net::new(&[&[service(1, "isp")]]);
    let id = SessionId {
        port: PORT,
        peer: client_mac(0),
        number: 99,
    };
    net.notify_server(server_mac(0), server::Event::Stray(id));
    assert_eq!(
        net.sent.pop(),
        Some((server_mac(0), termination(id.peer, 99)))
    );
    let cookie = net.cookie(id.peer);
    let (number, _) = confirmed(&net.exchange(id.peer, request(&cookie)));
    let id = SessionId { number, ..id };
    net.notify_server(server_mac(0), server::Event::Stray(id));
    assert_eq!(net.sent, []);
}

#[test]
fn sessions_end_with_their_service_and_the_others_stay() {
    let mut net = Net::new(&[&[service(1, "isp"), service(2, "iptv")]]);
    let config = |name: &str| client::Config {
        service_name: name.into(),
        ..client::Config::default()
    };
    net.add_client(0, config("isp"));
    net.add_client(1, config("iptv"));
    net.pass(Duration::from_millis(1));
    let ids: Vec<_> = { net.opened.iter() }
        .map(|(_, opened)| opened.session)
        .collect();
    net.notify_server(
        server_mac(0),
        server::Event::Configure(PORT, vec![service(2, "iptv")]),
    );
    net.settle();
    assert_eq!(net.closed, [(ids[0], Reason::ServiceGone)]);
    assert_eq!(net.client(0).status(), Status::Waiting);
    assert_eq!(net.client(1).status(), Status::Open);
    net.notify_server(server_mac(0), server::Event::Configure(PORT, Vec::new()));
    assert!(net.servers[&server_mac(0)].sessions().is_empty());
}
