//! RADIUS requests of a feature, each from its own port: a forger must guess port, identifier and
//! authenticator.

use core::net::SocketAddr;
use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use dataplane::service::{Addressed, Match, Rate, Service};
use frame::InterfaceId;
use machine::{Instant, Machine as _, Rng};
use service::radius::{Action, Event, Exchange, Outcome, Request, Server};

use crate::drive::timers::Timers;
use crate::feature::hear::Datagram;
use crate::feature::{Effect, Effects};

/// Source ports of requests.
pub(crate) const PORTS: RangeInclusive<u16> = 28_672..=32_767;
/// Maximum number of open requests; others fail as if no server had answered.
const MOST: usize = 1024;
/// Limit of answers that a worker passes to control, per second and as a burst. One server gets
/// half of it.
const RATE: Rate = Rate {
    per_second: 10_000,
    burst: 2048,
};

/// Open requests of a feature, by a key of the feature.
pub(crate) struct Questions<K> {
    running: BTreeMap<K, Running>,
    ports: BTreeMap<u16, K>,
    timers: Timers<K>,
    rng: Rng,
}

struct Running {
    exchange: Exchange,
    port: u16,
    /// The server that answered.
    server: Option<u64>,
}

/// Result of a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) outcome: Outcome,
    /// Item id of the server that answered.
    pub(crate) server: Option<u64>,
}

impl<K: Copy + Ord> Questions<K> {
    /// Returns an instance without requests. Unpredictable ports, identifiers and authenticators
    /// come from `rng`.
    pub(crate) fn new(rng: Rng) -> Self {
        Self {
            running: BTreeMap::new(),
            ports: BTreeMap::new(),
            timers: Timers::default(),
            rng,
        }
    }

    /// Returns the service of answers under this name.
    pub(crate) fn service(name: &'static str) -> Service {
        let ports = [false, true].map(|ipv6| Match::UdpPorts {
            ipv6,
            first: *PORTS.start(),
            last: *PORTS.end(),
        });
        Service {
            addressed: Addressed::Own,
            ..Service::new(name, ports, RATE)
        }
    }

    /// Sends a request to servers in order; replaces an open request with this key. Returns the result at once if no
    /// server is configured for it.
    pub(crate) fn ask(
        &mut self,
        key: K,
        (servers, request): (Vec<Server>, Request),
        now: Instant,
        out: &mut Effects,
    ) -> Option<Answer> {
        self.forget(key);
        let Some(port) = self.free_port() else {
            let outcome = Outcome::Nobody;
            return Some(Answer {
                outcome,
                server: None,
            });
        };
        let running = Running {
            exchange: Exchange::new(servers, request, self.rng.split()),
            port,
            server: None,
        };
        self.running.insert(key, running);
        self.ports.insert(port, key);
        self.step(
            key,
            |exchange, actions| exchange.handle(Event::Begin, now, actions),
            out,
        )
    }

    /// Returns an unused port, or `None` if too many requests are open.
    fn free_port(&mut self) -> Option<u16> {
        if self.running.len() >= MOST {
            return None;
        }
        let span = u32::from(PORTS.end() - PORTS.start()) + 1;
        loop {
            let port = PORTS.start() + (self.rng.next_u32() % span) as u16;
            if !self.ports.contains_key(&port) {
                return Some(port);
            }
        }
    }

    /// Drops a request.
    pub(crate) fn forget(&mut self, key: K) {
        if let Some(gone) = self.running.remove(&key) {
            self.ports.remove(&gone.port);
        }
        self.timers.set(key, None);
    }

    /// Whether a port belongs to an open request.
    pub(crate) fn has(&self, port: u16) -> bool {
        self.ports.contains_key(&port)
    }

    /// Handles a datagram to a port. Returns the result of its request, if known.
    pub(crate) fn hear(
        &mut self,
        (port, from): (u16, SocketAddr),
        bytes: &[u8],
        now: Instant,
        out: &mut Effects,
    ) -> Option<(K, Answer)> {
        let key = *self.ports.get(&port)?;
        let event = Event::Received { from, bytes };
        let answer = self.step(
            key,
            |exchange, actions| exchange.handle(event, now, actions),
            out,
        )?;
        Some((key, answer))
    }

