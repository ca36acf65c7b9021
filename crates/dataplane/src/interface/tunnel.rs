//! Tunnels of interfaces: what their frames are wrapped into, and the tunnel that a packet for this router came by.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use arc_swap::ArcSwap;
use frame::InterfaceId;

use super::Wireguard;
use crate::flow::mix64;

/// What the frames of an interface are wrapped into, by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tunnel {
    /// Packets or frames in packets between two addresses.
    Between(Between),
    /// Frames in datagrams, to the peer behind which a station is.
    Vxlan(Vxlan),
    /// Packets in messages of WireGuard, to the peer behind which their destination is.
    Wireguard(Wireguard),
}

impl Tunnel {
    /// What tells its packets from those of others; a network with a group has two.
    pub fn ends(&self) -> impl Iterator<Item = Ends> {
        let (first, second) = match self {
            Self::Between(tunnel) => (tunnel.ends(), None),
            Self::Vxlan(network) => network.ends(),
            Self::Wireguard(network) => (Ends::Wireguard { port: network.port }, None),
        };
        core::iter::once(first).chain(second)
    }
}

/// A tunnel between two addresses of one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// Its interface.
    pub id: InterfaceId,
    /// What its packets carry.
    pub carries: Carries,
    /// This router's end. The unspecified one: the address of the interface that packets leave by.
    pub local: IpAddr,
    /// The other end.
    pub remote: IpAddr,
    /// The lifetime of its packets.
    pub ttl: u8,
    /// The DSCP of its packets, 0 to 63; none takes the type of service of the packets in them.
    pub dscp: Option<u8>,
    /// Whether its packets over IPv4 may not be fragmented where those in them may not.
    pub inherits_dont_fragment: bool,
    /// Whether its packets go past the firewall where that looks at nothing (RouterOS: `allow-fast-path`).
    pub fast: bool,
    /// The layer-3 MTU to which the segment size of TCP connections is lowered that come out of it; none leaves it.
    pub clamp: Option<u32>,
    /// Where packets are counted by which the other end says that it is there.
    pub heard: Heard,
}

/// What packets of a tunnel carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carries {
    /// Packets of IPv4 and IPv6 (RFC 2003, RFC 4213, RFC 2473).
    Packets,
    /// The same behind a header of GRE (RFC 2784, RFC 7676).
    Gre,
    /// Frames of Ethernet behind a header of EoIP, with the number of the tunnel: 16 bits over IPv4, 12 bits over
    /// IPv6.
    Frames(u16),
}

/// A counter that control reads and workers add to.
#[derive(Clone, Debug, Default)]
pub struct Heard(Arc<AtomicU64>);

impl Heard {
    /// One more packet.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl PartialEq for Heard {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Heard {}

impl Between {
    /// What tells its packets from those of others.
    pub fn ends(&self) -> Ends {
        Ends::Between {
            carries: self.carries,
            local: self.local,
            remote: self.remote,
        }
    }
}

/// A network of VXLAN (RFC 7348).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vxlan {
    /// Its interface, by which its hosts are known.
    pub id: InterfaceId,
    /// The number of the network, 24 bits.
    pub vni: u32,
    /// The UDP port of both ends.
    pub port: u16,
    /// The address that its packets come from, of the family of all its ends. The unspecified one: that of the
    /// interface that they leave by.
    pub local: IpAddr,
    /// The lifetime of its packets; none is 64 to a peer, and 1 to a group.
    pub ttl: Option<u8>,
    /// Whether its packets over IPv4 have a UDP checksum. Those over IPv6 always do (RFC 8200, 8.1).
    pub checksum: bool,
    /// Whether its packets over IPv4 may be fragmented.
    pub dont_fragment: DontFragment,
    /// Whether it learns behind which peer stations are.
    pub learning: bool,
    /// How many stations it learns at most.
    pub hosts_max: u32,
    /// Whether its packets go past the firewall where that looks at nothing (RouterOS: `allow-fast-path`).
    pub fast: bool,
    /// The group that frames for all are sent to, and the interface that it is joined on.
    pub group: Option<(IpAddr, InterfaceId)>,
    /// The peers that are configured: frames for all go to each.
    pub peers: Arc<[Peer]>,
}

impl Vxlan {
    fn ends(&self) -> (Ends, Option<Ends>) {
        let to = |local| Ends::Vxlan {
            port: self.port,
            local,
            vni: self.vni,
        };
        (to(self.local), self.group.map(|(group, _)| to(group)))
    }
}

/// Another end of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its address.
    pub address: IpAddr,
    /// Its UDP port.
    pub port: u16,
}

/// Whether packets around frames say that they may not be fragmented.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DontFragment {
    /// They may be.
    #[default]
    Never,
    /// They may not.
    Always,
    /// As the packet of IPv4 in the frame says; others may be.
    Inherit,
}

/// What tells the packets of a tunnel, for this router, from those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Packets between two addresses.
    Between {
        /// What they carry.
        carries: Carries,
        /// This router's address; the unspecified one of a family is any.
        local: IpAddr,
        /// The other one.
        remote: IpAddr,
    },
    /// Datagrams with frames of a network (RFC 7348).
    Vxlan {
        /// The UDP port that they are sent to.
        port: u16,
        /// This router's address; the unspecified one of a family is any.
        local: IpAddr,
        /// The network.
        vni: u32,
    },
    /// Messages of WireGuard.
    Wireguard {
        /// The UDP port that they are sent to.
        port: u16,
    },
}

impl Ends {
    /// Those of a tunnel that takes packets to any address of this router.
    pub(crate) fn without_address(mut self) -> Self {
        if let Self::Vxlan { local, .. } | Self::Between { local, .. } = &mut self {
            *local = match local {
                IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            };
        }
        self
    }

