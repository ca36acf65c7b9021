//! PPP sessions that carry frames of a bridge (BCP, RFC 3518).

use dataplane::encap::Encapsulation;
use dataplane::encap::bridged::Bridged as Encapsulated;
use dataplane::out::OutId;
use ppp::{BRIDGED, BridgeLink};

use super::{AnyKind, IfType, Kind, Site, carrier};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Name};

/// Bytes in front of a bridged packet: flags, MAC type, and the Ethernet header.
pub(crate) const OVERHEAD: u16 = 16;

/// An open bridged session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bridged {
    /// The session without frames, with or without multilink framing and encryption.
    pub(crate) session: AnyKind,
    /// The longest packet in bytes that the link carries whole.
    pub(crate) mtu: u16,
    /// Frames that the other end takes.
    pub(crate) takes: BridgeLink,
}

impl Kind for Bridged {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        self.session.lay_out(entry, site);
        if entry.invalid || entry.disabled {
            return;
        }
        let (encryption, framing) = match entry.tunnel.take() {
            Some(Encapsulation::Mppe(encryption)) => {
                let framing = encryption.framing.clone();
                (Some(encryption), framing)
            }
            Some(Encapsulation::Multilink(framing)) => (None, Some(framing)),
            session => {
                entry.tunnel = session;
                (None, None)
            }
        };
        let (carrier, mtu) = match (&encryption, &framing) {
            (Some(below), _) => (below.carrier.clone(), below.mtu),
            (None, Some(below)) => (below.carrier.clone(), below.mtu),
            (None, None) => (carrier::of(entry), self.link_mtu(entry.carries)),
        };
        let encapsulated = Encapsulated {
            id: site.id,
            carrier,
            mtu,
            header: header(entry),
            has_tags: self.takes.has_tags,
            has_bpdus: self.takes.has_inline_management,
            encryption,
            framing,
        };
        entry.carries = entry.carries.saturating_sub(OVERHEAD.into());
        entry.link.ethernet = true;
        entry.link.out = OutId::tunnel(site.id);
        entry.tunnel = Some(encapsulated.into());
    }

    fn if_type(&self, class: Class) -> IfType {
        self.session.if_type(class)
    }

    fn stands_on(&self) -> Option<&Name> {
        self.session.stands_on()
    }
}

impl Bridged {
    /// Returns the MTU of the link, which the interface below may limit; 0 is no limit.
    fn link_mtu(&self, carries: u32) -> u16 {
        match u16::try_from(carries) {
            Ok(carries @ 1..) => self.mtu.min(carries),
            _ => self.mtu,
        }
    }
}

/// Returns the headers in front of a packet: Ethernet, VLAN tags and PPPoE without length, if the session has them, and
/// the protocol field.
fn header(entry: &LayoutEntry) -> Box<[u8]> {
    let Some(session) = entry.link.session else {
        return BRIDGED.to_be_bytes().into();
    };
    let mut header = [session.peer.0, entry.link.mac.0].concat();
    for (ethertype, vlan_id) in &entry.link.tags {
        header.extend(ethertype.to_be_bytes());
        header.extend(vlan_id.to_be_bytes());
    }
    header.extend(wire::EtherType::PPPOE_SESSION.0.to_be_bytes());
    header.extend(session.header(false));
    let protocol = header.len() - 2;
    header[protocol..].copy_from_slice(&BRIDGED.to_be_bytes());
    header.into()
}
