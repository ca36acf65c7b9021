//! Offload by XDP: the program on a device forwards by itself what was forwarded before, to other devices, in the
//! kernel, and switches what is known between ports of a bridge.
//!
//! ```text
//!   Table      buckets of slots, and lanes, in maps that the kernel's programs read: one for all ports
//!   Installer  a port's: writes slots and lanes, gathers what connections have sent
//!   Registry   control's: which lanes there are, and what of them was told
//!   Switch     hosts, ports and VLANs of bridges, in maps as well: one for all ports
//!   program    the instructions that look there first
//! ```
//!
//! A worker has an [`Installer`], which is a [`FlowOffload`](frame::shortcut::FlowOffload): it takes no lock,
//! and asks for no memory. Control has the [`Table`], as [`Shortcuts`](frame::shortcut::Shortcuts). They meet
//! in the words of the maps and in two rings for each port (`lanes.rs`). A [`Switch`] is a
//! [`BridgeOffload`](frame::switch::BridgeOffload), for both. The maps, and the program once it is
//! loaded, are the business of whoever opens devices: see [`Map`].

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
