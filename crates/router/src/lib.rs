//! The composition root: from what is configured to what forwards.
//!
//! ```text
//! items ──read──▶ intent ──plan──▶ layout, addresses ──compile──▶ snapshot ──▶ workers
//!                    │                    │
//!                    └────── routes ──────┴──▶ rib ──▶ FIB, next hops ──▶ workers
//! ```
//!
//! Everything here is sans-IO: time is passed in, packets come and go through the workers' rings,
//! and devices are opened by others. So the same value runs on threads in the binary and in virtual
//! time in a simulation.

#![forbid(unsafe_code)]

pub mod compile;
pub mod drive;
pub mod files;
pub mod firewall;
mod instance;
pub mod intent;
mod live;
mod manage;
pub mod mirror;
pub mod plan;
pub mod private;
mod probe;
pub mod read;
mod replace;
pub mod rib;
pub mod store;

pub use instance::Instance;
pub use live::ClosedServices;
pub use manage::Holder;
pub use replace::reach;
