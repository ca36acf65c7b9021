//! The snapshot: settings, port bindings and rules, compiled by control, immutable, replaced as a
//! whole between two steps.
//!
//! Interfaces, own addresses, routes, next hops and counters are in shared tables, which outlive
//! snapshots.

use std::sync::Arc;

use frame::{InterfaceId, Offloads, reassembly};

use crate::firewall::Firewall;
pub use crate::flow::MultipathHash;
use crate::ipsec::Ipsec;
pub use crate::prefix::Prefix;
use crate::routing_rules::RoutingRules;
use crate::service::Services;

/// The inputs of the walk that change only by configuration or link state.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Rises by one with each compile.
    pub epoch: u64,
    /// Port bindings, by port number.
    pub ports: Vec<PortBinding>,
    /// The device of some port spreads its frames over several workers by its own hash.
    pub spread_by_devices: bool,
    /// Settings of `/ip/settings` for the walk.
    pub ipv4: FamilySettings,
    /// Settings of `/ipv6/settings` for the walk.
    pub ipv6: FamilySettings,
    /// Enabled rules of `/routing/rule`, in order. Without rules every packet uses table 0 (main).
    pub rules: RoutingRules,
    /// True if ICMP redirects are sent.
    pub send_redirects: bool,
    /// Firewall rules, and the settings of connection tracking.
    pub firewall: Arc<Firewall>,
    /// Timeout of IPv4 fragments, and memory for those of all workers, where connections are
    /// tracked.
    pub fragments4: reassembly::Config,
    /// Offset of local time from UTC in seconds; positive in the east.
    pub zone_seconds: i32,
    /// The services of control.
    pub services: Arc<Services>,
    /// There are simple queues, or queue trees with parent `global`.
    pub queues: bool,
    /// IPsec policies and associations.
    pub ipsec: Ipsec,
}

impl Default for Snapshot {
    fn default() -> Self {
        Self {
            epoch: 0,
            ports: Vec::new(),
            spread_by_devices: false,
            ipv4: FamilySettings::default(),
            ipv6: FamilySettings::default(),
            rules: RoutingRules::default(),
            send_redirects: false,
            firewall: Arc::default(),
            fragments4: reassembly::Config::V4,
            zone_seconds: 0,
            services: Arc::default(),
            queues: false,
            ipsec: Ipsec::default(),
        }
    }
}

impl Snapshot {
    /// Returns true if packets take the walk of the fast path: besides routing, at most queues
    /// and IPsec policies apply.
    pub(crate) fn is_short(&self) -> bool {
        !self.has_firewall() && self.ipv4.is_short() && self.ipv6.is_short()
    }

    /// Returns true if neither queues nor IPsec policies apply to packets that take the walk of the fast path.
    #[inline(always)]
    pub(crate) fn is_routing_only(&self) -> bool {
        !self.queues && self.ipsec.is_empty()
    }

    /// Returns true if nothing but routing applies to packets. Pass 3 then counts the frames of
    /// VLANs and sessions, together with those of the fast path.
    pub(crate) fn is_fast_path(&self) -> bool {
        self.is_short() && self.is_routing_only()
    }

    /// Returns true if packets of some family meet rules or connection tracking.
    pub(crate) fn has_firewall(&self) -> bool {
        self.firewall.guards(false) || self.firewall.guards(true)
    }

    /// The settings of a family.
    #[inline(always)]
    pub const fn family(&self, ipv6: bool) -> &FamilySettings {
        match ipv6 {
            true => &self.ipv6,
            false => &self.ipv4,
        }
    }

    /// Returns true if two snapshots differ at most in their epoch.
    pub fn is_like(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.firewall, &other.firewall)
            && self.ports == other.ports
            && self.spread_by_devices == other.spread_by_devices
            && (self.ipv4, self.ipv6) == (other.ipv4, other.ipv6)
            && self.rules == other.rules
            && self.send_redirects == other.send_redirects
            && self.fragments4 == other.fragments4
            && self.zone_seconds == other.zone_seconds
            && self.services == other.services
            && self.queues == other.queues
            && self.ipsec == other.ipsec
    }

    /// Returns the binding of the port with this number.
    #[inline]
    pub fn port(&self, number: u16) -> Option<&PortBinding> {
        self.ports.get(usize::from(number))
    }
}

