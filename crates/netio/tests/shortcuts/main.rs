//! The kernel forwards flows that were installed on an AF_XDP port.

#[path = "../common/mod.rs"]
mod common;

mod addresses;
mod bed;
mod connections;
