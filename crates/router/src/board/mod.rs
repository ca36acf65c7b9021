//! Offload requests of a configuration to the switch chips of a board.

mod offload_requests;

pub use offload_requests::{Asks, Lacks};
