//! Tests of whole trackers: comparison with a simple model, limits, and reads by the control plane.

mod attack;
mod conversation;
mod fasttrack;
mod honest;
mod life;
mod model;
mod pass;
mod support;