/// A port, as the walk sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortBinding {
    /// The interface whose frames the port carries. For a mirror: the mirrored interface; for the
    /// shared device: its own interface.
    pub interface: InterfaceId,
    /// The work that the port does by itself.
    pub offloads: Offloads,
    /// The origin of its frames.
    pub role: Role,
    /// Its frames are spread over the workers by flow, because it has fewer queues than there are
    /// workers.
    pub steer: bool,
    /// Workers with a queue of the port, by index, ascending. Other workers hand frames for the
    /// port to one of them. Empty: a worker uses only its own queues.
    pub workers: Vec<u16>,
}

/// The origin of a port's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// Other stations: frames walk from ingress on.
    #[default]
    Wire,
    /// This router's host stack: bare IP packets walk from output on.
    Mirror,
    /// The host stack behind all point-to-point interfaces: like [`Self::Mirror`], but link-local
    /// addresses name the interface (`zone.rs`).
    Shared,
}

/// The set of reasons why packets of a family take the slow path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowReasons(u8);

impl SlowReasons {
    /// Returns true if the set is empty.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the reasons in order.
    pub fn iter(self) -> impl Iterator<Item = SlowReason> {
        let all = SlowReason::ALL.into_iter();
        all.filter(move |reason| self.0 >> *reason as u8 & 1 != 0)
    }
}

impl FromIterator<SlowReason> for SlowReasons {
    fn from_iter<I: IntoIterator<Item = SlowReason>>(reasons: I) -> Self {
        let mut bits = 0;
        for reason in reasons {
            bits |= 1 << reason as u8;
        }
        Self(bits)
    }
}

/// The reason why a packet takes the slow path, shown by `print`, `trace` and `check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlowReason {
    /// `allow-fast-path=no`.
    NotAllowed,
    /// `/routing/rule` has enabled rules.
    RoutingRules,
    /// `rp-filter` is not `no`.
    ReversePathFilter,
    /// A firewall table has enabled rules.
    FirewallRules,
    /// Connections are tracked.
    ConnectionTracking,
    /// There are simple queues, or queue trees with parent `global`.
    Queues,
    /// `/ip/ipsec/policy` has enabled policies.
    IpsecPolicies,
}

impl SlowReason {
    /// All reasons, in order.
    pub const ALL: [Self; 7] = [
        Self::NotAllowed,
        Self::RoutingRules,
        Self::ReversePathFilter,
        Self::FirewallRules,
        Self::ConnectionTracking,
        Self::Queues,
        Self::IpsecPolicies,
    ];

    /// Returns the explanation for users.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NotAllowed => "allow-fast-path=no",
            Self::RoutingRules => "/routing/rule has enabled rules",
            Self::ReversePathFilter => "rp-filter checks the route back to the source",
            Self::FirewallRules => "the firewall has rules",
            Self::ConnectionTracking => "connection tracking is on",
            Self::Queues => "there are simple queues or queue trees with parent global",
            Self::IpsecPolicies => "/ip/ipsec/policy has enabled policies",
        }
    }
}

/// The strictness of the reverse path check (RFC 3704).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RpFilter {
    /// No check.
    #[default]
    No,
    /// The best route to the source leaves by the ingress interface.
    Strict,
    /// There is a route to the source.
    Loose,
}

/// Settings of one address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FamilySettings {
    /// Packets for other hosts are forwarded.
    pub forward: bool,
    /// `allow-fast-path`.
    pub allow_fast_path: bool,
    /// The fields that select a gateway of a multipath route.
    pub multipath_hash: MultipathHash,
    /// The strictness of the reverse path check.
    pub rp_filter: RpFilter,
    /// The reasons against the fast path; empty: packets take the fast path.
    pub slow: SlowReasons,
}

impl FamilySettings {
    /// Returns true if packets take the fast path.
    #[inline(always)]
    pub const fn is_fast(&self) -> bool {
        self.slow.is_empty()
    }

    /// Returns true if packets take the walk of the fast path: at most IPsec policies apply in it, and queues
    /// behind it.
    #[inline(always)]
    pub const fn is_short(&self) -> bool {
        const WITHIN: u8 = 1 << SlowReason::Queues as u8 | 1 << SlowReason::IpsecPolicies as u8;
        self.slow.0 & !WITHIN == 0
    }

    /// Returns true if the reverse path is checked.
    #[inline(always)]
    pub const fn checks_way_back(&self) -> bool {
        !matches!(self.rp_filter, RpFilter::No)
    }
}
