//! `/interface/dot1x`: who may use a port (IEEE 802.1X).

pub(crate) mod client;
pub(crate) mod server;
