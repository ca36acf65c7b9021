//! PPPoE sessions (RFC 2516): `/interface/pppoe-client`, and bindings and dynamic interfaces of
//! `/interface/pppoe-server`.
//!
//! An item without an open session is idle. The feature that has the sessions (`feature/ppp/`) announces it again with
//! this kind while its session is open.

use dataplane::interface::Session;
use menu::Item;
use wire::Mac;

use super::{AnyKind, Idle, IfType, Kind, Registration, Site};
use crate::compile::LayoutEntry;
use crate::intent::{Class, Interface, Name};
use crate::read;

/// Menu of clients.
pub(crate) const CLIENT_MENU: &str = "/interface/pppoe-client";
/// Menu of server interfaces.
pub(crate) const SERVER_MENU: &str = "/interface/pppoe-server";

pub(super) const KIND: Registration = Registration {
    menus: &[CLIENT_MENU, SERVER_MENU],
    read,
};

/// Bytes of the PPPoE header and the PPP protocol in front of each packet.
pub(crate) const OVERHEAD: u32 = Session::HEADER as u32;
/// Largest MTU of a session without PPP-Max-Payload (RFC 2516, 7).
const MTU: u32 = 1492;
/// The other end of assumed sessions.
const ASSUMED_PEER: Mac = Mac([2, 0, 0, 0, 2, 0]);
/// Maximum number of tags below: link header, tags and session header fill the header of a next hop.
const MAX_TAGS: usize = 2;

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pppoe {
    /// The interface that carries its frames.
    pub(crate) on: Name,
    /// Peer and session number.
    pub(crate) session: Session,
}

impl Kind for Pppoe {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.link.ethernet = false;
        match site.layout.named(&self.on) {
            Some((below, on)) if !on.invalid && is_carrier(on) => {
                entry.session_on = Some(below);
                entry.under = on.under;
                entry.carries = on.carries.saturating_sub(OVERHEAD);
                (entry.speed_mbps, entry.half_duplex) = (on.speed_mbps, on.half_duplex);
                entry.link.out = on.link.out;
                entry.link.mac = on.link.mac;
                entry.link.tags.clone_from(&on.link.tags);
                entry.link.session = Some(self.session);
                entry.link.running = !entry.disabled && on.link.running;
            }
            _ => entry.invalid = true,
        }
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ppp
    }

    fn stands_on(&self) -> Option<&Name> {
        Some(&self.on)
    }
}

/// A client that dials on demand, without a session: packets to it wait for the session.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OnDemand {
    /// The interface that carries its frames.
    on: Name,
}

impl Kind for OnDemand {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        entry.link.ethernet = false;
        match site.layout.named(&self.on) {
            Some((_, on)) if !on.invalid && is_carrier(on) => {
                entry.link.awaits_session = true;
                entry.link.running = !entry.disabled && on.link.running;
            }
            _ => entry.invalid = true,
        }
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ppp
    }

    fn stands_on(&self) -> Option<&Name> {
        Some(&self.on)
    }
}

/// Whether an interface can carry sessions.
pub(crate) fn is_carrier(on: &LayoutEntry) -> bool {
    let has_link = on.link.ethernet && !on.loopback && on.station.is_none();
    has_link && on.link.tags.len() <= MAX_TAGS
}

/// Reads a client item as if a server had answered: a router that examines a configuration has no peers.
pub(super) fn assumed(item: &Item) -> Option<Interface> {
    let session = Session {
        peer: ASSUMED_PEER,
        // Sessions of one peer differ in their numbers.
        number: item.id.0 as u16 | 1 << 15,
    };
    let on = read::name(item, "interface")?;
    Some(Interface {
        kind: Pppoe { on, session }.into(),
        ..read(item)?
    })
}

/// Reads an item. The interface is idle until its session is open, or waits for packets if it dials on demand.
pub(crate) fn read(item: &Item) -> Option<Interface> {
    let kind = match item.is("dial-on-demand") {
        true => OnDemand {
            on: read::name(item, "interface")?,
        }
        .into(),
        false => AnyKind::from(Idle),
    };
    Some(Interface {
        mtu: MTU,
        ..read::interface_of(item, kind, Class::Ppp)?
    })
}
