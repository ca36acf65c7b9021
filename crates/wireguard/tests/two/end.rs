//! One end of a tunnel: a device and the work of its owner (sessions, waiting packets, traffic reports).

use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

use machine::{Duration, Instant, Rng};
use wireguard::session::{self, FRONT, Receiving, Sending, TAG, padded};
use wireguard::{Action, Device, Event, Observation, Peer, PeerId, Private};

pub(crate) const PEER: PeerId = PeerId(1);
/// Interval of traffic reports.
pub(crate) const LOOK: Duration = Duration::from_millis(250);

/// A device with its owner's state.
pub(crate) struct End {
    pub(crate) device: Device,
    pub(crate) at: SocketAddr,
    sessions: BTreeMap<u32, (Arc<Sending>, Receiving)>,
    sending: Option<Arc<Sending>>,
    pub(crate) endpoint: Option<SocketAddr>,
    waiting: Vec<Vec<u8>>,
    seen: Observation,
    /// Messages to send, with their destinations.
    pub(crate) out: Vec<(SocketAddr, Vec<u8>)>,
    /// Packets received.
    pub(crate) came: Vec<Vec<u8>>,
    /// Number of failed handshakes.
    pub(crate) gave_up: usize,
    pub(crate) log: Vec<String>,
    /// Number of installed sessions.
    pub(crate) pairs: usize,
}

/// Returns the private key of an end.
pub(crate) fn private(number: u8) -> Private {
    Private::new([number; 32])
}

pub(crate) fn address(number: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, number], 51_820))
}

impl End {
    /// Creates an end with the other end as peer.
    pub(crate) fn new(number: u8, peer: Peer, now: Instant) -> Self {
        let mut rng = Rng::seeded(number.into());
        let entropy = Box::new(move |bytes: &mut [u8]| {
            bytes.fill_with(|| rng.next_u32() as u8);
        });
        let mut end = Self {
            device: Device::new(entropy, 1_700_000_000_000_000_000, now),
            at: address(number),
            sessions: BTreeMap::new(),
            sending: None,
            endpoint: None,
            waiting: Vec::new(),
            seen: Observation::default(),
            out: Vec::new(),
            came: Vec::new(),
            gave_up: 0,
            log: Vec::new(),
            pairs: 0,
        };
        end.handle(Event::Private(Some(private(number))), now);
        end.handle(Event::Peer(PEER, Some(peer)), now);
        end
    }

    pub(crate) fn handle(&mut self, event: Event<'_>, now: Instant) {
        let mut actions = Vec::new();
        self.device.handle(event, now, &mut actions);
        self.act(actions, now);
    }

    pub(crate) fn tick(&mut self, now: Instant) {
        let mut actions = Vec::new();
        self.device.tick(now, &mut actions);
        self.act(actions, now);
    }

    fn act(&mut self, actions: Vec<Action>, now: Instant) {
        for action in actions {
            match action {
                Action::Send { to, bytes } => self.out.push((to, bytes)),
                Action::Install(pair) => {
                    self.pairs += 1;
                    let sending = Arc::new(Sending::new(pair.remote, &pair.send));
                    if pair.is_initiator {
                        self.sending = Some(Arc::clone(&sending));
                    }
                    let receiving = Receiving::new(&pair.receive);
                    self.sessions.insert(pair.local, (sending, receiving));
                    if pair.is_initiator {
                        let waiting = core::mem::take(&mut self.waiting);
                        if waiting.is_empty() {
                            self.seal(&[], now);
                        }
                        waiting.iter().for_each(|packet| self.seal(packet, now));
                    }
                }
                Action::Activate { local } => {
                    self.sending = self
                        .sessions
                        .get(&local)
                        .map(|(sending, _)| Arc::clone(sending));
                }
                Action::Remove { local } => {
                    if let Some((gone, _)) = self.sessions.remove(&local)
                        && self
                            .sending
                            .as_ref()
                            .is_some_and(|now| Arc::ptr_eq(now, &gone))
                    {
                        self.sending = None;
                    }
                }
                Action::Endpoint { to, .. } => self.endpoint = Some(to),
                Action::Keepalive(_) => self.seal(&[], now),
                Action::GaveUp(_) => {
                    self.gave_up += 1;
                    self.waiting.clear();
                }
                Action::Log(log) => self.log.push(log.text),
            }
        }
    }

    fn seal(&mut self, packet: &[u8], now: Instant) {
        let (Some(sending), Some(to)) = (&self.sending, self.endpoint) else {
            return;
        };
        let mut message = vec![0; FRONT + padded(packet.len()) + TAG];
        message[FRONT..FRONT + packet.len()].copy_from_slice(packet);
        sending.seal(&mut message).expect("counters are left");
        self.seen.sent = sending.count();
        self.seen.last_sent = Some(now);
        if !packet.is_empty() {
            self.seen.last_sent_data = Some(now);
        }
        self.out.push((to, message));
    }

    /// Sends a packet, or queues it until a session exists.
    pub(crate) fn send(&mut self, packet: &[u8], now: Instant) {
        self.look(now);
        if self.sending.is_some() && self.endpoint.is_some() {
            return self.seal(packet, now);
        }
        self.waiting.push(packet.to_vec());
        self.handle(Event::Wanted(PEER), now);
    }

    /// Processes a received message.
    pub(crate) fn hear(&mut self, from: SocketAddr, bytes: &[u8], now: Instant) {
        let Some(number) = session::receiver(bytes) else {
            return self.handle(Event::Datagram { from, bytes }, now);
        };
        let Some((_, receiving)) = self.sessions.get(&number) else {
            return;
        };
        let mut message = bytes.to_vec();
        let Ok(at) = receiving.open(&mut message) else {
            return;
        };
        self.seen.last_received = Some(now);
        if !self.seen.used.contains(&number) {
            self.seen.used.push(number);
        }
        if self.endpoint != Some(from) {
            self.seen.moved = Some(from);
        }
        if !at.is_empty() {
            self.seen.last_received_data = Some(now);
            self.came.push(message[at].to_vec());
        }
    }

    /// Reports traffic to the device.
    pub(crate) fn look(&mut self, now: Instant) {
        let seen = self.seen.clone();
        self.seen.moved = None;
        self.handle(Event::Observed(PEER, seen), now);
    }

    /// Returns true if an outbound session exists.
    pub(crate) fn is_ready(&self) -> bool {
        self.sending.is_some()
    }
}

/// Returns the configuration of an end as a peer.
pub(crate) fn peer(number: u8) -> Peer {
    Peer {
        public: private(number).public(),
        preshared: None,
        endpoint: Some(address(number)),
        keepalive: None,
        responder: false,
    }
}
