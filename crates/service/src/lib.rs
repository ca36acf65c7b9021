//! Services of a router as machines: what it owes the links that it is on.
//!
//! Everything here is a value: no socket, no thread, no clock. The owner passes time, packets and
//! configuration in as events and carries out the actions that come back; the same events at the
//! same times give the same actions, in the router, in a simulation and under a fuzzer.
//!
//! - [`bond`]: which links of a bond are up, and which one is active.
//! - [`dhcp`]: addresses for hosts, given and taken.
//! - [`dns`]: answers questions for names, and keeps what servers answered.
//! - [`discovery`]: tells neighbours of the router, and hears of them: MNDP, CDP, LLDP.
//! - [`dhcp6`]: the same of IPv6, with prefixes.
//! - [`flow`]: tells collectors what connections have carried.
//! - [`gateway_check`]: whether a gateway answers.
//! - [`icmp`]: echo replies, errors and redirects, and how many of them.
//! - [`igmp`]: tells switches and routers which IPv4 groups are received here.
//! - [`lacp`]: which links of a bond carry frames, as both of its ends agree.
//! - [`loop_protect`]: which interfaces receive what their own router has sent.
//! - [`mld`]: tells switches which groups are received here.
//! - [`neighbour`]: ARP and neighbour discovery: who has an address on this link, and whether he is
//!   still there.
//! - [`netwatch`]: which hosts answer as they should, and when that changes.
//! - [`ntp`]: the time from servers, and for those who ask.
//! - [`ping`]: echo requests that a user sends, and what comes of them.
//! - [`pool`]: addresses to give out, and who has them.
//! - [`ra`]: tells hosts who routes, and from which prefixes they may take addresses.
//! - [`radius`]: what servers that know users say of them.
//! - [`resolver`]: which addresses names have, asked anew whenever an answer is too old.
//! - [`snmp`]: answers managers who ask for counters and names, and tells them of what happens.
//! - [`snooping`]: which ports of a bridge listen to which multicast groups.
//! - [`stp`]: which ports of a bridge forward, so that there is no loop.
//! - [`vrrp`]: which of several routers has the addresses that they share.
//!
//! Bytes from the wire never make a machine fail, and nothing that they can cause grows without a
//! bound.

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
pub mod ra;
pub mod radius;
pub mod resolver;
pub mod smtp;
pub mod snmp;
pub mod snooping;
pub mod stp;
pub mod vrrp;

pub use outbound::Frame;
