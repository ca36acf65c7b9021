//! Ports that carry frames between the data plane and the world, and the takeover and monitoring of the devices
//! below.
//!
//! ```text
//!   open        spec "xdp:eth1" ──▶ ports, the driver's name, why not a better one
//!   drivers     XdpPort  PacketPort  TapPort  PcapPort  MemoryPort
//!   middleware  Capture  Fault
//!   beneath     link (devices of the host)   takeover (their owner)
//!   beside      wait (sleep of a worker)
//! ```
//!
//! Each driver is a [`frame::Port`]: a worker calls `receive` and `transmit` in turn, and neither allocates or
//! blocks. This crate does not interpret packets. Start reading at [`open()`].

#![allow(
    unsafe_code,
    reason = "rings, mappings and system calls; each block says why it is sound"
)]

mod af_packet;
mod af_xdp;
mod capture;
mod fault;
pub mod link;
mod memory;
mod namespace;
mod netlink;
pub mod open;
mod pcap;
mod ready;
mod sys;
pub mod takeover;
mod tap;
mod tcp_info;
mod vlan;
mod vnet;
mod wait;

pub use af_packet::{PacketPort, PacketReplay};
pub use af_xdp::{Umem, XDP_RING, XdpMode, XdpOffload, XdpPort, XdpRefusal};
pub use capture::Capture;
pub use fault::{Fault, Faults};
pub use memory::{Handing, MemoryPort};
pub use namespace::unshare_network;
pub use open::{OpenError, Opened, Request, Spec, open};
pub use pcap::{FrameWriter, PcapPort};
pub use ready::Readiness;
pub use tap::{Layer, TapPort, Tether};
pub use tcp_info::TcpInfo;
pub use wait::{WaitSet, Waker, Woken};
