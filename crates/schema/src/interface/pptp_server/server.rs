//! `/interface/pptp-server/server`: the PPTP server.

use menu::Menu;

use crate::fragment::idle_settings;
use crate::interface::dial::{ENABLED, UNIT, authentication, keepalive, profile, units};

pub(crate) static MENU: Menu = Menu {
    properties: &[
        &[ENABLED],
        &units(UNIT, "1450"),
        &[
            authentication("mschap1,mschap2"),
            keepalive("30"),
            profile("default-profile", "default-encryption"),
        ],
    ],
    ..idle_settings("/interface/pptp-server/server", "PPTP server")
};
