//! Punts: packets handed to control, and the reasons.

use frame::Frame;

use crate::drop::DropReason;
use crate::rule::{Event, Reject};
use crate::service::ServiceId;
use crate::table::NextHopId;

/// The reason for a punt, which determines what control does. The packet is unchanged, unless
/// noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PuntReason {
    /// A frame or packet of a service of control. `frame.l3` is the offset of its content; tags are
    /// removed.
    Service {
        /// The service.
        id: ServiceId,
        /// The packet has passed the rules of `input`.
        meets_rules: bool,
    },
    /// A packet for one of this router's addresses (or a joined group) without a service or mirror,
    /// or a fragment that may belong to a service.
    Local,
    /// The next hop has no link address yet. Control resolves it, writes the adjacency, and returns
    /// the packet by `Command::Resume`, which walks it again. With [`NextHopId::NO_ROUTE`]: the
    /// neighbour is the destination itself on `frame.egress` (a link-local address).
    Unresolved(NextHopId),
    /// The TTL has expired: control sends time exceeded (rate limited); the packet is dropped.
    TtlExceeded,
    /// The packet exceeds this layer-3 MTU in bytes of its egress link and must not be fragmented.
    TooBig(u32),
    /// There is no route: control sends net unreachable.
    NoRoute,
    /// A route or rule of type unreachable: control sends host unreachable.
    Unreachable,
    /// A route or rule of type prohibit: control sends administratively prohibited.
    Prohibit,
    /// The packet leaves by its ingress interface; a redirect may be owed. The packet itself was
    /// forwarded; this is a copy of its first 128 bytes.
    Redirect(NextHopId),
    /// IPv6 source or destination beyond its scope (RFC 4443, 3.1, code 2).
    BeyondScope,
    /// An IPv4 option at this offset in the packet is malformed (RFC 792, parameter problem).
    ParameterProblem(u16),
    /// An unknown IPv6 option at this offset in the packet requires a parameter problem (RFC 4443,
    /// 3.4, code 2).
    UnknownOption(u16),
    /// A rule rejects the packet: control sends the error of the rule.
    Rejected(Reject),
    /// A rule tarpits a TCP connection: control accepts it and then ignores it.
    Tarpit,
    /// An event of a rule. The packet itself continues; this is a copy of its beginning.
    RuleEvent(Event),
    /// The IPsec policy in this slot has no keys yet: control negotiates them; the packet is
    /// dropped.
    Unprotected(u32),
    /// The WireGuard peer with this number has no session: control begins a handshake and holds the
    /// packet.
    Keyless(u32),
    /// A bridge port received a frame with an address of that bridge as its source. The frame was
    /// bridged; this is a copy of its MAC addresses.
    OwnSource,
}

impl PuntReason {
    /// Returns the name in traces and counters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service { .. } => "service",
            Self::Local => "local",
            Self::Unresolved(_) => "unresolved",
            Self::TtlExceeded => "ttl-exceeded",
            Self::TooBig(_) => "too-big",
            Self::NoRoute => "no-route",
            Self::Unreachable => "unreachable",
            Self::Prohibit => "prohibit",
            Self::Redirect(_) => "redirect",
            Self::BeyondScope => "beyond-scope",
            Self::ParameterProblem(_) => "parameter-problem",
            Self::UnknownOption(_) => "unknown-option",
            Self::Rejected(_) => "rejected",
            Self::Tarpit => "tarpit",
            Self::RuleEvent(_) => "told",
            Self::Unprotected(_) => "unprotected",
            Self::Keyless(_) => "keyless",
            Self::OwnSource => "own-source",
        }
    }
}

impl PuntReason {
    /// Returns the explanation in traces.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Service { .. } => "the packet is for a service of this router",
            Self::Local => "the packet is addressed to this router",
            Self::Unresolved(_) => "the MAC address of the next hop is not known yet",
            Self::TtlExceeded => "the TTL or hop limit is exhausted",
            Self::TooBig(_) => {
                "the packet exceeds the MTU of the egress link and must not be fragmented"
            }
            Self::NoRoute => "there is no route to the destination",
            Self::Unreachable => "the route has type unreachable",
            Self::Prohibit => "the route has type prohibit",
            Self::Redirect(_) => "the sender should use a better router (redirect)",
            Self::BeyondScope => "a link-local address is not valid beyond its link",
            Self::ParameterProblem(_) => "a header option is malformed",
            Self::UnknownOption(_) => "a header option is unknown",
            Self::Rejected(_) => "a rule rejects the packet",
            Self::Tarpit => "a rule holds the connection (tarpit)",
            Self::RuleEvent(_) => "a rule logs or copies the packet",
            Self::Unprotected(_) => {
                "an IPsec policy protects the packet, and there are no keys yet"
            }
            Self::Keyless(_) => "there is no session with the WireGuard peer yet",
            Self::OwnSource => "the source MAC address is an address of the bridge itself",
        }
    }
}

