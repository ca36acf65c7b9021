//! Neighbours of one interface: ARP (RFC 826, RFC 5227) and IPv6 neighbour discovery (RFC 4861, 7; RFC 4862, 5.4; RFC
//! 9131).
//!
//! One state machine, [`Neighbours`], implements both protocols; a [`Family`] defines packet formats and constants.
//! Each machine serves one interface.
//!
//! ```text
//!            Resolve            answer             reachable time over
//!   (none) ─────────▶ Incomplete ─────▶ Reachable ─────────────────▶ Stale ──▶ (none) if unused
//!     ▲                   │ 3 questions     ▲  answer                  │ Used or Resolve
//!     │ unused            ▼ unanswered      └───────── Probe ◀─────── Delay
//!     └──────────────  Failed ◀──────────────────────── │  5 s without confirmation
//! ```
//!
//! The data plane does not report packets. When an entry becomes stale, and again every `stale_check`, the machine
//! asks its owner with [`Action::InUse`]. The owner answers [`Event::Used`] if there was traffic since the last
//! question. An entry in use is probed; an unused entry is removed after `stale_timeout`.
//!
//! Packets that wait for an address (`P`: a frame, a token, or any other type) move into the machine and return in
//! exactly one action each.
//!
//! Files: `resolve` (events of owner and timers), `receive` (received packets), `local` (local addresses), `table`
//! (entries, timers, eviction), `waiting` (packets), `arp` and `discovery` (the two families).

mod arp;
mod config;
mod discovery;
mod family;
mod local;
mod receive;
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
pub use family::{Advert, Contents, Family, ParseError, Prefix};
pub use table::Status;

use crate::Frame;
use local::LocalAddresses;
use table::{State, Table};
use waiting::Waiting;

/// Neighbours of one interface for IPv4 (`Arp`) or IPv6 (`Discovery`).
///
/// Initially the link is down and the interface has no addresses; [`Event::LinkUp`] and [`Event::AddressAdded`] start
/// the machine.
#[derive(Debug)]
pub struct Neighbours<F: Family, P> {
    config: Config,
    link: Link,
    own: LocalAddresses<F::Address>,
    table: Table<F::Address>,
    /// Packets under resolution, only for addresses in state `Incomplete`.
    waiting: Waiting<F::Address, P>,
    /// Neighbours whose next answer is reported; at most one per entry.
    probed: BTreeSet<F::Address>,
    counters: Counters,
    rng: Rng,
}

/// Link state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Down,
    Up,
}

/// Events of [`Neighbours`]. `A` is the address type, `P` a packet.
#[derive(Debug)]
pub enum Event<'a, A, P> {
    /// A packet of this protocol arrived: from the ARP header on, or from the IPv6 header on (any ICMPv6 neighbour
    /// discovery message).
    Received {
        /// Packet; may have padding.
        packet: &'a [u8],
        /// Source MAC address of the frame.
        from: Mac,
    },
    /// A packet has no link-layer address for its next hop, or the owner needs one.
    Resolve {
        /// Next hop.
        address: A,
        /// Packet to send once the address is resolved.
        packet: Option<P>,
    },
    /// Traffic was sent to this neighbour since [`Action::InUse`] asked.
    Used {
        /// Neighbour.
        address: A,
    },
    /// An upper layer confirmed reachability (RFC 4861, 7.3.1).
    Confirmed {
        /// Neighbour.
        address: A,
    },
    /// Probe this neighbour at once, in any state; [`Action::Answered`] follows if it answers.
    Probe {
        /// Neighbour.
        address: A,
    },
    /// Answers an [`Action::Asked`]: this router answers for the target.
    Answer(Question<A>),
    /// An address was added to the interface.
    AddressAdded {
        /// Address.
        address: A,
        /// Prefix length.
        prefix_len: u8,
        /// Whether duplicate address detection comes first (RFC 4862, 5.4; RFC 5227, 2.1).
        detect: DuplicateDetection,
    },
    /// An address was removed.
    AddressRemoved {
        /// Address.
        address: A,
    },
    /// Address of another interface to solicit with if this interface has none (unnumbered links).
    FallbackSource {
        /// Address.
        address: Option<A>,
    },
    /// A configured entry was added (`/ip/arp add`, `/ipv6/neighbor add`); it replaces any entry of the address.
    StaticAdded {
        /// Neighbour.
        address: A,
        /// Link-layer address; `None` for an entry that is only published.
        mac: Option<Mac>,
        /// Answer for the address (`published=yes`).
        published: bool,
    },
    /// A configured entry was removed.
    StaticRemoved {
        /// Neighbour.
        address: A,
    },
    /// Remove a learnt entry (`remove` on a dynamic row).
    Forget {
        /// Neighbour.
        address: A,
    },
    /// The link went up.
    LinkUp,
    /// The link went down; learnt entries are removed.
    LinkDown,
    /// The settings changed.
    Configure(Config),
}

/// Whether duplicate address detection runs for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DuplicateDetection {
    /// Runs; the address is tentative until it ends.
    Run,
    /// Skipped (`no-dad=yes`; default for IPv4): the address is used at once.
    Skip,
}

