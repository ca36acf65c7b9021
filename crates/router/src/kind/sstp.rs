//! SSTP sessions ([MS-SSTP]): `/interface/sstp-client`, and bindings and dynamic interfaces of
//! `/interface/sstp-server`.
//!
//! Items are read as those of L2TP. The feature that has the sessions (`feature/ppp/`) announces an item again with
//! this kind while its session is open.

use dataplane::encap::plain::Plain;
use dataplane::encap::stream::{Framing, Stream};
use dataplane::out::OutId;
use dataplane::stream::ChannelId;

use super::{IfType, Kind, Registration, Site, l2tp};
use crate::compile::LayoutEntry;
use crate::intent::Class;

/// Menu of clients.
pub(crate) const CLIENT_MENU: &str = "/interface/sstp-client";
/// Menu of server interfaces.
pub(crate) const SERVER_MENU: &str = "/interface/sstp-server";

pub(super) const KIND: Registration = Registration {
    menus: &[CLIENT_MENU, SERVER_MENU],
    read: l2tp::read,
};

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sstp {
    /// The session in the data plane.
    pub(crate) channel: ChannelId,
    /// The crypto binding is complete: packets may pass.
    pub(crate) is_bound: bool,
}

impl Kind for Sstp {
    fn lay_out(&self, entry: &mut LayoutEntry, site: &Site<'_>) {
        let runs = !entry.disabled && self.is_bound;
        entry.link.ethernet = false;
        entry.link.out = OutId::tunnel(site.id);
        entry.link.running = runs;
        let carrier = Stream {
            channel: self.channel,
            framing: Framing::Sstp,
        };
        let session = Plain {
            id: site.id,
            carrier: carrier.into(),
        };
        entry.tunnel = runs.then(|| session.into());
    }

    fn if_type(&self, _: Class) -> IfType {
        IfType::Ppp
    }
}
