//! The composition root: from configuration to the tables that workers forward by.
//!
//! ```text
//! items ──read──▶ intent ──plan──▶ layout, addresses ──compile──▶ interface lines, snapshot ──▶ workers
//!                    │                    │
//!                    └────── routes ──────┴──▶ rib ──▶ FIB, next hops ──▶ workers
//! ```
//!
//! No I/O happens here: time is passed in, packets come and go through the workers' rings, and the
//! program opens devices. So the same value runs on threads in the program and in virtual time in a
//! simulation.

#![forbid(unsafe_code)]

pub mod board;
mod clock;
pub mod compile;
pub mod drive;
mod feature;
mod features;
pub mod files;
pub mod firewall;
pub mod history;
mod instance;
pub mod intent;
pub mod kind;
pub mod learned;
pub mod link_modes;
mod lists;
mod live;
mod manage;
pub mod metrics;
pub mod mirror;
pub mod object;
mod paths;
pub mod plan;
mod port_numbers;
pub mod private;
mod probe;
mod profiles;
pub mod read;
mod recompute_set;
pub mod records;
mod replace;
pub mod rib;
mod running;
mod signer;
pub mod store;
pub mod tls;
mod tools;

pub use clock::DayClock;
pub use feature::bandwidth_server::SessionView as BandwidthSession;
pub use feature::mail::{Letter, Sent, Tls, bare as bare_address};
pub use feature::radius::Aaa;
pub use feature::services::ClosedServices;
pub use feature::ssh::kept_host_key;
pub use feature::switch::beyond as beyond_chips;
pub use feature::wireguard::public_key as wireguard_public_key;
pub use feature::{Effect, Effects, NewObject};
pub use files::{RemoteEntry, RemoteFiles};
pub use instance::{Instance, Veth};
pub use manage::Holder;
pub use replace::reach;
