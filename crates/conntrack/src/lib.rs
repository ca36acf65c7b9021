//! Connections, and the translation of their addresses.
//!
//! [`connection`] finds the connection of a packet and advances it; [`nat`] chooses the translation of a new one,
//! and changes each packet of it. They are one crate because they need each other: a connection holds the mappings
//! that it uses, and the helpers of translation expect connections.

#![forbid(unsafe_code)]

pub mod connection;
pub mod nat;
