//! What a port of AF_XDP has learned, the kernel forwards by itself.

#[path = "../common/mod.rs"]
mod common;

mod addresses;
mod bed;
mod connections;
