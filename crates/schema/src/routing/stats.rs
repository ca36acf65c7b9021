//! `/routing/stats`: statistics of routing processes.

pub(crate) mod memory;
pub(crate) mod origin;
pub(crate) mod pcap;
pub(crate) mod process;
pub(crate) mod step;
