//! PPP sessions with multilink framing on their one link (RFC 1990): the interface takes packets up to the MRRU of the
//! other end, and long ones travel in fragments.

use dataplane::encap::multilink::{Multilink as Framing, Sequence};
use dataplane::out::OutId;

use super::{AnyKind, IfType, Kind, Site, carrier};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Name};

/// An open session with multilink framing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Multilink {
    /// The session without the framing.
    pub(crate) session: AnyKind,
    /// The longest packet in bytes that the link carries whole.
    pub(crate) mtu: u16,
    /// MRRU of the other end.
    pub(crate) transmit_mrru: u16,
    /// MRRU of this end.
    pub(crate) receive_mrru: u16,
    /// Sequence number of the fragments.
    pub(crate) sequence: Sequence,
}

impl Kind for Multilink {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        self.session.lay_out(entry, site);
        if entry.invalid || entry.disabled {
            return;
        }
        let carries = u16::try_from(entry.carries).unwrap_or(u16::MAX);
        let framing = Framing {
            id: site.id,
            carrier: carrier::of(entry),
            mtu: if carries == 0 {
                self.mtu
            } else {
                self.mtu.min(carries)
            },
            mrru: self.receive_mrru,
            sequence: self.sequence.clone(),
        };
        entry.carries = self.transmit_mrru.max(self.mtu).into();
        entry.link.out = OutId::tunnel(site.id);
        entry.tunnel = Some(framing.into());
    }

    fn if_type(&self, class: Class) -> IfType {
        self.session.if_type(class)
    }

    fn stands_on(&self) -> Option<&Name> {
        self.session.stands_on()
    }
}
