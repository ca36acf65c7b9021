//! Frames: the memory that a packet lives in, who owns it, and the trait of what carries it.
//!
//! A [`Frame`] is the unique owner of one slot of a [`Pool`]; it is moved from hand to hand and
//! ends in `Pool::free`. A [`Vector`] is up to 256 of them. A [`Port`] fills vectors and takes
//! them back. Nothing here knows what the bytes mean, but for the checksum and segmentation state
//! that a frame carries ([`Offload`]) and what finishes it in software: [`finish_checksum`],
//! [`segment()`], and [`fragment()`] for a packet that is too long for its link. [`reassembly`] is the
//! way back. What a device may forward by itself is in [`shortcut`], what it may switch in [`switch`].

#![allow(unsafe_code, reason = "the pool hands out slots of one mapping")]

mod fragment;
mod frame;
mod offload;
mod pool;
mod port;
pub mod reassembly;
mod segment;
mod share;
pub mod shortcut;
pub mod switch;
mod vector;

pub use fragment::{MTU_MIN, Unfragmentable, fragment, fragment6};
pub use frame::{Frame, Guarded, InterfaceId};
pub use offload::{Offload, Offloads, Segmentation, finish_checksum};
pub use pool::{Class, HEADROOM, Pool, Sizes};
pub use port::{Crowd, Port, PortCounters, Transmitted};
pub use segment::{SEGMENTS_MAX, Unfinishable, segment};
pub use vector::{VECTOR_BYTES, VECTOR_FRAMES, Vector};
