//! Ethernet link of a port's device: state, capabilities, and configured modes.

use netio::link::{Ethtool, LinkChange, LinkModes};
use router::Instance;
use router::link_modes::{LinkWish, PortLink};

use super::device::Device;

impl Device {
    /// Reports the link state to control. Files and other devices without link modes have no speeds.
    pub(super) fn tell_link(&self, instance: &mut Instance) {
        let Some((index, _)) = self.link else { return };
        let modes = Ethtool::open().and_then(|mut ethtool| ethtool.modes(index));
        let link = modes.map(told).unwrap_or_default();
        instance.control().port_link(&self.mapped.name, link);
    }

    /// Applies the configured link modes; settings without configuration return to their original values.
    pub(super) fn change_link(&mut self, instance: &mut Instance) {
        let Some((index, _)) = self.link else { return };
        let wish = self.wish.link;
        let changed = Ethtool::open().and_then(|mut ethtool| {
            let before = self.own_link.filter(|(of, _)| *of == index);
            let own = match before {
                Some((_, own)) => own,
                None => ethtool.modes(index)?,
            };
            self.own_link = Some((index, own));
            ethtool.change(index, &change(&wish, &own, before.is_some()))
        });
        if let Err(error) = changed {
            let message = format!(
                "{}: its device refuses the settings of speed, advertise, auto-negotiation or flow control: {error}",
                self.mapped.name
            );
            instance.control().log().add("interface,warning", message);
        }
    }

    /// Restores the original link modes.
    pub(super) fn give_back_link(&mut self) {
        if let Some((index, own)) = self.own_link.take() {
            let wish = change(&LinkWish::default(), &own, true);
            // A vanished device needs none.
            let _ = Ethtool::open().and_then(|mut ethtool| ethtool.change(index, &wish));
        }
    }
}

fn told(modes: LinkModes) -> PortLink {
    PortLink {
        speed_mbps: modes.speed_mbps.unwrap_or_default(),
        full_duplex: modes.full_duplex,
        negotiates: Some(modes.negotiates),
        modes: [modes.offers, modes.supports, modes.partner],
        pause: modes.pause,
    }
}

/// Returns the change: configured values, and original ones for the rest. `again` is true after an earlier
/// change.
fn change(wish: &LinkWish, own: &LinkModes, again: bool) -> LinkChange {
    let negotiate = wish.negotiate.unwrap_or(own.negotiates);
    let own_speed = own.speed_mbps.zip(own.full_duplex);
    LinkChange {
        negotiate: Some(negotiate),
        offer: negotiate.then_some(wish.offer.unwrap_or(own.offers)),
        speed: match negotiate {
            true => None,
            false => wish.speed.or(own_speed),
        },
        // Pause frames are left alone unless they were configured.
        pause: match own.pause.filter(|_| again || wish.pause != (None, None)) {
            Some((obeys, sends)) => (
                Some(wish.pause.0.unwrap_or(obeys)),
                Some(wish.pause.1.unwrap_or(sends)),
            ),
            None => wish.pause,
        },
    }
}
