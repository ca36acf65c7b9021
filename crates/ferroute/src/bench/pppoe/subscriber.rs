//! One subscriber: a PPPoE client and its PPP session, with frames as input and output.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use machine::{Instant, Machine as _, Rng};
use ppp::{Credentials, Password, Role, Settings};
use service::pppoe::client::{self, Client};
use wire::Mac;

use super::codec::{self, Payload};

/// State of a subscriber.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Progress {
    /// The PPPoE session is open.
    pub(super) is_open: bool,
    /// Own and remote IPv4 address, while IPCP is open.
    pub(super) ipv4: Option<[Ipv4Addr; 2]>,
    /// Own and remote link-local address, while IPv6CP is open.
    pub(super) ipv6: Option<[Ipv6Addr; 2]>,
}

impl Progress {
    /// Whether the session carries both families.
    pub(super) fn is_up(&self) -> bool {
        self.ipv4.is_some() && self.ipv6.is_some()
    }
}

/// Counts over all subscribers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Sent PADI and PADR.
    pub(super) discovery: u64,
    /// Sent PPP control packets.
    pub(super) control: u64,
    /// Ended sessions that the benchmark did not end.
    pub(super) lost: u64,
    /// Requests that a server refused or left unanswered.
    pub(super) refused: u64,
    /// Sessions over which a ping was answered.
    pub(super) answered: u64,
    /// Delivered packets of the load.
    pub(super) delivered: u64,
}

/// What a subscriber uses beside its state.
pub(super) struct Environment<'a> {
    pub(super) now: Instant,
    pub(super) counts: &'a mut Counts,
    /// Frames to send.
    pub(super) out: &'a mut Vec<Vec<u8>>,
}

/// A subscriber.
pub(super) struct Subscriber {
    mac: Mac,
    settings: Arc<Settings>,
    discovery: Client,
    session: Option<Box<ppp::Session>>,
    pub(super) progress: Progress,
    /// A ping over the session was answered.
    pub(super) is_answered: bool,
    rng: Rng,
}

impl Subscriber {
    /// Creates the subscriber with this number, user name `u<number>` and password `p<number>`.
    pub(super) fn new(number: u32, rng: &mut Rng) -> Self {
        let settings = Settings {
            credentials: Some(Arc::new(Credentials {
                user: format!("u{number}").into(),
                password: Password::new(format!("p{number}")),
            })),
            ipv6: true,
            ..Settings::pppoe(Role::Client)
        };
        let mut rng = rng.split();
        Self {
            mac: codec::mac(number),
            settings: Arc::new(settings),
            discovery: Client::new(client::Config::default(), rng.split()),
            session: None,
            progress: Progress::default(),
            is_answered: false,
            rng,
        }
    }

    /// Begins to dial.
    pub(super) fn dial(&mut self, env: &mut Environment<'_>) {
        self.discover(client::Event::Start, env);
    }

    /// Ends the session, and dials no more.
    pub(super) fn hang_up(&mut self, env: &mut Environment<'_>) {
        self.session = None;
        self.progress = Progress::default();
        self.discover(client::Event::Stop, env);
    }

    /// Handles a received frame.
    pub(super) fn receive(&mut self, bytes: &[u8], env: &mut Environment<'_>) {
        match codec::read(bytes) {
            Some(Payload::Discovery(from, packet)) => {
                self.discover(client::Event::Received { from, packet }, env);
            }
            Some(Payload::Ping) => {
                let is_repeated = core::mem::replace(&mut self.is_answered, true);
                env.counts.answered += u64::from(!is_repeated);
            }
            Some(Payload::Data) => env.counts.delivered += 1,
            Some(Payload::Session(number, packet)) => {
                let is_ours =
                    { self.discovery.session() }.is_some_and(|open| open.number == number);
                if is_ours {
                    self.negotiate(ppp::Event::Packet(packet), env);
                }
            }
            None => {}
        }
    }

    /// Handles expired timers.
    pub(super) fn tick(&mut self, env: &mut Environment<'_>) {
        let mut actions = Vec::new();
        self.discovery.tick(env.now, &mut actions);
        self.execute_discovery(actions, env);
        let mut actions = Vec::new();
        if let Some(session) = &mut self.session {
            session.tick(env.now, &mut actions);
        }
        self.execute_session(actions, env);
    }

