//! Packet formats: views, builders and checksums. No state, no I/O, no allocation on the way in.
//!
//! One file per header. A *view* (`ipv4::Packet`, `tcp::Segment` …) is made once by `new_checked`,
//! which splits the bytes into a fixed-size header array and what follows it; after that no accessor
//! can panic, because a constant index into a fixed-size array is checked by the compiler. A
//! `HeaderMut` changes fields in place. A `Repr` is the header as a plain value, for those who
//! build packets. Every format has its own `Malformed`, with one variant per fact: what is wrong
//! becomes a named drop.
//!
//! Begin reading at [`ipv4`]; [`checksum`] is the part that must be fast.

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

/// The 16 bits in network order at `at` of a header of `N` bytes; zero where the header ends before.
///
/// Callers pass constants within the header, so that the check folds away.
#[inline(always)]
fn u16_at<const N: usize>(header: &[u8; N], at: usize) -> u16 {
    match header.get(at..).and_then(|tail| tail.first_chunk()) {
        Some(&bytes) => u16::from_be_bytes(bytes),
        None => 0,
    }
}

/// The 32 bits in network order at `at`, as [`u16_at`].
#[inline(always)]
fn u32_at<const N: usize>(header: &[u8; N], at: usize) -> u32 {
    match header.get(at..).and_then(|tail| tail.first_chunk()) {
        Some(&bytes) => u32::from_be_bytes(bytes),
        None => 0,
    }
}

/// The `M` bytes at `at` of a header of `N` bytes; zeros where the header ends before.
#[inline(always)]
fn bytes_at<const M: usize, const N: usize>(header: &[u8; N], at: usize) -> [u8; M] {
    match header.get(at..).and_then(|tail| tail.first_chunk()) {
        Some(&bytes) => bytes,
        None => [0; M],
    }
}

/// Writes `bytes` at `at` of a header; nothing where the header ends before.
#[inline(always)]
fn put_at<const M: usize, const N: usize>(header: &mut [u8; N], at: usize, bytes: [u8; M]) {
    if let Some(slot) = header.get_mut(at..).and_then(|tail| tail.first_chunk_mut()) {
        *slot = bytes;
    }
}
