//! `/ppp`: PPP users and sessions.

pub(crate) mod aaa;
pub(crate) mod active;
pub(crate) mod l2tp_secret;
pub(crate) mod profile;
pub(crate) mod secret;
