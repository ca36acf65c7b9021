//! `/interface/sstp-server`: server interfaces for SSTP sessions.

pub(crate) mod server;

use menu::Menu;

use super::dial::tunnel_bindings;

pub(crate) static MENU: Menu = tunnel_bindings(
    "/interface/sstp-server",
    "sstp-in",
    "Interfaces of SSTP sessions",
);
