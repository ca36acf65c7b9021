//! `/ipv6/firewall`: what IPv6 packets are let through, translated and marked.

pub(crate) mod address_list;
pub(crate) mod connection;
pub(crate) mod filter;
pub(crate) mod mangle;
pub(crate) mod nat;
pub(crate) mod raw;
