//! The ends of a packet's walk, as values: stages return them, and `settle` acts on them.

use frame::InterfaceId;

use crate::drop::DropReason;
use crate::out::OutId;
use crate::punt::Why;

/// How a packet leaves its walk, other than by the next hop's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Discarded.
    Drop(DropReason),
    /// Handed to control.
    Punt(Why),
    /// Copies of it leave by ports of its bridge, and it ends there.
    Flood,
    /// Held here until all fragments of its datagram have come.
    Collect,
    /// Walked by this other worker, whose connection it belongs to.
    HandOver(u16),
    /// Given to the host stack, without its link header, by this mirror port.
    Deliver(u16),
    /// It is the packet of this interface's tunnel: the one in it is taken out and walked.
    Decapsulate(InterfaceId),
    /// It is a packet of IPsec: the one in it is taken out and walked.
    Reveal,
    /// Rewritten already, but too long for its link (of this layer-3 MTU) or unfinished: fragments,
    /// segments and checksums are made before this port takes it.
    Finish {
        /// What takes the pieces.
        out: OutId,
        /// The link's layer-3 MTU in bytes.
        mtu: u32,
    },
}

impl Exit {
    /// Whether the packet is for this router, and so meets `input`.
    pub const fn is_local(self) -> bool {
        match self {
            Self::Deliver(_) | Self::Decapsulate(_) | Self::Reveal | Self::Punt(Why::Local) => true,
            Self::Punt(Why::Service { meets_rules, .. }) => meets_rules,
            _ => false,
        }
    }
}

impl core::fmt::Display for Exit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Drop(reason) => write!(f, "drop: {}", reason.name()),
            Self::Punt(why) => f.write_str(why.explain()),
            Self::Flood => f.write_str("copies leave by ports of the bridge"),
            Self::Collect => write!(f, "held until its datagram is whole"),
            Self::HandOver(_) => f.write_str("it is of another worker's connection"),
            Self::Deliver(_) => f.write_str("it is for this router"),
            Self::Decapsulate(_) => f.write_str("it is for this router: the packet of a tunnel"),
            Self::Reveal => f.write_str("it is for this router: a packet of IPsec"),
            Self::Finish { mtu, .. } => write!(f, "in pieces of {mtu} bytes at most"),
        }
    }
}
