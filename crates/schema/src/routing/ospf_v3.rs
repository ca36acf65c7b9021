//! `/routing/ospf-v3`: what version 6 said of OSPF for IPv6.

pub(crate) mod area;
pub(crate) mod instance;
pub(crate) mod interface;
