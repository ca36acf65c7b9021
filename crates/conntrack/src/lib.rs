//! Connection tracking and NAT.
//!
//! [`connection`] finds and updates the connection of a packet; [`nat`] chooses the translation of a new
//! connection and rewrites its packets. They form one crate because they depend on each other: a connection
//! holds NAT mappings, and NAT helpers expect connections.

#![forbid(unsafe_code)]

pub mod connection;
pub mod nat;
