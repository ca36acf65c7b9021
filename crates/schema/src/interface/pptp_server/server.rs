//! `/interface/pptp-server/server`: the PPTP server.

use menu::{Menu, MenuShape};

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
    ..Menu::new(
        "/interface/pptp-server/server",
        MenuShape::Settings,
        "PPTP server",
    )
};
