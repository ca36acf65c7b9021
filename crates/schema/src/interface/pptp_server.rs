//! `/interface/pptp-server`: server interfaces for PPTP sessions.

pub(crate) mod server;

use menu::Menu;

use super::dial::tunnel_bindings;

pub(crate) static MENU: Menu = tunnel_bindings(
    "/interface/pptp-server",
    "pptp-in",
    "Interfaces of PPTP sessions",
);
