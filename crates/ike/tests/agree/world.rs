//! Two engines and a simulated network, in virtual time.
//!
//! The network loses, repeats and reorders datagrams, and may put a NAT in front of the first engine. Each step
//! checks that both sides can receive what the other sends.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use ike::{
    Action, Auth, Child, ChildId, Cipher, Encryption, Engine, Event, Exchange, GeneratePolicy,
    Group, Hash, Identity, Kind, Level, Mode, Peer, PeerId, Policy, PolicyId, Profile, Proposal,
    ProposalCheck, Protocol, RemoteId, SaId, Secret, Selector, State, Why,
};
use machine::{Duration, Instant, Machine as _, Rng};

pub(crate) const PEER: PeerId = PeerId(1);
pub(crate) const POLICY: PolicyId = PolicyId(2);
/// Public address of the NAT.
pub(crate) const PUBLIC: &str = "203.0.113.1";

/// One side: its engine, and the SAs of its data plane.
pub(crate) struct Side {
    pub(crate) engine: Engine,
    pub(crate) address: IpAddr,
    pub(crate) children: BTreeMap<ChildId, Child>,
    pub(crate) used: Vec<ChildId>,
    pub(crate) actions: Vec<String>,
    pub(crate) removed: Vec<Why>,
    pub(crate) closed: Vec<Why>,
    pub(crate) failed: Vec<Why>,
    pub(crate) wanted: Vec<(SaId, String)>,
    pub(crate) eap: Vec<(SaId, Vec<u8>)>,
    pub(crate) lease: Option<ike::Lease>,
    /// IKE SA that holds the mode-config lease, received or assigned.
    pub(crate) leased_by: Option<SaId>,
}

struct Flight {
    at: Instant,
    to: usize,
    local: SocketAddr,
    remote: SocketAddr,
    natt: bool,
    bytes: Vec<u8>,
}

pub(crate) struct World {
    pub(crate) now: Instant,
    pub(crate) sides: [Side; 2],
    pub(crate) loss: u8,
    pub(crate) repeat: u8,
    /// Longest additional delay of a datagram beyond 5 ms, in milliseconds.
    pub(crate) jitter: u64,
    pub(crate) translated: bool,
    pub(crate) checked: bool,
    /// Drops all datagrams.
    pub(crate) cut: bool,
    /// Drops datagrams to this address of the first side.
    pub(crate) unreached: Option<IpAddr>,
    pub(crate) sent: usize,
    flights: Vec<Flight>,
    met: BTreeSet<u32>,
    rng: Rng,
}

pub(crate) fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

pub(crate) fn profile() -> Profile {
    Profile {
        name: "default".into(),
        hash: vec![Hash::Sha1],
        encryption: vec![Cipher::Aes128, Cipher::TripleDes],
        groups: vec![Group::X25519],
        prf: None,
        lifetime: Duration::from_secs(86_400),
        life_bytes: 0,
        nat_traversal: true,
        dpd: Some((Duration::from_secs(8), 4)),
        proposal_check: ProposalCheck::Obey,
    }
}

pub(crate) fn identity(auth: Auth) -> Identity {
    Identity {
        auth,
        my_id: None,
        remote_id: RemoteId::Auto,
        generate_policy: GeneratePolicy::No,
        template_group: "default".into(),
        mode_config: None,
    }
}

pub(crate) fn psk() -> Identity {
    identity(Auth::Psk(Secret::new(b"secret".as_slice())))
}

pub(crate) fn peer(address: &str, exchange: Exchange) -> Peer {
    Peer {
        name: "peer".into(),
        address: address.parse().expect("a prefix"),
        port: 500,
        local: None,
        exchange,
        passive: false,
        send_initial_contact: true,
        profile: profile(),
        identities: vec![psk()],
    }
}

pub(crate) fn selector(prefix: &str, port: u16) -> Selector {
    let prefix = prefix.parse().expect("a prefix");
    Selector { prefix, port }
}

