//! The machine underneath: memory, processor, disks, counters of its host stack.

/// What the owner knows of the machine underneath, for `/system/resource`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// The version of the configuration language.
    pub version: String,
    /// When the program was built.
    pub build_time: String,
    /// Bytes of memory that are free.
    pub free_memory: u64,
    /// Bytes of memory.
    pub total_memory: u64,
    /// The processor's model.
    pub cpu: String,
    /// Cores.
    pub cpu_count: u64,
    /// Megahertz.
    pub cpu_frequency: u64,
    /// Percent.
    pub cpu_load: u64,
    /// What each core does.
    pub cores: Vec<Core>,
    /// Bytes that are free for the state.
    pub free_disk: u64,
    /// Bytes of the state's disk.
    pub total_disk: u64,
    /// The processor's architecture.
    pub architecture: String,
    /// The machine's model.
    pub board: String,
    /// Identifier of the machine, as `/system/license` shows it: the same after a restart.
    pub system_id: String,
    /// What the machine counts of TCP and UDP, in the order of RFC 4022 and RFC 4113.
    pub tcp: Vec<i64>,
    /// See [`Self::tcp`].
    pub udp: Vec<i64>,
    /// Sectors of 512 bytes that the router has written since its start.
    pub sectors_written: u64,
    /// Sectors of 512 bytes that were written to the state's disk by anybody.
    pub sectors_written_total: u64,
}

/// The load of a processor core, in percent of its time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Core {
    /// How much of it is spent on anything.
    pub load: u64,
    /// How much on interrupts.
    pub interrupts: u64,
    /// How much in waiting for a disk.
    pub disk: u64,
}
