//! Accounting-On and Accounting-Off (RFC 2866, 4.1 and 5.1): each server of an accounted service learns when accounting
//! begins with the start of the router, and when it ends with an orderly stop. Servers end the sessions that they know
//! from before an Accounting-On: those that a crash of the router ended without a report.
//!
//! ```text
//! start: server of the loaded configuration ─▶ waiting ── its service is accounted, a route leads to it ─▶ sent
//!                                                 ▲                                                        │ │
//!                                                 └── pause, or an answer of the server ── no answer ◀─────┘ ▼
//! orderly stop: On was sent ─▶ Off ─▶ parting ── answered, or too late                                    noted
//! ```
//! A server that is added later receives no Accounting-On: if it shares a database with configured servers,
//! Accounting-On would close the records of open sessions.

use std::collections::{BTreeMap, BTreeSet};

use machine::{Duration, Instant};
use service::radius::{
    Port, Query, Question, Request, RouterStatus, Server, Service, SubscriberLine,
};

/// Bounds of the pause between attempts.
const MIN_PAUSE: Duration = Duration::from_secs(10);
const MAX_PAUSE: Duration = Duration::from_secs(320);

/// State of a server since the start of the router.
#[derive(Debug)]
struct Mark {
    /// Services of the server.
    services: Vec<Service>,
    /// A route leads to the server.
    is_located: bool,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Accounting-On is to be sent at this time, or as soon as the server answers another request. The duration is the
    /// pause after a further failure.
    Waiting(Instant, Duration),
    /// Accounting-On was sent.
    Sent(Duration),
    /// The server acknowledged Accounting-On.
    Noted,
    /// Accounting-Off was sent.
    Parting,
}

/// Start and end of accounting at each server.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Services whose sessions are accounted.
    accounted: BTreeSet<Service>,
    /// Servers of the configuration at the start, by item id.
    servers: BTreeMap<u64, Mark>,
    /// Time of the start; `None` before the configuration is loaded.
    began: Option<Instant>,
}

impl Marks {
    /// Notes the servers of the configuration with which the router starts.
    pub(super) fn start(&mut self, servers: impl Iterator<Item = u64>, now: Instant) {
        if self.began.is_some() {
            return;
        }
        self.began = Some(now);
        for id in servers {
            let mark = Mark {
                services: Vec::new(),
                is_located: false,
                stage: Stage::Waiting(now, MIN_PAUSE),
            };
            self.servers.insert(id, mark);
        }
    }

    /// Keeps the marks of configured servers.
    pub(super) fn retain(&mut self, is_configured: impl Fn(u64) -> bool) {
        self.servers.retain(|id, _| is_configured(*id));
    }

    /// Notes the services of servers with an address, and whether routes lead to them.
    pub(super) fn set_servers(&mut self, servers: &[Server]) {
        for mark in self.servers.values_mut() {
            mark.is_located = false;
        }
        for server in servers {
            if let Some(mark) = self.servers.get_mut(&server.id) {
                mark.services.clone_from(&server.services);
                mark.is_located = server.source.or(server.nas_address).is_some();
            }
        }
    }

    /// Notes whether sessions of a service are accounted.
    pub(super) fn set_accounting(&mut self, service: Service, is_on: bool) {
        match is_on {
            true => _ = self.accounted.insert(service),
            false => _ = self.accounted.remove(&service),
        }
    }

    fn is_ready(&self, mark: &Mark) -> bool {
        let is_accounted = |service: &Service| self.accounted.contains(service);
        mark.is_located && mark.services.iter().any(is_accounted)
    }

    /// Returns when [`Self::due`] has work next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let marks = self.servers.values();
        let times = marks.filter_map(|mark| match mark.stage {
            Stage::Waiting(at, _) if self.is_ready(mark) => Some(at),
            _ => None,
        });
        times.min()
    }

    /// Returns the Accounting-On of each server whose time has come. `clock` is the time of day in seconds since 1970.
    pub(super) fn due(
        &mut self,
        identity: &str,
        clock: i64,
        now: Instant,
    ) -> Vec<(u64, Box<Query>)> {
        let began = self.began.unwrap_or(now);
        let due: Vec<(u64, Duration)> = { self.servers.iter() }
            .filter_map(|(id, mark)| match mark.stage {
                Stage::Waiting(at, pause) if at <= now && self.is_ready(mark) => Some((*id, pause)),
                _ => None,
            })
            .collect();
        // Servers end the sessions that began up to this second. Those of restored leases begin with the router.
        let before = clock - now.saturating_since(began).as_secs().cast_signed() - 1;
        let mut queries = Vec::new();
        for (id, pause) in due {
            if let Some(mark) = self.servers.get_mut(&id) {
                mark.stage = Stage::Sent(pause);
                queries.push((id, query(id, RouterStatus::On, identity, before, began)));
            }
        }
        queries
    }

    /// Returns the Accounting-Off of each server that was sent an Accounting-On. Further ones are not sent.
    pub(super) fn end(
        &mut self,
        identity: &str,
        clock: i64,
        now: Instant,
    ) -> Vec<(u64, Box<Query>)> {
        let mut queries = Vec::new();
        self.servers.retain(|id, mark| {
            let is_on = matches!(mark.stage, Stage::Sent(_) | Stage::Noted);
            if is_on {
                mark.stage = Stage::Parting;
                queries.push((*id, query(*id, RouterStatus::Off, identity, clock, now)));
            }
            is_on
        });
        queries
    }

    /// Notes the result of a request.
    pub(super) fn answered(
        &mut self,
        server: u64,
        status: RouterStatus,
        is_answered: bool,
        now: Instant,
    ) {
        let Some(mark) = self.servers.get_mut(&server) else {
            return;
        };
        match (status, mark.stage) {
            (RouterStatus::On, Stage::Sent(_)) if is_answered => mark.stage = Stage::Noted,
            (RouterStatus::On, Stage::Sent(pause)) => {
                mark.stage = Stage::Waiting(now + pause, (pause * 2).min(MAX_PAUSE));
            }
            (RouterStatus::Off, Stage::Parting) => _ = self.servers.remove(&server),
            _ => {}
        }
    }

    /// Notes that a server answered a request: [`Self::due`] then returns a waiting Accounting-On at once.
    pub(super) fn heard_from(&mut self, server: u64, now: Instant) {
        if let Some(mark) = self.servers.get_mut(&server)
            && let Stage::Waiting(at, pause) = mark.stage
        {
            mark.stage = Stage::Waiting(at.min(now), pause);
        }
    }

    /// True if a server has not acknowledged Accounting-Off.
    pub(super) fn is_parting(&self) -> bool {
        let mut marks = self.servers.values();
        marks.any(|mark| mark.stage == Stage::Parting)
    }
}

