//! State of one PPP session: state machine, settings, traffic counters and the time of the next timer.

use dataplane::counters::{InterfaceTraffic, Traffic};
use dataplane::encap::mppe::Ciphers;
use dataplane::encap::multilink::Sequence;
use frame::InterfaceId;
use machine::{Duration, Instant, Machine};
use ppp::{BridgeLink, CloseReason, Ipv4Link, Ipv6Link, Link};

use super::carrier::{LinkEnd, LinkId, LinkSetup};
use super::grant::{Grant, Leases};
use super::radius::PendingUser;
use super::rules::RuleSet;
use crate::intent::{ItemId, Name};
use crate::kind::AnyKind;
use crate::kind::bridged::{self, Bridged};
use crate::kind::mppe::{self, Mppe};
use crate::kind::multilink::Multilink;

/// MTU in bytes before LCP is open.
const DEFAULT_MTU: u16 = 1480;
/// Interval at which the traffic of a session with a byte limit is compared with the limit.
const LIMIT_INTERVAL: Duration = Duration::from_secs(1);

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    /// Position of its carrier.
    pub(super) carrier: usize,
    /// Its link.
    pub(super) link: LinkId,
    /// Properties of the link.
    pub(super) setup: Box<LinkSetup>,
    pub(super) machine: ppp::Session,
    /// State since authentication; `None` before.
    pub(super) login: Option<Box<Login>>,
    /// User whose authentication by RADIUS is pending.
    pub(super) pending: Option<PendingUser>,
    /// This end is closing the session: its timeouts no longer matter.
    pub(super) is_closing: bool,
}

/// State of a session since authentication.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) grant: Grant,
    pub(super) leases: Leases,
    pub(super) interface: SessionInterface,
    /// Packet sizes, once LCP is open.
    pub(super) link: Option<Link>,
    /// Sequence number of fragments, on a link with multilink framing.
    pub(super) sequence: Option<Sequence>,
    /// Encryption of the session, and the state of its ciphers.
    pub(super) encryption: Option<SessionEncryption>,
    /// Frames of a bridge pass, and these are accepted by the other end.
    pub(super) bridge: Option<BridgeLink>,
    pub(super) ipv4: Option<Ipv4Link>,
    pub(super) ipv6: Option<Ipv6Link>,
    /// When the first network protocol opened.
    pub(super) opened: Option<Instant>,
    /// Whether the user was logged in: accounting and `on-up` have begun.
    pub(super) is_up: bool,
    /// RADIUS servers account the session.
    pub(super) is_accounted: bool,
    /// Interval of interim updates.
    pub(super) interim: Option<Duration>,
    /// Time of the next interim update.
    pub(super) next_interim: Option<Instant>,
    /// Rules that packets of the session pass.
    pub(super) joined: Vec<RuleSet>,
    /// Traffic when it was last read.
    traffic: Traffics,
    /// Received packets at the machine's last query.
    queried: u64,
    /// Packets at the last change, and its time, for the idle timeout.
    moved: (u64, Instant),
    /// When the traffic is compared with the limits.
    check: Option<Instant>,
}

/// Encryption of a session.
#[derive(Debug)]
pub(super) struct SessionEncryption {
    /// RouterOS's name of the encryption: `MPPE128 stateless`.
    pub(super) name: &'static str,
    pub(super) ciphers: Ciphers,
}

/// Traffic from and to the other end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffics {
    pub(super) received: Traffic,
    pub(super) sent: Traffic,
}

/// Interface of a session.
#[derive(Debug)]
pub(super) struct SessionInterface {
    pub(super) name: Name,
    pub(super) origin: Origin,
    /// Id in the layout, while it exists.
    pub(super) id: Option<InterfaceId>,
}

/// Where the interface of a session comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A client item.
    Client(ItemId),
    /// A binding: an item for sessions of one user.
    Binding(ItemId),
    /// A dynamic interface whose name has this suffix.
    Dynamic(u32),
}

impl Session {
    /// Whether this end is the server.
    pub(super) const fn is_server(&self) -> bool {
        matches!(self.setup.end, LinkEnd::Server { .. })
    }

    /// Returns the name of the session in log lines: the interface name, or the link number before authentication.
    pub(super) fn label(&self) -> String {
        match (&self.login, &self.setup.end) {
            (Some(login), _) => login.interface.name.to_string(),
            (None, LinkEnd::Client(dial)) => dial.name.to_string(),
            (None, LinkEnd::Server { .. }) => format!("<{:04x}>", self.setup.number),
        }
    }

    /// Begins the transmission again with the current key: the other end lost an encrypted packet.
    pub(super) fn reset_encryption(&self) {
        let login = self.login.as_deref();
        if let Some(encryption) = login.and_then(|login| login.encryption.as_ref()) {
            encryption.ciphers.reset();
        }
    }

    /// Records the id of its interface.
    pub(super) fn laid_out(&mut self, id: InterfaceId) {
        if let Some(login) = &mut self.login {
            login.interface.id = Some(id);
        }
    }

    /// Reads the traffic of its interface.
    pub(super) fn read_traffic(&mut self, traffic: impl Fn(InterfaceId) -> InterfaceTraffic) {
        let login = self.login.as_deref_mut();
        if let Some(login) = login.filter(|login| login.opened.is_some())
            && let Some(id) = login.interface.id
        {
            let of = traffic(id);
            login.traffic = Traffics {
                received: of.rx,
                sent: of.tx,
            };
        }
    }

    /// Returns whether packets arrived since the previous query.
    pub(super) fn has_received(&mut self) -> bool {
        self.login.as_deref_mut().is_some_and(|login| {
            let packets = login.traffic.received.packets;
            core::mem::replace(&mut login.queried, packets) != packets
        })
    }

