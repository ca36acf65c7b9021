//! `/system`: the router itself.

pub(crate) mod identity;
pub(crate) mod resource;
