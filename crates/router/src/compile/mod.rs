//! Compilers: translate configuration and link states into tables of the workers.
//!
//! The layout and the addresses are updated interface by interface; the rest are pure functions of one interface or of
//! the settings. The result does not depend on the order of the changes.
//!
//! `layout` gives each interface its port, its tags and whether it runs; `joined` its master; `address` the local
//! addresses, networks and connected routes; `interface` the line and the details of each interface; `numbers` the
//! numbers of interfaces and tables; `snapshot` settings, ports and rules, with the reasons why the fast path does not
//! apply. `missing` reports rules that name unusable objects.

pub mod address;
pub mod interface;
mod joined;
pub mod layout;
mod missing;
mod numbers;
pub mod snapshot;
#[cfg(test)]
mod tests;

pub use address::{Addresses, Dad, Moved, Own4, Own6};
pub use interface::{Compiled, interface, mirror, shared_mirror};
pub use layout::{
    Layout, LayoutEntry, LayoutInputs, LayoutUpdate, PortState, PortWish, SharedMirror, Shares,
};
pub use missing::Missing;
pub use numbers::Numbers;
pub use snapshot::compile;
