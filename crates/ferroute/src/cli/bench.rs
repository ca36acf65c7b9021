//! Command line of `ferroute bench`: the rows, and the other measurements as subcommands.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::output;

/// Measurements of the data plane: rows of a table, or a subcommand.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    /// Another measurement than the rows.
    #[command(subcommand)]
    pub(crate) part: Option<BenchPart>,
    /// Rows, separated by commas. Default: all.
    #[arg(long, value_delimiter = ',', value_name = "ROWS")]
    pub(crate) rows: Vec<String>,
    /// Frame sizes in bytes, with FCS; rows of the firewall use only the shortest.
    #[arg(long, value_delimiter = ',', value_name = "BYTES", default_values_t = [64, 512, 1518])]
    pub(crate) frames: Vec<u32>,
    /// Numbers of flows; rows of the firewall have fixed numbers.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [1, 1_000, 64_000])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) flows: Vec<u32>,
    /// Numbers of routes in the table; 1 through ports.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS")]
    #[arg(default_values_t = [1, 100_000, 1_000_000])]
    #[arg(default_value_ifs = [("via", "xdp", "1"), ("via", "packet", "1"), ("via", "tap", "1")])]
    pub(crate) routes: Vec<u32>,
    /// Number of workers, each on its own core with its own flows; several are compared with one.
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) workers: u8,
    /// Carrier of the packets.
    #[arg(long, value_enum, default_value_t = Via::Memory)]
    pub(crate) via: Via,
    /// Runs of each row; the table shows the median. Default through ports: 11 longer runs.
    #[arg(long, value_name = "N", default_value_t = 101)]
    #[arg(default_value_ifs = [("via", "xdp", "11"), ("via", "packet", "11"), ("via", "tap", "11")])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    /// Print JSON, one row per line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Measurements besides the rows.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchPart {
    /// Attack a router, and measure the effect on its console and on connections through it.
    Attack(Attack),
    /// Measure rows of an older build and of this one in pairs. The exit code is 1 if a row takes more than 5 % longer.
    Compare(Compare),
    /// Start and stop routers with large configurations, and check times and memory. The exit code is 1 if a bound is
    /// exceeded.
    Limits,
    /// Bring up PPPoE sessions, ping over each, and check time and memory. The exit code is 1 if a bound is exceeded.
    Pppoe(Pppoe),
    /// Send more than the limit of a queue, and measure rate and latency.
    Queues(Queues),
    /// Print this machine's figures in the form of router manufacturers, beside those of some boards.
    Table(Table),
    /// Measure a device between two ports of this machine: throughput, latency, loss, bursts (RFC 2544, RFC 8219).
    Through(Through),
    /// Bring up L2TP, PPTP, SSTP or OpenVPN sessions between two routers, and print setup rate and memory.
    Tunnels(Tunnels),
    /// Compare tunnels between two routers: throughput, CPU, overhead, MTU and latency.
    Vpn(Vpn),
}

/// Comparison of two builds of this program.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Binary of the older build.
    #[arg(value_name = "BASE")]
    pub(crate) base: PathBuf,
    /// Rows, separated by commas. Default: all rows that are measured in memory.
    #[arg(long, value_delimiter = ',', value_name = "ROWS")]
    pub(crate) rows: Vec<String>,
    /// Pairs of runs of each row; three times as many for a row that seems slower.
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) pairs: u32,
    /// Frame sizes in bytes, with FCS.
    #[arg(long, value_delimiter = ',', value_name = "BYTES", default_values_t = [64])]
    pub(crate) frames: Vec<u32>,
    /// Numbers of flows; rows of the firewall and of home routers have fixed numbers.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [1_000])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) flows: Vec<u32>,
    /// Numbers of routes in the table.
    #[arg(long, value_delimiter = ',', value_name = "COUNTS", default_values_t = [1])]
    pub(crate) routes: Vec<u32>,
    /// Runs of each row per process, which reports their median.
    #[arg(long, value_name = "N", default_value_t = 31)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
}

