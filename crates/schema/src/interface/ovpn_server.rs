//! `/interface/ovpn-server`: server interfaces for OpenVPN sessions.

pub(crate) mod server;

use menu::Menu;

use super::dial::tunnel_bindings;

pub(crate) static MENU: Menu = tunnel_bindings(
    "/interface/ovpn-server",
    "ovpn-in",
    "Interfaces of OpenVPN sessions",
);