/// Returns the request to a server about an event at `since`, which is `seconds` after 1970.
fn query(
    server: u64,
    status: RouterStatus,
    identity: &str,
    seconds: i64,
    since: Instant,
) -> Box<Query> {
    let timestamp = u32::try_from(seconds).ok().filter(|seconds| *seconds > 0);
    Box::new(Query {
        request: Request {
            // Not sent: the request is not about a session.
            service: Service::Ppp,
            question: Question::Router(status),
            user: String::new(),
            calling: String::new(),
            called: String::new(),
            router: identity.to_owned(),
            port: Port::of_service(""),
            subscriber_line: SubscriberLine::default(),
            session: String::from("00000000"),
            classes: Vec::new(),
            timestamp,
        },
        server: Some(server),
        since: Some(since),
        age: Duration::ZERO,
    })
}

#[cfg(test)]
mod tests {
    use core::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn server(id: u64, service: Service) -> Server {
        Server {
            id,
            services: vec![service],
            called: String::from("elsewhere"),
            domain: String::new(),
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            authentication: 1812,
            accounting: 1813,
            secret: Vec::new(),
            timeout: Duration::from_secs(1),
            is_backup: false,
            source: None,
            nas_address: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            realm: String::new(),
            needs_message_authenticator: false,
            tls: None,
        }
    }

    fn at(seconds: u64) -> Instant {
        Instant::from_secs(seconds)
    }

    /// Returns the servers that receive Accounting-On at a time.
    fn due(marks: &mut Marks, now: Instant) -> Vec<u64> {
        let due = marks.due("bras", 1_000, now);
        due.into_iter().map(|(server, _)| server).collect()
    }

    #[test]
    fn servers_of_accounted_services_learn_of_the_start_once() {
        let mut marks = Marks::default();
        marks.start([1, 2, 3].into_iter(), at(5));
        marks.set_servers(&[server(1, Service::Ppp), server(2, Service::Dhcp)]);
        assert_eq!(marks.deadline(), None, "nothing is accounted");
        marks.set_accounting(Service::Ppp, true);
        assert_eq!(marks.deadline(), Some(at(5)));

        let sent = marks.due("bras", 1_000, at(8));

        let [(1, query)] = &sent[..] else {
            panic!("{sent:?}");
        };
        assert_eq!(query.request.timestamp, Some(996), "before the start");
        assert_eq!((query.since, query.server), (Some(at(5)), Some(1)));
        assert!(!query.request.is_stop() && query.request.is_accounting());
        marks.answered(1, RouterStatus::On, true, at(8));
        assert_eq!(marks.deadline(), None);
        // A server without an address at the start, and one that is added later.
        let servers = [1, 3, 4].map(|id| server(id, Service::Ppp));
        marks.set_servers(&servers);
        marks.start([4].into_iter(), at(9));
        assert_eq!(due(&mut marks, at(9)), [3]);
    }

    #[test]
    fn a_silent_server_is_told_after_a_pause_or_when_it_answers_another_request() {
        let mut marks = Marks::default();
        marks.start([1].into_iter(), at(0));
        marks.set_accounting(Service::Ppp, true);
        marks.set_servers(&[server(1, Service::Ppp)]);
        let mut times = Vec::new();
        let mut now = at(0);
        for _ in 0..7 {
            assert_eq!(due(&mut marks, now), [1]);
            marks.answered(1, RouterStatus::On, false, now);
            now = marks.deadline().expect("a further attempt");
            times.push(now.saturating_since(at(0)).as_secs());
        }
        assert_eq!(times, [10, 30, 70, 150, 310, 630, 950]);
        marks.heard_from(1, at(700));
        assert_eq!(marks.deadline(), Some(at(700)));
    }

    #[test]
    fn the_end_is_told_to_servers_that_know_of_the_start() {
        let mut marks = Marks::default();
        marks.start([1, 2].into_iter(), at(0));
        marks.set_accounting(Service::Ppp, true);
        marks.set_servers(&[server(1, Service::Ppp), server(2, Service::Dhcp)]);
        assert_eq!(due(&mut marks, at(0)), [1]);
        let ends = marks.end("bras", 1_000, at(60));
        assert_eq!(ends.len(), 1);
        assert!(marks.is_parting());
        assert_eq!(marks.deadline(), None);
        marks.answered(1, RouterStatus::Off, true, at(60));
        assert!(!marks.is_parting());
    }
}
