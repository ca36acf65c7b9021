//! Two sessions on a link in virtual time, with an owner at each end.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use machine::{Duration, Instant, Machine as _, Rng};
use ppp::{
    Action, Claim, Credentials, DownReason, Event, Grant, Ipv4Grant, Ipv4Link, Ipv6Link, Link,
    Packet, Password, Role, Session, Settings,
};

/// Events of one run at most; more are a storm.
const MAX_EVENTS: usize = 20_000;

pub(crate) const CLIENT: usize = 0;
pub(crate) const SERVER: usize = 1;

pub(crate) const ADDRESSES: Ipv4Grant = Ipv4Grant {
    local: Ipv4Addr::new(10, 0, 0, 1),
    remote: Ipv4Addr::new(10, 0, 0, 9),
    dns: [Some(Ipv4Addr::new(9, 9, 9, 9)), None],
    wins: [None; 2],
};

/// Faults of a link in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faults {
    pub(crate) lost: u8,
    pub(crate) duplicated: u8,
    pub(crate) delayed: u8,
}

/// How the owner of a server answers a claim.
pub(crate) type Verifier = fn(&Claim) -> Result<Box<Grant>, Box<str>>;

/// One end with what its owner knows.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) session: Session,
    pub(crate) link: Option<Link>,
    pub(crate) ipv4: Option<Ipv4Link>,
    pub(crate) ipv6: Option<Ipv6Link>,
    pub(crate) down: Option<DownReason>,
    pub(crate) log: Vec<Action>,
    /// Answer to the next query for traffic.
    pub(crate) traffic: bool,
}

/// Two ends and the packets between them.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) now: Instant,
    pub(crate) ends: [End; 2],
    pub(crate) faults: Faults,
    /// Packets are lost that a direction's flag names.
    pub(crate) cut: [bool; 2],
    pub(crate) sent: usize,
    /// Longer packets are lost, in bytes behind the protocol field.
    pub(crate) largest: usize,
    verify: Verifier,
    rng: Rng,
    wire: BTreeMap<(Instant, usize), (usize, Packet)>,
    events: usize,
}

/// Settings of a client with user `anna` and password `geheim`.
pub(crate) fn client() -> Settings {
    Settings {
        credentials: Some(Arc::new(Credentials {
            user: "anna".into(),
            password: Password::new("geheim"),
        })),
        request_dns: true,
        ..Settings::pppoe(Role::Client)
    }
}

pub(crate) fn server() -> Settings {
    Settings {
        local_name: "bras".into(),
        ..Settings::pppoe(Role::Server)
    }
}

/// Grants addresses and IPv6 to `anna` with the password `geheim`.
pub(crate) fn verify(claim: &Claim) -> Result<Box<Grant>, Box<str>> {
    let known = claim.user() == "anna";
    match claim.check("geheim").filter(|_| known) {
        Some(proof) => Ok(Box::new(Grant {
            ipv4: Some(ADDRESSES),
            ipv6: true,
            proof,
            ..Grant::default()
        })),
        None => Err("wrong name or password".into()),
    }
}

impl Pair {
    pub(crate) fn new(client: Settings, server: Settings, seed: u64) -> Self {
        Self::with_payload(client, server, 1492, seed)
    }

    /// Joins two ends by a carrier of packets with at most `payload` bytes.
    pub(crate) fn with_payload(
        client: Settings,
        server: Settings,
        payload: u16,
        seed: u64,
    ) -> Self {
        let mut rng = Rng::seeded(seed);
        let end = |settings, rng: Rng| End {
            session: Session::new(Arc::new(settings), payload, rng),
            link: None,
            ipv4: None,
            ipv6: None,
            down: None,
            log: Vec::new(),
            traffic: false,
        };
        Self {
            now: Instant::from_secs(1),
            ends: [end(client, rng.split()), end(server, rng.split())],
            faults: Faults::default(),
            cut: [false; 2],
            sent: 0,
            largest: usize::MAX,
            verify,
            rng,
            wire: BTreeMap::new(),
            events: 0,
        }
    }

    pub(crate) fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    pub(crate) fn with_verifier(mut self, verify: Verifier) -> Self {
        self.verify = verify;
        self
    }

    /// Brings the carrier up at both ends, the server first.
    pub(crate) fn start(&mut self) {
        self.handle(SERVER, Event::LowerUp);
        self.handle(CLIENT, Event::LowerUp);
    }

