//! Carriers: protocols that carry the PPP packets of sessions between two ends, such as PPPoE.
//!
//! ```text
//! carrier ──LinkEvent──▶ sessions (`ppp/mod.rs`) ──send, opened, close──▶ carrier
//! ```
//! A link is one connection of a carrier, and carries one PPP session. A carrier owns discovery, the link's keys and
//! the interface kind of its sessions; it knows nothing of users, addresses and accounting. [`carriers`] is the list of
//! all carriers.

#[cfg(test)]
mod bare;
mod budget;
pub(in crate::feature) mod clients;
mod l2tp;
mod links;
mod ovpn;
mod pppoe;
mod pptp;
mod sstp;
mod tunnel;
mod units;

use std::collections::BTreeSet;
use std::sync::Arc;

use core::fmt::Debug;
use core::net::{IpAddr, Ipv6Addr};

use arc_swap::ArcSwap;
use certificate::Trust;
use dataplane::service::Service;
use frame::InterfaceId;
use machine::{Instant, Rng};
use menu::{Call, Changes, Id, Menu, Reason, Reply, Row};

use super::dial::Dial;
use crate::clock::DayClock;
use crate::feature::hear::{ReceiveOutcome, ReceivedPacket};
use crate::feature::stream::StreamEvent;
use crate::feature::{Effects, View};
use crate::intent::Name;
use crate::kind::AnyKind;
use crate::running::Running;

/// All carriers.
const CARRIERS: &[Registration] = &[
    #[cfg(test)]
    bare::CARRIER,
    l2tp::CARRIER,
    ovpn::CARRIER,
    pppoe::CARRIER,
    pptp::CARRIER,
    sstp::CARRIER,
];

/// Registration of a carrier.
pub(in crate::feature::ppp) struct Registration {
    /// Menus whose changes the carrier follows.
    pub(in crate::feature::ppp) menus: &'static [&'static str],
    /// Creates the carrier.
    pub(in crate::feature::ppp) create: fn(Sources<'_>) -> Box<dyn Carrier>,
}

/// The trusted authorities of `/certificate`, which change.
pub(crate) type SharedTrust = Arc<ArcSwap<Trust>>;

/// What carriers are created from.
pub(in crate::feature::ppp) struct Sources<'a> {
    /// Source of unpredictable values, such as keys of cookies.
    pub(in crate::feature::ppp) secrets: &'a mut Rng,
    /// Authorities for certificates of other ends.
    pub(in crate::feature::ppp) trust: &'a SharedTrust,
    /// The time of day.
    pub(in crate::feature::ppp) clock: &'a DayClock,
}

/// Number of the menus of all carriers.
pub(in crate::feature::ppp) const MENU_COUNT: usize = menu_count();

const fn menu_count() -> usize {
    let (mut count, mut at) = (0, 0);
    while at < CARRIERS.len() {
        count += CARRIERS[at].menus.len();
        at += 1;
    }
    count
}