pub(crate) fn proposal() -> Proposal {
    Proposal {
        name: "default".into(),
        auth: vec![Hash::Sha1],
        encryption: vec![
            Encryption::new(Kind::AesCbc, 256),
            Encryption::new(Kind::AesCbc, 128),
        ],
        lifetime: Duration::from_secs(1800),
        pfs: Some(Group::X25519),
    }
}

pub(crate) fn policy(source: &str, destination: &str, mode: Mode) -> Policy {
    let unspecified = address("0.0.0.0");
    Policy {
        peer: Some(PEER),
        template: None,
        place: 0,
        source: selector(source, 0),
        destination: selector(destination, 0),
        protocol: if mode == Mode::Transport { 47 } else { 0 },
        mode,
        ends: (unspecified, unspecified),
        level: Level::Require,
        ipsec: Protocol::Esp,
        proposal: proposal(),
    }
}

impl Side {
    fn new(seed: u64, own: &str) -> Self {
        let mut rng = Rng::seeded(seed);
        let engine = Engine::new(Box::new(move |bytes| {
            bytes
                .iter_mut()
                .for_each(|byte| *byte = rng.next_u64() as u8);
        }));
        Self {
            engine,
            address: address(own),
            children: BTreeMap::new(),
            used: Vec::new(),
            actions: Vec::new(),
            removed: Vec::new(),
            closed: Vec::new(),
            failed: Vec::new(),
            wanted: Vec::new(),
            eap: Vec::new(),
            lease: None,
            leased_by: None,
        }
    }

    /// Returns the pair of outbound traffic.
    pub(crate) fn active(&self) -> Option<&Child> {
        self.used.last().and_then(|id| self.children.get(id))
    }

    pub(crate) fn established(&self) -> usize {
        self.engine
            .peers()
            .filter(|row| row.state == State::Established)
            .count()
    }

