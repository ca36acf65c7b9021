//! What `/queue/type` says: how packets wait within a queue.

use machine::Duration;

/// How packets wait.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// In one line (`pfifo`, `bfifo`, `mq-pfifo`, `none`).
    Fifo(Fifo),
    /// In one line from which packets are dropped early.
    Red(Red),
    /// In lines by flow, which take turns.
    Sfq(Sfq),
    /// In lines by address or port, each with its rate.
    Pcq(Pcq),
    /// In one line whose delay is controlled (RFC 8289).
    Codel(Codel),
    /// In lines by flow, which take turns, and whose delay is controlled (RFC 8290).
    FqCodel(FqCodel),
    /// In lines by host and flow, by class of traffic.
    Cake(Cake),
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fifo {
    /// How many packets wait at most.
    pub packets: u32,
    /// How many bytes wait at most.
    pub bytes: u64,
}

/// Random early detection (Floyd and Jacobson, 1993), as Linux has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Red {
    /// How many packets wait at most.
    pub limit: u32,
    /// The average number of packets at which dropping may begin.
    pub least: u32,
    /// The average number beyond which all are dropped.
    pub most: u32,
    /// Packets of a burst that the average does not follow.
    pub burst: u32,
    /// Bytes of an average packet.
    pub packet_bytes: u32,
}

/// Stochastic fairness queueing: 128 packets in 1,024 lines at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sfq {
    /// After so long flows are sorted into lines anew; zero: never.
    pub perturb: Duration,
    /// Bytes of a line at a turn.
    pub allot: u32,
}

/// What tells the streams of a PCQ apart; at least one, or all are one stream.
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
    /// How many bits of addresses count: IPv4 (0 to 32) and IPv6 (0 to 128), of the source.
    pub source_bits: (u8, u8),
    /// The same of the destination.
    pub destination_bits: (u8, u8),
}

/// Per connection queuing: a stream of its own for whoever is told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pcq {
    /// What tells streams apart.
    pub classify: Classify,
    /// The rate of each stream in bits per second; 0: what they share equally is the queue's.
    pub rate: u64,
    /// Bytes that wait at most, of a stream.
    pub limit_bytes: u64,
    /// The same of all streams together.
    pub total_bytes: u64,
    /// The rate of a burst in bits per second; 0: no bursts.
    pub burst_rate: u64,
    /// The average rate at which a burst ends, in bits per second.
    pub burst_threshold: u64,
    /// The time of that average.
    pub burst_time: Duration,
}

/// What CoDel goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// The delay that is accepted.
    pub target: Duration,
    /// The time in which it may be exceeded.
    pub interval: Duration,
    /// Congestion is marked rather than packets dropped, where their ends understand that.
    pub ecn: bool,
    /// Packets that waited longer are marked at once.
    pub ce_threshold: Option<Duration>,
}

/// One line whose delay is controlled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codel {
    /// How many packets wait at most.
    pub limit: u32,
    /// How the delay is controlled.
    pub delay: Delay,
}

/// Lines by flow whose delay is controlled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FqCodel {
    /// How many packets wait at most, of all flows.
    pub limit: u32,
    /// How many lines there are.
    pub flows: u32,
    /// Bytes of a line at a turn.
    pub quantum: u32,
    /// Bytes that wait at most.
    pub memory_bytes: u64,
    /// How the delay is controlled.
    pub delay: Delay,
}

/// How CAKE sorts traffic into tins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CakeTins {
    /// All in one.
    BestEffort,
    /// By precedence, eight.
    Precedence,
    /// Bulk, best effort, voice.
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
    /// Eight, by use.
    Diffserv8,
}

/// What tells flows apart, and who is treated equally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CakeFlows {
    /// Nothing.
    Blind,
    /// Source addresses.
    SourceHost,
    /// Destination addresses.
    DestinationHost,
    /// Pairs of addresses.
    Hosts,
    /// Flows.
    Flows,
    /// Flows; sources share first.
    DualSource,
    /// Flows; destinations share first.
    DualDestination,
    /// Flows; whoever has most of them, source or destination, shares first.
    Triple,
}

/// What a line adds to each packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Bytes besides those of the network packet, -64 to 256; none: the frame's bytes count as they are.
    pub overhead: Option<i16>,
    /// The smallest packet in bytes, 0 to 256.
    pub least: u16,
    /// It goes in cells of 48 bytes of 53 (ATM).
    pub atm: bool,
    /// A byte of 65 is the line's (PTM).
    pub ptm: bool,
}

/// Common applications kept enhanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cake {
    /// The rate in bits per second; 0: no limit of its own.
    pub bandwidth: u64,
    /// How traffic is sorted.
    pub tins: CakeTins,
    /// What tells flows apart.
    pub flows: CakeFlows,
    /// The round trip that flows have.
    pub rtt: Duration,
    /// The DSCP is cleared.
    pub wash: bool,
    /// Needless acknowledgements are dropped: not at all, where it costs nothing, wherever possible.
    pub ack_filter: u8,
    /// What the line adds.
    pub line: Line,
    /// Bytes that wait at most; 0: as the rate asks.
    pub memory_bytes: u64,
}

/// Why a packet did not go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The queue was full.
    Full,
    /// The discipline dropped it to keep queue or delay short.
    Early,
    /// It acknowledged what a later one does, too.
    Needless,
}
