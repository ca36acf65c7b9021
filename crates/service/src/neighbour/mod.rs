//! Neighbours of one interface: ARP (RFC 826, RFC 5227) and IPv6 neighbour discovery (RFC 4861, 7;
//! RFC 4862, 5.4; RFC 9131).
//!
//! Both protocols are the same machine, [`Neighbours`]; a [`Family`] says what its packets look
//! like and which constants it uses. One machine serves one interface.
//!
//! ```text
//!            Resolve            answer             reachable time over
//!   (none) ─────────▶ Incomplete ─────▶ Reachable ─────────────────▶ Stale ──▶ (none) if unused
//!     ▲                   │ 3 questions     ▲  answer                  │ Used or Resolve
//!     │ unused            ▼ unanswered      └───────── Probe ◀─────── Delay
//!     └──────────────  Failed ◀──────────────────────── │  5 s without confirmation
//! ```
//!
//! The forwarding plane does not report packets. When an entry grows stale, and again at every
//! `stale_check`, the machine asks its owner with [`Action::InUse`]; the answer is [`Event::Used`]
//! if traffic went there since the last question, and silence if not. An entry in use is probed, an
//! entry out of use is forgotten after `stale_timeout`.
//!
//! Packets that wait for an address (`P`: a frame, a token, whatever the owner likes) are moved
//! into the machine and come back in exactly one action each.
//!
//! Files: `resolve` (what time and the owner do to an entry), `hear` (what packets do), `own` (our
//! addresses: duplicate detection, announcements, defence), `table` (entries, timers, eviction),
//! `waiting` (packets), `arp` and `discovery` (the two families).

mod arp;
mod config;
mod discovery;
mod family;
mod hear;
mod own;
mod resolve;
mod table;
mod waiting;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use machine::{Instant, Machine, Rng};
use wire::Mac;

pub use arp::Arp;
pub use config::{Config, Mode};
pub use discovery::Discovery;
pub use family::{Advert, Family, Heard, Prefix, Unheard};
pub use table::Status;

use crate::Frame;
use own::Own;
use table::{State, Table};
use waiting::Waiting;

/// The neighbours of one interface in IPv4 (`Arp`) or IPv6 (`Discovery`), as a machine.
///
/// It begins with its link down and without addresses: [`Event::LinkUp`] and
/// [`Event::AddressAdded`] set it going.
#[derive(Debug)]
pub struct Neighbours<F: Family, P> {
    config: Config,
    link: Link,
    own: Own<F::Address>,
    table: Table<F::Address>,
    /// Packets under resolution; none for an address that is not `Incomplete`.
    waiting: Waiting<F::Address, P>,
    /// Neighbours whose next answer is reported; at most as many as entries.
    probed: BTreeSet<F::Address>,
    counters: Counters,
    rng: Rng,
}

/// Whether frames can pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Down,
    Up,
}

/// What happens to a [`Neighbours`] machine. `A` is the address type, `P` a packet.
#[derive(Debug)]
pub enum Event<'a, A, P> {
    /// A packet of this protocol arrived: from the ARP header on, or from the IPv6 header on (any
    /// ICMPv6 of neighbour discovery).
    Received {
        /// The packet, padding allowed.
        packet: &'a [u8],
        /// The frame's source.
        from: Mac,
    },
    /// A packet for this neighbour found no link address, or the owner wants one.
    Resolve {
        /// The next hop.
        address: A,
        /// The packet, to be sent when the address is known.
        packet: Option<P>,
    },
    /// Traffic went to this neighbour since [`Action::InUse`] asked.
    Used {
        /// The neighbour.
        address: A,
    },
    /// An upper layer saw progress through this neighbour (RFC 4861, 7.3.1).
    Confirmed {
        /// The neighbour.
        address: A,
    },
    /// Ask this neighbour at once, whatever is known; [`Action::Answered`] follows if it answers.
    Probe {
        /// The neighbour.
        address: A,
    },
    /// Answers an [`Action::Asked`]: this router speaks for the target.
    Answer(Question<A>),
    /// An address of this interface.
    AddressAdded {
        /// The address.
        address: A,
        /// The length of its network's prefix.
        prefix_len: u8,
        /// Whether it is used only after nobody else claimed it (RFC 4862, 5.4; RFC 5227, 2.1).
        detect: DuplicateDetection,
    },
    /// The address is gone.
    AddressRemoved {
        /// The address.
        address: A,
    },
    /// Another interface's address to ask with where this interface has none (unnumbered links).
    FallbackSource {
        /// The address.
        address: Option<A>,
    },
    /// A configured entry (`/ip/arp add`, `/ipv6/neighbor add`); replaces one of the same address.
    StaticAdded {
        /// The neighbour.
        address: A,
        /// Its link address; `None` for an entry that is only published.
        mac: Option<Mac>,
        /// Whether this router answers for the address (`published=yes`).
        published: bool,
    },
    /// The configured entry is gone.
    StaticRemoved {
        /// The neighbour.
        address: A,
    },
    /// Forget a learnt entry (`remove` on a dynamic row).
    Forget {
        /// The neighbour.
        address: A,
    },
    /// Frames pass.
    LinkUp,
    /// No frame passes: learnt entries are forgotten.
    LinkDown,
    /// Settings changed.
    Configure(Config),
}