/// Actions that the owner of [`Neighbours`] carries out, in this order.
#[derive(Debug, PartialEq, Eq)]
pub enum Action<A, P> {
    /// Send a frame from the interface's MAC address.
    Send(Frame),
    /// The link-layer address of a next hop is known or changed.
    Resolved {
        /// Neighbour.
        address: A,
        /// Link-layer address.
        mac: Mac,
    },
    /// The link-layer address of a next hop is no longer known.
    Lost {
        /// Neighbour.
        address: A,
    },
    /// Resolution failed. The waiting packets follow as `Unreachable`.
    Failed {
        /// Address.
        address: A,
    },
    /// Send this packet.
    Release {
        /// Packet.
        packet: P,
        /// Link-layer address of the neighbour.
        mac: Mac,
    },
    /// Resolution failed: send an ICMP host (address) unreachable error for this packet.
    Unreachable {
        /// Packet.
        packet: P,
        /// Next hop that did not answer.
        address: A,
    },
    /// This packet is dropped.
    Dropped {
        /// Packet.
        packet: P,
        /// Drop reason.
        why: DropReason,
    },
    /// Ask whether this neighbour was used since the last question or resolution. [`Event::Used`] means yes; an owner
    /// without traffic information must send this event.
    InUse {
        /// Neighbour.
        address: A,
    },
    /// A neighbour answered an [`Event::Probe`].
    Answered {
        /// Neighbour.
        address: A,
    },
    /// A host solicits an address that does not belong to this interface. If this router shall answer, the owner
    /// returns the question as [`Event::Answer`].
    Asked(Question<A>),
    /// Join this group and report it by MLD.
    Join {
        /// Solicited-node group.
        group: core::net::Ipv6Addr,
    },
    /// Leave this group.
    Leave {
        /// Solicited-node group.
        group: core::net::Ipv6Addr,
    },
    /// Another host uses a local address (RFC 5227, 2.4); the address stays in use.
    Conflict {
        /// Local address.
        address: A,
        /// MAC address of the other host.
        mac: Mac,
    },
    /// Duplicate address detection succeeded: use the address.
    DadDone {
        /// Local address.
        address: A,
    },
    /// Duplicate address detection failed: do not use the address (RFC 4862, 5.4.5).
    DadFailed {
        /// Local address.
        address: A,
        /// MAC address of the other host.
        mac: Mac,
    },
}

/// Reason why a waiting packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// A newer packet replaced it (RFC 1122, 2.3.2.2).
    QueueFull,
    /// The neighbour table is full.
    TableFull,
    /// The link went down.
    LinkDown,
    /// The address cannot be a neighbour: local, multicast or unspecified.
    NoNeighbour,
    /// The entry was removed.
    Forgotten,
}

/// A solicitation for an address of another interface or host.
///
/// The owner answers if the target belongs to another interface of this router, or as `proxy` allows. Questions carry
/// all state, so an answer may come at any time or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<A> {
    /// Solicited address.
    pub target: A,
    /// Source address of the solicitation; `None` is a probe (RFC 5227, 2.1.1).
    pub asker: Option<A>,
    /// Link-layer address of the sender, to which the answer goes.
    pub asker_mac: Mac,
    /// Targets for which the interface's `arp=` mode allows an answer.
    pub proxy: Proxy,
}

/// Targets of other hosts for which the router answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// None.
    None,
    /// Targets whose route leaves by another interface (`proxy-arp`).
    OtherLinks,
    /// All targets with a route, including the sender's own link (`local-proxy-arp`).
    AllLinks,
}

/// Timers of [`Neighbours`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// A solicitation is repeated or resolution fails.
    Retransmit,
    /// The reachable time of a neighbour ends.
    Reachable,
    /// The delay before the first probe ends.
    Delay,
    /// The owner is asked about a stale neighbour, or the entry is removed.
    Stale,
    /// A failed entry is removed.
    Failed,
    /// A local address is probed or announced.
    Own,
}

/// Counters of [`Neighbours`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Valid packets.
    pub heard: u64,
    /// Malformed packets and packets that violate the RFC.
    pub malformed: u64,
    /// Packets from the router's own MAC address: a loop in the network.
    pub looped: u64,
    /// Sent solicitations.
    pub solicits: u64,
    /// Sent answers.
    pub answers: u64,
    /// Waiting packets dropped because a queue was full.
    pub queue_full: u64,
    /// Packets and senders rejected because the table was full.
    pub table_full: u64,
    /// Entries evicted to make room.
    pub evicted: u64,
    /// Failed resolutions.
    pub failed: u64,
    /// Packets in which another host used a local address.
    pub conflicts: u64,
}

/// A row of `/ip/arp` or `/ipv6/neighbor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row<A> {
    /// Neighbour.
    pub address: A,
    /// Link-layer address, if known.
    pub mac: Option<Mac>,
    /// `status` column; `None` for an entry that is only published.
    pub status: Option<Status>,
    /// Learnt, not configured.
    pub dynamic: bool,
    /// The router answers for this address.
    pub published: bool,
    /// The neighbour is a router (IPv6).
    pub router: bool,
}

impl<A> Row<A> {
    /// Flag `C`: the link-layer address is known.
    pub fn complete(&self) -> bool {
        self.mac.is_some()
    }
}

impl<F: Family, P> Neighbours<F, P> {
    /// Creates a machine without entries and with its link down. Its jitter derives from `seed`.
    pub fn new(config: Config, seed: u64) -> Self {
        Self {
            config: config.clamped(),
            link: Link::Down,
            own: LocalAddresses::default(),
            table: Table::default(),
            waiting: Waiting::default(),
            probed: BTreeSet::new(),
            counters: Counters::default(),
            rng: Rng::seeded(seed),
        }
    }

    /// Settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Number of learnt and configured entries.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of waiting packets.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Row of one address.
    pub fn row(&self, address: F::Address) -> Option<Row<F::Address>> {
        self.table.row(address)
    }

    /// Rows after `after` (or all), ordered by address.
    pub fn rows(&self, after: Option<F::Address>) -> impl Iterator<Item = Row<F::Address>> + '_ {
        self.table.rows(after)
    }

    /// True for a valid local address, neither tentative nor duplicate.
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
