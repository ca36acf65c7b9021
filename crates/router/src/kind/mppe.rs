//! PPP sessions encrypted by MPPE (RFC 3078).

use dataplane::encap::Encapsulation;
use dataplane::encap::mppe::{Ciphers, Mppe as Encryption};
use dataplane::out::OutId;

use super::{AnyKind, IfType, Kind, Site, carrier};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Name};

/// Bytes that the encryption adds to a packet: protocol field, flags and count.
pub(crate) const OVERHEAD: u16 = 4;

/// An open session with encryption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mppe {
    /// The session without encryption, with or without multilink framing.
    pub(crate) session: AnyKind,
    /// The longest packet in bytes that the link carries whole.
    pub(crate) mtu: u16,
    /// Keys and counts of both directions.
    pub(crate) ciphers: Ciphers,
}

impl Kind for Mppe {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        self.session.lay_out(entry, site);
        if entry.invalid || entry.disabled {
            return;
        }
        let (framing, carrier) = match entry.tunnel.take() {
            Some(Encapsulation::Multilink(framing)) => {
                let carrier = framing.carrier.clone();
                (Some(framing), carrier)
            }
            session => {
                entry.tunnel = session;
                (None, carrier::of(entry))
            }
        };
        let carries = match entry.carries {
            0 => u16::MAX,
            carries => u16::try_from(carries).unwrap_or(u16::MAX),
        };
        let encryption = Encryption {
            id: site.id,
            carrier,
            mtu: framing
                .as_ref()
                .map_or(self.mtu.min(carries), |framing| framing.mtu),
            framing,
            ciphers: self.ciphers.clone(),
        };
        entry.carries = entry.carries.saturating_sub(OVERHEAD.into());
        entry.link.out = OutId::tunnel(site.id);
        entry.tunnel = Some(encryption.into());
    }

    fn if_type(&self, class: Class) -> IfType {
        self.session.if_type(class)
    }

    fn stands_on(&self) -> Option<&Name> {
        self.session.stands_on()
    }
}