/// Whether duplicate address detection runs for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateDetection {
    /// It runs; the address is tentative until then.
    Run,
    /// It does not (`no-dad=yes`; IPv4 by default): the address is used at once.
    Skip,
}

/// What a [`Neighbours`] machine wants done, in this order.
#[derive(Debug, PartialEq, Eq)]
pub enum Action<A, P> {
    /// Transmit a frame on this interface, from its MAC address.
    Send(Frame),
    /// The next hop's link address is this; it may have been another one.
    Resolved {
        /// The neighbour.
        address: A,
        /// Its link address.
        mac: Mac,
    },
    /// The next hop's link address is not known any more.
    Lost {
        /// The neighbour.
        address: A,
    },
    /// Nobody answered for the address. Its packets follow as `Unreachable`.
    Failed {
        /// The address.
        address: A,
    },
    /// Send this packet on.
    Release {
        /// The packet.
        packet: P,
        /// The neighbour's link address.
        mac: Mac,
    },
    /// Nobody answered: host (address) unreachable is owed for this packet.
    Unreachable {
        /// The packet.
        packet: P,
        /// The next hop that did not answer.
        address: A,
    },
    /// This packet is not kept any longer.
    Dropped {
        /// The packet.
        packet: P,
        /// Why.
        why: DropReason,
    },
    /// Has this neighbour been used since it was last asked (or resolved)? [`Event::Used`] says
    /// yes. An owner who cannot know says yes.
    InUse {
        /// The neighbour.
        address: A,
    },
    /// A neighbour answered an [`Event::Probe`].
    Answered {
        /// The neighbour.
        address: A,
    },
    /// Somebody asks for an address that is not this interface's. If this router is to answer, the
    /// owner gives the question back as [`Event::Answer`].
    Asked(Question<A>),
    /// Receive what is sent to this group, and report it by MLD.
    Join {
        /// A solicited-node group.
        group: core::net::Ipv6Addr,
    },
    /// The group is not needed any more.
    Leave {
        /// A solicited-node group.
        group: core::net::Ipv6Addr,
    },
    /// Another station uses one of our addresses (RFC 5227, 2.4); we keep it.
    Conflict {
        /// Our address.
        address: A,
        /// The other station.
        mac: Mac,
    },
    /// The address is nobody else's: use it.
    DadDone {
        /// Our address.
        address: A,
    },
    /// The address is somebody else's: do not use it (RFC 4862, 5.4.5).
    DadFailed {
        /// Our address.
        address: A,
        /// The other station.
        mac: Mac,
    },
}

/// Why a waiting packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// A newer packet took its place (RFC 1122, 2.3.2.2).
    QueueFull,
    /// No room for another neighbour.
    TableFull,
    /// The link went down.
    LinkDown,
    /// The address is no neighbour's: one of our own, a group, unspecified.
    NoNeighbour,
    /// The entry was removed.
    Forgotten,
}

/// Somebody asks for an address that this interface does not have.
///
/// The owner answers if the target is an address of another interface of this router, or by
/// `proxy`. It is stateless: an answer may come at any time, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<A> {
    /// Who is sought.
    pub target: A,
    /// Who asks; `None` is a probe (RFC 5227, 2.1.1).
    pub asker: Option<A>,
    /// His link address, where the answer goes.
    pub asker_mac: Mac,
    /// For which targets the interface's `arp=` mode lets this router speak.
    pub proxy: Proxy,
}

/// For whom this router answers besides itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// For none.
    None,
    /// For those whose route leaves by another interface (`proxy-arp`).
    OtherLinks,
    /// For all to whom there is a route, those on the asker's own link too (`local-proxy-arp`).
    AllLinks,
}

/// The timers of a [`Neighbours`] machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A question is repeated, or given up.
    Retransmit,
    /// A neighbour was not confirmed for its reachable time.
    Reachable,
    /// The wait before the first probe is over.
    Delay,
    /// The owner is asked about a stale neighbour, or it is forgotten.
    Stale,
    /// A failed entry is forgotten.
    Failed,
    /// One of our own addresses is probed or announced.
    Own,
}

