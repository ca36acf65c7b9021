//! `/system`: the router itself.

pub(crate) mod backup;
pub(crate) mod configuration;
pub(crate) mod history;
pub(crate) mod identity;
pub(crate) mod reset;
pub(crate) mod resource;
