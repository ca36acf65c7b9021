//! `ferroute bench`: rows, and what is measured besides rows.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// What is measured.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    /// Something else than the rows.
    #[command(subcommand)]
    pub(crate) part: Option<BenchPart>,
    /// The rows, separated by commas; all that exist by default.
    #[arg(long, value_delimiter = ',', value_name = "ROWS")]
    pub(crate) rows: Vec<String>,
    /// Frame sizes in bytes, with FCS; rows of the firewall have the shortest.
    #[arg(long, value_delimiter = ',', value_name = "BYTES", default_values_t = [64, 512, 1518])]
    pub(crate) frames: Vec<u32>,
    /// Flows; rows of the firewall have numbers of their own.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [1, 1_000, 64_000])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) flows: Vec<u32>,
    /// Routes in the table; through ports 1.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS")]
    #[arg(default_values_t = [1, 100_000, 1_000_000])]
    #[arg(default_value_ifs = [("via", "xdp", "1"), ("via", "packet", "1"), ("via", "tap", "1")])]
    pub(crate) routes: Vec<u32>,
    /// Workers, each on a core of its own with flows of its own; several are compared with one.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) workers: u8,
    /// What carries the packets.
    #[arg(long, value_enum, default_value_t = Via::Memory)]
    pub(crate) via: Via,
    /// Runs of each row; the table shows the median. Those through ports are long, and 11.
    #[arg(long, value_name = "N", default_value_t = 101)]
    #[arg(default_value_ifs = [("via", "xdp", "11"), ("via", "packet", "11"), ("via", "tap", "11")])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Print JSON, a row a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What is measured besides rows.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchPart {
    /// Attack a router, and see what its console and the connections through it notice.
    Attack(Attack),
    /// Measure rows of an older build and of this one in pairs: it ends with 1 if a row takes more than 5 % longer.
    Compare(Compare),
    /// Start and end routers with much configuration, and check times and memory: it ends with 1 if a bound is broken.
    Limits,
    /// Send more than a queue lets through, and see what becomes of rate and latency.
    Queues(Queues),
    /// Print this machine's figures as makers of routers print theirs, beside some boards.
    Table(Table),
}

/// Two builds of this program.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The program of the older build.
    #[arg(value_name = "BASE")]
    pub(crate) base: PathBuf,
    /// The rows, separated by commas; all that are measured in memory by default.
    #[arg(long, value_delimiter = ',', value_name = "ROWS")]
    pub(crate) rows: Vec<String>,
    /// Pairs of runs of each row; three times as many for a row that seems to have lost.
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) pairs: u32,
    /// Frame sizes in bytes, with FCS.
    #[arg(long, value_delimiter = ',', value_name = "BYTES", default_values_t = [64])]
    pub(crate) frames: Vec<u32>,
    /// Flows; rows of the firewall and of home routers have fixed numbers.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [1_000])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) flows: Vec<u32>,
    /// Routes in the table.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [1])]
    pub(crate) routes: Vec<u32>,
    /// Runs of each row in one process, which takes their median.
    #[arg(long, value_name = "N", default_value_t = 31)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
}

/// A table of test results, in Markdown.
#[derive(Debug, Args)]
pub(crate) struct Table {
    /// Runs of each row; the table has the median.
    #[arg(long, value_name = "N", default_value_t = 31)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Queues that are measured.
#[derive(Debug, Args)]
pub(crate) struct Queues {
    /// The kinds; all by default.
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kinds: Vec<QueueKind>,
    /// Draw rate, latency and bursts over time: rate.svg, latency.svg and bucket.svg in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plot: Option<PathBuf>,
    /// How long each is measured, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=60))]
    pub(crate) seconds: u16,
}

/// How packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum QueueKind {
    /// One after the other, 50 packets.
    Pfifo,
    /// Streams in turn.
    Sfq,
    /// Streams in turn, by their ports.
    Pcq,
    /// Streams in turn, each with a bounded delay.
    FqCodel,
    /// Streams in turn, shared fairly among hosts, each with a bounded delay.
    Cake,
}

impl QueueKind {
    /// All of them.
    pub(crate) const ALL: [Self; 5] =
        [Self::Pfifo, Self::Sfq, Self::Pcq, Self::FqCodel, Self::Cake];

    /// The word of `/queue/type`.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pfifo => "pfifo",
            Self::Sfq => "sfq",
            Self::Pcq => "pcq",
            Self::FqCodel => "fq-codel",
            Self::Cake => "cake",
        }
    }
}

/// Attacks.
#[derive(Debug, Args)]
pub(crate) struct Attack {
    /// The attacks; all by default.
    #[arg(value_enum, value_name = "ATTACK")]
    pub(crate) attacks: Vec<AttackKind>,
    /// Packets of the attack in a second; below what the router can forward, for what is lost then is
    /// the attack's doing.
    #[arg(long, value_name = "PACKETS", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) rate: u32,
    /// How long each attack lasts, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=3_600))]
    pub(crate) seconds: u16,
    /// The router's ports: packet or xdp.
    #[arg(long, value_enum, default_value_t = Via::Packet)]
    pub(crate) via: Via,
    /// Print JSON, an attack a line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// An attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AttackKind {
    /// TCP connections that nobody goes on with, from random addresses.
    SynFlood,
    /// UDP packets from random addresses.
    UdpFlood,
    /// Fragments of datagrams that are never complete, from random addresses.
    Fragments,
    /// 64 addresses that try all ports, against a rule with `psd`.
    PortScan,
    /// New connections while the table is full of ones that are in use.
    FullTable,
}

impl AttackKind {
    /// All of them.
    pub(crate) const ALL: [Self; 5] = [
        Self::SynFlood,
        Self::UdpFlood,
        Self::Fragments,
        Self::PortScan,
        Self::FullTable,
    ];

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::SynFlood => "syn-flood",
            Self::UdpFlood => "udp-flood",
            Self::Fragments => "fragments",
            Self::PortScan => "port-scan",
            Self::FullTable => "full-table",
        }
    }
}

/// What carries the packets of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// The walk alone, in memory.
    Memory,
    /// AF_XDP on veth, against the kernel's own forwarding.
    Xdp,
    /// AF_PACKET on veth, against the kernel's own forwarding.
    Packet,
    /// TCP through TAP devices that hand over whole segments, against the kernel's own forwarding.
    Tap,
}

impl Via {
    /// The driver's name in `--port`; memory has none.
    pub(crate) fn driver(self) -> Option<&'static str> {
        match self {
            Self::Memory => None,
            Self::Xdp => Some("xdp"),
            Self::Packet => Some("packet"),
            Self::Tap => Some("tap"),
        }
    }
}
