//! `/system`: the router itself.

pub(crate) mod identity;
pub(crate) mod resource;
pub(crate) mod scheduler;
pub(crate) mod script;