/// Returns these menus and those of all carriers; `ALL` is their number.
pub(in crate::feature::ppp) const fn with_menus<const OWN: usize, const ALL: usize>(
    own: [&'static str; OWN],
) -> [&'static str; ALL] {
    let mut all = [own[0]; ALL];
    let mut at = 0;
    while at < OWN {
        all[at] = own[at];
        at += 1;
    }
    let mut carrier = 0;
    while carrier < CARRIERS.len() {
        let mut menu = 0;
        while menu < CARRIERS[carrier].menus.len() {
            all[at] = CARRIERS[carrier].menus[menu];
            (at, menu) = (at + 1, menu + 1);
        }
        carrier += 1;
    }
    all
}

/// Creates all carriers.
pub(in crate::feature::ppp) fn carriers(
    secrets: &mut Rng,
    trust: &SharedTrust,
    clock: &DayClock,
) -> Vec<Box<dyn Carrier>> {
    let all = CARRIERS.iter();
    let create = |carrier: &Registration| {
        let sources = Sources {
            secrets,
            trust,
            clock,
        };
        (carrier.create)(sources)
    };
    all.map(create).collect()
}

/// Number of a link, chosen by its carrier. A carrier never gives a number twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::feature) struct LinkId(pub(in crate::feature) u64);

/// A protocol that carries PPP packets.
pub(in crate::feature::ppp) trait Carrier: Debug + Send {
    /// Returns the name of the service, as `/ppp/secret service` has it and dynamic interfaces begin with it: `pppoe`.
    fn service(&self) -> &'static str;

    /// Menus whose changes the carrier follows.
    fn menus(&self) -> &'static [&'static str];

    /// Returns the menu of the service's clients, if it has clients.
    fn client_menu(&self) -> Option<&'static str>;

    /// Returns the menu of server interfaces, where dynamic interfaces of sessions appear.
    fn binding_menu(&self) -> Option<&'static str>;

    /// Services whose frames the carrier receives. Control asks again after each change of the configuration.
    fn services(&self) -> Vec<Service>;

    /// Applies the changes of a transaction to its menus; without `changes`, applies the whole configuration.
    fn apply_changes(
        &mut self,
        view: &View<'_>,
        changes: Option<&Changes>,
        out: &mut CarrierOutput<'_>,
    );

    /// Handles interfaces that were added, changed or removed. Reports links whose interface no longer runs.
    fn interfaces_changed(
        &mut self,
        interfaces: &BTreeSet<InterfaceId>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    );

    /// Handles a frame or packet of one of its services.
    fn receive(
        &mut self,
        heard: &ReceivedPacket<'_>,
        running: &Running<'_>,
        out: &mut CarrierOutput<'_>,
    ) -> ReceiveOutcome;

    /// Handles due timers.
    fn tick(&mut self, now: Instant, out: &mut CarrierOutput<'_>);

    /// Returns when `tick` is due next.
    fn deadline(&self) -> Option<Instant>;

    /// Sends a PPP packet, from the protocol field on. Does nothing for an unknown link.
    fn send(&mut self, link: LinkId, packet: &[u8], out: &mut Effects);

    /// Returns the interface kind of an open session on a link; `None` for an unknown link.
    fn kind(&self, link: LinkId) -> Option<AnyKind>;

    /// Returns RouterOS's name of the encryption of a link below PPP, for `encoding`; empty without one.
    fn encoding(&self, _link: LinkId) -> String {
        String::new()
    }

    /// Handles the keys that authentication gave, for settings that ask for them ([`ppp::Settings::reports_keys`]);
    /// `None` for a method without keys.
    fn authenticated(
        &mut self,
        _link: LinkId,
        _keys: Option<&ppp::MppeKeys>,
        _now: Instant,
        _out: &mut CarrierOutput<'_>,
    ) {
    }

    /// The session of a link is open: a client resets its backoff, a server counts the link as established.
    fn opened(&mut self, link: LinkId);

    /// Ends a link: tells the other end, and frees the link's number. A client dials again later. Does nothing for an
    /// unknown link.
    fn close(&mut self, link: LinkId, now: Instant, out: &mut Effects);

    /// Handles the resolved addresses of a name that the carrier requested (`Effect::Resolve`).
    fn resolved(
        &mut self,
        _name: &str,
        _addresses: &[IpAddr],
        _now: Instant,
        _out: &mut CarrierOutput<'_>,
    ) {
    }

    /// Handles an event of a TCP connection that the carrier requested.
    fn stream(&mut self, _event: &StreamEvent, _now: Instant, _out: &mut CarrierOutput<'_>) {}

    /// Dials a client that dials on demand, for a packet. Does nothing for other items, and while the client dials.
    fn dial(&mut self, _item: Id, _now: Instant, _out: &mut CarrierOutput<'_>) {}

    /// Returns the state of a client that has no link, as `monitor` shows it: `dialing`.
    fn client_status(&self, _item: Id) -> Option<&'static str> {
        None
    }

    /// Adds the carrier's cells to the `monitor` page of a client.
    fn monitor(&self, _item: Id, _row: &mut Row) {}

    /// Adds cells to the row of an item in one of its menus.
    fn annotate(&self, _menu: &'static Menu, _id: Id, _now: Instant, _row: &mut Row) {}

    /// Runs a command of one of its menus; returns `None` for an unknown command.
    fn act(&mut self, _view: &View<'_>, _call: &Call<'_>) -> Option<Result<Reply, Reason>> {
        None
    }
}

/// Outputs of a carrier: effects for control, and events for the sessions, which are handled afterwards in order.
#[derive(Debug)]
pub(in crate::feature::ppp) struct CarrierOutput<'a> {
    /// Effects for control.
    pub(in crate::feature::ppp) effects: &'a mut Effects,
    /// Events of links.
    pub(in crate::feature::ppp) events: Vec<LinkEvent>,
}

impl<'a> CarrierOutput<'a> {
    /// Returns an output without events.
    pub(in crate::feature::ppp) const fn new(effects: &'a mut Effects) -> Self {
        Self {
            effects,
            events: Vec::new(),
        }
    }
}

/// An event of a link.
#[derive(Debug)]
pub(in crate::feature::ppp) enum LinkEvent {
    /// A link was established: PPP begins.
    Up(LinkId, Box<LinkSetup>),
    /// A PPP packet arrived, from the protocol field on.
    Packet(LinkId, Vec<u8>),
    /// The interface kind of an open session changed.
    Changed(LinkId),
    /// The session is to end gracefully: PPP terminates, then control calls [`Carrier::close`].
    Close(LinkId),
    /// The link is gone: the other end closed it, or the interface below stopped. The carrier has forgotten the link.
    Down(LinkId, LinkDown),
}

impl LinkEvent {
    /// Returns the link of the event.
    pub(in crate::feature::ppp) const fn link(&self) -> LinkId {
        match self {
            Self::Up(link, _)
            | Self::Packet(link, _)
            | Self::Changed(link)
            | Self::Close(link)
            | Self::Down(link, _) => *link,
        }
    }
}

/// Reason for the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::feature::ppp) enum LinkDown {
    /// The remote end closed the link, such as by PADT.
    Peer,
    /// The interface below stopped, or was removed.
    Interface,
    /// The configuration of the server or client was removed.
    Removed,
}

/// Properties of a new link.
#[derive(Debug)]
pub(in crate::feature::ppp) struct LinkSetup {
    /// Role of this end.
    pub(in crate::feature::ppp) end: LinkEnd,
    /// Settings of PPP. A server shares them among its sessions. For a client, control adds user, password and the
    /// settings of the profile.
    pub(in crate::feature::ppp) settings: Arc<ppp::Settings>,
    /// Largest PPP packet that the link transports, in bytes behind the protocol field: 1492 for PPPoE, or the agreed
    /// PPP-Max-Payload (RFC 4638).
    pub(in crate::feature::ppp) payload: u16,
    /// Address of the other end, as `caller-id` shows it: an upper-case link address, or an IP address.
    pub(in crate::feature::ppp) caller_id: Box<str>,
    /// Name of the service that the client asked for, or address of the server (RADIUS `Called-Station-Id`).
    pub(in crate::feature::ppp) called_id: Arc<str>,
    /// Interface below (RADIUS `NAS-Port-Id`).
    pub(in crate::feature::ppp) port: Name,
    /// Circuit identifier that an access node added (RADIUS `NAS-Port-Id`, if so configured).
    pub(in crate::feature::ppp) circuit_id: Option<Box<str>>,
    /// Identifier of the subscriber's end that an access node added.
    pub(in crate::feature::ppp) remote_id: Option<Box<str>>,
    /// Number of the session in its protocol.
    pub(in crate::feature::ppp) number: u32,
    /// IPv6 addresses that the carrier agreed; without them IPv6CP and advertisements give some.
    pub(in crate::feature::ppp) ipv6: Option<FixedIpv6>,
}

/// IPv6 addresses of a session that its carrier agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::feature::ppp) struct FixedIpv6 {
    /// Address of this end.
    pub(in crate::feature::ppp) local: Ipv6Addr,
    /// Prefix length.
    pub(in crate::feature::ppp) len: u8,
    /// Address of the other end, to which a route leads.
    pub(in crate::feature::ppp) remote: Option<Ipv6Addr>,
}

/// Role of this end of a link.
#[derive(Clone, Debug)]
pub(in crate::feature::ppp) enum LinkEnd {
    /// A client item dialled.
    Client(Arc<Dial>),
    /// A user dialled in.
    Server {
        /// `default-profile` of the server.
        profile: Name,
        /// Name of the service that the client asked for, as interface rows show it.
        service: Arc<str>,
    },
}