    fn note(&mut self, action: &Action) {
        match action {
            Action::Install(child) => {
                self.children.insert(child.id, (**child).clone());
                if child.active {
                    self.used.push(child.id);
                }
            }
            Action::Activate(id) => self.used.push(*id),
            Action::Remove { child, why, .. } => {
                assert!(self.children.remove(child).is_some(), "{child:?} was there");
                self.used.retain(|id| id != child);
                self.removed.push(*why);
            }
            Action::Moved {
                child,
                local,
                remote,
                natt,
            } => {
                let child = self.children.get_mut(child).expect("a pair");
                (child.local, child.remote, child.natt) = (*local, *remote, *natt);
            }
            Action::Closed(sa, why) => {
                self.closed.push(*why);
                self.leased_by = self.leased_by.filter(|by| by != sa);
            }
            Action::Renewed { before, after } => {
                let renewed = |by| if by == *before { *after } else { by };
                self.leased_by = self.leased_by.map(renewed);
            }
            Action::Failed(_, why) => self.failed.push(*why),
            Action::Log(log) => self.actions.push(log.text.clone()),
            Action::LeaseWanted { sa, pool, .. } => {
                self.wanted.push((*sa, pool.clone()));
                self.leased_by = Some(*sa);
            }
            Action::Eap { sa, message, .. } => self.eap.push((*sa, message.clone())),
            Action::Leased { sa, lease, .. } => {
                (self.lease, self.leased_by) = (Some(lease.clone()), Some(*sa));
            }
            Action::Send { .. } | Action::Keepalive { .. } | Action::Established(_) => {}
        }
    }
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            now: Instant::from_secs(1000),
            sides: [
                Side::new(seed * 2 + 1, "192.0.2.1"),
                Side::new(seed * 2 + 2, "198.51.100.2"),
            ],
            loss: 0,
            repeat: 0,
            jitter: 40,
            translated: false,
            checked: true,
            cut: false,
            unreached: None,
            sent: 0,
            flights: Vec::new(),
            met: BTreeSet::new(),
            rng: Rng::seeded(seed),
        }
    }

    pub(crate) fn event(&mut self, side: usize, event: Event<'_>) {
        let mut out = Vec::new();
        self.sides[side].engine.handle(event, self.now, &mut out);
        self.carry_out(side, out);
    }

    pub(crate) fn peer(&mut self, side: usize, peer: Peer) {
        self.event(side, Event::Peer(PEER, Some(Box::new(peer))));
    }

    pub(crate) fn policy(&mut self, side: usize, policy: Policy) {
        self.event(side, Event::Policy(POLICY, Some(Box::new(policy))));
    }

    /// Injects a first message with the other side's address, from a sender that never continues.
    pub(crate) fn spoof(&mut self, side: usize, exchange: Exchange) {
        let mut stranger = Self::new(99);
        stranger.cut = true;
        let (own, other) = (self.sides[side].address, self.sides[1 - side].address);
        let mut peer = peer(&format!("{own}/32"), exchange);
        peer.local = Some(other);
        let mut out = Vec::new();
        for event in [
            Event::Policy(
                POLICY,
                Some(Box::new(policy(
                    &format!("{other}/32"),
                    &format!("{own}/32"),
                    Mode::Transport,
                ))),
            ),
            Event::Peer(PEER, Some(Box::new(peer))),
        ] {
            stranger.sides[0].engine.handle(event, self.now, &mut out);
        }
        stranger.sides[0].engine.tick(self.now, &mut out);
        let sent = out.iter().find_map(|action| match action {
            Action::Send { bytes, .. } => Some(bytes.clone()),
            _ => None,
        });
        let event = Event::Datagram {
            local: SocketAddr::new(own, 500),
            remote: SocketAddr::new(other, 500),
            natt: false,
            bytes: &sent.expect("a first message"),
        };
        self.event(side, event);
    }

    /// Returns the source address of the first side's datagrams beyond the NAT.
    fn outside(&self, from: SocketAddr) -> SocketAddr {
        if self.translated {
            return SocketAddr::new(address(PUBLIC), 40_000 + from.port());
        }
        from
    }

    fn carry_out(&mut self, side: usize, out: Vec<Action>) {
        for action in out {
            if std::env::var("IKE_TRACE").is_ok() {
                match &action {
                    Action::Send { bytes, .. } => eprintln!(
                        "{:?} {side} send x{} f{:x} id {}",
                        self.now, bytes[18], bytes[19], bytes[23]
                    ),
                    Action::Install(c) => eprintln!(
                        "{:?} {side} install {:?} in {:x} out {:x} replaces {:?} active {}",
                        self.now, c.id, c.inbound.spi, c.outbound.spi, c.replaces, c.active
                    ),
                    a => eprintln!("{:?} {side} {a:?}", self.now),
                }
            }
            self.sides[side].note(&action);
            let Action::Send {
                mut local,
                mut remote,
                natt,
                bytes,
            } = action
            else {
                continue;
            };
            self.sent += 1;
            if side == 0 {
                local = self.outside(local);
            } else if self.translated && remote.ip() == address(PUBLIC) {
                remote = SocketAddr::new(self.sides[0].address, remote.port() - 40_000);
            }
            let copies = 1 + usize::from(self.rng.percent(self.repeat));
            for _ in 0..copies {
                if self.rng.percent(self.loss) {
                    continue;
                }
                let delay = Duration::from_millis(5 + self.rng.below(self.jitter));
                self.flights.push(Flight {
                    at: self.now + delay,
                    to: 1 - side,
                    local: remote,
                    remote: local,
                    natt,
                    bytes: bytes.clone(),
                });
            }
        }
        self.check();
    }

    /// Checks that the other side has every active outbound SA, with equal keys.
    ///
    /// An IKEv2 responder installs its first pair before the initiator does: that pair may be missing until
    /// then.
    fn check(&mut self) {
        for side in [0, 1].into_iter().filter(|_| self.checked) {
            let Some(child) = self.sides[side].active() else {
                continue;
            };
            let others = self.sides[1 - side].children.values();
            let mut others = others.filter(|other| other.inbound.spi == child.outbound.spi);
            let Some(other) = others.next() else {
                let first = child.replaces.is_none() && !self.met.contains(&child.outbound.spi);
                assert!(first, "side {side} sends into nothing: {child:?}");
                continue;
            };
            self.met.insert(child.outbound.spi);
            assert_eq!(other.inbound, child.outbound);
            assert_eq!(other.suite, child.suite);
            assert_eq!((other.mode, other.payload), (child.mode, child.payload));
            assert_eq!(other.outbound, child.inbound);
            assert!(!child.outbound.encryption_key.bytes().is_empty());
        }
    }

    /// Advances to the next event, at most to `end`. Returns false if nothing happens before.
    fn step(&mut self, end: Instant) -> bool {
        let flight = self
            .flights
            .iter()
            .enumerate()
            .min_by_key(|(_, flight)| flight.at);
        let flight = flight.map(|(at, flight)| (flight.at, at));
        let timer = |side: &Side| side.engine.deadline().map(|(at, _)| at);
        let timers = [timer(&self.sides[0]), timer(&self.sides[1])];
        let first = timers.iter().flatten().min().copied();
        let next = [flight.map(|(at, _)| at), first]
            .into_iter()
            .flatten()
            .min();
        let Some(next) = next.filter(|next| *next <= end) else {
            self.now = end;
            return false;
        };
        self.now = self.now.max(next);
        match flight.filter(|(at, _)| *at <= self.now) {
            Some((_, at)) => {
                let flight = self.flights.remove(at);
                if !self.cut && self.unreached != Some(flight.local.ip()) {
                    let event = Event::Datagram {
                        local: flight.local,
                        remote: flight.remote,
                        natt: flight.natt,
                        bytes: &flight.bytes,
                    };
                    self.event(flight.to, event);
                }
            }
            None => {
                for side in 0..2 {
                    let mut out = Vec::new();
                    self.sides[side].engine.tick(self.now, &mut out);
                    self.carry_out(side, out);
                }
            }
        }
        true
    }

    pub(crate) fn run(&mut self, seconds: u64) {
        self.run_millis(seconds * 1000);
    }

    pub(crate) fn run_millis(&mut self, millis: u64) {
        let end = self.now + Duration::from_millis(millis);
        while self.step(end) {}
    }

    /// Runs until a condition holds; fails the test after `seconds`.
    pub(crate) fn until(&mut self, what: &str, seconds: u64, so: impl Fn(&Self) -> bool) {
        let end = self.now + Duration::from_secs(seconds);
        while !so(self) {
            assert!(
                self.step(end),
                "not in {seconds} s: {what}\n{:#?}\n{:#?}\n{:?} {:?}",
                self.sides[0].actions,
                self.sides[1].actions,
                self.sides[0].engine.counters(),
                self.sides[1].engine.counters()
            );
        }
    }

    pub(crate) fn both_have_pairs(&self) -> bool {
        self.sides.iter().all(|side| side.active().is_some())
    }

    /// Returns true if each side can decrypt what the other sends.
    pub(crate) fn reach_each_other(&self) -> bool {
        [0, 1].into_iter().all(|side| {
            let others = &self.sides[1 - side].children;
            let active = self.sides[side].active();
            active.is_some_and(|pair| {
                { others.values() }.any(|other| other.inbound.spi == pair.outbound.spi)
            })
        })
    }

    /// Replaces a side by one that begins anew: no peers, policies and SAs.
    pub(crate) fn kill(&mut self, side: usize, seed: u64) {
        let own = self.sides[side].address.to_string();
        self.sides[side] = Side::new(seed, &own);
    }

    /// Creates two sides that know each other, with one policy between them.
    pub(crate) fn between(seed: u64, exchange: Exchange, mode: Mode) -> Self {
        let mut world = Self::new(seed);
        let (one, two) = match mode {
            Mode::Transport => ("192.0.2.1/32", "198.51.100.2/32"),
            Mode::Tunnel => ("10.1.0.0/16", "10.2.0.0/16"),
        };
        let mut initiator = peer("198.51.100.2/32", exchange);
        initiator.local = Some(address("192.0.2.1"));
        let mut responder = peer("192.0.2.1/32", exchange);
        responder.passive = true;
        world.policy(0, policy(one, two, mode));
        world.policy(1, policy(two, one, mode));
        world.peer(1, responder);
        world.peer(0, initiator);
        world
    }
}