    fn hash(&self) -> usize {
        let of = |address: IpAddr| match address {
            IpAddr::V4(address) => u64::from(address.to_bits()),
            IpAddr::V6(address) => {
                let bits = address.to_bits();
                mix64(bits as u64) ^ (bits >> 64) as u64
            }
        };
        let number = match *self {
            Self::Between {
                carries,
                local,
                remote,
            } => {
                let carries = match carries {
                    Carries::Packets => 0,
                    Carries::Gre => 1,
                    Carries::Frames(number) => 2 + u64::from(number),
                };
                of(local).rotate_left(32) ^ mix64(of(remote)) ^ carries
            }
            Self::Vxlan { port, local, vni } => {
                mix64(of(local)) ^ u64::from(port) << 32 ^ u64::from(vni)
            }
            Self::Wireguard { port } => u64::from(port),
        };
        mix64(number) as usize % LISTS
    }
}

/// Lists that tunnels are spread over.
const LISTS: usize = 1024;

type List = Vec<(Ends, InterfaceId)>;

/// The interfaces of tunnels by their ends.
#[derive(Debug)]
pub(super) struct Tunnels {
    lists: Box<[ArcSwap<List>]>,
    /// The UDP ports of networks of VXLAN, and of WireGuard interfaces.
    vxlan: Ports,
    wireguard: Ports,
    /// How many tunnels between two addresses there are.
    between: AtomicU64,
}

/// A set of UDP ports, a bit each.
#[derive(Debug)]
struct Ports {
    words: Box<[AtomicU64]>,
    /// How many there are.
    count: AtomicU64,
}

/// Ports of a word of them.
const WORD: u16 = u64::BITS as u16;

impl Ports {
    fn new() -> Self {
        Self {
            words: (0..=u16::MAX / WORD).map(|_| AtomicU64::new(0)).collect(),
            count: AtomicU64::new(0),
        }
    }

    #[inline(always)]
    fn has(&self, port: u16) -> bool {
        let word = self.words[usize::from(port / WORD)].load(Ordering::Relaxed);
        word >> (port % WORD) & 1 != 0
    }

    fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) != 0
    }

    fn set(&self, port: u16, is_there: bool) {
        let count = self.count.load(Ordering::Relaxed);
        let count = match (self.has(port), is_there) {
            (false, true) => count + 1,
            (true, false) => count - 1,
            _ => return,
        };
        self.count.store(count, Ordering::Relaxed);
        let bit = 1 << (port % WORD);
        self.words[usize::from(port / WORD)].fetch_xor(bit, Ordering::Relaxed);
    }
}

impl Tunnels {
    pub(super) fn new() -> Self {
        let lists = (0..LISTS).map(|_| ArcSwap::default());
        Self {
            lists: lists.collect(),
            vxlan: Ports::new(),
            wireguard: Ports::new(),
            between: AtomicU64::new(0),
        }
    }

    /// Whether a network of VXLAN has this UDP port.
    #[inline(always)]
    pub(super) fn has_vxlan(&self, port: u16) -> bool {
        self.vxlan.has(port)
    }

    /// Whether a WireGuard interface has this UDP port.
    #[inline(always)]
    pub(super) fn has_wireguard(&self, port: u16) -> bool {
        self.wireguard.has(port)
    }

    /// Whether there is any tunnel between two addresses.
    pub(super) fn any_between(&self) -> bool {
        self.between.load(Ordering::Relaxed) != 0
    }

    /// Whether there is any network of VXLAN.
    pub(super) fn any_vxlan(&self) -> bool {
        self.vxlan.any()
    }

    /// Whether there is any WireGuard interface.
    #[inline(always)]
    pub(super) fn any_wireguard(&self) -> bool {
        self.wireguard.any()
    }

    /// Notes whether a network or an interface has this UDP port, as one comes or goes.
    fn note_port(&self, ends: &Ends, comes: bool) {
        let port_of = |ends: &Ends| match *ends {
            Ends::Vxlan { port, .. } => Some((&self.vxlan, port)),
            Ends::Wireguard { port } => Some((&self.wireguard, port)),
            Ends::Between { .. } => None,
        };
        let Some((ports, port)) = port_of(ends) else {
            return;
        };
        let alike = |of: &Ends| {
            port_of(of).is_some_and(|(kind, of)| core::ptr::eq(kind, ports) && of == port)
        };
        let mut lists = self.lists.iter();
        let any = comes || lists.any(|list| list.load().iter().any(|(of, _)| alike(of)));
        ports.set(port, any);
    }

    /// The interface of the tunnel between these ends.
    pub(super) fn get(&self, ends: &Ends) -> Option<InterfaceId> {
        let list = self.lists[ends.hash()].load();
        let found = list.iter().find(|(of, _)| of == ends);
        found.map(|(_, interface)| *interface)
    }

    /// Names the tunnel between these ends; none takes it away. One list of a thousand is made anew.
    pub(super) fn set(&self, ends: Ends, interface: Option<InterfaceId>) {
        let place = &self.lists[ends.hash()];
        let mut list = List::clone(&place.load());
        let before = list.len();
        list.retain(|(of, _)| *of != ends);
        if matches!(ends, Ends::Between { .. }) {
            let gone = (before - list.len()) as u64;
            let now = self.between.load(Ordering::Relaxed) - gone;
            let now = now + u64::from(interface.is_some());
            self.between.store(now, Ordering::Relaxed);
        }
        list.extend(interface.map(|interface| (ends, interface)));
        place.store(Arc::new(list));
        self.note_port(&ends, interface.is_some());
    }
}
