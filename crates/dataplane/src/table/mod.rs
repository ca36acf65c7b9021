//! The tables that control writes and workers read, none of which is ever copied or locked.
//!
//! `fib` finds the next hop of an address; `adjacency` says what a next hop is; `grace` tells the
//! writer when no worker can still be reading what it took out.

pub mod adjacency;

pub use adjacency::{Adjacency, AdjacencyTable, Kind, NextHopId};