    /// Returns when the session has to be looked at next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let machine = self.machine.deadline().map(|(at, _)| at);
        let login = self.login.as_deref().filter(|_| !self.is_closing);
        let others = login.into_iter().flat_map(Login::deadlines);
        machine.into_iter().chain(others).min()
    }
}

impl Login {
    /// Returns the state of a session whose peer was authenticated.
    pub(super) fn new(grant: Grant, leases: Leases, interface: SessionInterface) -> Self {
        Self {
            grant,
            leases,
            interface,
            link: None,
            sequence: None,
            encryption: None,
            bridge: None,
            ipv4: None,
            ipv6: None,
            opened: None,
            is_up: false,
            is_accounted: false,
            interim: None,
            next_interim: None,
            joined: Vec::new(),
            traffic: Traffics::default(),
            queried: 0,
            moved: (0, Instant::ZERO),
            check: None,
        }
    }

    /// Starts the timeouts when the first network protocol opens.
    pub(super) fn open(&mut self, now: Instant) {
        if self.opened.is_none() {
            self.opened = Some(now);
            self.moved = (self.packets(), now);
            self.set_check(now);
        }
    }

    /// Sets packet sizes and framing when LCP opens.
    pub(super) fn set_link(&mut self, link: Link) {
        self.sequence = link.multilink.transmit_mrru.map(|_| Sequence::default());
        self.link = Some(link);
    }

    /// Returns the MTU of its interface in bytes: with multilink framing at least the MRRU of the other end.
    pub(super) fn mtu(&self) -> u16 {
        let Some(link) = self.link else {
            return DEFAULT_MTU;
        };
        let mtu = link.multilink.transmit_mrru.unwrap_or(0).max(link.mtu);
        let encryption = if self.encryption.is_some() {
            mppe::OVERHEAD
        } else {
            0
        };
        let frame = if self.bridge.is_some() {
            bridged::OVERHEAD
        } else {
            0
        };
        mtu.saturating_sub(encryption + frame)
    }

    /// Returns RouterOS's name of the encryption of PPP packets, if they are encrypted.
    pub(super) fn encoding(&self) -> Option<&'static str> {
        { self.encryption.as_ref() }.map(|encryption| encryption.name)
    }

    /// Returns the kind of its interface, whose session has this kind: with multilink framing and encryption if both
    /// ends use them.
    pub(super) fn framed(&self, session: AnyKind) -> AnyKind {
        let framing = self.link.and_then(|link| {
            Some(Multilink {
                session: session.clone(),
                mtu: link.mtu,
                transmit_mrru: link.multilink.transmit_mrru?,
                receive_mrru: link.multilink.receive_mrru?,
                sequence: self.sequence.clone()?,
            })
        });
        let session = framing.map_or(session, AnyKind::from);
        let encryption = self.link.zip(self.encryption.as_ref());
        let encryption = encryption.map(|(link, encryption)| Mppe {
            session: session.clone(),
            mtu: link.mtu,
            ciphers: encryption.ciphers.clone(),
        });
        let session = encryption.map_or(session, AnyKind::from);
        let bridge = self.link.zip(self.bridge).map(|(link, takes)| Bridged {
            session: session.clone(),
            mtu: link.mtu,
            takes,
        });
        bridge.map_or(session, AnyKind::from)
    }

    /// Returns the traffic when it was last read.
    pub(super) const fn traffic(&self) -> Traffics {
        self.traffic
    }

    fn packets(&self) -> u64 {
        self.traffic.received.packets + self.traffic.sent.packets
    }

    /// Sets when the traffic is compared with byte limits and idle timeout.
    pub(super) fn set_check(&mut self, now: Instant) {
        let grant = &self.grant;
        let limits = [grant.limit_in, grant.limit_out, grant.limit_total] != [0; 3];
        let limits = limits.then(|| now + LIMIT_INTERVAL);
        let idle = self.grant.idle_timeout.map(|idle| self.moved.1 + idle);
        self.check = { limits.into_iter().chain(idle) }
            .min()
            .filter(|_| self.opened.is_some());
    }

    fn deadlines(&self) -> impl Iterator<Item = Instant> + use<'_> {
        let end = self.end_of_session().into_iter();
        end.chain(self.check).chain(self.next_interim)
    }

    fn end_of_session(&self) -> Option<Instant> {
        Some(self.opened? + self.grant.session_timeout?)
    }

    /// Returns the reason to end the session, if a timeout has passed or a limit is reached.
    pub(super) fn excess(&mut self, now: Instant) -> Option<CloseReason> {
        if self.end_of_session().is_some_and(|end| end <= now) {
            return Some(CloseReason::SessionTimeout);
        }
        if self.check.is_none_or(|at| at > now) {
            return None;
        }
        let exceeds = |limit: u64, bytes: u64| limit != 0 && bytes >= limit;
        if exceeds(self.grant.limit_in, self.traffic.received.bytes)
            || exceeds(self.grant.limit_out, self.traffic.sent.bytes)
            || exceeds(
                self.grant.limit_total,
                self.traffic.received.bytes + self.traffic.sent.bytes,
            )
        {
            return Some(CloseReason::TrafficLimit);
        }
        let packets = self.packets();
        if packets != self.moved.0 {
            self.moved = (packets, now);
        }
        let idle = self.grant.idle_timeout;
        if idle.is_some_and(|idle| self.moved.1 + idle <= now) {
            return Some(CloseReason::IdleTimeout);
        }
        self.set_check(now);
        None
    }
}
