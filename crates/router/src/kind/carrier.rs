//! The carrier of a PPP session, for the kinds that encrypt, split or bridge its packets.

use dataplane::encap::Encapsulation;
use dataplane::encap::carrier::Carrier;

use crate::compile::LayoutEntry;

/// Takes the carrier of a session that was laid out without further encapsulations.
pub(super) fn of(entry: &mut LayoutEntry) -> Carrier {
    match entry.tunnel.take() {
        Some(Encapsulation::L2tp(session)) => session.into(),
        Some(Encapsulation::Plain(session)) => session.carrier,
        _ => entry.link.out.into(),
    }
}