/// A table of test results: Markdown on standard output, or the formats whose files are given.
#[derive(Debug, Args)]
pub(crate) struct Table {
    /// Also measure this configuration, from one port to another.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Port of the configuration that receives the packets.
    #[arg(
        long,
        value_name = "PORT",
        default_value = "ether2",
        requires = "config"
    )]
    pub(crate) from: String,
    /// Port of the configuration that sends the packets.
    #[arg(
        long,
        value_name = "PORT",
        default_value = "ether1",
        requires = "config"
    )]
    pub(crate) to: String,
    /// Carriers of the packets, separated by commas; each has its own tables. Default: memory, and packet for root.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CARRIERS")]
    pub(crate) via: Vec<Via>,
    /// Runs of each row; the table shows the median. Through ports at most 11.
    #[arg(long, value_name = "N", default_value_t = 31)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) runs: u32,
    #[command(flatten)]
    pub(crate) formats: Formats,
}

/// Output formats of a report; Markdown on standard output if no file is given.
#[derive(Debug, Args)]
pub(crate) struct Formats {
    /// Write Markdown to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write JSON to this file; - is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw the rates (SVG) in this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

impl Formats {
    /// Writes the requested formats.
    ///
    /// # Errors
    /// A file cannot be written.
    pub(crate) fn write(
        &self,
        markdown: impl Fn() -> String,
        json: impl Fn() -> serde_json::Value,
        svg: impl Fn() -> String,
    ) -> Result<(), String> {
        if self.markdown.is_none() && self.json.is_none() && self.svg.is_none() {
            return output::text(markdown());
        }
        if let Some(file) = &self.markdown {
            output::to_file(file, &markdown())?;
        }
        if let Some(file) = &self.json {
            output::to_file(file, &format!("{}\n", json()))?;
        }
        match &self.svg {
            Some(file) => output::to_file(file, &svg()),
            None => Ok(()),
        }
    }
}

/// Comparison of tunnels between two routers.
#[derive(Debug, Args)]
pub(crate) struct Vpn {
    /// Kinds of tunnels, such as gre or ovpn-udp. Default: all.
    #[arg(value_name = "KIND")]
    pub(crate) kinds: Vec<String>,
    /// Duration of each transfer in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=600))]
    pub(crate) seconds: u16,
    #[command(flatten)]
    pub(crate) formats: Formats,
}

/// A device between two ports. The ports should have no addresses: the kernel receives their frames, too.
#[derive(Debug, Args)]
pub(crate) struct Through {
    /// Port that sends to the device.
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// Port that receives from the device.
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    /// Frame sizes in bytes, with FCS.
    #[arg(long, value_delimiter = ',', value_name = "BYTES", default_values_t = [64, 512, 1518])]
    #[arg(value_parser = clap::value_parser!(u32).range(64..=9018))]
    pub(crate) frames: Vec<u32>,
    /// Next hop of a routed device at the first port. Default: a bridge or cable.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) gateway: Option<IpAddr>,
    /// Address of the first port's end. Default: 198.18.0.2 or 2001:2:0:1::2.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) source: Option<IpAddr>,
    /// Address of the second port's end. Default: 198.19.0.2 or 2001:2:0:2::2.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) destination: Option<IpAddr>,
    /// Send IPv6 packets, in frames of at least 84 bytes.
    #[arg(long)]
    pub(crate) ipv6: bool,
    /// Highest load in frames per second. Default: the generator's own limit.
    #[arg(long, value_name = "PPS")]
    pub(crate) max_pps: Option<f64>,
    /// Seconds of sending per trial.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub(crate) seconds: f64,
    /// Milliseconds without a frame after which the missing ones are lost (RFC 2544 waits for two seconds).
    #[arg(long, value_name = "MS", default_value_t = 500)]
    pub(crate) settle_ms: u64,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw the loss by load into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

impl Through {
    /// Time without a frame after which the missing ones are lost.
    pub(crate) fn settle(&self) -> Duration {
        Duration::from_millis(self.settle_ms)
    }
}

/// PPPoE sessions that are brought up.
#[derive(Debug, Args)]
pub(crate) struct Pppoe {
    /// Number of sessions.
    #[arg(long, value_name = "N", default_value_t = 30_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_000))]
    pub(crate) sessions: u32,
    /// Sessions that begin in a second.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) start_rate: u32,
    /// Sessions that end in a second.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) stop_rate: u32,
    /// Maximum number of sessions in setup (BNG Blaster: max-outstanding).
    #[arg(long, value_name = "N", default_value_t = 800)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) outstanding: u32,
    /// Keep the accounts in FreeRADIUS instead of local secrets.
    #[arg(long)]
    pub(crate) radius: bool,
    /// Give each session a simple queue.
    #[arg(long)]
    pub(crate) queues: bool,
    /// Send packets over all sessions for this time.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=600))]
    pub(crate) load: u16,
    /// End all sessions, and bring them up again.
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Let this many sessions come and go, and compare the memory before and after.
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) churn: Option<u32>,
    /// Kill the router afterwards, start it from its stored state, and measure the time until all sessions are back.
    #[arg(long)]
    pub(crate) kill: bool,
    /// Draw sessions, setup rate, processor time and memory over time (SVG) in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plot: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Sessions of tunnels that are brought up.
#[derive(Debug, Args)]
pub(crate) struct Tunnels {
    /// Protocol of the sessions.
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kind: Tunnel,
    /// Number of sessions.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=8_000))]
    pub(crate) sessions: u32,
}

/// A protocol of tunnels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Tunnel {
    /// L2TP version 2.
    L2tp,
    /// PPTP.
    Pptp,
    /// SSTP.
    Sstp,
    /// OpenVPN by UDP.
    Ovpn,
}

/// Measurement of queues.
#[derive(Debug, Args)]
pub(crate) struct Queues {
    /// Queue types. Default: all.
    #[arg(value_enum, value_name = "KIND")]
    pub(crate) kinds: Vec<QueueKind>,
    /// Draw rate, latency and bursts over time: rate.svg, latency.svg and bucket.svg in this folder.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) plot: Option<PathBuf>,
    /// Duration of each measurement in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=60))]
    pub(crate) seconds: u16,
}

/// A queue type of `/queue/type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum QueueKind {
    /// First in, first out; 50 packets.
    Pfifo,
    /// Flows in turn, selected by a hash.
    Sfq,
    /// Flows in turn, one queue per source port.
    Pcq,
    /// Flows in turn, each with a bounded delay.
    FqCodel,
    /// Flows in turn with bounded delay, fair among hosts.
    Cake,
}

