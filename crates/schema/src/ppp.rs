//! `/ppp`: users of point-to-point sessions and what their sessions are like.

pub(crate) mod aaa;
pub(crate) mod active;
pub(crate) mod l2tp_secret;
pub(crate) mod profile;
pub(crate) mod secret;
