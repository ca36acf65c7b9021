//! What a feature of control is: a value that follows its menus, and says what it wants done by effects.
//!
//! ```text
//! changed items ─▶ follow ─┐
//! time ──────────▶ tick ───┤
//! frames ────────▶ hear ───┼─▶ Effects ─▶ control carries them out
//! interfaces ────▶ lay_out ┤
//! commands ──────▶ act ────┘
//! print ─────────▶ rows, annotate
//! ```
//! A feature knows no other feature and not control. `features.rs` has the list of them.

pub(crate) mod access;
pub(crate) mod address;
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
pub(crate) mod hear;
pub(crate) mod ipsec;
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
pub(crate) mod queue;
pub(crate) mod radius;
pub(crate) mod schedule;
pub(crate) mod scripting;
pub(crate) mod services;
pub(crate) mod snmp;
pub(crate) mod ssh;
pub(crate) mod switch;
pub(crate) mod tunnels;
pub(crate) mod vrrp;
pub(crate) mod vxlan;
pub(crate) mod wireguard;

use core::net::{IpAddr, Ipv4Addr};
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

use wire::Mac;

use self::hear::{Datagram, Echo, Heard, Hearing, Outgoing};
use self::queue::LeaseQueue;
use crate::drive::asking::Asking;
use crate::intent::{ItemId, Name, Wanted};
use crate::learned::{Learned, Servers};
use crate::object::{Made, Owner};
use crate::records;
use crate::running::Running;

