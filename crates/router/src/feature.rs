//! Interface of the features of control. A feature follows its menus, and returns effects that control carries out.
//!
//! ```text
//! changed items ─▶ follow ─┐
//! time ──────────▶ tick ───┤
//! frames ────────▶ hear ───┼─▶ Effects ─▶ control carries them out
//! interfaces ────▶ lay_out ┤
//! commands ──────▶ act ────┘
//! print ─────────▶ rows, annotate
//! ```
//! A feature does not call control. `features.rs` has the list of all features.

pub(crate) mod access;
pub(crate) mod address;
pub(crate) mod bandwidth_server;
pub(crate) mod bonding;
pub(crate) mod bridge;
pub(crate) mod certificate;
pub(crate) mod check;
pub(crate) mod dhcp6;
pub(crate) mod dhcp_alert;
pub(crate) mod dhcp_client;
pub(crate) mod dhcp_relay;
pub(crate) mod dhcp_server;
pub(crate) mod discovery;
pub(crate) mod dns;
pub(crate) mod echo;
pub(crate) mod flows;
pub(crate) mod gateway;
pub(crate) mod graphing;
pub(crate) mod hear;
pub(crate) mod ipsec;
mod l2tp;
pub(crate) mod l2tp_ether;
pub(crate) mod link4;
pub(crate) mod link6;
mod log;
pub(crate) mod lookups;
pub(crate) mod loop_protect;
pub(crate) mod mac_tools;
pub(crate) mod mail;
pub(crate) mod neighbours;
pub(crate) mod netwatch;
pub(crate) mod ntp;
pub(crate) mod ping;
pub(crate) mod pool;
pub(crate) mod ppp;
pub(crate) mod queue;
pub(crate) mod radius;
pub(crate) mod router_discovery;
pub(crate) mod schedule;
pub(crate) mod scripting;
pub(crate) mod services;
pub(crate) mod snmp;
pub(crate) mod ssh;
pub(crate) mod stream;
pub(crate) mod switch;
pub(crate) mod tunnels;
pub(crate) mod vrrp;
pub(crate) mod vxlan;
pub(crate) mod wireguard;

use core::net::IpAddr;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use dataplane::DropReason;
use dataplane::bond::Bond;
use dataplane::bridge::Bridge;
use dataplane::interface::Above;
use dataplane::ipsec::Policies;
use dataplane::service::Service;
use frame::InterfaceId;
use machine::Instant;
use menu::{Call, Changes, Clock, Id, Item, Menu, Reason, Reply, Row, RowFilter, Store, Value};
use service::radius::{ErrorCause, SessionRequest};

use wire::Mac;

use self::hear::{Datagram, Echo, Outgoing, ReceiveOutcome, ReceivedPacket};
use self::stream::{StreamEvent, StreamRequest};
use crate::drive::asking::Asking;
use crate::intent::{Interface, ItemId, ItemState, Items, Name};
use crate::learned::{Learned, Servers};
use crate::object::{Made, Owner};
use crate::records;
use crate::running::Running;

