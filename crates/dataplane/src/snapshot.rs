//! What control compiles from the configuration for the workers: immutable, swapped as a whole
//! between two vectors.
//!
//! Routes, next hops and counters are not in it: they live in the shared tables and outlive it.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use frame::{InterfaceId, Offloads, reassembly};
use kernels::Lanes;
use wire::Mac;

use crate::firewall::Firewall;

/// Everything that the walk reads and that changes only by configuration or link state.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Rises by one with each compile.
    pub epoch: u64,
    /// By interface id; index 0 is no interface.
    pub interfaces: Vec<Interface>,
    /// By port number: what stands behind each port.
    pub ports: Vec<PortBinding>,
    /// The addresses of this router, which nobody else may send from.
    pub own: OwnAddresses,
    /// Settings of `/ip/settings` that the walk obeys.
    pub ipv4: FamilySettings,
    /// Settings of `/ipv6/settings` that the walk obeys.
    pub ipv6: FamilySettings,
    /// `/routing/rule`, enabled ones in order. Empty: everything uses table 0 (main).
    pub rules: Vec<RoutingRule>,
    /// Whether ICMP redirects are sent.
    pub send_redirects: bool,
    /// Rules of the firewall, and whether connections are tracked.
    pub firewall: Arc<Firewall>,
    /// How long fragments of IPv4 wait, and how much memory those of all workers have, where
    /// connections are tracked.
    pub fragments4: reassembly::Config,
    /// What local time is ahead of UTC, in seconds.
    pub zone_seconds: i32,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            epoch: 0,
            interfaces: Vec::new(),
            ports: Vec::new(),
            own: OwnAddresses::default(),
            ipv4: FamilySettings::default(),
            ipv6: FamilySettings::default(),
            rules: Vec::new(),
            send_redirects: false,
            firewall: Arc::default(),
            fragments4: reassembly::Config::V4,
            zone_seconds: 0,
        }
    }
}

impl Snapshot {
    /// The interface with this id, unless it is gone.
    #[inline]
    pub fn interface(&self, id: InterfaceId) -> Option<&Interface> {
        match id {
            InterfaceId::NONE => None,
            InterfaceId(index) => self.interfaces.get(index as usize),
        }
    }

    /// What stands behind the port with this number.
    #[inline]
    pub fn port(&self, number: u16) -> Option<&PortBinding> {
        self.ports.get(usize::from(number))
    }
}

/// A port, as the walk sees it.
#[derive(Clone, Debug, Default)]
pub struct PortBinding {
    /// The interface whose frames it carries. For a mirror: the interface that it mirrors.
    pub interface: InterfaceId,
    /// What it finishes by itself.
    pub offloads: Offloads,
    /// Where its frames come from.
    pub role: Role,
    /// Its frames are spread over the workers by flow, because it has fewer queues than there are
    /// workers.
    pub steer: bool,
    /// The workers that have a queue of it, by index, ascending. A worker without one hands its
    /// frames over to one of these. Empty: every worker looks only at the queues that it has.
    pub workers: Vec<u16>,
}

/// Where the frames of a port come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Other stations: they take the walk from ingress on.
    #[default]
    Wire,
    /// This router's own host stack: raw IP packets that take the walk from output on.
    Mirror,
}

/// An IPv4 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own4 {
    /// The address.
    pub address: Ipv4Addr,
    /// The first address of its network, and the last one.
    pub network: (Ipv4Addr, Ipv4Addr),
}

/// An IPv6 address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own6 {
    /// The address.
    pub address: Ipv6Addr,
    /// The length of its network's prefix in bits.
    pub len: u8,
}

/// An interface, as the walk sees it.
#[derive(Clone, Debug, Default)]
pub struct Interface {
    /// Its name in the configuration, for traces.
    pub name: Arc<str>,
    /// Enabled, and its link is up.
    pub running: bool,
    /// Its link address; frames for another unicast address are not ours.
    pub mac: Mac,
    /// The layer-3 MTU in bytes.
    pub mtu: u32,
    /// What record-route and timestamp options get of packets that leave here: its own first
    /// address, else one of this router's.
    pub address4: Option<Ipv4Addr>,
    /// Its own IPv4 addresses, in the order in which they were given.
    pub addresses4: Vec<Own4>,
    /// Its IPv6 addresses in use, in the order in which they were given; behind them one of this
    /// router's, where none of them reaches beyond the link. Masquerade chooses among them.
    pub addresses6: Vec<Own6>,
    /// The port that its frames leave by.
    pub port: u16,
    /// The VLAN interfaces on it, sorted by (EtherType, VLAN id): empty for most.
    pub vlans: Vec<Vlan>,
    /// The VLAN tags of its frames, outermost first: empty but for VLAN interfaces. At most four.
    pub tags: Vec<Vlan>,
    /// How frames begin: false for host mirrors and other links without an Ethernet header.
    pub ethernet: bool,
    /// The walk of its IPv4 packets.
    pub ipv4: Walk,
    /// The walk of its IPv6 packets.
    pub ipv6: Walk,
    /// `rp-filter`, as it holds for this interface.
    pub rp_filter: RpFilter,
    /// The mirror port that takes TCP, UDP and the like for this router's own addresses, if any.
    pub mirror: Option<u16>,
    /// The multicast groups joined here beyond the link's own scope, sorted. Groups of the link
    /// (224.0.0.0/24, ff02::/16) are always taken.
    pub groups4: Vec<u32>,
    /// The same of IPv6.
    pub groups6: Vec<u128>,
}