    /// Returns the time of the next [`Self::tick`].
    pub(super) fn deadline(&self) -> Option<Instant> {
        let discovery = self.discovery.deadline().map(|(at, _)| at);
        let session = { self.session.as_ref() }.and_then(|session| session.deadline());
        discovery.into_iter().chain(session.map(|(at, _)| at)).min()
    }

    /// Returns an echo request over the session to the server: IPv4, or IPv6 with link-local addresses.
    pub(super) fn ping(&self, ipv6: bool) -> Option<Vec<u8>> {
        let open = self.discovery.session()?;
        let packet = if ipv6 {
            let [local, remote] = self.progress.ipv6?;
            codec::echo6(local, remote)
        } else {
            let [local, remote] = self.progress.ipv4?;
            codec::echo4(local, remote)
        };
        Some(codec::session(self.mac, open.peer, open.number, &packet))
    }

    /// Returns a packet of the load to another subscriber.
    pub(super) fn data(&self, to: Ipv4Addr) -> Option<Vec<u8>> {
        let open = self.discovery.session()?;
        let [local, _] = self.progress.ipv4?;
        let packet = codec::data4(local, to);
        Some(codec::session(self.mac, open.peer, open.number, &packet))
    }

    fn discover(&mut self, event: client::Event<'_>, env: &mut Environment<'_>) {
        let mut actions = Vec::new();
        self.discovery.handle(event, env.now, &mut actions);
        self.execute_discovery(actions, env);
    }

    fn execute_discovery(&mut self, actions: Vec<client::Action>, env: &mut Environment<'_>) {
        for action in actions {
            match action {
                client::Action::Send(frame) => {
                    env.counts.discovery += 1;
                    env.out.push(codec::ethernet(self.mac, &frame));
                }
                client::Action::Opened(open) => {
                    let payload = open.max_payload.unwrap_or(wire::pppoe::MRU);
                    let settings = Arc::clone(&self.settings);
                    let session = ppp::Session::new(settings, payload, self.rng.split());
                    self.session = Some(Box::new(session));
                    self.progress.is_open = true;
                    self.negotiate(ppp::Event::LowerUp, env);
                }
                client::Action::Closed(_) => {
                    env.counts.lost += 1;
                    self.session = None;
                    self.progress = Progress::default();
                }
                client::Action::Failed(_) => env.counts.refused += 1,
            }
        }
    }

    fn negotiate(&mut self, event: ppp::Event<'_>, env: &mut Environment<'_>) {
        let mut actions = Vec::new();
        if let Some(session) = &mut self.session {
            session.handle(event, env.now, &mut actions);
        }
        self.execute_session(actions, env);
    }

    fn execute_session(&mut self, actions: Vec<ppp::Action>, env: &mut Environment<'_>) {
        for action in actions {
            match action {
                ppp::Action::Send(packet) => {
                    if let Some(open) = self.discovery.session() {
                        env.counts.control += 1;
                        let frame = codec::session(self.mac, open.peer, open.number, &packet);
                        env.out.push(frame);
                    }
                }
                ppp::Action::QueryTraffic => {
                    self.negotiate(ppp::Event::Traffic { received: false }, env);
                }
                ppp::Action::Ipv4Up(link) => {
                    self.progress.ipv4 = link.remote.map(|remote| [link.local, remote]);
                }
                ppp::Action::Ipv4Down => self.progress.ipv4 = None,
                ppp::Action::Ipv6Up(link) => {
                    let ends = [link.local, link.remote];
                    self.progress.ipv6 = Some(ends.map(codec::link_local));
                }
                ppp::Action::Ipv6Down => self.progress.ipv6 = None,
                ppp::Action::Down(_) => {
                    env.counts.lost += 1;
                    self.session = None;
                    self.progress = Progress::default();
                    self.discover(client::Event::Close, env);
                }
                ppp::Action::BridgeUp(_)
                | ppp::Action::BridgeDown
                | ppp::Action::EncryptionUp(_)
                | ppp::Action::FlushEncryption
                | ppp::Action::Authenticated(_)
                | ppp::Action::Verify(_)
                | ppp::Action::LinkUp(_)
                | ppp::Action::MtuReduced(_)
                | ppp::Action::Deliver(_)
                | ppp::Action::Count(_) => {}
            }
        }
    }
}
