//! `/ipv6/firewall/connection`: the connections that are tracked.

use menu::Menu;

use crate::ip::firewall::connection::connections;

pub(crate) static MENU: Menu = connections("/ipv6/firewall/connection", "Active connections");
