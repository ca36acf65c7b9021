//! The bodies of the fuzz targets: each gives foreign bytes to readers and checks what must always be true.
//!
//! The libFuzzer targets in `fuzz/` and the tests of this crate, which replay the corpora and mutate
//! them, call the same functions. A violation panics; nothing else may.
//!
//! - [`associations`]: ESP and AH.
//! - [`dhcp`]: DHCP servers.
//! - [`exchanges`]: IKE and WireGuard.
//! - [`formats`]: the packet formats of `wire`.
//! - [`machines`]: the protocol machines of `service`.
//! - [`router`]: the walk, PPPoE session data, translation and its helpers, connections and what they carry, software
//!   offloads, reassembly, and the language of configurations.
//! - [`requests`]: the binary API and REST.

#![forbid(unsafe_code)]

pub mod associations;
pub mod dhcp;
pub mod exchanges;
pub mod formats;
pub mod machines;
pub mod requests;
pub mod router;
mod sessions;
mod streams;
mod tracker;

/// A body of a fuzz target.
pub type Target = fn(&[u8]);
