//! `/ipv6`: version 6 of the Internet protocol.

pub(crate) mod address;
pub(crate) mod firewall;
pub(crate) mod nd;
pub(crate) mod neighbor;
pub(crate) mod route;
pub(crate) mod settings;
