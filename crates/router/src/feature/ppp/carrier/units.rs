//! Packet sizes and keepalive of tunnels.

use menu::Item;
use ppp::{Keepalive, Role};

use crate::feature::ppp::dial;

/// Packet sizes in bytes, and keepalive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Units {
    max_mtu: u16,
    max_mru: u16,
    mrru: Option<u16>,
    keepalive: Option<Keepalive>,
}

impl Units {
    /// Reads a client or server.
    pub(super) fn read(item: &Item) -> Self {
        Self {
            max_mtu: dial::tunnel_unit(item, "max-mtu"),
            max_mru: dial::tunnel_unit(item, "max-mru"),
            mrru: dial::unit(item, "mrru"),
            keepalive: dial::tunnel_keepalive(item),
        }
    }

    /// Returns PPP settings with them.
    pub(super) fn of_ppp(self, role: Role) -> ppp::Settings {
        ppp::Settings {
            max_mru: self.max_mru,
            max_mtu: self.max_mtu,
            mrru: self.mrru,
            keepalive: self.keepalive,
            hdlc_options: true,
            ..ppp::Settings::pppoe(role)
        }
    }
}
