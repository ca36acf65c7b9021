//! `/interface/dot1x`: port access control (IEEE 802.1X).

pub(crate) mod client;
pub(crate) mod server;
