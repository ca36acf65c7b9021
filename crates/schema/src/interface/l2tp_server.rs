//! `/interface/l2tp-server`: server interfaces for L2TP sessions.

pub(crate) mod server;

use menu::Menu;

use super::dial::tunnel_bindings;

pub(crate) static MENU: Menu = tunnel_bindings(
    "/interface/l2tp-server",
    "l2tp-in",
    "Interfaces of L2TP sessions",
);
