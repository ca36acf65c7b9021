//! Odd packets: packets that a router receives but hardly ever sends, each with its verdict, the governing
//! rule, and differences of the Linux kernel.
//!
//! The packets arrive from `client` on the router's first link; `server` is on its second link. A test sends
//! each case through a router and compares the output: the packet on the second link, an ICMP message on the
//! first, or nothing. A router under comparison must not limit its ICMP messages (Linux:
//! `net.ipv4.icmp_ratelimit=0`, `net.ipv6.icmp.ratelimit=0`), and has resolved its neighbours.

use core::net::{Ipv4Addr, Ipv6Addr};

use dataplane::DropReason;
use wire::{EtherType, Mac, ethernet};

mod v4;
mod v6;

/// Addresses of client, router and server.
#[derive(Clone, Copy, Debug)]
pub struct Hosts {
    /// MAC address of the client.
    pub client_mac: Mac,
    /// MAC address of the router on the client's link.
    pub router_mac: Mac,
    /// Client.
    pub client: Ipv4Addr,
    /// Router on the client's link.
    pub router: Ipv4Addr,
    /// Server.
    pub server: Ipv4Addr,
    /// Broadcast address of the server's network.
    pub server_broadcast: Ipv4Addr,
    /// Client, IPv6.
    pub client6: Ipv6Addr,
    /// Router on the client's link, IPv6.
    pub router6: Ipv6Addr,
    /// Server, IPv6.
    pub server6: Ipv6Addr,
    /// MTU of the server's link in bytes; the MTU of the client's link is 200 bytes higher.
    pub mtu: u16,
}

impl Hosts {
    /// Returns example addresses.
    pub fn example() -> Self {
        Self {
            client_mac: Mac([2, 0, 0, 0, 0, 0xc]),
            router_mac: Mac([2, 0, 0, 0, 0, 1]),
            client: Ipv4Addr::new(10, 0, 1, 2),
            router: Ipv4Addr::new(10, 0, 1, 1),
            server: Ipv4Addr::new(10, 0, 2, 2),
            server_broadcast: Ipv4Addr::new(10, 0, 2, 255),
            client6: Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 2),
            router6: Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1),
            server6: Ipv6Addr::new(0x2001, 0xdb8, 0, 2, 0, 0, 0, 2),
            mtu: 1500,
        }
    }
}

/// Verdict on the frames of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Reaches the server with decremented TTL, otherwise unchanged.
    Forwarded,
    /// Reaches the server in fragments.
    Fragmented,
    /// Dropped under this name without an ICMP message.
    Dropped(DropReason),
    /// Dropped under this name with an ICMP message to the client.
    Refused(DropReason, Icmp),
    /// The router answers it itself.
    Answered(Icmp),
}

/// An ICMP message, as far as the cases distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmp {
    /// ICMP type and code.
    V4(u8, u8),
    /// ICMPv6 type and code.
    V6(u8, u8),
}

/// Behaviour of the Linux kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Equal, as seen by a neighbour.
    Same,
    /// Different: how, and why ferroute is right nevertheless.
    Differs(&'static str),
}

/// A test case.
#[derive(Clone, Copy, Debug)]
pub struct Odd {
    /// Unique name in kebab case; IPv6 cases begin with `v6-`.
    pub name: &'static str,
    /// Reason for the verdict, with the section of the RFC.
    pub why: &'static str,
    /// Builds the frames in order of arrival, mostly one.
    pub frames: fn(&Hosts) -> Vec<Vec<u8>>,
    /// Expected verdict.
    pub outcome: Outcome,
    /// Behaviour of the Linux kernel.
    pub kernel: Kernel,
}

/// Iterates over all cases, IPv4 first.
pub fn cases() -> impl Iterator<Item = &'static Odd> {
    v4::CASES.iter().chain(v6::CASES)
}

/// Builds a frame from the client to `dst`.
fn frame(hosts: &Hosts, dst: Mac, ethertype: EtherType, packet: &[u8]) -> Vec<u8> {
    let header = ethernet::Repr {
        dst,
        src: hosts.client_mac,
        ethertype,
    };
    [&header.to_bytes()[..], packet].concat()
}

#[cfg(test)]
mod tests;
