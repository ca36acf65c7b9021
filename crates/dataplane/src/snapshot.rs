//! The snapshot: settings, port bindings and rules, compiled by control, immutable, replaced as a whole between two
//! steps.
//!
//! Interfaces, own addresses, routes, next hops and counters are not in it: they are in shared tables and outlive it.

use std::sync::Arc;

use frame::{InterfaceId, Offloads, reassembly};

use crate::firewall::Firewall;
pub use crate::flow::MultipathHash;
use crate::ipsec::Ipsec;
use crate::service::Services;

/// Everything that the walk reads and that changes only by configuration or link state.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Rises by one with each compile.
    pub epoch: u64,
    /// By port number: what stands behind each port.
    pub ports: Vec<PortBinding>,
    /// The device of some port spreads its frames over several workers, by a hash of its own.
    pub spread_by_devices: bool,
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
    /// The services that control hears.
    pub services: Arc<Services>,
    /// There are simple queues, or queues of `global`.
    pub queues: bool,
    /// What IPsec protects, and how.
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
            rules: Vec::new(),
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
    /// Whether nothing but queues looks at packets beside routing: they take the walk of the fast path.
    pub(crate) const fn is_short(&self) -> bool {
        self.ipv4.is_short() && self.ipv6.is_short()
    }

    /// Whether nothing looks at packets but routing. What interfaces on the receiving one receive is counted in pass 3
    /// then, together with what goes by the fast path.
    pub(crate) fn is_fast_path(&self) -> bool {
        let guards = self.firewall.guards(false) || self.firewall.guards(true);
        !guards && self.is_short() && !self.queues
    }

    /// The settings of a family.
    #[inline(always)]
    pub const fn family(&self, ipv6: bool) -> &FamilySettings {
        match ipv6 {
            true => &self.ipv6,
            false => &self.ipv4,
        }
    }

    /// Whether it says the same as another, but for its epoch.
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

    /// What stands behind the port with this number.
    #[inline]
    pub fn port(&self, number: u16) -> Option<&PortBinding> {
        self.ports.get(usize::from(number))
    }
}

/// A port, as the walk sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortBinding {
    /// The interface whose frames it carries. For a mirror: the interface that it mirrors; for the shared one: itself.
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
    /// The host stack behind all point-to-point interfaces: as [`Self::Mirror`], but link-local addresses name the
    /// interface (`zone.rs`).
    Shared,
}

/// Why packets of a family walk the slow path: a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlowReasons(u8);

impl SlowReasons {
    /// Whether there is none.
    #[inline(always)]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The reasons, in their order.
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
    /// There are simple queues, or queues of `global`.
    Queues,
    /// `/ip/ipsec/policy` has enabled policies.
    IpsecPolicies,
}

impl SlowReason {
    /// All of them, in their order.
    pub const ALL: [Self; 7] = [
        Self::NotAllowed,
        Self::RoutingRules,
        Self::ReversePathFilter,
        Self::FirewallRules,
        Self::ConnectionTracking,
        Self::Queues,
        Self::IpsecPolicies,
    ];

    /// The sentence that a user reads.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::NotAllowed => "allow-fast-path=no",
            Self::RoutingRules => "/routing/rule has enabled rules",
            Self::ReversePathFilter => "rp-filter checks the way back to the source",
            Self::FirewallRules => "the firewall has rules",
            Self::ConnectionTracking => "connections are tracked",
            Self::Queues => "there are simple queues, or a queue tree of global",
            Self::IpsecPolicies => "/ip/ipsec/policy has enabled policies",
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

/// Settings of one address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FamilySettings {
    /// Packets for others are forwarded.
    pub forward: bool,
    /// `allow-fast-path`.
    pub allow_fast_path: bool,
    /// How flows spread over gateways.
    pub multipath_hash: MultipathHash,
    /// How strictly the way back is checked.
    pub rp_filter: RpFilter,
    /// Why packets do not take the shortest walk; empty: they do.
    pub slow: SlowReasons,
}

impl FamilySettings {
    /// Whether packets take the shortest walk.
    #[inline(always)]
    pub const fn is_fast(&self) -> bool {
        self.slow.is_empty()
    }

    /// Whether the shortest walk does for packets: only queues behind it look at them.
    #[inline(always)]
    pub const fn is_short(&self) -> bool {
        self.slow.0 & !(1 << SlowReason::Queues as u8) == 0
    }

    /// Whether the way back is checked.
    #[inline(always)]
    pub const fn checks_way_back(&self) -> bool {
        !matches!(self.rp_filter, RpFilter::No)
    }
}

/// A rule of `/routing/rule`, compiled. All conditions that are given must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Prefix {
    /// Its first address.
    #[inline]
    pub fn masked(&self) -> u128 {
        let width: u32 = if self.ipv6 { 128 } else { 32 };
        match width.saturating_sub(self.len.into()) {
            128 => 0,
            host => self.bits >> host << host,
        }
    }
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