/// What was heard, said and ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets understood.
    pub heard: u64,
    /// Malformed packets, and such as the RFC forbids.
    pub malformed: u64,
    /// Packets from our own MAC address: a loop in the network.
    pub looped: u64,
    /// Questions sent.
    pub solicits: u64,
    /// Answers sent.
    pub answers: u64,
    /// Waiting packets dropped because a queue was full.
    pub queue_full: u64,
    /// Packets and senders for which there was no room in the table.
    pub table_full: u64,
    /// Entries removed to make room.
    pub evicted: u64,
    /// Resolutions that nobody answered.
    pub failed: u64,
    /// Packets in which another station used one of our addresses.
    pub conflicts: u64,
}

/// A row of `/ip/arp` or `/ipv6/neighbor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<A> {
    /// The neighbour.
    pub address: A,
    /// Its link address, where one is known.
    pub mac: Option<Mac>,
    /// The `status` column; `None` for an entry that is only published.
    pub status: Option<Status>,
    /// Learnt, not configured.
    pub dynamic: bool,
    /// This router answers for it.
    pub published: bool,
    /// It said that it is a router (IPv6).
    pub router: bool,
}

impl<A> Row<A> {
    /// Flag `C`: there is a link address.
    pub fn complete(&self) -> bool {
        self.mac.is_some()
    }
}

impl<F: Family, P> Neighbours<F, P> {
    /// A machine without entries, its link down. All of its jitter follows from `seed`.
    pub fn new(config: Config, seed: u64) -> Self {
        Self {
            config: config.clamped(),
            link: Link::Down,
            own: Own::default(),
            table: Table::default(),
            waiting: Waiting::default(),
            probed: BTreeSet::new(),
            counters: Counters::default(),
            rng: Rng::seeded(seed),
        }
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// What was heard, said and ignored.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// How many learnt and configured entries there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many packets wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// The row of one address.
    pub fn row(&self, address: F::Address) -> Option<Row<F::Address>> {
        self.table.row(address)
    }

    /// The rows behind `after` (or all) in order of their addresses.
    pub fn rows(&self, after: Option<F::Address>) -> impl Iterator<Item = Row<F::Address>> + '_ {
        self.table.rows(after)
    }

    /// Whether the address is ours and in use, not tentative and not a duplicate's.
    pub fn is_own(&self, address: F::Address) -> bool {
        self.own.is_valid(address)
    }

    fn send(&self, frame: Option<Frame>, out: &mut Vec<Action<F::Address, P>>) {
        if let (Link::Up, Some(frame)) = (self.link, frame) {
            out.push(Action::Send(frame));
        }
    }
}

impl<F: Family, P> Machine for Neighbours<F, P> {
    type Event<'a> = Event<'a, F::Address, P>;
    type Action = Action<F::Address, P>;
    type Timer = Timer;

    fn handle(&mut self, event: Self::Event<'_>, now: Instant, out: &mut Vec<Self::Action>) {
        match event {
            Event::Received { packet, from } => self.receive(packet, from, now, out),
            Event::Resolve { address, packet } => self.resolve(address, packet, now, out),
            Event::Used { address } => self.used(address, now),
            Event::Confirmed { address } => self.confirmed(address, now),
            Event::Probe { address } => self.probe(address, now, out),
            Event::Answer(question) => self.answer(&question, out),
            Event::AddressAdded {
                address,
                prefix_len,
                detect,
            } => self.address_added(address, prefix_len, detect, now, out),
            Event::AddressRemoved { address } => self.address_removed(address, out),
            Event::FallbackSource { address } => self.own.set_fallback(address),
            Event::StaticAdded {
                address,
                mac,
                published,
            } => self.static_added(address, mac, published, now, out),
            Event::StaticRemoved { address } => self.static_removed(address, out),
            Event::Forget { address } => self.forget(address, DropReason::Forgotten, out),
            Event::LinkUp => self.link_up(now),
            Event::LinkDown => self.link_down(out),
            Event::Configure(config) => self.configure(config, now, out),
        }
    }

    fn tick(&mut self, now: Instant, out: &mut Vec<Self::Action>) {
        while let Some(address) = self.table.due(now) {
            self.entry_due(address, now, out);
        }
        while let Some((address, step)) = self.own.due(now) {
            self.own_due(address, step, now, out);
        }
    }

    fn deadline(&self) -> Option<(Instant, Timer)> {
        let entry = self.table.deadline();
        let own = self.own.deadline().map(|at| (at, Timer::Own));
        match (entry, own) {
            (Some(entry), Some(own)) => Some(if own.0 < entry.0 { own } else { entry }),
            (entry, own) => entry.or(own),
        }
    }
}

impl From<&State> for Timer {
    fn from(state: &State) -> Self {
        match state {
            State::Incomplete { .. } | State::Probe { .. } => Self::Retransmit,
            State::Reachable { .. } | State::Permanent { .. } => Self::Reachable,
            State::Stale { .. } => Self::Stale,
            State::Delay { .. } => Self::Delay,
            State::Failed => Self::Failed,
        }
    }
}