/// A feature of control. Whatever a feature has no use for stays as it is here.
pub(crate) trait Feature: core::fmt::Debug {
    /// What the log calls it.
    fn name(&self) -> &'static str {
        let path = core::any::type_name::<Self>();
        path.rsplit("::").next().unwrap_or(path)
    }

    /// The menus whose changes it follows, and whose rows and commands it has a part in.
    fn menus(&self) -> &'static [&'static str];

    /// Takes over its menus: what a transaction changed of them, or without `changes` all of it.
    fn follow(&mut self, _: &View<'_>, _: Option<&Changes>, _: &mut Effects) {}

    /// Does what is due.
    fn tick(&mut self, _: Instant, _: &mut Effects) {}

    /// When `tick` is next worth calling.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Gives the dynamic rows of one of its menus.
    fn rows(
        &self,
        _: &'static Menu,
        _: &RowFilter<'_>,
        _: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// The same, with the time, for rows that tell how old or how long something is.
    fn rows_at(
        &self,
        menu: &'static Menu,
        filter: &RowFilter<'_>,
        _: Instant,
        each: &mut dyn FnMut(Row) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.rows(menu, filter, each)
    }

    /// Adds what it knows to the row of an item of one of its menus.
    fn annotate(&self, _: &'static Menu, _: Id, _: &mut Row) {}

    /// The same, with the time, for rows that tell how long something still holds.
    fn annotate_at(&self, menu: &'static Menu, id: Id, _: Instant, row: &mut Row) {
        self.annotate(menu, id, row);
    }

    /// Runs a command of one of its menus; none if the command is not its own.
    fn act(&mut self, _: &View<'_>, _: &Call<'_>) -> Option<Result<Reply, Reason>> {
        None
    }

    /// The services that it hears. It is asked anew when it has followed its menus.
    fn services(&self) -> Vec<Service> {
        Vec::new()
    }

    /// Hears a frame or a packet of one of its services.
    fn hear(&mut self, _: &Heard<'_>, _: &Running<'_>, _: &mut Effects) -> Hearing {
        Hearing::NotMine
    }

    /// Takes over that these interfaces are others, or their addresses or settings, or that they are gone. A load
    /// tells of all.
    fn lay_out(&mut self, _: &BTreeSet<InterfaceId>, _: &Running<'_>, _: &mut Effects) {}

    /// Takes over which servers networks tell. It is told of a change, and begins with none.
    fn learn(&mut self, _: &Learned, _: Instant, _: &mut Effects) {}

    /// Takes up a record that was kept before a restart (`Effect::Keep`). It has followed its menus by then. False if
    /// the record is another feature's, or of an item that is gone: it is removed if no feature takes it.
    fn recall(&mut self, _: &records::Recalled<'_>, _: Instant) -> bool {
        false
    }

    /// Takes over which addresses a name has, if it wants that one (`Effect::Resolve`).
    fn resolved(&mut self, _: &str, _: &[IpAddr], _: Instant, _: &mut Effects) {}
}

/// What features may look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// The configuration.
    pub(crate) store: &'a Store,
    /// Whose command is run.
    pub(crate) asking: &'a Asking,
    /// The time.
    pub(crate) now: Instant,
    /// The time of day.
    pub(crate) clock: Clock,
}

/// An object that a feature makes: it shows as dynamic, and goes with its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewObject {
    /// The feature, and a number of its own.
    pub owner: Owner,
    /// What it is.
    pub made: Made,
    /// Cells that its row shows besides.
    pub cells: Vec<(&'static str, Value)>,
    /// Whether users may remove it.
    pub removable: bool,
}

/// What comes and goes with a DHCP lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseChange {
    /// The simple queue of the client.
    Queue(Option<Box<LeaseQueue>>),
    /// The client's name in the DNS and its address.
    Name(Option<(Arc<str>, Ipv4Addr)>),
}

/// One thing that a feature wants done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// A line of the log: its topics, and what it says.
    Log(Cow<'static, str>, String),
    /// An address comes into an address list, or leaves it.
    ListEntry {
        /// The family of the list.
        ipv6: bool,
        /// The list.
        list: Name,
        /// The address: one of IPv4 in the low 32 bits.
        address: u128,
        /// Whether it comes.
        comes: bool,
    },
    /// Something of a DHCP lease comes, is another, or goes.
    OfLease(u64, LeaseChange),
    /// An address is in an address list until a time, if not for longer. It says the family.
    ListedUntil(Name, IpAddr, Instant),
    /// What a feature has read of one of its items.
    Item(ItemId, Wanted),
    /// An interface does not run, whatever its link, as long as somebody holds it down for a reason.
    Hold {
        /// The interface.
        item: ItemId,
        /// The reason, as its row shows it.
        why: &'static str,
        /// Whether it is held down for that.
        is_held: bool,
    },
    /// An interface becomes the slave of another one, which takes its frames, or is freed.
    Slave {
        /// The slave.
        slave: Name,
        /// What the master is. An interface has one of each kind at most.
        above: Above,
        /// The master; none frees the slave of one of this kind.
        master: Option<Name>,
    },
    /// Workers are told of a bridge, or that it is gone.
    Bridge(InterfaceId, Option<Arc<Bridge>>),
    /// Workers are told of a bond, or that it is gone.
    Bond(InterfaceId, Option<Arc<Bond>>),
    /// An interface, an address or a route comes.
    Object(Box<NewObject>),
    /// All objects of an owner go.
    Gone(Owner),
    /// Something is sent.
    Send(Outgoing),
    /// A datagram of UDP is sent from this router's own address.
    Datagram(Box<Datagram>),
    /// An echo request is sent.
    Echo(Box<Echo>),
    /// The addresses of a name are wanted once more, or once less.
    Resolve {
        /// The name.
        name: Arc<str>,
        /// Whether once more.
        wanted: bool,
    },
    /// A service that is heard where it is asked for (`Scope::Asked`) is asked for on an interface, or not any
    /// more. An interface that goes takes that with it.
    Hear {
        /// The service's name.
        service: &'static str,
        /// The interface.
        interface: InterfaceId,
        /// Whether it is asked for.
        on: bool,
    },
    /// A group is to be received on an interface, or not any more. Who has it joined leaves it, too.
    Join {
        /// The group.
        group: IpAddr,
        /// The interface.
        interface: InterfaceId,
        /// Whether it is to be.
        on: bool,
    },
    /// A well-formed packet of ARP or neighbour discovery is told to the table of neighbours.
    Neighbour {
        /// The family.
        ipv6: bool,
        /// Where it came in.
        interface: InterfaceId,
        /// It, from its network header on.
        packet: Box<[u8]>,
        /// Who sent it on the link.
        from: Mac,
    },
    /// An IPv4 neighbour of an interface is known without being asked for, as it leased the address; without a link
    /// address it is not any more.
    Arp(InterfaceId, Ipv4Addr, Option<Mac>),
    /// A script runs, by its name or its text, with the rights of the router itself.
    Script {
        /// What started it, as `/system/script/job` shows it.
        kind: &'static str,
        /// The name of a script, or the text.
        source: String,
        /// Statements that run before it, on its first line: they set what the script may ask for.
        before: String,
    },
    /// An interface is to be looked at as if it had changed: features are told of it.
    Look(Name),
    /// A network tells this router of servers, or does not any more.
    Learn(Owner, Option<Servers>),
    /// Gateway checks want something of routes.
    Gateway(check::Wanted),
    /// Something is counted of a RADIUS server.
    Radius(service::radius::Action),
    /// Something of queues is wanted.
    Queues(queue::Wanted),
    /// Workers are told which packets IPsec protects.
    Policies(Arc<Policies>),
    /// A record is kept over a restart, or removed.
    Keep(records::Key, Option<Vec<u8>>),
    /// So many packets that a feature kept are lost, for this reason.
    Lost(DropReason, usize),
}

/// Frames that a feature may send for one that it hears.
const ANSWERS: usize = 64;
/// Frames that features may send at another occasion: as many as wait for a worker at most.
const SENDS: usize = 4096;

/// What features want done, in order.
#[derive(Debug)]
pub struct Effects {
    list: Vec<Effect>,
    /// How many more frames may be sent, and how many were wanted beyond.
    room: usize,
    pub(crate) lost: usize,
    /// The worker that sends packets.
    pub(crate) worker: u16,
    /// The features that answer with these that interfaces are others.
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
    /// Those of hearing a frame that came by this worker, which sends answers, too.
    pub(crate) fn of_hearing(worker: u16) -> Self {
        Self {
            room: ANSWERS,
            worker,
            ..Self::default()
        }
    }

    /// Adds something to send, as far as there is room.
    pub(crate) fn send(&mut self, outgoing: Outgoing) {
        match self.room.checked_sub(1) {
            Some(room) => {
                self.room = room;
                self.push(Effect::Send(outgoing));
            }
            None => self.lost += 1,
        }
    }

    /// Whether nothing is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty() && self.lost == 0
    }

    /// Lets a feature add what it wants as interfaces are others.
    pub(crate) fn of_maker(&mut self, maker: &'static str, add: impl FnOnce(&mut Self)) {
        let before = self.list.len();
        add(self);
        if self.list.len() > before {
            self.makers.push(maker);
        }
    }

    /// Who added what is wanted as interfaces are others.
    pub(crate) fn makers(&self) -> impl Iterator<Item = &'static str> {
        self.makers.iter().copied()
    }

    /// Adds one.
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

    /// Adds a line of the log.
    pub(crate) fn log(&mut self, topics: impl Into<Cow<'static, str>>, message: String) {
        self.push(Effect::Log(topics.into(), message));
    }
}

/// Gives the items of a menu that a transaction changed, none for one that is gone; all of them without `changes`.
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

/// Whether a transaction changed something of these menus; without `changes` everything is new.
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