impl QueueKind {
    /// All queue types.
    pub(crate) const ALL: [Self; 5] =
        [Self::Pfifo, Self::Sfq, Self::Pcq, Self::FqCodel, Self::Cake];

    /// Returns the name in `/queue/type`.
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

/// Measurement of attacks on a router.
#[derive(Debug, Args)]
pub(crate) struct Attack {
    /// Attacks. Default: all.
    #[arg(value_enum, value_name = "ATTACK")]
    pub(crate) attacks: Vec<AttackKind>,
    /// Packets per second of the attack. Stay below the router's forwarding rate, so that only the attack causes
    /// losses.
    #[arg(long, value_name = "PACKETS", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub(crate) rate: u32,
    /// Duration of each attack in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=3_600))]
    pub(crate) seconds: u16,
    /// Driver of the router's ports: packet or xdp.
    #[arg(long, value_enum, default_value_t = Via::Packet)]
    pub(crate) via: Via,
    /// Print JSON, one attack per line.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A kind of attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AttackKind {
    /// SYN segments from random addresses, without a reply to the SYN-ACK.
    SynFlood,
    /// UDP packets from random addresses.
    UdpFlood,
    /// Fragments from random addresses, of datagrams that are never complete.
    Fragments,
    /// Scans of all ports from 64 addresses, against a rule with `psd`.
    PortScan,
    /// New connections while the table is full of active connections.
    FullTable,
}

impl AttackKind {
    /// All kinds of attacks.
    pub(crate) const ALL: [Self; 5] = [
        Self::SynFlood,
        Self::UdpFlood,
        Self::Fragments,
        Self::PortScan,
        Self::FullTable,
    ];

    /// Returns the name on the command line.
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

/// Carrier of the packets of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Via {
    /// Only the walk, in memory.
    Memory,
    /// AF_XDP on veth, compared with the kernel's forwarding.
    Xdp,
    /// AF_PACKET on veth, compared with the kernel's forwarding.
    Packet,
    /// TCP through TAP devices with merged segments, compared with the kernel's forwarding.
    Tap,
}

impl Via {
    /// Returns the driver's name in `--port`; `None` for memory.
    pub(crate) fn driver(self) -> Option<&'static str> {
        match self {
            Self::Memory => None,
            Self::Xdp => Some("xdp"),
            Self::Packet => Some("packet"),
            Self::Tap => Some("tap"),
        }
    }
}
