//! Flow offload by XDP: the program on a device forwards by itself what was forwarded before, to other
//! devices, in the kernel.
//!
//! ```text
//!   Table      buckets of slots, and lanes, in maps that the kernel's programs read: one for all ports
//!   Installer  a port's: writes slots and lanes, gathers what connections have sent
//!   Registry   control's: which lanes there are, and what of them was told
//!   program    the instructions that look there first
//! ```
//!
//! A worker has an [`Installer`], which is a [`FlowOffload`](frame::shortcut::FlowOffload): it takes no lock,
//! and asks for no memory. Control has the [`Table`], as [`Shortcuts`](frame::shortcut::Shortcuts). They meet
//! in the words of the maps and in two rings for each port (`lanes.rs`). The maps, and the program once it is
//! loaded, are the business of whoever opens devices: see [`Map`].

#![forbid(unsafe_code)]

mod assemble;
mod installer;
mod lanes;
mod marks;
mod program;
mod registry;
mod slot;
mod table;
#[cfg(test)]
mod tests;

pub use installer::Installer;
pub use program::to_sockets;
pub use table::{Map, MapSize, Table};
