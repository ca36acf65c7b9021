//! `/ipv6`: IPv6.

pub(crate) mod address;
pub(crate) mod dhcp_client;
pub(crate) mod dhcp_relay;
pub(crate) mod dhcp_server;
pub(crate) mod firewall;
pub(crate) mod nd;
pub(crate) mod neighbor;
pub(crate) mod pool;
pub(crate) mod route;
pub(crate) mod settings;
