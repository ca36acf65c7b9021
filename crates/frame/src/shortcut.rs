//! What a device may do by itself with packets like one that was forwarded: the kernel, or a card,
//! remembers where such a packet went, and sends those that follow there without asking anybody.
//!
//! A worker says what it saw ([`Shortcut`], [`FlowOffload::install`]), and takes for its connections
//! what went by them ([`FlowOffload::gather`]). Control says when nothing of that holds any more
//! ([`Shortcuts::forget`]), unless none is concerned ([`Shortcuts::rests_on`]), and reads what was forwarded
//! ([`Shortcuts::take`]).

use crate::InterfaceId;

/// A packet that was forwarded, and about which nothing was decided but by what is said here: what was
/// written into it is written into all that are like it, as long as their headers are in order, they
/// may live on, and they fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortcut {
    /// Between whom it travels.
    pub between: Between,
    /// Its connection; none where packets are told apart by their addresses alone.
    pub connection: Option<Connection>,
    /// What packets take, however many pairs of addresses there are.
    pub lane: Lane,
}

/// The ends of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Between {
    /// Address bits; those of IPv4 in the low 32.
    pub source: u128,
    /// The same.
    pub destination: u128,
    /// The family.
    pub ipv6: bool,
}

/// One direction of a connection of TCP or UDP, of whose packets all go the same way but TCP's SYN, FIN and
/// RST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// What its packets have in common besides addresses.
    pub service: Service,
    /// What its worker knows it by: not 0, and never the same for another.
    pub token: u64,
    /// What is written into its packets.
    pub rewrite: Option<Rewrite>,
}

/// The protocol and the ports of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// 6 (TCP) or 17 (UDP).
    pub protocol: u8,
    /// Source and destination port as they lie in a packet.
    pub ports: [u8; 4],
}

/// What translation writes into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The addresses that they get.
    pub between: Between,
    /// The ports that they get, as they lie in a packet.
    pub ports: [u8; 4],
    /// What the addresses add to the sum of IPv4's header, in the byte order of memory (RFC 1624).
    pub header: u16,
    /// What addresses and ports add to the sum of TCP or UDP, the same.
    pub upper: u16,
}

/// Where packets come from and go to, and what counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lane {
    /// The interface that they come in by.
    pub ingress: InterfaceId,
    /// Its link address, which they were sent to.
    pub to: [u8; 6],
    /// The interface that they leave by.
    pub egress: InterfaceId,
    /// The device behind that ([`FlowOffload::device`]).
    pub device: u32,
    /// Link addresses of the Ethernet header that they leave with: destination, source.
    pub link: [u8; 12],
    /// The longest packet that fits, in bytes from its network header on.
    pub mtu: u32,
    /// What they are counted as.
    pub handler: Handler,
    /// The rules that count them.
    pub rules: Rules,
}

/// What a router does with a packet that goes by a shortcut from then on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Handler {
    /// FastPath: routing alone.
    #[default]
    FastPath,
    /// FastTrack: its connection says what becomes of it.
    FastTrack,
    /// The firewall's rules let it pass.
    Firewall,
}

/// The numbers of a few rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    len: u8,
    numbers: [u32; Self::MOST],
}

impl Rules {
    /// How many there may be.
    pub const MOST: usize = 8;

    /// Adds one. False, and nothing changed, where there is no room.
    #[must_use]
    pub fn push(&mut self, number: u32) -> bool {
        let Some(place) = self.numbers.get_mut(usize::from(self.len)) else {
            return false;
        };
        *place = number;
        self.len += 1;
        true
    }

    /// The numbers, in order; one that counts twice is there twice.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.numbers.into_iter().take(usize::from(self.len))
    }
}

/// Which lanes are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All.
    All,
    /// Those that begin or end at an interface.
    Of(InterfaceId),
    /// Those that a rule counts.
    CountedBy(u32),
}

/// What was forwarded on one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Went {
    /// From where to where, and what counts it.
    pub lane: Lane,
    /// The packets' family.
    pub ipv6: bool,
    /// How many.
    pub packets: u64,
    /// Bytes of their frames, Ethernet headers included.
    pub bytes: u64,
}

/// What a direction of a connection has sent by its shortcut since that was asked last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gathered {
    /// [`Connection::token`].
    pub token: u64,
    /// How many packets.
    pub packets: u64,
    /// Their bytes from the network header on.
    pub bytes: u64,
}

/// Something that shortcuts rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Footing {
    /// The way to and from the addresses of a network.
    Network {
        /// Its first address; of IPv4 in the low 32 bits.
        first: u128,
        /// The length of its prefix.
        len: u8,
        /// The family.
        ipv6: bool,
    },
    /// A next hop.
    Link {
        /// The interface that it leaves by.
        egress: InterfaceId,
        /// [`Lane::link`].
        link: [u8; 12],
    },
}

/// Flow offload, as the worker of one port sees it. Nothing here blocks, takes a lock or asks for memory.
pub trait FlowOffload {
    /// Begins a worker's round, before that reads anything that control publishes: what is installed in it
    /// rests on what there was now.
    fn begin(&mut self);

    /// The kernel's number of the port's device, to which shortcuts of others may lead.
    fn device(&self) -> u32;

    /// Forwards packets like this one, which the port received in this round, from here on.
    fn install(&mut self, shortcut: &Shortcut);

    /// Whether there are shortcuts of connections, so that [`FlowOffload::gather`] is to be called.
    fn gathers(&self) -> bool;

    /// Tells what went by the shortcuts of connections that were installed here: of each once in a second if
    /// this is called often, with the time in 64ths of a second; of all of them without a time. Where `gathered`
    /// says no, the connection is gone, and its shortcut goes too.
    fn gather(&mut self, ticks: Option<u32>, gathered: &mut dyn FnMut(Gathered) -> bool);

    /// Forgets the shortcut of a direction of a connection, if there is one.
    fn remove(&mut self, between: &Between, service: &Service);
}

/// Shortcuts that devices have learned, as control sees them.
pub trait Shortcuts: Send + Sync + core::fmt::Debug {
    /// Something has changed that forwarding depends on: whatever was learned before is not taken any
    /// more. Called after the change can be seen by workers.
    fn forget(&self);

    /// Whether one that holds may rest on this.
    fn rests_on(&self, footing: &Footing) -> bool;

    /// Tells what was forwarded on some lanes that was not told before; of ports that have gone, on all of theirs.
    fn take(&self, which: Which, went: &mut dyn FnMut(Went));

    /// What packets of a connection's direction have gone by its shortcut that its worker has not gathered yet; none
    /// where there is no such shortcut.
    fn waiting(&self, between: &Between, service: &Service) -> Option<Gathered>;
}
