//! `/ip/firewall`: the IPv4 firewall.

pub(crate) mod address_list;
pub(crate) mod calea;
pub(crate) mod connection;
pub(crate) mod filter;
pub(crate) mod layer7_protocol;
pub(crate) mod mangle;
pub(crate) mod nat;
pub(crate) mod raw;
pub(crate) mod service_port;
