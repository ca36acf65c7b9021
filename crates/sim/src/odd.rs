//! Odd packets: what a router meets but hardly ever sends, each with its fate here and the rule
//! that it follows, and with what the kernel's router makes of it where that differs.
//!
//! The packets arrive from `client` on the router's first link; `server` is behind its second one.
//! A test sends each case through a router and compares what comes out: the packet on the second
//! link, an ICMP message on the first, or nothing. A router under comparison must not limit its
//! ICMP messages (Linux: `net.ipv4.icmp_ratelimit=0`, `net.ipv6.icmp.ratelimit=0`), and has the
//! neighbours resolved.

use core::net::{Ipv4Addr, Ipv6Addr};

use dataplane::DropReason;
use wire::{EtherType, Mac, ethernet};

mod v4;
mod v6;

/// Who takes part.
#[derive(Clone, Copy, Debug)]
pub struct Hosts {
    /// The client's MAC address.
    pub client_mac: Mac,
    /// The router's on the client's link.
    pub router_mac: Mac,
    /// The client.
    pub client: Ipv4Addr,
    /// The router on the client's link.
    pub router: Ipv4Addr,
    /// The server.
    pub server: Ipv4Addr,
    /// The broadcast address of the server's network.
    pub server_broadcast: Ipv4Addr,
    /// The client.
    pub client6: Ipv6Addr,
    /// The router on the client's link.
    pub router6: Ipv6Addr,
    /// The server.
    pub server6: Ipv6Addr,
    /// The layer-3 MTU of the server's link in bytes; the client's link takes 200 bytes more.
    pub mtu: u16,
}

impl Hosts {
    /// Hosts for a test that needs some.
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

/// What becomes of each frame of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It reaches the server: with a lifetime that is one less, and otherwise as it was.
    Forwarded,
    /// It reaches the server in fragments.
    Fragmented,
    /// It is discarded under this name, and nobody is told.
    Dropped(DropReason),
    /// It is discarded under this name, and the client is told.
    Refused(DropReason, Icmp),
    /// The router answers it itself.
    Answered(Icmp),
}

/// An ICMP message, as far as fates differ by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmp {
    /// ICMP: type and code.
    V4(u8, u8),
    /// ICMPv6: type and code.
    V6(u8, u8),
}

/// What the kernel's router does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// The same, as far as a neighbour sees.
    Same,
    /// Something else: what, and why ours is right all the same.
    Differs(&'static str),
}

/// A named case.
#[derive(Clone, Copy, Debug)]
pub struct Odd {
    /// Its name, unique, in kebab case; IPv6 cases begin with `v6-`.
    pub name: &'static str,
    /// Why its fate is what it is, with the section of the RFC.
    pub why: &'static str,
    /// The frames, in the order in which they arrive; most cases have one.
    pub frames: fn(&Hosts) -> Vec<Vec<u8>>,
    /// What becomes of them.
    pub fate: Fate,
    /// What the kernel makes of them.
    pub kernel: Kernel,
}

/// All cases, those of IPv4 first.
pub fn cases() -> impl Iterator<Item = &'static Odd> {
    v4::CASES.iter().chain(v6::CASES)
}

/// A frame from the client to `dst`.
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
