//! `/ipv6/firewall`: the IPv6 firewall.

pub(crate) mod address_list;
pub(crate) mod connection;
pub(crate) mod filter;
pub(crate) mod mangle;
pub(crate) mod nat;
pub(crate) mod raw;
