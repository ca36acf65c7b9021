//! Two endpoints and the network between them, in virtual time.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use l2tp::{
    Action, Endpoint, Event, Fault, Opened, Path, Pseudowire, Reason, Secrets, Server, SessionId,
};
use machine::{Duration, Instant, Machine as _, Rng};

/// Time that a datagram takes.
const DELAY: Duration = Duration::from_millis(10);

/// Which end of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// What an endpoint reported.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    pub(crate) open: BTreeMap<SessionId, Opened>,
    pub(crate) closed: Vec<(SessionId, Reason)>,
    pub(crate) failed: Vec<(u64, Reason)>,
    pub(crate) packets: Vec<(SessionId, Vec<u8>)>,
    pub(crate) moved: Vec<(Vec<SessionId>, Path)>,
    pub(crate) ignored: Vec<Fault>,
}

/// Misfortune of datagrams, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lost: u8,
    pub(crate) repeated: u8,
    pub(crate) late: u8,
}

pub(crate) struct Network {
    pub(crate) now: Instant,
    pub(crate) client: Endpoint,
    pub(crate) server: Endpoint,
    pub(crate) of_client: Reports,
    pub(crate) of_server: Reports,
    /// Datagrams under way: arrival, order, receiver, path as the receiver sees it, bytes.
    pub(crate) flying: BTreeMap<(Instant, u64), (Side, Path, Vec<u8>)>,
    pub(crate) faults: Faults,
    /// What the client dials with; `None` for version 2.
    pub(crate) pseudowire: Option<Pseudowire>,
    sent: u64,
    rng: Rng,
}

pub(crate) fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

/// Ends of the client's tunnels as the client sees them.
pub(crate) fn path() -> Path {
    Path {
        local: address("192.0.2.1:1701"),
        remote: address("198.51.100.1:1701"),
        is_protected: false,
    }
}

pub(crate) fn reversed(path: &Path) -> Path {
    Path {
        local: path.remote,
        remote: path.local,
        is_protected: path.is_protected,
    }
}

pub(crate) fn settings(name: &str) -> Server {
    Server {
        host_name: name.into(),
        is_enabled: name == "lns",
        max_sessions: None,
        one_session_per_host: false,
        secrets: Secrets::default(),
        pseudowire: None,
    }
}

/// Settings of an end of version 3.
pub(crate) fn ethernet(name: &str, pseudowire: &Pseudowire) -> Server {
    Server {
        pseudowire: Some(pseudowire.clone()),
        ..settings(name)
    }
}

/// Secrets of one address that both ends know.
pub(crate) fn secrets(secret: &str) -> Secrets {
    let mut secrets = Secrets::default();
    secrets.add(address("0.0.0.0:0").ip(), 0, secret.into());
    secrets
}

impl Network {
    pub(crate) fn new(seed: u64) -> Self {
        Self::with(seed, settings("lac"), settings("lns"))
    }

    pub(crate) fn with(seed: u64, client: Server, server: Server) -> Self {
        let mut rng = Rng::seeded(seed);
        Self {
            pseudowire: client.pseudowire.clone(),
            now: Instant::from_secs(1000),
            client: Endpoint::new(client, rng.split()),
            server: Endpoint::new(server, rng.split()),
            of_client: Reports::default(),
            of_server: Reports::default(),
            flying: BTreeMap::new(),
            faults: Faults::default(),
            sent: 0,
            rng,
        }
    }

    /// Passes an event to an endpoint.
    pub(crate) fn handle(&mut self, side: Side, event: Event<'_>) {
        let mut out = Vec::new();
        let now = self.now;
        self.end(side).handle(event, now, &mut out);
        self.carry_out(side, out);
    }

    fn end(&mut self, side: Side) -> &mut Endpoint {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    fn carry_out(&mut self, side: Side, actions: Vec<Action>) {
        for action in actions {
            let reports = match side {
                Side::Client => &mut self.of_client,
                Side::Server => &mut self.of_server,
            };
            match action {
                Action::Send(path, datagram) => self.send(side, &path, &datagram),
                Action::Opened(opened) => {
                    let before = reports.open.insert(opened.session, *opened);
                    assert_eq!(before, None, "a session opens once");
                }
                Action::Closed(session, reason) => {
                    let was_open = reports.open.remove(&session);
                    assert!(was_open.is_some(), "a session that closes was open");
                    reports.closed.push((session, reason));
                }
                Action::Failed(client, reason) => reports.failed.push((client, reason)),
                Action::Packet(session, packet) => reports.packets.push((session, packet)),
                Action::Moved(sessions, path) => reports.moved.push((sessions, path)),
                Action::Ignored(fault) => reports.ignored.push(fault),
            }
        }
    }

    fn send(&mut self, from: Side, path: &Path, datagram: &[u8]) {
        let to = match from {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        };
        let copies = 1 + u8::from(self.rng.percent(self.faults.repeated));
        for _ in 0..copies {
            if self.rng.percent(self.faults.lost) {
                continue;
            }
            let late = self.rng.percent(self.faults.late);
            let delay = DELAY * (1 + 40 * u32::from(late));
            self.sent += 1;
            let key = (self.now + delay, self.sent);
            self.flying
                .insert(key, (to, reversed(path), datagram.to_vec()));
        }
    }

    /// Delivers the next datagram, or runs the next timer, until `until`. Returns false if nothing happens until then.
    pub(crate) fn step(&mut self, until: Instant) -> bool {
        let arrival = self.flying.keys().next().copied();
        let timers = [Side::Client, Side::Server].map(|side| {
            let deadline = self.end(side).deadline();
            (deadline.map_or(Instant::FAR_FUTURE, |(at, _)| at), side)
        });
        let timer = if timers[0].0 <= timers[1].0 {
            timers[0]
        } else {
            timers[1]
        };
        match arrival {
            Some(key) if key.0 <= timer.0 && key.0 <= until => {
                self.now = key.0;
                if let Some((to, path, datagram)) = self.flying.remove(&key) {
                    let datagram = &datagram;
                    self.handle(to, Event::Received { path, datagram });
                }
                true
            }
            _ if timer.0 <= until => {
                self.now = self.now.max(timer.0);
                let mut out = Vec::new();
                let now = self.now;
                self.end(timer.1).tick(now, &mut out);
                self.carry_out(timer.1, out);
                true
            }
            _ => false,
        }
    }

    /// Lets time pass.
    pub(crate) fn run(&mut self, span: Duration) {
        let until = self.now + span;
        while self.step(until) {}
        self.now = until;
    }

    /// Dials as client 1, and lets the session open.
    pub(crate) fn dial(&mut self) {
        let event = Event::Dial {
            client: 1,
            path: path(),
            pseudowire: self.pseudowire.clone(),
        };
        self.handle(Side::Client, event);
        self.run(Duration::from_secs(1));
    }

    /// Returns the only open session of each end.
    pub(crate) fn pair(&self) -> (Opened, Opened) {
        let one = |reports: &Reports| {
            assert_eq!(reports.open.len(), 1, "{reports:?}");
            reports.open.values().next().expect("there is one").clone()
        };
        (one(&self.of_client), one(&self.of_server))
    }
}
