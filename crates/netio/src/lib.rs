//! Ports: what carries frames between the data plane and the world, and what watches and prepares
//! the devices beneath them.
//!
//! Each driver is a [`frame::Port`]: [`AF_PACKET`](PacketPort), [`TAP and TUN`](TapPort) and
//! [`memory`](MemoryPort). Nothing here knows what a packet means; a worker calls `receive` and
//! `transmit` and nothing in them allocates or blocks.

#![allow(
    unsafe_code,
    reason = "rings, mappings and system calls; each block says why it is sound"
)]

mod af_packet;
pub mod link;
mod memory;
mod netlink;
mod sys;
mod tap;
mod vlan;
mod vnet;

pub use af_packet::PacketPort;
pub use memory::{Handing, MemoryPort};
pub use tap::{Layer, TapPort};
