//! The kernel forwards between bridge ports what the workers installed.

#[path = "../common/mod.rs"]
mod common;

mod bed;
mod plain;
mod vlans;
