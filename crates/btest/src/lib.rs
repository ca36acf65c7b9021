//! MikroTik's bandwidth test.
#![forbid(unsafe_code)]
pub mod curve;
pub mod md5;
pub mod srp;
pub mod wire;
