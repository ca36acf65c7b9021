//! Why a packet is handed to control.

use frame::Frame;

use crate::table::NextHopId;

/// What control is asked to do about a packet. The packet is as it arrived, unless noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// An ARP packet; `frame.l3` is where it begins.
    Arp,
    /// For one of this router's own addresses (or a group that it joined): ICMP, ND and what no
    /// mirror device takes.
    Local,
    /// The next hop's link address is not known: resolve it, and send the packet on through
    /// `Command::Transmit` or `Command::Resume`.
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
    /// A header field or option is in error (RFC 792 parameter problem, RFC 4443 3.4), at this
    /// offset in the network header.
    ParameterProblem(u16),
}

impl Why {
    /// The name that traces and counters show.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arp => "arp",
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
        }
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
