//! Shortcuts: a device, the kernel or a network card, forwards further packets of a flow without involving a
//! worker.
//!
//! A worker installs a shortcut for a packet that it forwarded ([`Shortcut`], [`FlowOffload::install`]), and
//! collects the traffic of its connections ([`FlowOffload::gather`]). The control plane invalidates all
//! shortcuts ([`Shortcuts::forget`]), unless none depends on the change ([`Shortcuts::rests_on`]), and reads
//! the forwarded traffic ([`Shortcuts::take`]).

use crate::InterfaceId;

/// Description of a forwarded packet. All packets with the same key get the same changes, provided that their
/// headers are valid, their TTL permits it, and they fit the MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortcut {
    /// Source and destination addresses.
    pub between: AddressPair,
    /// The connection; `None` if the addresses alone identify the flow.
    pub connection: Option<Connection>,
    /// Path and counters, which many pairs of addresses may share.
    pub lane: ShortcutPath,
}

/// Source and destination addresses of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressPair {
    /// Source address; IPv4 in the low 32 bits.
    pub source: u128,
    /// Destination address; IPv4 in the low 32 bits.
    pub destination: u128,
    /// True for IPv6.
    pub ipv6: bool,
}

/// One direction of a TCP or UDP connection. All of its packets take the same path, except TCP segments with
/// SYN, FIN or RST.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Protocol and ports.
    pub service: Service,
    /// The worker's unique identifier of the direction, not 0.
    pub token: u64,
    /// Address translation of the packets.
    pub rewrite: Option<Rewrite>,
}

/// Protocol and ports of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// 6 (TCP) or 17 (UDP).
    pub protocol: u8,
    /// Source and destination port in network byte order.
    pub ports: [u8; 4],
}

/// Address translation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The new addresses.
    pub between: AddressPair,
    /// The new ports in network byte order.
    pub ports: [u8; 4],
    /// Change of the sum of the IPv4 header, in memory byte order (RFC 1624).
    pub header: u16,
    /// Change of the sum of TCP or UDP by addresses and ports, in memory byte order.
    pub upper: u16,
}

/// Path of packets, and their counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShortcutPath {
    /// The ingress interface.
    pub ingress: InterfaceId,
    /// Its MAC address, the destination of the packets.
    pub to: [u8; 6],
    /// The egress interface.
    pub egress: InterfaceId,
    /// The egress device ([`FlowOffload::device`]).
    pub device: u32,
    /// MAC addresses of the egress Ethernet header: destination, source.
    pub link: [u8; 12],
    /// Maximum length of a packet in bytes, from its network header on.
    pub mtu: u32,
    /// The kind of forwarding under which they are counted.
    pub handler: Handler,
    /// The firewall rules that count them.
    pub rules: Rules,
}

/// How the router forwards the packets of a shortcut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Handler {
    /// FastPath: routing only.
    #[default]
    FastPath,
    /// FastTrack: the connection determines the treatment.
    FastTrack,
    /// The firewall accepted the packets.
    Firewall,
}

/// Numbers of a few rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules {
    len: u8,
    numbers: [u32; Self::MOST],
}

impl Rules {
    /// Maximum number of rules.
    pub const MOST: usize = 8;

    /// Adds a rule. Returns false without changes if there is no room.
    #[must_use]
    pub fn push(&mut self, number: u32) -> bool {
        let Some(place) = self.numbers.get_mut(usize::from(self.len)) else {
            return false;
        };
        *place = number;
        self.len += 1;
        true
    }

    /// Returns the numbers in order; a rule that counts twice occurs twice.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.numbers.into_iter().take(usize::from(self.len))
    }
}

/// Selects lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneSelector {
    /// All lanes.
    All,
    /// Lanes that begin or end at an interface.
    Of(InterfaceId),
    /// Lanes that a rule counts.
    CountedBy(u32),
}

/// Traffic of one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneTraffic {
    /// The lane.
    pub lane: ShortcutPath,
    /// True for IPv6.
    pub ipv6: bool,
    /// Number of packets.
    pub packets: u64,
    /// Bytes of the frames, including Ethernet headers.
    pub bytes: u64,
}

/// Traffic of a connection's direction by its shortcut since the last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionTraffic {
    /// [`Connection::token`].
    pub token: u64,
    /// Number of packets.
    pub packets: u64,
    /// Bytes from the network header on.
    pub bytes: u64,
}

/// An object that shortcuts depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependency {
    /// All routes of an address range: a change of a route in the range invalidates the shortcut.
    Network {
        /// First address; IPv4 in the low 32 bits.
        first: u128,
        /// Prefix length.
        len: u8,
        /// True for IPv6.
        ipv6: bool,
    },
    /// A next hop.
    Link {
        /// The egress interface.
        egress: InterfaceId,
        /// [`ShortcutPath::link`].
        link: [u8; 12],
    },
}

/// Flow offload of one port, as its worker uses it. No function blocks, locks or allocates.
pub trait FlowOffload {
    /// Begins a round of the worker, before it reads state that the control plane publishes: shortcuts of
    /// this round depend on the current state.
    fn begin(&mut self);

    /// Returns the kernel's number of the port's device, to which shortcuts of other ports may lead.
    fn device(&self) -> u32;

    /// Installs a shortcut for packets like this one, which the port received in this round.
    fn install(&mut self, shortcut: &Shortcut);

    /// Returns true if there are shortcuts of connections, so that [`FlowOffload::gather`] must be called.
    fn gathers(&self) -> bool;

    /// Reports the traffic of the shortcuts of connections that were installed here: with `ticks` (1/64 s)
    /// each about once per second if called often, without it all of them. If `gathered` returns false, the
    /// connection has ended and its shortcut is removed.
    fn gather(&mut self, ticks: Option<u32>, gathered: &mut dyn FnMut(ConnectionTraffic) -> bool);

    /// Removes the shortcut of a connection's direction, if there is one.
    fn remove(&mut self, between: &AddressPair, service: &Service);
}

/// Installed shortcuts, as the control plane uses them.
pub trait Shortcuts: Send + Sync + core::fmt::Debug {
    /// Invalidates all shortcuts after a change of forwarding state. Called after workers can see the change.
    fn forget(&self);

    /// Returns true if a valid shortcut may depend on this object.
    fn rests_on(&self, footing: &Dependency) -> bool;

    /// Reports the traffic of the selected lanes since the last call; for removed ports, of all their lanes.
    fn take(&self, which: LaneSelector, went: &mut dyn FnMut(LaneTraffic));

    /// Returns the traffic of a connection's direction that its worker has not gathered yet; `None` if there
    /// is no such shortcut.
    fn waiting(&self, between: &AddressPair, service: &Service) -> Option<ConnectionTraffic>;
}
