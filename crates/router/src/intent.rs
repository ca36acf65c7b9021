//! The configured state as plain typed values, without running state. Objects of features are included, under the ids
//! of [`crate::object`].
//!
//! Items are keyed by their numbers in the store. Interfaces and tables are referenced by name, because a configuration
//! may name an interface that does not exist yet.

mod items;
mod slaves;

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use frame::reassembly;
use machine::Duration;
use service::neighbour::Mode;
use wire::Mac;

use dataplane::routing_rules::RuleAction;
use dataplane::snapshot::{MultipathHash, RpFilter};

use crate::kind::AnyKind;
use crate::rib::{Check, Family, Net, V4, V6};

pub use items::{Indexed, Items};
pub use slaves::Slaves;

/// A name of an interface or table, as configured.
pub type Name = Arc<str>;
/// An item's number in its menu.
pub type ItemId = u64;

/// All effective configuration, and the objects of features.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intent {
    /// `/system/identity`.
    pub identity: String,
    /// Ports, VLANs and all other interfaces.
    pub interfaces: Items<Interface>,
    /// Interfaces that features hold down, with the reasons.
    pub held: BTreeSet<(ItemId, &'static str)>,
    /// Masters and slaves.
    pub slaves: Slaves,
    /// Names of interfaces with queues in front of their egress.
    pub queued: BTreeSet<Name>,
    /// Packets pass simple queues, or queues below `global`.
    pub queues: bool,
    /// IPsec policies.
    pub ipsec: dataplane::ipsec::Ipsec,
    /// `/interface/list`, by name.
    pub lists: BTreeMap<Name, InterfaceList>,
    /// `/interface/list/member`.
    pub members: Items<Member>,
    /// `/ip/address`.
    pub addresses4: Items<Address4>,
    /// `/ipv6/address`.
    pub addresses6: Items<Address6>,
    /// `/ip/arp`.
    pub neighbours4: Items<Neighbour<V4>>,
    /// `/ipv6/neighbor`.
    pub neighbours6: Items<Neighbour<V6>>,
    /// `/ip/route`.
    pub routes4: BTreeMap<ItemId, Route<V4>>,
    /// `/ipv6/route`.
    pub routes6: BTreeMap<ItemId, Route<V6>>,
    /// `/routing/table`, without `main`.
    pub tables: BTreeMap<ItemId, Table>,
    /// `/routing/rule`, in order.
    pub rules: Vec<Rule>,
    /// `/ipv6/nd`.
    pub nd: Items<Nd>,
    /// `/ipv6/nd/prefix`.
    pub nd_prefixes: Items<NdPrefix>,
    /// `/ipv6/nd/prefix/default`.
    pub nd_usual: NdUsual,
    /// IPv6 addresses among the servers of `/ip/dns`, for router advertisements.
    pub dns6: Vec<Ipv6Addr>,
    /// `/ip/settings`.
    pub ipv4: Settings4,
    /// `/ipv6/settings`.
    pub ipv6: Settings6,
}

impl Intent {
    /// Returns the first reason that holds an interface down; `None` if it is not held down.
    pub(crate) fn held(&self, item: ItemId) -> Option<&'static str> {
        let mut reasons = self.held.range((item, "")..);
        let first = reasons.next().filter(|(of, _)| *of == item);
        first.map(|(_, why)| *why)
    }
}

/// New state of an item that a feature has read; `None` if the item is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ItemState {
    /// An interface.
    Interface(Option<Interface>),
    /// An IPv4 address of an interface.
    Address4(Option<Address4>),
    /// An IPv6 address of an interface.
    Address6(Option<Address6>),
    /// A member of an interface list.
    Member(Option<Member>),
    /// An ARP entry.
    Neighbour4(Option<Neighbour<V4>>),
    /// An entry of the IPv6 neighbour table.
    Neighbour6(Option<Neighbour<V6>>),
}

/// An interface of any kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: Name,
    /// Disabled by the configuration.
    pub disabled: bool,
    /// The layer-3 MTU in bytes.
    pub mtu: u32,
    /// Setting `arp`.
    pub arp: Mode,
    /// `arp-timeout`; none takes the one of `/ip/settings`.
    pub arp_timeout: Option<Duration>,
    /// Settings of its kind.
    pub kind: AnyKind,
    /// Class for the words of rules.
    pub class: Class,
}

