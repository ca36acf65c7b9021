//! Subcommands that need no router, or use a running one.

pub(crate) mod advise;
pub(crate) mod assumption;
pub(crate) mod board;
pub(crate) mod calculate;
pub(crate) mod client;
pub(crate) mod docs;
pub(crate) mod expect;
pub(crate) mod findings;
pub(crate) mod joined;
pub(crate) mod planner;
pub(crate) mod reach;
pub(crate) mod trace;
