//! The ends of a packet's walk, as values: stages return them, and `settle` acts on them.

use frame::InterfaceId;

use crate::drop::DropReason;
use crate::out::OutId;
use crate::punt::PuntReason;

/// How a packet leaves its walk, other than by the next hop's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The packet is discarded under this name.
    Drop(DropReason),
    /// The packet is handed to control with a reason.
    Punt(PuntReason),
    /// Copies of the frame leave by ports of its bridge; the frame itself ends.
    Flood,
    /// The fragment is held until its datagram is complete.
    Collect,
    /// The packet is handed to the worker that owns its connection.
    HandOver(u16),
    /// The packet is delivered to the host stack by this mirror port, without link header.
    Deliver(u16),
    /// The tunnel of this interface decapsulates the packet; the inner packet is walked.
    Decapsulate(InterfaceId),
    /// The PPP session of this interface decrypts the packet or reassembles the multilink fragment; the packet is
    /// walked then.
    Join(InterfaceId),
    /// IPsec decapsulates the packet; the inner packet is walked.
    Reveal,
    /// The packet joins the byte stream that carries its session.
    Stream,
    /// The packet has its link header, but exceeds the MTU of its link, or is to be segmented or checksummed before
    /// the out takes it.
    Finish {
        /// The out of the pieces.
        out: OutId,
        /// The link's layer-3 MTU in bytes.
        mtu: u32,
    },
}

impl Exit {
    /// Returns true if the packet is for this router and passes `input`.
    pub const fn is_local(self) -> bool {
        match self {
            Self::Deliver(_)
            | Self::Decapsulate(_)
            | Self::Reveal
            | Self::Punt(PuntReason::Local) => true,
            Self::Punt(PuntReason::Service { meets_rules, .. }) => meets_rules,
            _ => false,
        }
    }
}

impl Exit {
    /// Returns true if a tunnel or IPsec decapsulates the packet.
    #[inline(always)]
    pub(super) const fn decapsulates(self) -> bool {
        matches!(self, Self::Decapsulate(_) | Self::Reveal)
    }
}

impl core::fmt::Display for Exit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Drop(reason) => write!(f, "drop: {}", reason.name()),
            Self::Punt(why) => f.write_str(why.explain()),
            Self::Flood => f.write_str("flooded to ports of the bridge"),
            Self::Collect => write!(f, "held until the datagram is complete"),
            Self::HandOver(_) => f.write_str("handed over to the worker that owns the connection"),
            Self::Deliver(_) => f.write_str("addressed to this router"),
            Self::Decapsulate(_) => f.write_str("addressed to this router: a tunnel packet"),
            Self::Join(_) => {
                f.write_str("an encrypted packet or a multilink fragment of a PPP session")
            }
            Self::Reveal => f.write_str("addressed to this router: an IPsec packet"),
            Self::Stream => f.write_str("into the byte stream of its session"),
            Self::Finish { mtu, .. } => write!(f, "in fragments of at most {mtu} bytes"),
        }
    }
}