impl Indexed for Interface {
    fn name(&self) -> Option<&Name> {
        Some(&self.name)
    }

    fn stands_on(&self) -> Option<&Name> {
        self.kind.stands_on()
    }
}

/// The class that RouterOS counts an interface in: `all-ethernet` and similar words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Wired ports.
    Ethernet,
    /// Wireless ports.
    Wireless,
    /// VLANs.
    Vlan,
    /// Point-to-point connections, of clients and servers.
    Ppp,
    /// All other interfaces.
    Other,
}

impl Class {
    /// Words of rules for all interfaces of a class.
    pub const WORDS: [&'static str; 4] = [
        Self::Ethernet.word(),
        Self::Wireless.word(),
        Self::Vlan.word(),
        Self::Ppp.word(),
    ];

    /// Returns the word for all interfaces of the class; empty without one.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ethernet => "all-ethernet",
            Self::Wireless => "all-wireless",
            Self::Vlan => "all-vlan",
            Self::Ppp => "all-ppp",
            Self::Other => "",
        }
    }
}

/// An item of `/interface/list`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceList {
    /// Lists whose members are included.
    pub include: Vec<Name>,
    /// Lists whose members are excluded.
    pub exclude: Vec<Name>,
}

/// An item of `/interface/list/member`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The list.
    pub list: Name,
    /// The member interface.
    pub interface: Name,
    /// Disabled by the configuration.
    pub disabled: bool,
}

impl Indexed for Member {
    fn stands_on(&self) -> Option<&Name> {
        Some(&self.interface)
    }
}

/// An item of `/ip/address`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address4 {
    /// The address.
    pub addr: Ipv4Addr,
    /// The length of its prefix.
    pub len: u8,
    /// First address of the network; for a /32, the address of the far end.
    pub network: Ipv4Addr,
    /// The interface that has it.
    pub interface: Name,
    /// Disabled by the configuration.
    pub disabled: bool,
}

impl Indexed for Address4 {
    fn stands_on(&self) -> Option<&Name> {
        Some(&self.interface)
    }
}

/// An item of `/ipv6/address`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address6 {
    /// The address.
    pub addr: Ipv6Addr,
    /// The length of its prefix.
    pub len: u8,
    /// The interface that has it.
    pub interface: Name,
    /// Builds the last 64 bits from the link address.
    pub eui64: bool,
    /// Advertises the prefix to hosts.
    pub advertise: bool,
    /// Skips duplicate address detection.
    pub no_dad: bool,
    /// The interface gets a link-local address with this item.
    pub auto_link_local: bool,
    /// Disabled by the configuration.
    pub disabled: bool,
}

impl Indexed for Address6 {
    fn stands_on(&self) -> Option<&Name> {
        Some(&self.interface)
    }
}

/// An item of `/ip/arp` or `/ipv6/neighbor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour<F: Family> {
    /// Address of the neighbour.
    pub addr: F::Addr,
    /// The interface that it is on.
    pub interface: Name,
    /// Its link address; none for an entry that is only published.
    pub mac: Option<Mac>,
    /// Proxy entry: this router answers for the address.
    pub published: bool,
    /// Disabled by the configuration.
    pub disabled: bool,
}

impl<F: Family> Indexed for Neighbour<F> {
    fn stands_on(&self) -> Option<&Name> {
        Some(&self.interface)
    }

    fn address(&self) -> u128 {
        F::bits(self.addr)
    }
}

/// An item of `/ip/route` or `/ipv6/route`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route<F: Family> {
    /// The destination.
    pub net: Net<F>,
    /// The table that it is in.
    pub table: Name,
    /// Gateways; empty for a route without a next hop.
    pub gateways: Vec<Gateway<F>>,
    /// Refuses packets instead of forwarding them.
    pub refuse: Option<Refuse>,
    /// Kind of gateway check.
    pub check: Check,
    /// 1 to 255; lower is better.
    pub distance: u8,
    /// Scope: gateways with at least this target scope may be resolved through the route.
    pub scope: u8,
    /// Target scope: gateways are resolved through routes of at most this scope.
    pub target_scope: u8,
    /// Source address of this router's own packets.
    pub pref_src: Option<F::Addr>,
    /// Disabled by the configuration.
    pub disabled: bool,
}