    /// Returns the time of the next retransmission or timeout.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.timers.deadline()
    }

    /// Retransmits and expires requests. Returns the results of expired requests.
    pub(crate) fn tick(&mut self, now: Instant, out: &mut Effects) -> Vec<(K, Answer)> {
        let due: Vec<K> = core::iter::from_fn(|| self.timers.due(now)).collect();
        let answers = due.into_iter().filter_map(|key| {
            let answer = self.step(key, |exchange, actions| exchange.tick(now, actions), out)?;
            Some((key, answer))
        });
        answers.collect()
    }

    /// Runs a step of a request and carries out its actions.
    fn step(
        &mut self,
        key: K,
        does: impl FnOnce(&mut Exchange, &mut Vec<Action>),
        out: &mut Effects,
    ) -> Option<Answer> {
        let running = self.running.get_mut(&key)?;
        let mut actions = Vec::new();
        does(&mut running.exchange, &mut actions);
        let mut answer = None;
        for action in actions {
            match action {
                Action::Send { to, source, bytes } => {
                    out.push(Effect::Datagram(Box::new(Datagram {
                        source,
                        from: running.port,
                        to,
                        interface: InterfaceId::NONE,
                        data: bytes,
                    })));
                }
                Action::Done(outcome) => {
                    let server = running.server;
                    answer = Some(Answer { outcome, server });
                }
                Action::Answered(server, took) => {
                    running.server = Some(server);
                    out.push(Effect::Radius(Action::Answered(server, took)));
                }
                counted @ Action::Count(..) => out.push(Effect::Radius(counted)),
            }
        }
        let deadline = running.exchange.deadline().map(|(at, _)| at);
        self.timers.set(key, deadline);
        if answer.is_some() {
            self.forget(key);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Duration;
    use service::radius::Question;

    fn questions() -> Questions<usize> {
        Questions::new(Rng::seeded(1))
    }

    fn asked() -> (Vec<Server>, Request) {
        let server = Server {
            id: 7,
            address: [192, 0, 2, 1].into(),
            authentication: 1812,
            accounting: 1813,
            secret: b"xyzzy5461".to_vec(),
            timeout: Duration::from_secs(1),
            source: None,
            realm: String::new(),
            needs_message_authenticator: true,
        };
        let request = Request {
            question: Question::Eap {
                message: vec![2, 1, 0, 9, 1, b'a', b'n', b'n', b'a'],
                state: Vec::new(),
            },
            user: "anna".into(),
            calling: String::new(),
            called: String::new(),
            router: String::new(),
            port: "ipsec",
            session: String::new(),
            classes: Vec::new(),
        };
        (vec![server], request)
    }

    /// Returns the source ports of sent datagrams.
    fn ports(out: Effects) -> Vec<u16> {
        let sent = out.into_iter().filter_map(|effect| match effect {
            Effect::Datagram(datagram) => Some(datagram.from),
            _ => None,
        });
        sent.collect()
    }

    #[test]
    fn each_request_has_its_own_port_and_their_number_is_limited() {
        let (mut questions, mut ports_of) = (questions(), Vec::new());
        for key in 0..MOST {
            let mut out = Effects::default();
            assert!(
                questions
                    .ask(key, asked(), Instant::ZERO, &mut out)
                    .is_none()
            );
            ports_of.extend(ports(out));
        }
        ports_of.sort_unstable();
        ports_of.dedup();
        assert_eq!(ports_of.len(), MOST);
        assert!(
            ports_of
                .iter()
                .all(|port| PORTS.contains(port) && questions.has(*port))
        );
        let mut out = Effects::default();
        let answer = questions.ask(MOST, asked(), Instant::ZERO, &mut out);
        assert_eq!(answer.map(|answer| answer.outcome), Some(Outcome::Nobody));
        // A request with a known key replaces the open one.
        assert!(questions.ask(0, asked(), Instant::ZERO, &mut out).is_none());
        assert_eq!(questions.running.len(), MOST);
        assert_eq!(questions.ports.len(), MOST);
    }

    #[test]
    fn requests_to_a_silent_server_repeat_from_the_same_port_and_then_fail() {
        let (mut questions, mut out) = (questions(), Effects::default());
        let nobodys = SocketAddr::from(([192, 0, 2, 1], 1812));
        assert!(questions.ask(5, asked(), Instant::ZERO, &mut out).is_none());
        let first = ports(out);
        let mut given_up = Vec::new();
        while let Some(at) = questions.deadline() {
            let mut out = Effects::default();
            // Invalid datagrams and datagrams to other ports are no answers.
            assert!(
                questions
                    .hear((first[0], nobodys), &[2; 30], at, &mut out)
                    .is_none()
            );
            assert!(
                questions
                    .hear((first[0] ^ 1, nobodys), &[2; 30], at, &mut out)
                    .is_none()
            );
            given_up.extend(questions.tick(at, &mut out));
            assert!(ports(out).iter().all(|port| *port == first[0]));
        }
        let [
            (
                5,
                Answer {
                    outcome: Outcome::Nobody,
                    server: None,
                },
            ),
        ] = &given_up[..]
        else {
            panic!("{given_up:?}");
        };
        assert!(!questions.has(first[0]));
    }
}
