//! Commands that run until they are stopped: what they ask of a router.

mod echo;
mod router;

pub use echo::{Echoes, Ping, Pong, Responder};
pub use router::Router;
