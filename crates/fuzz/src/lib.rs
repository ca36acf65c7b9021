//! Bodies of the fuzz targets: each passes foreign bytes to parsers or state machines and checks invariants.
//!
//! The libFuzzer targets in `fuzz/` and the tests of this crate, which replay the corpora and mutate
//! them, call these functions. A violated invariant panics; nothing else may.
//!
//! - [`associations`]: ESP and AH.
//! - [`dhcp`]: DHCP servers.
//! - [`exchanges`]: IKE and WireGuard.
//! - [`formats`]: the packet formats of `wire`.
//! - [`machines`]: the protocol state machines of `service`, L2TP and PPP.
//! - [`router`]: the walk, PPPoE session data, NAT and its helpers, connection tracking, stream inspection, software
//!   offloads, reassembly, and the configuration language.
//! - [`requests`]: the binary API and REST.

#![forbid(unsafe_code)]

pub mod associations;
pub mod dhcp;
pub mod encryption;
pub mod exchanges;
pub mod formats;
pub mod machines;
pub mod requests;
pub mod router;
mod script;
mod sessions;
mod streams;
mod tracker;

/// Body of a fuzz target.
pub type Target = fn(&[u8]);
