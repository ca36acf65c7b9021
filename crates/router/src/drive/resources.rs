//! Resources of the host: memory, processor, disks, counters of its host stack.

use tool::HostTime;

/// Resources of the host, as the owner measures them for `/system/resource`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The version of the configuration language.
    pub version: String,
    /// When the program was built.
    pub build_time: String,
    /// Free memory in bytes.
    pub free_memory: u64,
    /// Total memory in bytes.
    pub total_memory: u64,
    /// The processor's model.
    pub cpu: String,
    /// Number of cores.
    pub cpu_count: u64,
    /// Clock rate in MHz.
    pub cpu_frequency: u64,
    /// Load in percent.
    pub cpu_load: u64,
    /// Load of each core.
    pub cores: Vec<Core>,
    /// Time of processors and threads; `None` until it is measured.
    pub time: Option<HostTime>,
    /// Free bytes on the disk of the state folder.
    pub free_disk: u64,
    /// Size of that disk in bytes.
    pub total_disk: u64,
    /// The processor's architecture.
    pub architecture: String,
    /// The machine's model.
    pub board: String,
    /// Identifier of the machine, as `/system/license` shows it; constant over restarts.
    pub system_id: String,
    /// TCP counters of the host, in the order of RFC 4022.
    pub tcp: Vec<i64>,
    /// UDP counters of the host, in the order of RFC 4113.
    pub udp: Vec<i64>,
    /// Sectors of 512 bytes that the router has written since its start.
    pub sectors_written: u64,
    /// Sectors of 512 bytes that all programs wrote to the disk of the state folder.
    pub sectors_written_total: u64,
}

/// Load of a processor core, in percent of its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Core {
    /// Total load.
    pub load: u64,
    /// Load of interrupts.
    pub interrupts: u64,
    /// Time spent waiting for disks.
    pub disk: u64,
}