/// A gateway as it was written: `address`, `interface`, `address%interface`, `address@table`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gateway<F: Family> {
    /// The address.
    pub addr: Option<F::Addr>,
    /// The interface.
    pub interface: Option<Name>,
    /// The table in which the address is resolved.
    pub table: Option<Name>,
}

/// Refusal of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refuse {
    /// Silently.
    Blackhole,
    /// With host unreachable.
    Unreachable,
    /// With administratively prohibited.
    Prohibit,
}

/// An item of `/routing/table`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name.
    pub name: Name,
    /// Packets can be forwarded by this table.
    pub fib: bool,
    /// Disabled by the configuration.
    pub disabled: bool,
}

/// An item of `/routing/rule`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its number.
    pub item: ItemId,
    /// Source prefix.
    pub source: Option<AnyNet>,
    /// Destination prefix.
    pub destination: Option<AnyNet>,
    /// Ingress interface.
    pub interface: Option<Name>,
    /// Routing mark, by its name.
    pub mark: Option<Name>,
    /// Routes with a prefix of this length or shorter are ignored.
    pub min_prefix: Option<u8>,
    /// Action of the rule.
    pub action: RuleAction,
    /// The table to look up; `None` is `main`.
    pub table: Option<Name>,
    /// Disabled by the configuration.
    pub disabled: bool,
}

/// A network of either family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyNet {
    /// IPv4.
    V4(Net<V4>),
    /// IPv6.
    V6(Net<V6>),
}

/// Effective settings of `/ip/settings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings4 {
    /// `ip-forward`.
    pub forward: bool,
    /// `send-redirects`.
    pub send_redirects: bool,
    /// `rp-filter`.
    pub rp_filter: RpFilter,
    /// `max-neighbor-entries`.
    pub max_neighbours: usize,
    /// `arp-timeout`.
    pub arp_timeout: Duration,
    /// `icmp-rate-limit`; zero is no limit.
    pub icmp_rate_limit: Duration,
    /// `icmp-rate-mask`.
    pub icmp_rate_mask: u32,
    /// `icmp-errors-use-inbound-interface-address`.
    pub icmp_inbound: bool,
    /// `tcp-syncookies`, for the router's own services.
    pub syn_cookies: bool,
    /// `ipv4-high-fragment-thresh`, in bytes.
    pub fragment_bytes: u64,
    /// `ipv4-fragment-time`.
    pub fragment_time: Duration,
    /// `ipv4-multipath-hash-policy`.
    pub multipath_hash: MultipathHash,
    /// `allow-fast-path`.
    pub allow_fast_path: bool,
}

impl Settings4 {
    /// Returns the settings that each interface uses: `arp-timeout` and `max-neighbor-entries`.
    pub const fn of_interfaces(&self) -> (Duration, usize) {
        (self.arp_timeout, self.max_neighbours)
    }

    /// Returns the reassembly settings for packets to this router and for connection tracking.
    pub fn fragments(&self) -> reassembly::Config {
        reassembly::Config {
            timeout: self.fragment_time,
            memory_max_bytes: usize::try_from(self.fragment_bytes).unwrap_or(usize::MAX),
            ..reassembly::Config::V4
        }
    }
}

impl Default for Settings4 {
    fn default() -> Self {
        Self {
            forward: true,
            send_redirects: true,
            rp_filter: RpFilter::No,
            max_neighbours: 16_384,
            arp_timeout: Duration::from_secs(30),
            icmp_rate_limit: Duration::from_millis(10),
            icmp_rate_mask: 0x1818,
            icmp_inbound: false,
            syn_cookies: false,
            fragment_bytes: 4 << 20,
            fragment_time: Duration::from_secs(30),
            multipath_hash: MultipathHash::L3,
            allow_fast_path: true,
        }
    }
}