impl Interface {
    /// The address that masquerade gives packets that leave here for this neighbour. RouterOS, as
    /// Linux: the first one whose network has the neighbour, else the first one.
    pub fn address_towards(&self, neighbour: Ipv4Addr) -> Option<Ipv4Addr> {
        let has = |own: &&Own4| (own.network.0..=own.network.1).contains(&neighbour);
        let near = self.addresses4.iter().find(has);
        let own = near.or(self.addresses4.first()).map(|own| own.address);
        own.or(self.address4)
    }

    /// Whether an IPv6 address is in use here.
    pub fn has_ipv6(&self, address: u128) -> bool {
        let mut own = self.addresses6.iter();
        own.any(|own| own.address.to_bits() == address)
    }

    /// The address that masquerade gives packets that leave here to this destination: the address
    /// itself, one that reaches as far, the one with the longest prefix in common, the first one (RFC
    /// 6724, 5, rules 1, 2 and 8). None where none reaches as far.
    pub fn source6_towards(&self, to: Ipv6Addr) -> Option<Ipv6Addr> {
        let near = is_on_link(to);
        let common = |own: &Own6| {
            let bits = own.address.to_bits() ^ to.to_bits();
            bits.leading_zeros().min(own.len.into())
        };
        let rank = |own: &Own6| {
            (
                own.address == to,
                is_on_link(own.address) == near,
                common(own),
            )
        };
        let reaches = |own: &&Own6| near || !is_on_link(own.address);
        let best = |best: Option<Own6>, own: &Own6| match best {
            Some(best) if rank(&best) >= rank(own) => Some(best),
            _ => Some(*own),
        };
        let best = self.addresses6.iter().filter(reaches).fold(None, best);
        best.map(|own| own.address)
    }

    /// The address that `redirect` gives packets that come in here: its first one that reaches beyond
    /// the link.
    pub fn address6(&self) -> Option<Ipv6Addr> {
        let mut own = self.addresses6.iter().map(|own| own.address);
        own.find(|own| !is_on_link(*own))
    }
}

/// Whether an address means something on its link alone (RFC 4291, 2.5.6 and 2.7).
fn is_on_link(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.octets();
    address.is_unicast_link_local() || first == 0xff && second & 0xf <= 2
}

/// This router's own addresses: a bitmap that says "surely not" at the cost of one load, and the
/// sorted lists behind it.
#[derive(Clone, Debug, Default)]
pub struct OwnAddresses {
    bitmap: Bitmap,
    ipv4: Vec<u32>,
    ipv6: Vec<u128>,
}

/// 4,096 bits: with a hundred addresses one foreign address in forty asks the sorted list.
#[derive(Clone, Debug)]
struct Bitmap([u32; 128]);

impl Default for Bitmap {
    fn default() -> Self {
        Self([0; 128])
    }
}

impl Bitmap {
    /// The word of a key, and the bit in it.
    #[inline(always)]
    fn place(key: u32) -> (u32, u32) {
        let hash = key.wrapping_mul(0x9e37_79b9) >> 20;
        (hash >> 5, hash & 31)
    }

    #[inline(always)]
    fn may_hold(&self, key: u32) -> bool {
        let (word, bit) = Self::place(key);
        self.0[word as usize % 128] >> bit & 1 != 0
    }

    /// The same of 16 keys: 0 where it surely does not.
    #[inline(always)]
    fn may_hold_16<L: Lanes>(&self, lanes: L, keys: &[u32; 16]) -> [u32; 16] {
        let mut words = [0; 16];
        for (word, key) in words.iter_mut().zip(keys) {
            *word = Self::place(*key).0;
        }
        let mut bits = lanes.gather(&self.0, &words);
        for (bits, key) in bits.iter_mut().zip(keys) {
            *bits = *bits >> Self::place(*key).1 & 1;
        }
        bits
    }
}

impl OwnAddresses {
    /// The set of these addresses, in any order.
    pub fn new(mut ipv4: Vec<u32>, mut ipv6: Vec<u128>) -> Self {
        ipv4.sort_unstable();
        ipv4.dedup();
        ipv6.sort_unstable();
        ipv6.dedup();
        let mut bitmap = Bitmap::default();
        let keys = ipv4.iter().copied();
        for key in keys.chain(ipv6.iter().map(|address| fold(*address))) {
            let (word, bit) = Bitmap::place(key);
            bitmap.0[word as usize] |= 1 << bit;
        }
        Self { bitmap, ipv4, ipv6 }
    }

    /// Whether this IPv4 address is one of ours.
    #[inline(always)]
    pub fn has_ipv4(&self, address: u32) -> bool {
        self.bitmap.may_hold(address) && self.ipv4.binary_search(&address).is_ok()
    }

