//! The composition root: from what is configured to what forwards.

#![forbid(unsafe_code)]

pub mod rib;
