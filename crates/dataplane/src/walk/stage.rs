//! The stages of the walk, by name.

/// The stages, in the packet's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// What comes by the port of a bridge, and what leaves by one.
    Bridging,
    /// Link header and interface.
    Ingress,
    /// Header checks.
    Prerouting,
    /// Rules, table, next hop; local delivery is decided here.
    Routing,
    /// What looks at packets for this router.
    Input,
    /// Lifetime and size, and what looks at packets for others.
    Forward,
    /// What looks at this router's own packets.
    Output,
    /// What looks at packets that are about to leave.
    Postrouting,
    /// Link header and queue.
    Egress,
}

impl Stage {
    /// The name that traces show.
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
