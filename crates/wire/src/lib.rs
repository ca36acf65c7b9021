//! Packet formats: parsing, building and checksums. Without state and I/O; parsing does not allocate.
//!
//! One file per protocol. `new_checked` creates a *view* (`ipv4::Packet`, `tcp::Segment` …): it splits the bytes into
//! a fixed-size header array and the rest, after which no accessor can panic, because the compiler checks constant
//! indices into a fixed-size array. A `HeaderMut` changes fields in place. A `Repr` is the header as a plain value,
//! for building packets. Every format has its own `Malformed` with one variant per fault, which becomes a named drop.
//!
//! Start reading at [`ipv4`]; [`checksum`] is critical for performance.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod arp;
pub mod bpdu;
pub mod cdp;
pub mod checksum;
pub mod dhcp;
pub mod dns;
pub mod ecn;
pub mod ethernet;
pub mod icmpv4;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod lacp;
pub mod lldp;
pub mod mac;
pub mod mac_ping;
pub mod mndp;
pub mod ndp;
pub mod netflow;
pub mod ntp;
pub mod pppoe;
pub mod protocol;
pub mod radius;
pub mod tcp;
pub mod udp;
pub mod vlan;
pub mod vrrp;
pub mod vxlan;

pub use ethernet::EtherType;
pub use mac::Mac;
pub use protocol::Protocol;

/// Big-endian 16-bit word at `at` of a header of `N` bytes; zero beyond the header.
///
/// Callers pass constants within the header, so that the compiler removes the check.
#[inline(always)]
fn u16_at<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    match header.get(at..).and_then(|tail| tail.first_chunk()) {
        Some(&bytes) => u16::from_be_bytes(bytes),
        None => 0,
    }
}

/// Big-endian 32-bit word at `at` of a header; zero beyond the header.
#[inline(always)]
fn u32_at<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    match header.get(at..).and_then(|tail| tail.first_chunk()) {
        Some(&bytes) => u32::from_be_bytes(bytes),
        None => 0,
    }
}

/// `M` bytes at `at` of a header of `N` bytes; zeros beyond the header.
#[inline(always)]
fn bytes_at<const M: usize, const N: usize>(header: &[u8; N], at: usize) -> [u8; M] {
    match header.get(at..).and_then(|tail| tail.first_chunk()) {
        Some(&bytes) => bytes,
        None => [0; M],
    }
}

/// Writes `bytes` at `at` of a header; does nothing beyond the header.
#[inline(always)]
fn put_at<const M: usize, const N: usize>(header: &mut [u8; N], at: usize, bytes: [u8; M]) {
    if let Some(slot) = header.get_mut(at..).and_then(|tail| tail.first_chunk_mut()) {
        *slot = bytes;
    }
}
