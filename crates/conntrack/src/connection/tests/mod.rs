//! Whole trackers: against a simple model, through their limits, and in what control reads.

mod attack;
mod conversation;
mod fasttrack;
mod honest;
mod life;
mod model;
mod pass;
mod support;
