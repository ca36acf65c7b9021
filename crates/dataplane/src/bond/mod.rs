//! Bonds: several links that form one interface (`/interface/bonding`).
//!
//! ```text
//! frames of a slave ─▶ rise ──▶ the bond's vector, behind its own entrance
//!                        └────▶ slow protocols (LACP) stay the slave's
//! frames for the bond ─▶ leave ─▶ one slave each, by mode and hash policy; copies to all with `broadcast`
//! ```
//! Control decides which slaves receive and send, and replaces a [`Bond`] as a whole. Frames of a
//! flow keep their order: they share a hash, hence a slave, as long as the set of sending slaves
//! does not change. Only `balance-rr` spreads a flow.

mod hash;
mod leave;
mod load;
mod rise;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use hash::HashPolicy;
pub use load::{BUCKETS, Loads};
pub use table::Bonds;
pub use value::{Bond, SLAVES, Sends, Slave, Takes};

pub(crate) use leave::{Egress, egress, leave};
pub(crate) use rise::{receiver, rise};
