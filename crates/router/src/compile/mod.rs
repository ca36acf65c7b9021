//! Compilers: from configuration and link states to what workers read. Pure functions.
//!
//! `layout` gives each interface its port, its tags and whether it runs; `address` the own addresses, networks and
//! connected routes; `interface` the line and the details of each interface; `snapshot` settings, ports and rules,
//! with the reasons why the fast path does not apply. `missing` reports rules that name what cannot be used.

pub mod address;
pub mod interface;
pub mod layout;
mod missing;
pub mod snapshot;
#[cfg(test)]
mod tests;

pub use address::{Addresses, Own4, Own6};
pub use interface::{Compiled, interface, mirror};
pub use layout::{Laid, Layout, Numbers, PortState, PortWish};
pub use missing::Missing;
pub use snapshot::compile;
