//! The carrier of a PPP session.

use crate::encap::l2tp::L2tp;
use crate::encap::pptp::Pptp;
use crate::encap::stream::Stream;
use crate::out::OutId;

/// The carrier of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// PPPoE on the interface with this out.
    Pppoe(OutId),
    /// L2TP in UDP datagrams.
    L2tp(L2tp),
    /// PPTP in GRE packets.
    Pptp(Pptp),
    /// A byte stream, such as that of SSTP.
    Stream(Stream),
}

impl From<OutId> for Carrier {
    fn from(out: OutId) -> Self {
        Self::Pppoe(out)
    }
}

impl From<L2tp> for Carrier {
    fn from(session: L2tp) -> Self {
        Self::L2tp(session)
    }
}

impl From<Pptp> for Carrier {
    fn from(call: Pptp) -> Self {
        Self::Pptp(call)
    }
}

impl From<Stream> for Carrier {
    fn from(session: Stream) -> Self {
        Self::Stream(session)
    }
}
