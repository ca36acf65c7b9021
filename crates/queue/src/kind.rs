//! Settings of `/queue/type`: how packets wait in a queue.

use machine::Duration;

/// How packets wait.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// In one queue (`pfifo`, `bfifo`, `mq-pfifo`, `none`).
    Fifo(Fifo),
    /// In one queue with early random drops.
    Red(Red),
    /// In queues per flow with round robin.
    Sfq(Sfq),
    /// In queues per address or port, each with a rate.
    Pcq(Pcq),
    /// In one queue with a controlled delay (RFC 8289).
    Codel(Codel),
    /// In queues per flow with round robin and a controlled delay (RFC 8290).
    FqCodel(FqCodel),
    /// In queues per class, host and flow.
    Cake(Cake),
}

/// Settings of FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fifo {
    /// Maximum number of waiting packets.
    pub packets: u32,
    /// Maximum number of waiting bytes.
    pub bytes: u64,
}

/// Settings of random early detection (Floyd and Jacobson, 1993), as in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Red {
    /// Maximum number of waiting packets.
    pub limit: u32,
    /// Average number of packets at which drops may begin.
    pub least: u32,
    /// Average number of packets above which all packets are dropped.
    pub most: u32,
    /// Length of a burst that hardly changes the average, in packets.
    pub burst: u32,
    /// Average packet length in bytes.
    pub packet_bytes: u32,
}

/// Settings of stochastic fairness queueing: at most 128 packets in 1,024 queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sfq {
    /// Interval at which flows are assigned to other queues; zero: never.
    pub perturb: Duration,
    /// Bytes per queue and round.
    pub allot: u32,
}

/// Fields that identify the streams of a PCQ. Without any field, all packets are one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Classify {
    /// The source address.
    pub source: bool,
    /// The destination address.
    pub destination: bool,
    /// The source port.
    pub source_port: bool,
    /// The destination port.
    pub destination_port: bool,
    /// Prefix length of source addresses: IPv4 (0 to 32) and IPv6 (0 to 128).
    pub source_bits: (u8, u8),
    /// Prefix length of destination addresses.
    pub destination_bits: (u8, u8),
}

/// Settings of per-connection queuing: one queue per stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pcq {
    /// Fields that identify a stream.
    pub classify: Classify,
    /// Rate of each stream in bits per second; 0: the streams share the rate of the queue equally.
    pub rate: u64,
    /// Maximum waiting bytes of a stream.
    pub limit_bytes: u64,
    /// Maximum waiting bytes of all streams.
    pub total_bytes: u64,
    /// Burst rate in bits per second; 0: no bursts.
    pub burst_rate: u64,
    /// Average rate at which a burst ends, in bits per second.
    pub burst_threshold: u64,
    /// Time over which the average rate is computed.
    pub burst_time: Duration,
}

/// Settings of the CoDel algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Acceptable delay.
    pub target: Duration,
    /// Time for which the delay may be exceeded.
    pub interval: Duration,
    /// Whether packets of flows that support ECN are marked instead of dropped.
    pub ecn: bool,
    /// Packets with a longer delay are marked at once.
    pub ce_threshold: Option<Duration>,
}

/// Settings of one queue with a controlled delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codel {
    /// Maximum number of waiting packets.
    pub limit: u32,
    /// Settings of the delay control.
    pub delay: Delay,
}

/// Settings of queues per flow with a controlled delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodel {
    /// Maximum number of waiting packets of all flows.
    pub limit: u32,
    /// Number of queues.
    pub flows: u32,
    /// Bytes per queue and round.
    pub quantum: u32,
    /// Maximum number of waiting bytes.
    pub memory_bytes: u64,
    /// Settings of the delay control.
    pub delay: Delay,
}

/// How CAKE sorts traffic into tins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CakeTins {
    /// All traffic in one tin.
    BestEffort,
    /// Eight tins by precedence.
    Precedence,
    /// Three tins: bulk, best effort, voice.
    Diffserv3,
    /// Four tins: bulk, best effort, video, voice.
    Diffserv4,
    /// Eight tins by use.
    Diffserv8,
}

/// Identity of flows, and fairness between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CakeFlows {
    /// All traffic is one flow.
    Blind,
    /// Flows are source addresses.
    SourceHost,
    /// Flows are destination addresses.
    DestinationHost,
    /// Flows are address pairs.
    Hosts,
    /// Flows are 5-tuples.
    Flows,
    /// Flows are 5-tuples, with fairness between sources.
    DualSource,
    /// Flows are 5-tuples, with fairness between destinations.
    DualDestination,
    /// Flows are 5-tuples, with fairness between sources and between destinations.
    Triple,
}

/// Overhead that a line adds to each packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Overhead per network packet, -64 to 256 bytes. Without a value, the frame length counts.
    pub overhead: Option<i16>,
    /// Minimum packet length, 0 to 256 bytes.
    pub least: u16,
    /// Cells of 53 bytes with 48 bytes of payload (ATM).
    pub atm: bool,
    /// One additional byte per 64 (PTM).
    pub ptm: bool,
}

/// Settings of CAKE (common applications kept enhanced).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cake {
    /// Rate in bits per second; 0: no rate limit.
    pub bandwidth: u64,
    /// How traffic is sorted into tins.
    pub tins: CakeTins,
    /// Identity of flows.
    pub flows: CakeFlows,
    /// Typical round-trip time of flows.
    pub rtt: Duration,
    /// Whether the DSCP is cleared.
    pub wash: bool,
    /// Filter for redundant acknowledgements: 0 off, 1 conservative, 2 aggressive.
    pub ack_filter: u8,
    /// Overhead of the line.
    pub line: Line,
    /// Maximum number of waiting bytes; 0: derived from the rate.
    pub memory_bytes: u64,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The queue was full.
    Full,
    /// The discipline dropped the packet to keep the queue or the delay short.
    Early,
    /// A later acknowledgement made the packet redundant.
    Needless,
}
