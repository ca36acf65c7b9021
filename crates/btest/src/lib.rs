//! MikroTik's bandwidth test.
#![forbid(unsafe_code)]
pub mod curve;
mod figures;
mod finder;
mod flow;
mod inbox;
mod losses;
pub mod md5;
mod reason;
pub mod srp;
pub mod wire;
pub use figures::{Figures, Rates};
pub use flow::{Allowance, Flow, buffer};
pub use reason::Reason;