    pub(crate) fn handle(&mut self, at: usize, event: Event<'_>) {
        let mut out = Vec::new();
        self.ends[at].session.handle(event, self.now, &mut out);
        self.execute(at, out);
    }

    /// Runs packets and timers until `deadline`.
    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let timers = self.ends.iter().filter_map(|end| end.session.deadline());
            let timer = timers.map(|(due, _)| due).min();
            let packet = self.wire.keys().next().map(|(due, _)| *due);
            let Some(due) = timer
                .into_iter()
                .chain(packet)
                .min()
                .filter(|due| *due <= end)
            else {
                break;
            };
            self.now = self.now.max(due);
            self.events += 1;
            assert!(self.events < MAX_EVENTS, "the sessions come to rest");
            match packet == Some(due) {
                true => self.deliver(),
                false => (0..2).for_each(|at| self.tick(at)),
            }
        }
        self.now = end;
    }

    fn deliver(&mut self) {
        if let Some((_, (to, packet))) = self.wire.pop_first() {
            self.handle(to, Event::Packet(&packet));
        }
    }

    fn tick(&mut self, at: usize) {
        let mut out = Vec::new();
        self.ends[at].session.tick(self.now, &mut out);
        let deadline = self.ends[at].session.deadline();
        assert!(
            deadline.is_none_or(|(due, _)| due > self.now),
            "a tick leaves nothing undone: {deadline:?} at {:?}",
            self.now
        );
        self.execute(at, out);
    }

    fn execute(&mut self, at: usize, out: Vec<Action>) {
        assert!(out.len() <= 12, "an event has few actions: {out:?}");
        for action in out {
            let end = &mut self.ends[at];
            assert_eq!(end.down, None, "Down is the last action");
            match &action {
                Action::Send(packet) => self.send(at, packet.clone()),
                Action::Verify(claim) => {
                    let event = match (self.verify)(claim) {
                        Ok(grant) => Event::Granted(grant),
                        Err(text) => Event::Refused(text),
                    };
                    self.handle(at, event);
                }
                Action::QueryTraffic => {
                    let received = std::mem::take(&mut end.traffic);
                    self.handle(at, Event::Traffic { received });
                }
                Action::LinkUp(link) => {
                    assert_eq!(end.link.replace(*link), None, "a link comes up once");
                }
                Action::Ipv4Up(link) => {
                    assert_eq!(end.ipv4.replace(*link), None, "up and down alternate");
                }
                Action::Ipv4Down => {
                    assert_ne!(end.ipv4.take(), None, "up and down alternate");
                }
                Action::Ipv6Up(link) => {
                    assert_eq!(end.ipv6.replace(*link), None, "up and down alternate");
                }
                Action::Ipv6Down => {
                    assert_ne!(end.ipv6.take(), None, "up and down alternate");
                }
                Action::Down(reason) => end.down = Some(reason.clone()),
                Action::BridgeUp(_)
                | Action::BridgeDown
                | Action::EncryptionUp(_)
                | Action::FlushEncryption
                | Action::Authenticated(_)
                | Action::MtuReduced(_)
                | Action::Deliver(_)
                | Action::Count(_) => {}
            }
            self.ends[at].log.push(action);
        }
    }

    fn send(&mut self, from: usize, packet: Packet) {
        self.sent += 1;
        if self.cut[from] || packet.len() - 2 > self.largest || self.rng.percent(self.faults.lost) {
            return;
        }
        let copies = 1 + usize::from(self.rng.percent(self.faults.duplicated));
        for _ in 0..copies {
            let delay = match self.rng.percent(self.faults.delayed) {
                true => self.rng.below(8_000),
                false => 1,
            };
            let due = self.now + Duration::from_millis(delay);
            let number = self.wire.len() + self.sent * 4;
            self.wire.insert((due, number), (1 - from, packet.clone()));
        }
    }

    /// Asserts that both ends have IPv4, with the server's addresses.
    pub(crate) fn assert_open(&self) {
        let [client, server] = &self.ends;
        let at_client = client.ipv4.expect("the client has IPv4");
        let at_server = server.ipv4.expect("the server has IPv4");
        assert_eq!(at_client.local, ADDRESSES.remote);
        assert_eq!(at_client.remote, Some(ADDRESSES.local));
        assert_eq!(at_server.local, ADDRESSES.local);
        assert_eq!(at_server.remote, Some(ADDRESSES.remote));
    }

    pub(crate) fn downs(&self) -> [Option<DownReason>; 2] {
        [0, 1].map(|at: usize| self.ends[at].down.clone())
    }
}
