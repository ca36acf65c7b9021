//! The end of a PPP session that stands for the OpenVPN peer. OpenVPN has no PPP: user, password and addresses of its
//! messages pass through a PPP session between two ends of this router, so that users, profiles, RADIUS and accounting
//! are those of all other services.

use std::sync::Arc;

use machine::{Instant, Machine, Rng};
use ppp::{Action, Credentials, DownReason, Event, Grant, Ipv4Grant, Ipv4Link, Password, Settings};

/// The end for an OpenVPN peer.
#[derive(Debug)]
pub(super) struct Peer {
    machine: ppp::Session,
    /// Addresses for this router's end, if the peer is an OpenVPN server that assigns some.
    assigns: Option<Ipv4Grant>,
    /// The session carries Ethernet frames, which need no addresses.
    has_frames: bool,
    /// Addresses, once they are agreed.
    ipv4: Option<Ipv4Link>,
}

/// Something that the end wants.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A PPP packet for the other end.
    Packet(Vec<u8>),
    /// The session is open. A session of frames may have no addresses.
    Open(Option<Ipv4Link>),
    /// The session ended.
    Ended(DownReason),
}

impl Peer {
    /// Returns the end of a user of the server.
    pub(super) fn user(settings: Settings, user: &str, password: &str, rng: &mut Rng) -> Self {
        let settings = Settings {
            credentials: Some(Arc::new(Credentials {
                user: user.into(),
                password: Password::new(password),
            })),
            request_dns: true,
            ..settings
        };
        Self::new(settings, None, rng)
    }

    /// Returns the end of a server, which has assigned these addresses.
    pub(super) fn server(settings: Settings, assigns: Option<Ipv4Grant>, rng: &mut Rng) -> Self {
        Self::new(settings, assigns, rng)
    }

    fn new(settings: Settings, assigns: Option<Ipv4Grant>, rng: &mut Rng) -> Self {
        let payload = settings.max_mtu;
        Self {
            has_frames: settings.carries_frames,
            machine: ppp::Session::new(Arc::new(settings), payload, rng.split()),
            assigns,
            ipv4: None,
        }
    }

    /// Begins the session.
    pub(super) fn begin(&mut self, now: Instant) -> Vec<Outcome> {
        self.handle(Event::LowerUp, now)
    }

    /// Handles a packet of the other end.
    pub(super) fn receive(&mut self, packet: &[u8], now: Instant) -> Vec<Outcome> {
        self.handle(Event::Packet(packet), now)
    }

    /// Returns when [`Self::tick`] is due next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.machine.deadline().map(|(at, _)| at)
    }

    /// Handles due timers.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<Outcome> {
        let mut actions = Vec::new();
        self.machine.tick(now, &mut actions);
        self.outcomes(actions, now)
    }

    fn handle(&mut self, event: Event<'_>, now: Instant) -> Vec<Outcome> {
        let mut actions = Vec::new();
        self.machine.handle(event, now, &mut actions);
        self.outcomes(actions, now)
    }

    fn outcomes(&mut self, actions: Vec<Action>, now: Instant) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        for action in actions {
            match action {
                Action::Send(packet) => outcomes.push(Outcome::Packet(packet.to_vec())),
                Action::Ipv4Up(link) => {
                    self.ipv4 = Some(link);
                    if !self.has_frames {
                        outcomes.push(Outcome::Open(Some(link)));
                    }
                }
                // It follows IPCP.
                Action::BridgeUp(_) => outcomes.push(Outcome::Open(self.ipv4)),
                Action::Down(reason) => outcomes.push(Outcome::Ended(reason)),
                // The server was authenticated by TLS.
                Action::Verify(_) => {
                    let grant = Grant {
                        ipv4: self.assigns,
                        ..Grant::default()
                    };
                    outcomes.extend(self.handle(Event::Granted(Box::new(grant)), now));
                }
                _ => {}
            }
        }
        outcomes
    }
}
