//! DNS forwarder with clients, and a server with right and wrong answers.

use machine::{Duration, Instant, Machine as _};
use service::dns::{Action, Carrier, Config, Dns, Event, NetworkStack, QueryResult, Server};

use crate::script::{events, span};

/// Cache size in bytes.
const CACHE_BYTES: usize = 16 << 10;

const SERVER: ([u8; 4], u16) = ([192, 0, 2, 1], 53);

struct Bench {
    forwarder: Dns<u32>,
    now: Instant,
    /// Clients so far, and clients that wait for an answer.
    clients: u32,
    open: usize,
    /// Queries to the server, with their source ports.
    sent: Vec<(u16, Vec<u8>)>,
}

/// Queries a forwarder, and answers its queries to servers.
pub fn dns(script: &[u8]) {
    let mut bench = Bench {
        forwarder: Dns::new([7; 32]),
        now: Instant::from_secs(1),
        clients: 0,
        open: 0,
        sent: Vec::new(),
    };
    let mut config = Config {
        cache_size: CACHE_BYTES,
        ..Config::default()
    };
    config.servers.plain = vec![Server {
        address: SERVER.into(),
        place: NetworkStack::Router,
    }];
    bench.feed(Event::Configure(Box::new(config)));
    for (what, data) in events(script) {
        match (what % 4, bench.sent.last().cloned()) {
            (0 | 1, _) | (_, None) => bench.ask(what, data),
            (_, Some((port, question))) => bench.answer(port, what, &question, data),
        }
        bench.now += span(data);
        bench.tick();
        let kept = bench.forwarder.cache_used();
        assert!(kept <= CACHE_BYTES, "what is kept is bounded: {kept}");
        bench.forwarder.lines(bench.now, |_, _| {});
    }
    for _ in 0..64 {
        bench.now += Duration::from_secs(1);
        bench.tick();
    }
    assert_eq!(bench.open, 0, "everybody has his answer in the end");
}

impl Bench {
    fn ask(&mut self, what: u8, message: &[u8]) {
        let carrier = match what & 8 {
            0 => Carrier::Datagram(512),
            _ => Carrier::Stream,
        };
        let mut reply = Vec::new();
        let forwarder = &mut self.forwarder;
        if !forwarder.answer_at_once(message, carrier, self.now, &mut reply) {
            self.open += 1;
            self.clients += 1;
            let client = self.clients;
            self.feed(Event::Asked {
                client,
                carrier,
                message,
            });
        }
    }

    /// Sends an answer to a port: the query followed by fuzzer data, or fuzzer data alone.
    fn answer(&mut self, port: u16, what: u8, question: &[u8], data: &[u8]) {
        let head = if what & 4 == 0 { question } else { &[] };
        let mut message = [head, data].concat();
        if let Some(flags) = message.get_mut(2) {
            *flags |= 0x80;
        }
        self.feed(Event::Datagram {
            port,
            from: SERVER.into(),
            message: &message,
        });
    }

    fn tick(&mut self) {
        let mut out = Vec::new();
        self.forwarder.tick(self.now, &mut out);
        self.carry_out(out);
    }

    fn feed(&mut self, event: Event<'_, u32>) {
        let mut out = Vec::new();
        self.forwarder.handle(event, self.now, &mut out);
        self.carry_out(out);
    }

    fn carry_out(&mut self, actions: Vec<Action<u32>>) {
        for action in actions {
            match action {
                Action::Answer { message, .. } => {
                    self.open -= 1;
                    let is_answer = message.len() >= 12 && message[2] & 0x80 != 0;
                    assert!(is_answer, "{message:?}");
                }
                Action::Send { port, message, .. } => self.sent.push((port, message)),
                Action::Ask(ask) => self.feed(Event::QueryResult {
                    ticket: ask.ticket,
                    told: QueryResult::Silent,
                }),
                Action::Listed(..) | Action::Warn(_) => {}
            }
        }
    }
}
