//! Control-plane protocols of the router, each a state machine without I/O.
//!
//! A machine has no socket, no thread and no clock. Its owner passes configuration, packets and the current time in
//! as events, and carries out the actions that the machine returns. The same events at the same times produce the
//! same actions in the router, in a simulation and under a fuzzer.
//!
//! - [`bond`]: link monitoring and active-slave selection of bonding interfaces.
//! - [`dhcp`]: DHCPv4 client, server and relay.
//! - [`dhcp6`]: DHCPv6 client and server for addresses and delegated prefixes; IPv6 pools.
//! - [`discovery`]: neighbour discovery by MNDP, CDP and LLDP.
//! - [`dns`]: caching DNS forwarder with static entries.
//! - [`flow`]: traffic flow export (NetFlow, IPFIX).
//! - [`gateway_check`]: reachability checks of gateways (`check-gateway`).
//! - [`icmp`]: ICMP echo replies, errors and redirects, with rate limits.
//! - [`igmp`]: IGMP host side: reports the IPv4 groups that the router joined.
//! - [`lacp`]: link aggregation control protocol (802.3ad).
//! - [`loop_protect`]: disables interfaces that receive the router's own loop-protect frames.
//! - [`mld`]: MLD host side: reports the IPv6 groups that the router joined.
//! - [`neighbour`]: ARP and IPv6 neighbour discovery: address resolution and reachability.
//! - [`netwatch`]: probes of hosts, and their up and down events.
//! - [`ntp`]: NTP client and server.
//! - [`ping`]: echo requests of the `ping` command and the statistics of their replies.
//! - [`pool`]: IPv4 address pools and their leases.
//! - [`pppoe`]: PPPoE discovery, client and server.
//! - [`ra`]: IPv6 router advertisements.
//! - [`radius`]: RADIUS client for authentication and accounting.
//! - [`resolver`]: addresses of the DNS names in the configuration, refreshed when their TTL ends.
//! - [`smtp`]: SMTP client that sends one e-mail.
//! - [`snmp`]: SNMP agent and traps.
//! - [`snooping`]: IGMP and MLD snooping on bridges.
//! - [`stp`]: spanning tree: STP, RSTP and MSTP.
//! - [`vrrp`]: virtual router redundancy (VRRP).
//!
//! Input from the network never makes a machine panic, and every table that it can fill has a bound.

#![forbid(unsafe_code)]

pub mod bond;
pub mod dhcp;
pub mod dhcp6;
pub mod discovery;
pub mod dns;
pub mod flow;
pub mod gateway_check;
pub mod icmp;
pub mod igmp;
pub mod lacp;
pub mod loop_protect;
pub mod mld;
pub mod neighbour;
pub mod netwatch;
pub mod ntp;
mod outbound;
pub mod ping;
pub mod pool;
pub mod pppoe;
pub mod ra;
pub mod radius;
pub mod resolver;
pub mod smtp;
pub mod snmp;
pub mod snooping;
pub mod stp;
pub mod vrrp;

pub use outbound::Frame;
