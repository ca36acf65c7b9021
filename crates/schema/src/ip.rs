//! `/ip`: version 4 of the Internet protocol.

pub(crate) mod address;
pub(crate) mod arp;
pub(crate) mod dhcp_client;
pub(crate) mod dhcp_relay;
pub(crate) mod dhcp_server;
pub(crate) mod dns;
pub(crate) mod firewall;
pub(crate) mod hotspot;
pub(crate) mod ipsec;
pub(crate) mod neighbor;
pub(crate) mod pool;
pub(crate) mod route;
pub(crate) mod service;
pub(crate) mod settings;
pub(crate) mod ssh;
