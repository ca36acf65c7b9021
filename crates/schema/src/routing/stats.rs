//! `/routing/stats`: what routing has done and needs.

pub(crate) mod memory;
pub(crate) mod origin;
pub(crate) mod pcap;
pub(crate) mod process;
pub(crate) mod step;