/// Number of reasons.
pub const REASONS: usize = 18;

impl PuntReason {
    /// Returns the index of the reason's counter, below [`REASONS`].
    pub const fn index(self) -> usize {
        match self {
            Self::Service { .. } => 0,
            Self::Local => 1,
            Self::Unresolved(_) => 2,
            Self::TtlExceeded => 3,
            Self::TooBig(_) => 4,
            Self::NoRoute => 5,
            Self::Unreachable => 6,
            Self::Prohibit => 7,
            Self::Redirect(_) => 8,
            Self::BeyondScope => 9,
            Self::ParameterProblem(_) => 10,
            Self::UnknownOption(_) => 11,
            Self::Rejected(_) => 12,
            Self::Tarpit => 13,
            Self::RuleEvent(_) => 14,
            Self::Unprotected(_) => 15,
            Self::Keyless(_) => 16,
            Self::OwnSource => 17,
        }
    }

    /// Returns the name of the reason with this index.
    pub const fn name_at(index: usize) -> &'static str {
        const NAMES: [&str; REASONS] = [
            "service",
            PuntReason::Local.name(),
            PuntReason::Unresolved(NextHopId::NO_ROUTE).name(),
            PuntReason::TtlExceeded.name(),
            PuntReason::TooBig(0).name(),
            PuntReason::NoRoute.name(),
            PuntReason::Unreachable.name(),
            PuntReason::Prohibit.name(),
            PuntReason::Redirect(NextHopId::NO_ROUTE).name(),
            PuntReason::BeyondScope.name(),
            PuntReason::ParameterProblem(0).name(),
            PuntReason::UnknownOption(0).name(),
            PuntReason::Rejected(Reject::TcpReset).name(),
            PuntReason::Tarpit.name(),
            "told",
            PuntReason::Unprotected(0).name(),
            PuntReason::Keyless(0).name(),
            PuntReason::OwnSource.name(),
        ];
        NAMES[index % REASONS]
    }

    /// Returns the drop reason, if control can only send an error about the packet. The worker has
    /// counted the drop.
    pub const fn discards(self) -> Option<DropReason> {
        match self {
            Self::TtlExceeded => Some(DropReason::TtlExceeded),
            Self::TooBig(_) => Some(DropReason::TooBig),
            Self::NoRoute => Some(DropReason::NoRoute),
            Self::Unreachable => Some(DropReason::Unreachable),
            Self::Prohibit => Some(DropReason::Prohibit),
            Self::BeyondScope => Some(DropReason::Ipv6BeyondScope),
            Self::ParameterProblem(_) => Some(DropReason::Ipv4Options),
            Self::UnknownOption(_) => Some(DropReason::Ipv6UnknownOption),
            Self::Rejected(_) => Some(DropReason::FirewallReject),
            Self::Tarpit => Some(DropReason::FirewallTarpit),
            Self::Unprotected(_) => Some(DropReason::IpsecNoKeys),
            Self::Service { .. }
            | Self::Local
            | Self::Unresolved(_)
            | Self::Redirect(_)
            | Self::RuleEvent(_)
            | Self::Keyless(_)
            | Self::OwnSource => None,
        }
    }

    /// Returns true if remote senders determine how often the reason occurs. Such punts may not use
    /// the share of the ring that is reserved for services, which have rate limits.
    pub const fn is_bulk(self) -> bool {
        !matches!(self, Self::Service { .. })
    }
}

/// A packet on its way to control.
#[derive(Debug)]
pub struct Punt {
    /// The packet, from its Ethernet header on; `ingress` and `l3` are set.
    pub frame: Frame,
    /// The reason.
    pub why: PuntReason,
}
