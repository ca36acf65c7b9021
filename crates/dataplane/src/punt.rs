//! Punts: packets handed to control, and the reasons.

use frame::Frame;

use crate::drop::DropReason;
use crate::rule::{Event, Reject};
use crate::service::ServiceId;
use crate::table::NextHopId;

/// What control is asked to do about a packet. The packet is as it arrived, unless noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A frame or packet of a service that control hears; `frame.l3` is where what it carries begins,
    /// and tags are off.
    Service {
        /// The service.
        id: ServiceId,
        /// It is a packet that rules of `input` have let pass.
        meets_rules: bool,
    },
    /// For one of this router's own addresses (or a group that it joined), and neither of a service nor
    /// for a mirror; or a fragment of what may be a service's.
    Local,
    /// The next hop's link address is not known: resolve it, write the adjacency, and give the
    /// packet back through `Command::Resume`, which walks it again. With [`NextHopId::NO_ROUTE`]:
    /// the neighbour is the destination itself on `frame.egress` (a link-local address).
    Unresolved(NextHopId),
    /// The lifetime is spent: time exceeded is owed (rate limited) and the packet is dropped.
    TtlExceeded,
    /// Larger than the next link's MTU in bytes and not to be fragmented.
    TooBig(u32),
    /// No route: net unreachable is owed.
    NoRoute,
    /// A route or rule of type unreachable: host unreachable is owed.
    Unreachable,
    /// A route or rule of type prohibit: administratively prohibited is owed.
    Prohibit,
    /// The packet leaves by the interface that it came in by; a redirect may be owed. The packet
    /// itself was forwarded; this is a copy of its first 128 bytes.
    Redirect(NextHopId),
    /// IPv6 source or destination beyond its scope (RFC 4443, 3.1, code 2).
    BeyondScope,
    /// An IPv4 option is in error (RFC 792, parameter problem), at this offset in the packet.
    ParameterProblem(u16),
    /// An IPv6 option is not known, and asks for its sender to be told (RFC 4443, 3.4, code 2). It is at
    /// this offset in the packet.
    UnknownOption(u16),
    /// A rule rejects it: its sender is told so.
    Rejected(Reject),
    /// A rule holds the TCP connection that it would begin: it is answered, and never served.
    Tarpit,
    /// A rule tells control about it; the packet itself goes its way, and this is a copy of its
    /// beginning.
    Told(Event),
    /// The policy of IPsec in this slot protects it, and there are no keys yet: they are owed, and the packet is
    /// dropped.
    Unprotected(u32),
    /// The peer of WireGuard with this number has no session to send it by: a handshake is owed, and the packet waits
    /// for that.
    Keyless(u32),
    /// A frame came by a bridge port with an address of that bridge as its source. It is bridged on, and this is a copy
    /// of its link addresses.
    OwnSource,
}

impl Why {
    /// The name that traces and counters show.
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
            Self::Told(_) => "told",
            Self::Unprotected(_) => "unprotected",
            Self::Keyless(_) => "keyless",
            Self::OwnSource => "own-source",
        }
    }
}

impl Why {
    /// The sentence that a trace shows.
    pub const fn explain(self) -> &'static str {
        match self {
            Self::Service { .. } => "a service of this router takes it",
            Self::Local => "it is for this router",
            Self::Unresolved(_) => "the link address of the next hop is not known yet",
            Self::TtlExceeded => "its lifetime (TTL, hop limit) is over",
            Self::TooBig(_) => "it is too long for the next link, and not to be fragmented",
            Self::NoRoute => "there is no route to its destination",
            Self::Unreachable => "its route is of type unreachable",
            Self::Prohibit => "its route is of type prohibit",
            Self::Redirect(_) => "its sender can be told a shorter way",
            Self::BeyondScope => "one of its addresses is not valid beyond its link",
            Self::ParameterProblem(_) => "an option in its header is wrong",
            Self::UnknownOption(_) => "an option in its header is not known",
            Self::Rejected(_) => "a rule rejects it",
            Self::Tarpit => "a rule holds its connection (tarpit)",
            Self::Told(_) => "a rule has it logged or copied",
            Self::Unprotected(_) => "a policy of IPsec protects it, and there are no keys yet",
            Self::Keyless(_) => "there is no session with its WireGuard peer yet",
            Self::OwnSource => "its source is an address of the bridge that it came to",
        }
    }
}

/// How many reasons there are.
pub const REASONS: usize = 18;

impl Why {
    /// The index of its counter, below [`REASONS`].
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
            Self::Told(_) => 14,
            Self::Unprotected(_) => 15,
            Self::Keyless(_) => 16,
            Self::OwnSource => 17,
        }
    }

    /// The name of the reason with this index.
    pub const fn name_at(index: usize) -> &'static str {
        const NAMES: [&str; REASONS] = [
            "service",
            Why::Local.name(),
            Why::Unresolved(NextHopId::NO_ROUTE).name(),
            Why::TtlExceeded.name(),
            Why::TooBig(0).name(),
            Why::NoRoute.name(),
            Why::Unreachable.name(),
            Why::Prohibit.name(),
            Why::Redirect(NextHopId::NO_ROUTE).name(),
            Why::BeyondScope.name(),
            Why::ParameterProblem(0).name(),
            Why::UnknownOption(0).name(),
            Why::Rejected(Reject::TcpReset).name(),
            Why::Tarpit.name(),
            "told",
            Why::Unprotected(0).name(),
            Why::Keyless(0).name(),
            Why::OwnSource.name(),
        ];
        NAMES[index % REASONS]
    }

    /// The reason under which the packet itself is lost, when all that control can do is to tell
    /// its sender. The worker has counted it.
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
            | Self::Told(_)
            | Self::Keyless(_)
            | Self::OwnSource => None,
        }
    }

    /// Whether strangers decide how often it happens: such punts leave a share of the ring to services,
    /// each of which has a limit.
    pub const fn is_bulk(self) -> bool {
        !matches!(self, Self::Service { .. })
    }
}

/// A packet on its way to control.
#[derive(Debug)]
pub struct Punt {
    /// The packet, from its Ethernet header on; `ingress` and `l3` are set.
    pub frame: Frame,
    /// What is asked.
    pub why: Why,
}
