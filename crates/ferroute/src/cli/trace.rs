//! `ferroute trace` and `ferroute test`: packets that are asked about.

use std::path::PathBuf;

use clap::Args;

use super::Reach;
use crate::assume::Assumption;

/// A packet that is asked about. The exit code is 0 if it is sent or delivered, 10 if it is
/// discarded, 11 if it is discarded and its sender is told, 12 if that depends on an address which the file does
/// not say (--assume).
#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// The configuration (.rsc), in which all ports have a link; without one a running router is
    /// asked, and nothing of it changes.
    pub(crate) file: Option<PathBuf>,
    /// The interface by which the packet comes.
    #[arg(long = "in", value_name = "INTERFACE")]
    pub(crate) ingress: String,
    /// Where it comes from; [ADDRESS]:PORT in IPv6.
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) src: String,
    /// Where it goes to.
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) dst: String,
    /// The protocol above IP, by name or number.
    #[arg(long, value_name = "PROTOCOL", default_value = "tcp")]
    pub(crate) proto: String,
    /// TCP's flags, separated by commas; syn by default, or what a connection of the running router goes
    /// on with.
    #[arg(long, value_name = "FLAGS")]
    pub(crate) flags: Option<String>,
    /// ICMP's type and code; an echo request by default.
    #[arg(long, value_name = "TYPE[:CODE]")]
    pub(crate) icmp: Option<String>,
    /// ICMP's identifier, by which a running router knows the connection of an echo.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) icmp_id: Option<String>,
    /// The packet's length in bytes, with its IP header.
    #[arg(long, value_name = "BYTES")]
    pub(crate) size: Option<String>,
    /// Its time to live, or hop limit.
    #[arg(long, value_name = "HOPS")]
    pub(crate) ttl: Option<String>,
    /// Its differentiated services code point.
    #[arg(long, value_name = "0..63")]
    pub(crate) dscp: Option<String>,
    /// The hardware address of its sender.
    #[arg(long, value_name = "MAC")]
    pub(crate) mac: Option<String>,
    /// The hardware address that its frame is sent to; by default that of its sender's gateway, or of the other host
    /// where a bridge carries it.
    #[arg(long, value_name = "MAC")]
    pub(crate) dst_mac: Option<String>,
    /// The packet came out of IPsec on the interface.
    #[arg(long)]
    pub(crate) ipsec: bool,
    /// The VLAN of its frame.
    #[arg(long, value_name = "ID")]
    pub(crate) vlan: Option<String>,
    /// The state that its connection is taken to have: new, established, related, invalid,
    /// untracked. Without it a running router takes the connection that it has, if the packet is of one.
    #[arg(long, value_name = "STATE")]
    pub(crate) connection_state: Option<String>,
    /// How its connection is taken to be translated: srcnat, dstnat.
    #[arg(long, value_name = "STATES")]
    pub(crate) connection_nat_state: Option<String>,
    /// The mark that its connection is taken to have.
    #[arg(long, value_name = "MARK")]
    pub(crate) connection_mark: Option<String>,
    /// The mark that it comes with.
    #[arg(long, value_name = "MARK")]
    pub(crate) packet_mark: Option<String>,
    /// The routing table that it is marked for.
    #[arg(long, value_name = "TABLE")]
    pub(crate) routing_mark: Option<String>,
    /// An address that an interface of the file gets from others, by DHCP or router advertisements, and the gateway.
    #[arg(
        long,
        value_name = "INTERFACE=ADDRESS/LENGTH[,gateway=ADDRESS]",
        requires = "file"
    )]
    pub(crate) assume: Vec<Assumption>,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Which router, without a file.
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// Configurations whose expectations are tested. They stand in comments of a configuration (`# expect drop in=ether1
/// src=198.51.100.1 dst=192.0.2.1 proto=tcp dport=22`), or without the # in a file beside it, rules.expect beside
/// rules.rsc. The exit code is 0 if all of them hold, 4 if some do not.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// The configurations (.rsc), in which all ports have a link.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// An address that an interface gets from others, by DHCP or router advertisements, and the gateway. A line `assume
    /// INTERFACE=…` among the expectations of a file says it for that file.
    #[arg(long, value_name = "INTERFACE=ADDRESS/LENGTH[,gateway=ADDRESS]")]
    pub(crate) assume: Vec<Assumption>,
    /// Answer in JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
