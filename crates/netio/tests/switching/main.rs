//! The kernel switches between ports of a bridge what their workers told it.

#[path = "../common/mod.rs"]
mod common;

mod bed;
mod plain;
mod vlans;
