//! Stations: interfaces with their own link address on the link of another interface.

use wire::Mac;

use super::Site;
use crate::compile::layout::made_mac;
use crate::compile::{LayoutEntry, Shares};

/// Shares the link of the interface named `on`; without `mac`, with a link address generated from the interface's
/// number. Returns the layout of that interface, or `None` if its link cannot be shared: then the station is invalid.
pub(super) fn share<'a>(
    entry: &mut LayoutEntry,
    site: &Site<'a>,
    on: &str,
    mac: Option<Mac>,
) -> Option<&'a LayoutEntry> {
    let named = site.layout.named(on);
    let Some((below, on)) = named.filter(|(_, on)| may_be_shared(on)) else {
        entry.invalid = true;
        return None;
    };
    entry.station = Some(Shares {
        on: below,
        through: site.layout.below(on),
    });
    entry.under = on.under;
    entry.carries = on.carries;
    entry.link.out = on.link.out;
    entry.link.mac = mac.unwrap_or(made_mac(on.link.mac, site.id));
    entry.link.tags.clone_from(&on.link.tags);
    entry.link.running = !entry.disabled && on.link.running;
    entry.link.mtu = entry.link.mtu.min(on.link.mtu);
    Some(on)
}

/// Whether stations may share the link of an interface. A station has no link to share.
fn may_be_shared(on: &LayoutEntry) -> bool {
    !on.invalid && on.link.ethernet && on.station.is_none() && !on.loopback
}
