//! `/ipv6/firewall/connection`: tracked connections.

use menu::Menu;

use crate::ip::firewall::connection::connections;

pub(crate) static MENU: Menu = connections("/ipv6/firewall/connection", "Active connections");
