//! Options of `ferroute trace` and `ferroute test`.

use std::path::PathBuf;

use clap::Args;

use super::Reach;
use crate::command::assumption::Assumption;

/// A packet to trace. The exit code is 0 if it is sent or delivered, 10 if it is discarded, 11 if it is
/// discarded with an ICMP error or TCP reset, 12 if the verdict depends on an address that the file lacks
/// (--assume).
#[derive(Debug, Args)]
pub(crate) struct Trace {
    /// Configuration (.rsc), with all links up. Default: the configuration and state of a running router, which do not
    /// change.
    pub(crate) file: Option<PathBuf>,
    /// Ingress interface of the packet.
    #[arg(long = "in", value_name = "INTERFACE")]
    pub(crate) ingress: String,
    /// Source address; [ADDRESS]:PORT for IPv6 with port.
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) src: String,
    /// Destination address.
    #[arg(long, value_name = "ADDRESS[:PORT]")]
    pub(crate) dst: String,
    /// Protocol above IP, by name or number.
    #[arg(long, value_name = "PROTOCOL", default_value = "tcp")]
    pub(crate) proto: String,
    /// TCP flags, separated by commas; default: syn, or those of a tracked connection of the running router.
    #[arg(long, value_name = "FLAGS")]
    pub(crate) flags: Option<String>,
    /// ICMP type and code; default: echo request.
    #[arg(long, value_name = "TYPE[:CODE]")]
    pub(crate) icmp: Option<String>,
    /// ICMP identifier, which selects a tracked echo of a running router.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) icmp_id: Option<String>,
    /// Length of the packet in bytes, including its IP header.
    #[arg(long, value_name = "BYTES")]
    pub(crate) size: Option<String>,
    /// TTL or hop limit.
    #[arg(long, value_name = "HOPS")]
    pub(crate) ttl: Option<String>,
    /// Differentiated services code point.
    #[arg(long, value_name = "0..63")]
    pub(crate) dscp: Option<String>,
    /// Source MAC address.
    #[arg(long, value_name = "MAC")]
    pub(crate) mac: Option<String>,
    /// Destination MAC address; default: that of the sender's gateway, or of the destination host on a bridge.
    #[arg(long, value_name = "MAC")]
    pub(crate) dst_mac: Option<String>,
    /// The packet was decrypted by IPsec on the interface.
    #[arg(long)]
    pub(crate) ipsec: bool,
    /// VLAN ID of the frame.
    #[arg(long, value_name = "ID")]
    pub(crate) vlan: Option<String>,
    /// Assumed connection state: new, established, related, invalid, untracked. Default: that of a running
    /// router's tracked connection, if there is one.
    #[arg(long, value_name = "STATE")]
    pub(crate) connection_state: Option<String>,
    /// Assumed translation of the connection: srcnat, dstnat.
    #[arg(long, value_name = "STATES")]
    pub(crate) connection_nat_state: Option<String>,
    /// Assumed connection mark.
    #[arg(long, value_name = "MARK")]
    pub(crate) connection_mark: Option<String>,
    /// Packet mark at ingress.
    #[arg(long, value_name = "MARK")]
    pub(crate) packet_mark: Option<String>,
    /// Routing mark.
    #[arg(long, value_name = "TABLE")]
    pub(crate) routing_mark: Option<String>,
    /// A dynamic address of an interface of the file (DHCP or router advertisement), and its gateway.
    #[arg(
        long,
        value_name = "INTERFACE=ADDRESS/LENGTH[,gateway=ADDRESS]",
        requires = "file"
    )]
    pub(crate) assume: Vec<Assumption>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Location of the running router, without a file.
    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// Tests of configurations. Expectations stand in comments of a configuration (`# expect drop in=ether1
/// src=198.51.100.1 dst=192.0.2.1 proto=tcp dport=22`), or without the # in a file beside it, rules.expect
/// beside rules.rsc. The exit code is 0 if all hold, 4 otherwise.
#[derive(Debug, Args)]
pub(crate) struct Test {
    /// The configurations (.rsc), with all links up.
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// A dynamic address of an interface (DHCP or router advertisement), and its gateway. A line `assume
    /// INTERFACE=…` among the expectations of a file applies to that file.
    #[arg(long, value_name = "INTERFACE=ADDRESS/LENGTH[,gateway=ADDRESS]")]
    pub(crate) assume: Vec<Assumption>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
