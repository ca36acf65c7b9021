//! `/routing/ospf-v3`: OSPFv3 of RouterOS 6.

pub(crate) mod area;
pub(crate) mod instance;
pub(crate) mod interface;