    /// Of each of 16 IPv4 addresses whether it may be one of ours, as a number that is 0 where it surely is
    /// not.
    #[inline(always)]
    pub(crate) fn may_have_ipv4<L: Lanes>(&self, lanes: L, addresses: &[u32; 16]) -> [u32; 16] {
        self.bitmap.may_hold_16(lanes, addresses)
    }

    /// The same of IPv6 addresses, by their words.
    #[inline(always)]
    pub(crate) fn may_have_ipv6<L: Lanes>(&self, lanes: L, words: &[[u32; 16]; 4]) -> [u32; 16] {
        let mut keys = words[0];
        for words in &words[1..] {
            for (key, word) in keys.iter_mut().zip(words) {
                *key ^= word;
            }
        }
        self.bitmap.may_hold_16(lanes, &keys)
    }

    /// Whether this IPv6 address is one of ours.
    #[inline(always)]
    pub fn has_ipv6(&self, address: u128) -> bool {
        self.bitmap.may_hold(fold(address)) && self.ipv6.binary_search(&address).is_ok()
    }
}

#[inline(always)]
fn fold(address: u128) -> u32 {
    let half = (address >> 64) as u64 ^ address as u64;
    (half >> 32) as u32 ^ half as u32
}

/// A VLAN interface on another interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Vlan {
    /// 0x8100, or 0x88a8 with `use-service-tag`.
    pub ethertype: u16,
    /// The VLAN id, 1 to 4094.
    pub vlan_id: u16,
    /// The interface that it is.
    pub interface: InterfaceId,
}

/// The compiled walk of one address family on one ingress interface.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Walk {
    /// The family is configured here at all.
    pub enabled: bool,
    /// Why this is not the fast path; empty means that it is.
    pub slow: Vec<SlowReason>,
    /// Routing rules apply.
    pub rules: bool,
    /// The reverse path is checked.
    pub reverse_path: bool,
}

impl Walk {
    /// Whether packets take the shortest walk.
    pub fn is_fast(&self) -> bool {
        self.slow.is_empty()
    }
}

/// Why a packet walks the slow path. `print`, `trace` and `check` show these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlowReason {
    /// `allow-fast-path=no`.
    NotAllowed,
    /// `/routing/rule` has enabled rules.
    RoutingRules,
    /// `rp-filter` is not `no`.
    ReversePathFilter,
    /// A table of the firewall has enabled rules.
    FirewallRules,
    /// Connections are tracked.
    ConnectionTracking,
    /// The driver does not take part (a host mirror).
    Interface,
}

impl SlowReason {
    /// The sentence that a user reads.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NotAllowed => "allow-fast-path=no",
            Self::RoutingRules => "/routing/rule has enabled rules",
            Self::ReversePathFilter => "rp-filter checks the way back to the source",
            Self::FirewallRules => "the firewall has rules",
            Self::ConnectionTracking => "connections are tracked",
            Self::Interface => "the interface has no fast path",
        }
    }
}

/// How strictly the way back to the source is checked (RFC 3704).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RpFilter {
    /// Not at all.
    #[default]
    No,
    /// The best way back leaves by the ingress interface.
    Strict,
    /// There is some way back.
    Loose,
}

/// What flows are told apart by when a route has several gateways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MultipathHash {
    /// Addresses.
    #[default]
    L3,
    /// Addresses, protocol and ports.
    L4,
    /// The inner addresses of tunnelled packets.
    L3Inner,
}

/// Settings of one address family.
#[derive(Clone, Copy, Debug, Default)]
pub struct FamilySettings {
    /// Packets for others are forwarded.
    pub forward: bool,
    /// `allow-fast-path`.
    pub allow_fast_path: bool,
    /// How flows spread over gateways.
    pub multipath_hash: MultipathHash,
}

/// A rule of `/routing/rule`, compiled. All conditions that are given must hold.
#[derive(Clone, Copy, Debug)]
pub struct RoutingRule {
    /// Source prefix, as address bits (IPv4 in the low 32) and length.
    pub source: Option<Prefix>,
    /// Destination prefix.
    pub destination: Option<Prefix>,
    /// Ingress interface.
    pub interface: Option<InterfaceId>,
    /// Routing mark, by number.
    pub mark: Option<u32>,
    /// What happens.
    pub action: RuleAction,
    /// The routing table's number, for the lookups.
    pub table: u16,
    /// A route shorter than this does not count (`min-prefix`).
    pub min_prefix: Option<u8>,
}

/// A prefix of either family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    /// IPv6 rather than IPv4.
    pub ipv6: bool,
    /// The address; IPv4 in the low 32 bits.
    pub bits: u128,
    /// The prefix's length, 0 to 32 or 128.
    pub len: u8,
}

/// What a routing rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// Look up there; without a route, go on with the next rule.
    Lookup,
    /// Look up there and nowhere else.
    LookupOnly,
    /// Discard silently.
    Drop,
    /// Discard; the sender is told.
    Unreachable,
}
