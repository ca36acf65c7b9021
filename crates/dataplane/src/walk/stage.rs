//! The stages of the walk, by name.

/// The stages, in the packet's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Frames received or sent by a port of a bridge.
    Bridging,
    /// Link header and interface.
    Ingress,
    /// Header checks.
    Prerouting,
    /// Rules, table, next hop; local delivery is decided here.
    Routing,
    /// Rules and receivers of packets for this router.
    Input,
    /// Lifetime, size and rules of packets for other hosts.
    Forward,
    /// Rules for this router's own packets.
    Output,
    /// Mangle and source NAT of packets that leave.
    Postrouting,
    /// Link header and queue.
    Egress,
}

impl Stage {
    /// Returns the name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bridging => "bridging",
            Self::Ingress => "ingress",
            Self::Prerouting => "prerouting",
            Self::Routing => "routing",
            Self::Input => "input",
            Self::Forward => "forward",
            Self::Output => "output",
            Self::Postrouting => "postrouting",
            Self::Egress => "egress",
        }
    }
}
