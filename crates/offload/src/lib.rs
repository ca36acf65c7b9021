//! XDP offload: a program on a device forwards packets by shortcuts to other devices, and switches known
//! hosts between bridge ports, inside the kernel.
//!
//! ```text
//!  Table      buckets of slots, and lanes, in maps that the kernel programs read: one for all ports
//!  Installer  of a port: writes slots and lanes, collects the traffic of connections
//!  Registry   of the control plane: which lanes exist, and their reported traffic
//!  Switch     hosts, ports and VLANs of bridges, also in maps: one for all ports
//!  program    instructions that use the table and the switch
//! ```
//!
//! A worker has an [`Installer`], which implements [`FlowOffload`](frame::shortcut::FlowOffload) without
//! locks or allocation. The control plane has the [`Table`], which implements
//! [`Shortcuts`](frame::shortcut::Shortcuts). They communicate by the words of the maps and by two rings per
//! port (`lanes.rs`). A [`Switch`] implements [`BridgeOffload`](frame::switch::BridgeOffload) for both. The
//! caller that opens devices creates the maps and loads the program: see [`Map`].

#![forbid(unsafe_code)]

mod assemble;
mod installer;
mod lanes;
mod marks;
mod program;
mod registry;
mod slot;
mod switch;
mod table;
#[cfg(test)]
mod tests;

pub use installer::Installer;
pub use program::program;
pub use switch::Switch;
pub use table::{Map, MapSize, Table};