/// A feature of control. The default methods do nothing.
pub(crate) trait Feature: core::fmt::Debug {
    /// Name in log messages.
    fn name(&self) -> &'static str {
        let path = core::any::type_name::<Self>();
        path.rsplit("::").next().unwrap_or(path)
    }

    /// Menus whose changes the feature follows, and whose rows and commands it provides.
    fn menus(&self) -> &'static [&'static str];

    /// Applies the changes of a transaction to its menus; without `changes`, applies the whole configuration.
    fn follow(&mut self, _: &View<'_>, _: Option<&Changes>, _: &mut Effects) {}

    /// Handles due timers.
    fn tick(&mut self, _: Instant, _: &mut Effects) {}

    /// Returns when `tick` is due next.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Produces the dynamic rows of one of its menus.
    fn rows(
        &self,
        _: &'static Menu,
        _: &RowFilter<'_>,
        _: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Produces the dynamic rows of one of its menus, with the time for rows that show an age or a duration.
    fn rows_at(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        _: Instant,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.rows(menu, filter, each)
    }

    /// Adds cells to the row of an item in one of its menus.
    fn annotate(&self, _: &'static Menu, _: Id, _: &mut Row) {}

    /// Adds cells to the row of an item in one of its menus, with the time for cells that show a remaining duration.
    fn annotate_at(&self, menu: &'static Menu, id: Id, _: Instant, row: &mut Row) {
        self.annotate(menu, id, row);
    }

    /// Runs a command of one of its menus; returns `None` for a command of another feature.
    fn act(&mut self, _: &View<'_>, _: &Call<'_>) -> Option<Result<Reply, Reason>> {
        None
    }

    /// Services whose packets the feature receives. Control asks again after each `follow`.
    fn services(&self) -> Vec<Service> {
        Vec::new()
    }

    /// Handles a frame or a packet of one of its services.
    fn hear(&mut self, _: &ReceivedPacket<'_>, _: &Running<'_>, _: &mut Effects) -> ReceiveOutcome {
        ReceiveOutcome::NotMine
    }

    /// Handles interfaces that were added, changed or removed, or whose addresses or settings changed. Loading a
    /// configuration names all interfaces.
    fn lay_out(&mut self, _: &BTreeSet<InterfaceId>, _: &Running<'_>, _: &mut Effects) {}

    /// Handles a change of the servers that networks announce. The initial set is empty.
    fn learn(&mut self, _: &Learned, _: Instant, _: &mut Effects) {}

    /// Restores a record from before a restart (`Effect::Keep`), after the feature has followed its menus. Returns
    /// false if the record belongs to another feature or to a removed item: control removes records that no feature
    /// takes.
    fn recall(&mut self, _: &records::Recalled<'_>, _: Instant) -> bool {
        false
    }

    /// Handles the answer to a request (`Effect::QueryRadius`), by the request's number.
    fn radius_answered(&mut self, _: u64, _: service::radius::Answer, _: Instant, _: &mut Effects) {
    }

    /// Ends or changes the sessions that a request of a RADIUS server is about (RFC 5176). Returns `None` if the
    /// feature has none of them.
    fn radius_requested(
        &mut self,
        _: &SessionRequest,
        _: Instant,
        _: &mut Effects,
    ) -> Option<Result<(), ErrorCause>> {
        None
    }

    /// Handles the resolved addresses of a name that the feature requested (`Effect::Resolve`).
    fn resolved(&mut self, _: &str, _: &[IpAddr], _: Instant, _: &mut Effects) {}

    /// Handles an event of a TCP connection that the feature requested.
    fn stream(&mut self, _: &StreamEvent, _: Instant, _: &mut Effects) {}
}

/// State of control that features may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// The configuration.
    pub(crate) store: &'a Store,
    /// Caller of the current command.
    pub(crate) asking: &'a Asking,
    /// Interfaces of items and of dynamic objects, by id.
    pub(crate) interfaces: &'a Items<Interface>,
    /// The time.
    pub(crate) now: Instant,
    /// The time of day.
    pub(crate) clock: Clock,
}

/// An object to create. It is shown as dynamic, and is removed with its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewObject {
    /// The feature, and a number that the feature chooses.
    pub owner: Owner,
    /// The object.
    pub made: Made,
    /// Further cells of its row.
    pub cells: Vec<(&'static str, Value)>,
    /// Whether users may remove it.
    pub removable: bool,
}

/// An action that a feature requests from control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Writes a line to the log: topics and text.
    Log(Cow<'static, str>, String),
    /// Adds an address of a host name to an address list, or removes it.
    ListEntry {
        /// The family of the list.
        ipv6: bool,
        /// The list.
        list: Name,
        /// The address; IPv4 in the low 32 bits.
        address: u128,
        /// True to add, false to remove.
        comes: bool,
    },
    /// Adds an address to an address list until a time, unless the address is listed for longer. The address determines
    /// the family.
    ListedUntil(Name, IpAddr, Instant),
    /// Sets the intent of an item that a feature has read.
    Item(ItemId, ItemState),
    /// Holds an interface down until all reasons are withdrawn, independent of the state of its link.
    Hold {
        /// The interface.
        item: ItemId,
        /// The reason, as rows show it.
        why: &'static str,
        /// True to hold down, false to withdraw the reason.
        is_held: bool,
    },
    /// Makes an interface the slave of a master, which takes its frames, or frees it.
    Slave {
        /// The slave.
        slave: Name,
        /// Kind of the master. An interface can have one master of each kind.
        above: Above,
        /// The master; `None` frees the slave from its master of this kind.
        master: Option<Name>,
    },
    /// Publishes a bridge to workers, or removes it.
    Bridge(InterfaceId, Option<Arc<Bridge>>),
    /// Publishes a bond to workers, or removes it.
    Bond(InterfaceId, Option<Arc<Bond>>),
    /// Creates an object.
    Object(Box<NewObject>),
    /// Removes all objects of an owner.
    Gone(Owner),
    /// Sends a frame or a packet.
    Send(Outgoing),
    /// Sends a UDP datagram from an address of this router.
    Datagram(Box<Datagram>),
    /// Sends an echo request.
    Echo(Box<Echo>),
    /// Requests something of TCP connections.
    Stream(StreamRequest),
    /// Starts or stops the resolution of a name. Requests of one name are counted.
    Resolve {
        /// The name.
        name: Arc<str>,
        /// True to start, false to stop.
        wanted: bool,
    },
    /// Starts or stops the delivery of a service with `Scope::Asked` on an interface. Removing the interface stops the
    /// delivery.
    Hear {
        /// The service's name.
        service: &'static str,
        /// The interface.
        interface: InterfaceId,
        /// True to start, false to stop.
        on: bool,
    },
    /// Joins a multicast group on an interface, or leaves it. The feature that joined a group has to leave it.
    Join {
        /// The group.
        group: IpAddr,
        /// The interface.
        interface: InterfaceId,
        /// True to join, false to leave.
        on: bool,
    },
    /// Passes a valid ARP or neighbour discovery packet to the neighbour table.
    Neighbour {
        /// The family.
        ipv6: bool,
        /// The ingress interface.
        interface: InterfaceId,
        /// The packet, from its network header on.
        packet: Box<[u8]>,
        /// Link address of the sender.
        from: Mac,
    },
    /// Runs a script, given by its name or its text, with the rights of the router itself.
    Script {
        /// The trigger, as `/system/script/job` shows it.
        kind: &'static str,
        /// Name or text of the script.
        source: String,
        /// Statements that run before the script, on its first line: they set the variables of the script.
        before: String,
    },
    /// Treats an interface as changed: all features are told.
    Look(Name),
    /// Sets the servers that a network announces, or withdraws them.
    Learn(Owner, Option<Servers>),
    /// An action of gateway checks.
    Gateway(check::CheckRequest),
    /// Sends a request to RADIUS servers.
    QueryRadius(Box<radius::RadiusQuery>),
    /// Announces whether RADIUS servers account the sessions of a service.
    RadiusAccounting(service::radius::Service, bool),
    /// Drops a request to RADIUS servers, by its feature and number.
    CancelRadius(&'static str, u64),
    /// Passes a request of a RADIUS server about sessions to all features, and responds to it.
    RadiusRequested(Box<radius::IncomingRequest>),
    /// Passes an answer of a RADIUS server to the feature that sent the request.
    RadiusAnswer(Box<radius::RadiusAnswer>),
    /// Adds, changes or removes the DHCPv6 server of a PPP session, by the session's number.
    SessionServer(u64, Option<Box<dhcp6::server::SessionServer>>),
    /// An action of queues.
    Queues(queue::QueueRequest),
    /// Gives workers the IPsec policies.
    Policies(Arc<Policies>),
    /// Ends the IKE SAs with a remote end that answers no protected packets: the next packet negotiates anew.
    ResetIke(IpAddr),
    /// Writes a record that survives a restart, or removes it.
    Keep(records::Key, Option<Vec<u8>>),
    /// Counts packets that a feature dropped, with the reason.
    Lost(DropReason, usize),
}

/// Frames that a feature may send in answer to one received frame.
const ANSWERS: usize = 64;
/// Frames that features may send on other occasions: the number that can wait for a worker.
const SENDS: usize = 4096;

/// Effects of features, in order.
#[derive(Debug)]
pub struct Effects {
    list: Vec<Effect>,
    /// Number of frames that may still be sent, and number of frames that exceeded the limit.
    room: usize,
    pub(crate) lost: usize,
    /// The worker that sends the packets.
    pub(crate) worker: u16,
    /// Features that added effects in answer to changed interfaces.
    makers: Vec<&'static str>,
}

impl Default for Effects {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            room: SENDS,
            lost: 0,
            worker: 0,
            makers: Vec::new(),
        }
    }
}

impl Effects {
    /// Creates the effects of a received frame; its worker also sends the answers.
    pub(crate) fn of_hearing(worker: u16) -> Self {
        Self {
            room: ANSWERS,
            worker,
            ..Self::default()
        }
    }

    /// Adds a frame or a packet to send, within the limit.
    pub(crate) fn send(&mut self, outgoing: Outgoing) {
        match self.room.checked_sub(1) {
            Some(room) => {
                self.room = room;
                self.push(Effect::Send(outgoing));
            }
            None => self.lost += 1,
        }
    }

    /// Whether there are no effects.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.lost == 0
    }

    /// Collects the effects of a feature in response to changed interfaces; records the feature if it adds any.
    pub(crate) fn of_maker(&mut self, maker: &'static str, add: impl FnOnce(&mut Self)) {
        let before = self.list.len();
        add(self);
        if self.list.len() > before {
            self.makers.push(maker);
        }
    }

    /// Returns the features that added effects in answer to changed interfaces.
    pub(crate) fn makers(&self) -> impl Iterator<Item = &'static str> {
        self.makers.iter().copied()
    }

    /// Adds an effect.
    pub fn push(&mut self, effect: Effect) {
        self.list.push(effect);
    }

    /// Adds an object.
    pub fn object(&mut self, owner: Owner, made: Made) {
        self.push(Effect::Object(Box::new(NewObject {
            owner,
            made,
            cells: Vec::new(),
            removable: false,
        })));
    }

    /// Adds a log line.
    pub(crate) fn log(&mut self, topics: impl Into<Cow<'static, str>>, message: String) {
        self.push(Effect::Log(topics.into(), message));
    }
}

/// Calls `each` for the items of a menu that a transaction changed, with `None` for a removed item; without `changes`,
/// for all items.
pub(crate) fn each_item(
    view: &View<'_>,
    path: &str,
    changes: Option<&Changes>,
    mut each: impl FnMut(ItemId, Option<&Item>),
) {
    match changes {
        Some(changes) => { changes.of(path) }.for_each(|of| each(of.id.0, of.after.as_deref())),
        None => { view.store.items(path) }.for_each(|item| each(item.id.0, Some(item))),
    }
}

/// Whether a transaction changed any of these menus; true without `changes`.
pub(crate) fn concerns(menus: &[&str], changes: Option<&Changes>) -> bool {
    changes.is_none_or(|changes| {
        let mut changed = changes.list.iter();
        changed.any(|change| menus.contains(&change.menu.path))
    })
}

impl IntoIterator for Effects {
    type Item = Effect;
    type IntoIter = std::vec::IntoIter<Effect>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}
