//! Frames: packet memory, its ownership, and the trait of ports.
//!
//! A [`Frame`] is the unique owner of one slot of a [`Pool`]; it is moved between stages and ends in
//! `Pool::free`. A [`Vector`] contains up to 256 frames. A [`Port`] fills vectors and transmits frames. This
//! crate does not interpret packets, except for the checksum and segmentation state of a frame ([`Offload`])
//! and its completion in software: [`finish_checksum`], [`segment()`], and [`fragment()`] for packets above
//! the MTU. [`reassembly`] is the inverse of fragmentation. [`shortcut`] defines forwarding by devices, and
//! [`switch`] defines switching by devices.

#![allow(unsafe_code, reason = "the pool hands out slots of one mapping")]

mod fragment;
mod frame;
mod holder_limits;
mod offload;
mod pool;
mod port;
pub mod reassembly;
mod segment;
pub mod shortcut;
pub mod switch;
mod vector;

pub use fragment::{MTU_MIN, Unfragmentable, fragment, fragment6};
pub use frame::{Frame, InterfaceId, IpsecState};
pub use offload::{Offload, Offloads, Segmentation, finish_checksum};
pub use pool::{Class, HEADROOM, Pool, Sizes};
pub use port::{Crowd, Port, PortCounters, Transmitted};
pub use segment::{SEGMENTS_MAX, Unfinishable, segment};
pub use vector::{VECTOR_BYTES, VECTOR_FRAMES, Vector};
