//! From what is configured and what the links say to what the workers read: pure functions.
//!
//! `layout` says what each interface is (its port, its tags, whether it runs), `address` what the
//! addresses come to (own addresses, networks, routes of their own), `interface` what the walk reads of each interface, and `snapshot` what it reads of
//! settings and rules, with the reasons why it is not the fast one. `missing` says what is wrong with rules
//! that name what cannot be used.

pub mod address;
pub mod interface;
pub mod layout;
mod missing;
pub mod snapshot;
#[cfg(test)]
mod tests;

pub use address::{Addresses, Own4, Own6};
pub use interface::{Compiled, interfaces};
pub use layout::{Laid, Layout, Numbers, PortState, PortWish};
pub use missing::Missing;
pub use snapshot::compile;