/// Effective settings of `/ipv6/settings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings6 {
    /// `disable-ipv6`.
    pub disabled: bool,
    /// `forward`.
    pub forward: bool,
    /// `disable-link-local-address`.
    pub no_link_local: bool,
    /// `stale-neighbor-timeout`.
    pub stale_timeout: Duration,
    /// `stale-neighbor-detect-interval`.
    pub stale_check: Duration,
    /// `max-neighbor-entries`.
    pub max_neighbours: usize,
    /// `multipath-hash-policy`.
    pub multipath_hash: MultipathHash,
    /// `allow-fast-path`.
    pub allow_fast_path: bool,
}

impl Settings6 {
    /// Returns the settings that each interface uses; the others are at their defaults.
    pub fn of_interfaces(&self) -> Self {
        let usual = Self::default();
        Self {
            multipath_hash: usual.multipath_hash,
            allow_fast_path: usual.allow_fast_path,
            ..self.clone()
        }
    }
}

impl Default for Settings6 {
    fn default() -> Self {
        Self {
            disabled: false,
            forward: true,
            no_link_local: false,
            stale_timeout: Duration::from_secs(60),
            stale_check: Duration::from_secs(30),
            max_neighbours: 16_384,
            multipath_hash: MultipathHash::L3,
            allow_fast_path: true,
        }
    }
}

/// Which DNS servers router advertisements name (RFC 8106).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvertiseDns {
    /// None.
    No,
    /// The servers of `/ipv6/nd`; by default, the DNS servers of the router itself.
    Servers,
    /// The router, by its link-local address.
    Router,
}

/// An item of `/ipv6/nd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nd {
    /// The interface; `None` is the default for interfaces without an item.
    pub interface: Option<Name>,
    /// Minimum and maximum time between advertisements.
    pub interval: (Duration, Duration),
    /// Minimum time between answers.
    pub delay: Duration,
    /// The MTU that is advertised.
    pub mtu: Option<u32>,
    /// The reachable time that is advertised.
    pub reachable_time: Option<Duration>,
    /// The time between solicitations that is advertised.
    pub retransmit: Option<Duration>,
    /// Lifetime as default router; zero: not a default router.
    pub lifetime: Duration,
    /// −1, 0 or 1: low, medium or high (RFC 4191).
    pub preference: i8,
    /// The hop limit that is advertised.
    pub hop_limit: Option<u8>,
    /// Whether the link address is advertised.
    pub advertise_mac: bool,
    /// Which DNS servers are advertised.
    pub advertise_dns: AdvertiseDns,
    /// Managed flag: addresses come by DHCPv6.
    pub managed: bool,
    /// Other flag: other configuration comes by DHCPv6.
    pub other: bool,
    /// DNS servers in place of the router's own.
    pub dns: Vec<Ipv6Addr>,
    /// NAT64 prefixes, each with its length.
    pub pref64: Vec<(Ipv6Addr, u8)>,
    /// Disabled by the configuration.
    pub disabled: bool,
}

impl Indexed for Nd {
    fn stands_on(&self) -> Option<&Name> {
        self.interface.as_ref()
    }
}

/// An item of `/ipv6/nd/prefix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NdPrefix {
    /// The network and the length of its prefix.
    pub network: (Ipv6Addr, u8),
    /// The interface that advertises it.
    pub interface: Name,
    /// On-link flag.
    pub on_link: bool,
    /// Autonomous flag: hosts build addresses from the prefix.
    pub autonomous: bool,
    /// Valid and preferred lifetime; `None` takes the default of [`NdUsual`].
    pub lifetimes: (Option<Lifetime>, Option<Lifetime>),
    /// Disabled by the configuration.
    pub disabled: bool,
}

impl Indexed for NdPrefix {
    fn stands_on(&self) -> Option<&Name> {
        Some(&self.interface)
    }
}

/// Defaults for advertised prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NdUsual {
    /// Autonomous flag.
    pub autonomous: bool,
    /// Valid and preferred lifetime.
    pub lifetimes: (Lifetime, Lifetime),
}

/// Lifetime of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Number of seconds.
    Seconds(u32),
    /// No end.
    Infinite,
}

impl Default for NdUsual {
    fn default() -> Self {
        let days = |days: u32| Lifetime::Seconds(days * 86_400);
        Self {
            autonomous: true,
            lifetimes: (days(30), days(7)),
        }
    }
}
